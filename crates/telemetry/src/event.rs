//! Everything that can be heard of. Past tense: it has happened.

use std::time::Duration;

use crate::label::{CancelledBy, Era, ExitCause, Outcome, Pool, RefusedReason};

/// The longest text of a client that an event keeps, in bytes.
pub const CLIP: usize = 1024;

/// Something that happened.
///
/// The names that the seeds gave to their events are the targets of the tracing
/// events, at level debug: `conduit_mcp.request.stop` and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A request was answered, whatever the answer (`request.stop`).
    ///
    /// Comes from [`ServerMetrics::request`](crate::ServerMetrics::request),
    /// which has counted it.
    RequestStopped {
        /// The label of the server.
        server: String,
        /// The method as the client wrote it; none when it wrote no string.
        method: Option<String>,
        /// The era.
        era: Era,
        /// The protocol version, where one was said or negotiated.
        version: Option<String>,
        /// What became of it.
        outcome: Outcome,
        /// Since the request was read.
        took: Duration,
        /// What the client said of its trace.
        trace: Trace<String>,
    },
    /// A tool was called, or would have been (`tool.execute`).
    ///
    /// Comes from [`ServerMetrics::tool`](crate::ServerMetrics::tool), which has
    /// counted it.
    ToolExecuted {
        /// The label of the server.
        server: String,
        /// The name as the client wrote it; none when it wrote no string.
        tool: Option<String>,
        /// What became of it.
        outcome: Outcome,
        /// Since the callback was started.
        took: Duration,
    },
    /// A resource was read, or would have been (`resource.read`).
    ///
    /// Comes from [`ServerMetrics::read`](crate::ServerMetrics::read), which has
    /// counted it.
    ResourceRead {
        /// The label of the server.
        server: String,
        /// The URI as the client wrote it; none when it wrote no string.
        uri: Option<String>,
        /// What became of it.
        outcome: Outcome,
        /// Since the callback was started.
        took: Duration,
    },
    /// A prompt was asked for (`prompt.get`).
    ///
    /// Comes from [`ServerMetrics::prompt`](crate::ServerMetrics::prompt), which has
    /// counted it.
    PromptGot {
        /// The label of the server.
        server: String,
        /// The name as the client wrote it; none when it wrote no string.
        prompt: Option<String>,
        /// What became of it.
        outcome: Outcome,
        /// Since the callback was started.
        took: Duration,
    },
    /// A client was asked for input (`mrtr.input_required`).
    ///
    /// Comes from
    /// [`ServerMetrics::input_required`](crate::ServerMetrics::input_required), which
    /// has counted it.
    InputRequired {
        /// The label of the server.
        server: String,
        /// The method of the request, a constant.
        method: &'static str,
        /// How many questions were asked at once.
        requests: usize,
        /// Whether there is a state to bring back.
        has_state: bool,
    },
    /// A client began to listen to changes (`subscription.start`).
    ///
    /// Comes from
    /// [`ServerMetrics::subscription_started`](crate::ServerMetrics::subscription_started),
    /// which has counted it.
    SubscriptionStarted {
        /// The label of the server.
        server: String,
        /// The id of the request that began it, as JSON text.
        subscription: String,
    },
    /// A client listens no longer (`subscription.stop`).
    ///
    /// Comes from
    /// [`ServerMetrics::subscription_stopped`](crate::ServerMetrics::subscription_stopped),
    /// which has timed it.
    SubscriptionStopped {
        /// The label of the server.
        server: String,
        /// The id of the request that began it, as JSON text.
        subscription: String,
        /// Why, as a constant word: `client`, `drain` or `empty`.
        reason: &'static str,
        /// Since it began.
        took: Duration,
    },
    /// A piece of work of a task ended; the task may go on later.
    ///
    /// Comes from [`ServerMetrics::task`](crate::ServerMetrics::task), which has
    /// counted it.
    TaskRun {
        /// The label of the server.
        server: String,
        /// The name of its tool.
        tool: String,
        /// What became of it.
        outcome: Outcome,
        /// Since it was begun.
        took: Duration,
    },
    /// A request was turned away before its callback.
    ///
    /// Comes from [`Telemetry::refused`](crate::Telemetry::refused), which has
    /// counted it.
    CallRefused {
        /// Why.
        reason: RefusedReason,
    },
    /// A request in flight was told to stop (`request.cancelled`).
    RequestCancelled {
        /// The request's id, as JSON text.
        request_id: String,
        /// The scope in which it was tracked (R4). Never logged: it may hold the
        /// id of a session.
        scope: String,
        /// What the client said, already cleaned.
        reason: Option<String>,
        /// Who stopped it.
        by: CancelledBy,
    },
    /// A callback panicked.
    CallbackPanicked {
        /// The label of the server.
        server: String,
        /// The registered name of the tool.
        tool: String,
    },
    /// A callback did not end in its grace; its thread is left to itself.
    WorkerAbandoned {
        /// The label of the server.
        server: String,
        /// The registered name of the tool.
        tool: String,
        /// The pool that has one thread or task less.
        pool: Pool,
    },
    /// An inline callback held up the loop.
    LoopStalled {
        /// The label of the server.
        server: String,
        /// The registered name of the tool.
        tool: String,
        /// For how long.
        took: Duration,
    },
    /// A child process was started.
    ChildStarted {
        /// Its slot, such as `gateway-0`.
        slot: String,
        /// Its process id.
        pid: u32,
    },
    /// A child process said that it is ready.
    ChildReady {
        /// Its slot.
        slot: String,
        /// Its process id.
        pid: u32,
        /// Since it was started.
        took: Duration,
    },
    /// A child process ended, asked or not.
    ChildExited {
        /// Its slot.
        slot: String,
        /// Its process id.
        pid: u32,
        /// Why.
        cause: ExitCause,
        /// The exit status or signal, as a person writes it.
        status: String,
    },
    /// A child process that had ended was started again.
    ChildRestarted {
        /// Its slot.
        slot: String,
        /// The process id of the successor.
        pid: u32,
        /// The delay before it.
        delay: Duration,
    },
    /// A slot failed too often and is left alone for a while.
    SlotParked {
        /// The slot.
        slot: String,
        /// For how long.
        pause: Duration,
    },
    /// A link to a peer came up.
    LinkUp {
        /// The peer's slot.
        peer: String,
    },
    /// A link to a peer went down.
    LinkDown {
        /// The peer's slot.
        peer: String,
        /// Why, as a constant phrase.
        reason: &'static str,
    },
    /// A child did not answer a scrape in time.
    ScrapeMissed {
        /// Its slot.
        slot: String,
    },
}

/// What a client said of its trace (W3C Trace Context and Baggage).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trace<T> {
    /// `traceparent`.
    pub traceparent: Option<T>,
    /// `tracestate`.
    pub tracestate: Option<T>,
    /// `baggage`.
    pub baggage: Option<T>,
}

impl Trace<&str> {
    /// Copies the texts, each cut at [`CLIP`].
    pub(crate) fn to_owned_clipped(self) -> Trace<String> {
        Trace {
            traceparent: self.traceparent.map(clip),
            tracestate: self.tracestate.map(clip),
            baggage: self.baggage.map(clip),
        }
    }
}

/// Copies a client's text, cut at [`CLIP`] bytes or a little before.
pub(crate) fn clip(text: &str) -> String {
    text.get(..text.floor_char_boundary(CLIP))
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_kept_whole() {
        assert_eq!(clip("tools/call"), "tools/call");
    }

    #[test]
    fn a_long_text_is_cut_between_two_characters() {
        let text = "é".repeat(CLIP);

        let clipped = clip(&format!("x{text}"));

        assert!(clipped.len() <= CLIP);
        assert!(clipped.ends_with('é'));
    }
}
