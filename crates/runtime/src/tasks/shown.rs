//! A task as the store knows it, and as clients are shown it.

use conduit_link::{TaskEra, TaskRecord, TaskStatus as Stored};
use conduit_protocol::{Era, TaskStatus, TaskView};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::journal::raw_of;

/// A record whose JSON has been read.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) record: TaskRecord,
    questions: Vec<(String, Box<RawValue>)>,
    outcome: Option<Box<RawValue>>,
}

impl Shown {
    pub(crate) fn of(record: TaskRecord) -> Self {
        let questions = record.questions.iter();
        let questions = questions
            .filter_map(|question| Some((question.key.clone(), raw_of(&question.json)?)))
            .collect();
        let outcome = record.outcome.as_ref().and_then(|json| raw_of(json));
        Self {
            questions,
            outcome,
            record,
        }
    }

    pub(crate) fn status(&self) -> TaskStatus {
        status_of(self.record.status)
    }

    /// Returns the result or the error, if there is one.
    pub(crate) fn outcome(&self) -> Option<&RawValue> {
        self.outcome.as_deref()
    }

    /// Returns what waits for an answer.
    pub(crate) fn questions(&self) -> &[(String, Box<RawValue>)] {
        &self.questions
    }

    /// Returns it as it is rendered.
    pub(crate) fn view(&self) -> TaskView<'_> {
        let record = &self.record;
        TaskView {
            id: record.id,
            status: self.status(),
            created_ms: record.created_ms,
            updated_ms: record.updated_ms,
            ttl_ms: record.ttl_ms,
            poll_ms: record.poll_ms,
            message: record.message.as_deref(),
            questions: &self.questions,
            outcome: self.outcome(),
        }
    }
}

/// Returns as much of a task's id as the log may have: who knows all of it may be who it
/// belongs to (R38), and an operator finds it by its beginning.
pub(crate) fn short(id: Uuid) -> String {
    let mut text = id.simple().to_string();
    text.truncate(8);
    text
}

pub(crate) const fn status_of(status: Stored) -> TaskStatus {
    match status {
        Stored::Working => TaskStatus::Working,
        Stored::InputRequired => TaskStatus::InputRequired,
        Stored::Completed => TaskStatus::Completed,
        Stored::Failed => TaskStatus::Failed,
        Stored::Cancelled => TaskStatus::Cancelled,
    }
}

pub(crate) const fn stored_era(era: Era) -> TaskEra {
    match era {
        Era::Modern => TaskEra::Modern,
        Era::Legacy => TaskEra::Legacy,
    }
}

pub(crate) const fn era_of(era: TaskEra) -> Era {
    match era {
        TaskEra::Modern => Era::Modern,
        TaskEra::Legacy => Era::Legacy,
    }
}
