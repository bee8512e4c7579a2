//! Runs the demo's tools in tests, as the runtime would.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use conduit_server::{
    ClientCapabilities, Context, ContextParts, Emission, Emit, Input, ProgressToken,
};
use serde_json::Value;
use serde_json::value::to_raw_value;

/// Returns what a tool sees of a call of a client that can fill in forms, and asks for
/// progress, with what the tool says.
pub(super) fn parts() -> (ContextParts, Receiver<Emission>) {
    let (sender, said) = channel();
    let parts = ContextParts {
        capabilities: ClientCapabilities::from_json(r#"{"elicitation":{}}"#).expect("an object"),
        progress_token: ProgressToken::from_json("1").ok(),
        emit: Some(Arc::new(Ear(sender))),
        ..ContextParts::default()
    };
    (parts, said)
}

pub(super) fn context() -> Context {
    Context::new(parts().0)
}

/// Returns the context of the run after a client has answered what is asked under `key`.
pub(super) fn answered(key: &str, answer: &Value) -> Context {
    let answers = vec![(key.to_owned(), to_raw_value(answer).expect("JSON"))];
    let parts = ContextParts {
        input: Arc::new(Input::new(answers, None)),
        ..parts().0
    };
    Context::new(parts)
}

/// Drops what is said to nobody.
struct Ear(Sender<Emission>);

impl Emit for Ear {
    fn emit(&self, emission: Emission) {
        drop(self.0.send(emission));
    }
}
