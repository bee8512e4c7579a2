//! Work that goes on after its request has been answered.
//!
//! Two protocols that are not compatible on the wire: the extension of the modern
//! era (9.1) and the tasks of 2025-11-25 (9.2). What they mean is the same here;
//! how they are written is the shapers' matter.

mod params;

use std::time::Duration;

use serde_json::value::RawValue;
use uuid::Uuid;

pub use crate::task::params::{TaskAugmentation, TaskParams, UpdateTaskParams};

/// What a callback says of a task when it starts one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTask {
    /// For how many milliseconds from now on the task is kept; the server decides when
    /// nothing is said.
    pub ttl_ms: Option<u64>,
    /// After how many milliseconds it is worth to look again.
    pub poll_ms: Option<u64>,
    /// What a person reads about its status.
    pub message: Option<String>,
}

/// How far a task has come.
///
/// Source: T-TASK-06, T-TASK-10, L-TASK-05.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskStatus {
    /// It goes on.
    Working,
    /// It waits for answers of its client.
    InputRequired,
    /// It has a result.
    Completed,
    /// It has an error; in 2025-11-25 also: its result says that a tool failed
    /// (T-TASK-11, L-TASK-11).
    Failed,
    /// It was stopped.
    Cancelled,
}

/// A task as it is shown.
///
/// Source: T-TASK-06, T-TASK-09, L-TASK-05.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'a> {
    /// Names the task, and without authentication is the right to it (R38).
    pub id: Uuid,
    /// How far it has come.
    pub status: TaskStatus,
    /// When it was made, in milliseconds since 1970, UTC.
    pub created_ms: u64,
    /// When it last changed, likewise.
    pub updated_ms: u64,
    /// For how many milliseconds after it was made it is kept; for ever when nothing
    /// is said.
    pub ttl_ms: Option<u64>,
    /// After how many milliseconds it is worth to look again.
    pub poll_ms: Option<u64>,
    /// What a person reads about its status.
    pub message: Option<&'a str>,
    /// The questions that wait for an answer, as [`InputRequest::write_json`] writes
    /// them. Shown in the modern era, while the status says so.
    ///
    /// [`InputRequest::write_json`]: crate::InputRequest::write_json
    pub questions: &'a [(String, Box<RawValue>)],
    /// What came of it: the result object of [`Face::stored_result`], or the error
    /// object of [`WireError::to_json`]. Shown in the modern era, once the status says
    /// so.
    ///
    /// [`Face::stored_result`]: crate::Face::stored_result
    /// [`WireError::to_json`]: crate::WireError::to_json
    pub outcome: Option<&'a RawValue>,
}

impl NewTask {
    /// Starts a task of which nothing is said.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says for how long the task is kept.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl_ms = Some(milliseconds(ttl));
        self
    }

    /// Says after how long it is worth to look again.
    #[must_use]
    pub fn with_poll_interval(mut self, interval: Duration) -> Self {
        self.poll_ms = Some(milliseconds(interval));
        self
    }

    /// Says what a person reads about its status.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}

impl TaskStatus {
    /// Every status.
    pub const ALL: [Self; 5] = [
        Self::Working,
        Self::InputRequired,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Returns the word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Reads the word on the wire.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Returns whether it is the last one: it never changes again.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Working | Self::InputRequired => false,
            Self::Completed | Self::Failed | Self::Cancelled => true,
        }
    }
}

// === Behind the handle ===

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_as_it_is_written() {
        for status in TaskStatus::ALL {
            assert_eq!(TaskStatus::parse(status.as_str()), Some(status));
        }
        for word in ["", "Working", "done", "inputRequired"] {
            assert_eq!(TaskStatus::parse(word), None, "{word}");
        }
    }

    #[test]
    fn three_statuses_are_the_last_ones() {
        let last = TaskStatus::ALL.into_iter().filter(|s| s.is_terminal());

        assert_eq!(
            last.collect::<Vec<_>>(),
            [
                TaskStatus::Completed,
                TaskStatus::Failed,
                TaskStatus::Cancelled
            ]
        );
    }

    #[test]
    fn a_new_task_counts_in_milliseconds() {
        let task = NewTask::new()
            .with_ttl(Duration::from_mins(1))
            .with_poll_interval(Duration::MAX)
            .with_message("building");

        let expected = NewTask {
            ttl_ms: Some(60_000),
            poll_ms: Some(u64::MAX),
            message: Some("building".into()),
        };
        assert_eq!(task, expected);
    }
}
