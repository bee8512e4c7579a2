//! Runs callbacks in tests, as the runtime would.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use conduit_protocol::{ClientCapabilities, Era, Outcome, RequestId, TraceContext, WireError};
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    Catalog, Change, Changes, Context, ContextParts, IntoServer, InvalidServer, Job, Publish,
    Published, Server, Toolbox, ToolboxBuilder, Work,
};

pub(crate) fn context() -> Context {
    context_of(Era::Modern)
}

pub(crate) fn context_of(era: Era) -> Context {
    Context::new(ContextParts {
        era,
        version: None,
        session: None,
        principal: None,
        request_id: RequestId::from(1),
        client_info: None,
        capabilities: ClientCapabilities::default(),
        log_level: None,
        trace: TraceContext::default(),
        progress_token: None,
        token: CancellationToken::new(),
        emit: None,
    })
}

pub(crate) fn builder() -> ToolboxBuilder {
    Toolbox::builder("test", "1")
}

#[track_caller]
pub(crate) fn built(builder: ToolboxBuilder) -> Toolbox {
    builder.into_server().expect("a toolbox")
}

/// Says why a toolbox cannot be built.
#[track_caller]
pub(crate) fn refused(builder: ToolboxBuilder) -> InvalidServer {
    builder.build().expect_err("a mistake")
}

pub(crate) async fn run<T>(work: Work<T>) -> Outcome<T> {
    match work {
        Work::Async(future) => future.await,
        Work::Blocking(closure) => closure(),
    }
}

/// Runs a job to its result.
pub(crate) async fn complete<T>(job: Option<Job<T>>) -> T {
    match run(job.expect("a job").work).await {
        Outcome::Complete(result) => result,
        Outcome::Refused(error) => panic!("{error}"),
        _ => panic!("an outcome that nobody knows"),
    }
}

/// Runs a job that is refused.
pub(crate) async fn refusal<T>(job: Option<Job<T>>) -> WireError {
    let Outcome::Refused(error) = run(job.expect("a job").work).await else {
        panic!("an error");
    };
    error
}

pub(crate) fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("JSON")
}

/// Reads a resource of a catalog to its contents, as JSON.
pub(crate) async fn read(catalog: &Catalog, uri: &str) -> Value {
    json(
        &complete(catalog.read_resource(uri, context()))
            .await
            .contents,
    )
}

/// Attaches a server to somebody who listens.
pub(crate) fn listen(server: &impl Server) -> Receiver<Change> {
    let (sender, heard) = channel();
    server.attach(Changes::new(Arc::new(Ear(sender))));
    heard
}

struct Ear(Sender<Change>);

impl Publish for Ear {
    fn publish(&self, change: Change) -> Published {
        self.0.send(change).expect("a listener");
        Published::default()
    }
}
