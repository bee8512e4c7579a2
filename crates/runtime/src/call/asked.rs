//! What can be asked of a server: the methods that run a callback, and what is special
//! about each.

use std::time::Duration;

use conduit_protocol::{
    Code, Completion, Method, Outcome, PromptResult, ReadResult, Shaped, ToolResult, WireError,
};
use conduit_telemetry::{Outcome as Label, PromptSample, ReadSample, ServerMetrics, ToolSample};

/// The result of a method that runs a callback.
pub(crate) trait Asked: Shaped + Sized + Send + 'static {
    /// The method.
    const METHOD: Method;
    /// Whether its callback may ask the client for input (M-MRTR-01).
    const ASKS: bool = true;

    /// Whether it is a result that tells of a failure.
    fn is_failure(&self) -> bool {
        false
    }

    /// The same result, which nobody may keep.
    fn uncached(self) -> Self {
        self
    }

    /// What a client gets when the callback did not finish in time.
    fn late(callback: &str, limit: Duration) -> Outcome<Self> {
        let text = format!(
            "`{callback}` did not finish within {} s",
            limit.as_secs_f64()
        );
        Outcome::Refused(WireError::new(Code::INTERNAL_ERROR, text))
    }

    /// Counts one call. `subject` is what was asked for, as the client wrote it,
    /// unless that was no text.
    fn count(metrics: &ServerMetrics, subject: Option<&str>, outcome: Label, took: Duration);
}

impl Asked for ToolResult {
    const METHOD: Method = Method::ToolsCall;

    fn is_failure(&self) -> bool {
        self.is_error
    }

    fn late(callback: &str, limit: Duration) -> Outcome {
        Outcome::Complete(Self::failure(format!(
            "the tool `{callback}` did not finish within {} s",
            limit.as_secs_f64()
        )))
    }

    fn count(metrics: &ServerMetrics, subject: Option<&str>, outcome: Label, took: Duration) {
        metrics.tool(ToolSample {
            tool: subject,
            outcome,
            took,
        });
    }
}

impl Asked for ReadResult {
    const METHOD: Method = Method::ResourcesRead;

    fn uncached(self) -> Self {
        Self {
            cache: None,
            ..self
        }
    }

    fn count(metrics: &ServerMetrics, subject: Option<&str>, outcome: Label, took: Duration) {
        metrics.read(ReadSample {
            resource: subject,
            outcome,
            took,
        });
    }
}

impl Asked for PromptResult {
    const METHOD: Method = Method::PromptsGet;

    fn count(metrics: &ServerMetrics, subject: Option<&str>, outcome: Label, took: Duration) {
        metrics.prompt(PromptSample {
            prompt: subject,
            outcome,
            took,
        });
    }
}

impl Asked for Completion {
    const METHOD: Method = Method::CompletionComplete;
    const ASKS: bool = false;

    fn count(_metrics: &ServerMetrics, _subject: Option<&str>, _outcome: Label, _took: Duration) {}
}
