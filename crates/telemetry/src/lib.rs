//! What a process counts, times and says of itself.
//!
//! [`Telemetry`] is the handle of a whole process. Three ways lead into it:
//!
//! - what happens with each request goes **straight** to pre-bound counters
//!   ([`ServerMetrics::request`], [`ServerMetrics::tool`], [`Telemetry::refused`],
//!   the [`Gauge`]s): no queue, no allocation, no lock that a writer holds, but for the
//!   moment in which a server gets new tools;
//! - what happens rarely is an [`Event`]: [`Telemetry::emit`] hands it to the
//!   sink actor, which counts it and writes the log line;
//! - what *is*, rather than happens, is asked for at scrape time by collectors
//!   ([`Telemetry::collect_with`]).
//!
//! The requests' own events ([`Event::RequestStopped`] and its kin) reach the
//! sink only while somebody listens, because a hop costs more than the count.
//!
//! A child answers a scrape with [`Telemetry::encode`]; the supervisor merges the
//! answers with [`exposition()`]. Names of metrics are in one table, [`table`], and
//! nobody outside this crate names one.
//!
//! # Bounds
//!
//! | what | bound |
//! | --- | --- |
//! | events that wait for the sink | [`QUEUE`]; more are dropped and counted |
//! | servers with a label of their own | [`SERVERS`], then `other` |
//! | tools with a label of their own, per server | [`TOOLS`], then `other` (R26) |
//! | a text from a client inside an event | [`CLIP`] bytes |
//! | a snapshot that is decoded | [`MAX_SNAPSHOT`] bytes |
//! | a log line | never waited for: a reader that stalls loses lines, counted |

mod event;
mod exposition;
mod gauge;
mod instruments;
mod label;
mod logging;
mod metric;
mod process;
mod server_metrics;
mod sink;
mod snapshot;
mod telemetry;

pub use self::event::{CLIP, Event, Trace};
pub use self::exposition::exposition;
pub use self::gauge::{Gauge, Held};
pub use self::label::{
    BadState, CancelledBy, ChangeOutcome, Direction, Era, ExitCause, LostKind, MailOutcome,
    Outcome, Pool, RefusedReason, StoreOperation, StoreOutcome, StreamChange, StreamKind,
    TakeoverOutcome, TaskState,
};
pub use self::logging::{LogFormat, init_logging};
pub use self::metric::{Kind, Metric, Unit, table};
pub use self::server_metrics::{
    PromptSample, ReadSample, RequestSample, SERVERS, ServerMetrics, TOOLS, TaskSample, ToolSample,
};
pub use self::sink::QUEUE;
pub use self::snapshot::MAX_SNAPSHOT;
pub use self::telemetry::{LinkSample, Propagation, SlotSample, Telemetry};

/// Why telemetry could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The sink could not be started.
    #[error("cannot start the telemetry sink")]
    Sink(#[from] conduit_actor::SpawnFailed),
    /// The sink did not say in time that it has counted everything.
    #[error("the telemetry sink did not finish what it holds")]
    Flush(#[source] conduit_actor::AskError),
    /// The log filter is not one.
    #[error("`{filter}` is not a log filter")]
    Filter {
        /// What was asked for.
        filter: String,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something else in this process receives its log lines already.
    #[error("this process logs already")]
    Logging(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A snapshot is longer than [`MAX_SNAPSHOT`].
    #[error("a snapshot of {bytes} bytes is longer than any may be")]
    SnapshotTooLong {
        /// How long it is.
        bytes: usize,
    },
    /// A snapshot cannot be read.
    #[error("cannot read a snapshot of metrics")]
    Snapshot(#[source] serde_json::Error),
    /// A snapshot holds a sample that the table of metrics does not allow.
    #[error("`{process}` sent a sample of `{metric}` that the table does not allow")]
    Sample {
        /// Who sent it.
        process: String,
        /// The name in question.
        metric: String,
    },
}
