//! A handler in this process, without any transport.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use conduit::telemetry::Event;
use conduit::{
    Accepts, Context, Events, Handler, Head, LogLevel, NoArguments, Reply, Servers, Toolbox,
    ToolboxBuilder, tool,
};
use conduit_testkit::{PATIENCE, wait_until};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{CAPABILITIES, VERSION};

/// More events than any test causes.
const EVENTS: usize = 1_000;

/// A handler, and what can be seen of it.
pub(crate) struct House {
    pub(crate) handler: Handler,
    /// How often any callback has run.
    calls: Arc<AtomicUsize>,
    events: mpsc::Receiver<Event>,
}

impl House {
    pub(crate) async fn start() -> Self {
        let calls = Arc::default();
        let servers = Servers::new().with(toolbox(&calls));
        let handler = Handler::start(servers).await.expect("a handler");
        let (heard, events) = mpsc::channel(EVENTS);
        handler
            .telemetry()
            .listen(move |event| heard.try_send(event.clone()).expect("room"));
        Self {
            handler,
            calls,
            events,
        }
    }

    /// Sends a message that is answered with one message; returns it with its status.
    pub(crate) async fn one(&self, head: Head, message: &Value) -> (u16, Value) {
        let Reply::Message(reply) = self.handler.dispatch(message.to_string(), head).await else {
            panic!("one message expected to {message}");
        };
        let answer = reply.message.into_bytes();
        (reply.status, serde_json::from_slice(&answer).expect("JSON"))
    }

    /// Sends a message that is answered with a stream.
    pub(crate) async fn opened(&self, message: &Value) -> Events {
        let reply = self.handler.dispatch(message.to_string(), reads_events());
        let Reply::Stream(events) = reply.await else {
            panic!("a stream expected to {message}");
        };
        events
    }

    /// Sends a message that is answered with a stream; returns all of it.
    pub(crate) async fn stream(&self, message: &Value) -> Vec<Value> {
        let events = self.opened(message).await;
        let messages = events.filter_map(async |event| event.message);
        messages
            .map(|message| serde_json::from_slice(&message.into_bytes()).expect("JSON"))
            .collect()
            .await
    }

    /// Hands a message to the wrapper; nothing for what has no answer.
    pub(crate) async fn wrapped(&self, message: &Value) -> Option<Value> {
        let answer = self.handler.handle_request(message.to_string()).await?;
        Some(serde_json::from_slice(&answer).expect("JSON"))
    }

    /// Returns how often any callback has run.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Waits until that many calls are in flight.
    pub(crate) async fn in_flight(&self, count: i64) {
        wait_until(&format!("{count} calls in flight"), PATIENCE, async || {
            (self.handler.telemetry().in_flight().level() == count).then_some(())
        })
        .await;
    }

    /// Waits for the next event that `what` returns something for.
    pub(crate) async fn hear<T>(&mut self, what: impl Fn(Event) -> Option<T>) -> T {
        let heard = async {
            loop {
                let event = self.events.recv().await.expect("a sink");
                if let Some(heard) = what(event) {
                    return heard;
                }
            }
        };
        tokio::time::timeout(PATIENCE, heard)
            .await
            .expect("an event in time")
    }
}

/// The head of a message of a client that can read streams.
pub(crate) fn reads_events() -> Head {
    Head {
        accepts: Accepts {
            json: true,
            events: true,
        },
        ..Head::default()
    }
}

/// The head of a message that came from an address.
pub(crate) fn from(client: &str) -> Head {
    Head {
        client: Some(client.parse::<IpAddr>().expect("an address")),
        ..Head::default()
    }
}

/// `R(id, method, params)`.
pub(crate) fn request(id: u64, method: &str, params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
    message["params"] = params;
    message
}

/// `R(id, method, params)` with `META`.
pub(crate) fn modern(id: u64, method: &str, params: Value) -> Value {
    let mut message = request(id, method, params);
    let meta = &mut message["params"]["_meta"];
    meta[VERSION] = json!("2026-07-28");
    meta[CAPABILITIES] = json!({});
    message
}

// === Behind the handler ===

fn toolbox(calls: &Arc<AtomicUsize>) -> ToolboxBuilder {
    let count = |calls: &Arc<AtomicUsize>| {
        let calls = Arc::clone(calls);
        move || calls.fetch_add(1, Ordering::Relaxed)
    };
    let (echoed, waited) = (count(calls), count(calls));
    let (stepped, told) = (count(calls), count(calls));
    Toolbox::builder("inside", "1")
        .tool(tool("hello", "", move |_: NoArguments, _: Context| {
            echoed();
            async { "hello" }
        }))
        .tool(tool(
            "whoami",
            "",
            move |_: NoArguments, context: Context| {
                told();
                async move { whoami(&context) }
            },
        ))
        .tool(tool(
            "forever",
            "",
            move |_: NoArguments, context: Context| {
                waited();
                async move {
                    context.progress(1.0, None, None);
                    context.cancelled().await;
                    "cancelled"
                }
            },
        ))
        .tool(tool(
            "steps",
            "",
            move |_: NoArguments, context: Context| {
                stepped();
                async move { steps(&context) }
            },
        ))
        .list_changes()
        .resource_updates()
}

fn whoami(context: &Context) -> String {
    let session = context.session().unwrap_or("no session");
    format!("{}, {session}", context.era().as_str())
}

fn steps(context: &Context) -> &'static str {
    for step in [1.0, 2.0, 3.0] {
        context.progress(step, Some(3.0), None);
    }
    context.log(LogLevel::Debug, None, "all steps are done");
    context.log(LogLevel::Error, None, "nothing is left to do");
    "ok"
}
