//! What a call says before its result.

use std::time::Duration;

use conduit_protocol::LogLevel;
use serde_json::Value;

/// Something that a call tells its client while it is still running.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Emission {
    /// How far it is.
    Progress {
        /// How much is done; finite, in a unit of the tool's choice.
        done: f64,
        /// How much there is to do, if that is known; finite.
        total: Option<f64>,
        /// What it is doing, for a person.
        message: Option<String>,
    },
    /// A line for the client's log.
    Log {
        /// How serious it is.
        level: LogLevel,
        /// What speaks.
        logger: Option<String>,
        /// What it says: a text, or any other JSON.
        data: Value,
    },
    /// What a task is doing, for a person. Of a task alone.
    Status {
        /// The text.
        message: String,
    },
    /// Nothing more on this stream: the client may come back for the rest.
    Close {
        /// How long it should wait before it does.
        retry: Duration,
    },
}

/// Takes what a call emits, on behalf of the runtime.
pub trait Emit: Send + Sync {
    /// Takes one. Never blocks, and has a bound: what does not fit is conflated or
    /// dropped, and counted.
    fn emit(&self, emission: Emission);
}
