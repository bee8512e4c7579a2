//! Runs callbacks in tests, as the runtime would.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use conduit_protocol::{Code, Content, Era, Outcome, WireError};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::{
    Catalog, Change, Changes, Context, ContextParts, Input, IntoServer, InvalidServer, Job,
    Publish, Published, Server, TaskPart, Toolbox, ToolboxBuilder, Work,
};

pub(crate) fn context() -> Context {
    context_of(Era::Modern)
}

pub(crate) fn context_of(era: Era) -> Context {
    Context::new(ContextParts {
        era,
        ..ContextParts::default()
    })
}

/// Plays the runtime for a callback that asks: what one run leaves is what the next
/// one begins with, as text, as if that were in another process.
#[derive(Default)]
pub(crate) struct Rounds {
    carried: String,
    state: Option<String>,
    /// As which it runs.
    pub(crate) task: Option<TaskPart>,
}

impl Rounds {
    /// Runs a callback once more, with an object of new answers.
    pub(crate) async fn run<T>(
        &mut self,
        answers: Value,
        prepare: impl FnOnce(Context) -> Work<T>,
    ) -> Outcome<T> {
        let mut all: Vec<(String, Box<RawValue>)> =
            serde_json::from_str(&self.carried).unwrap_or_default();
        for (key, answer) in answers.as_object().expect("an object") {
            all.push((key.clone(), to_raw_value(answer).expect("JSON")));
        }
        let state = self.state.as_deref();
        let state = state.map(|state| serde_json::from_str(state).expect("JSON"));
        let input = Arc::new(Input::new(all, state));
        let parts = ContextParts {
            input: Arc::clone(&input),
            task: self.task.clone(),
            ..ContextParts::default()
        };

        let outcome = run(prepare(Context::new(parts))).await;

        self.carried = serde_json::to_string(&input.carried()).expect("JSON");
        let state = if let Outcome::InputRequired(required) = &outcome {
            required.state.clone()
        } else {
            input.state()
        };
        self.state = state.map(|state| state.to_string());
        outcome
    }
}

/// Returns what a callback asks, as the client would see it, in order.
#[track_caller]
pub(crate) fn asked<T: Debug>(outcome: &Outcome<T>) -> Vec<(&str, Value)> {
    let Outcome::InputRequired(required) = outcome else {
        panic!("{outcome:?}");
    };
    let requests = required.requests.iter();
    requests
        .map(|(key, request)| (key.as_str(), json(&request.write_json())))
        .collect()
}

/// Returns the one text that a tool has answered, also that of a failure.
#[track_caller]
pub(crate) fn text_of(outcome: &Outcome) -> &str {
    let Outcome::Complete(result) = outcome else {
        panic!("{outcome:?}");
    };
    let [Content::Text(block)] = result.content.as_slice() else {
        panic!("{result:?}");
    };
    &block.text
}

/// Asserts that a call was refused without detail: our own fault.
#[track_caller]
pub(crate) fn is_internal<T: Debug>(outcome: &Outcome<T>) {
    let Outcome::Refused(error) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(error.code, Code::INTERNAL_ERROR);
    assert_eq!(error.message, "Internal error");
}

/// Returns the keys of what a callback asks, in order.
#[track_caller]
pub(crate) fn keys<T: Debug>(outcome: &Outcome<T>) -> Vec<&str> {
    asked(outcome).into_iter().map(|(key, _)| key).collect()
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
        Outcome::InputRequired(_) | Outcome::Task(_) | _ => panic!("no result"),
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
