//! What becomes of a task when its callback has returned: no clock, no channel, no
//! `async`.

use std::time::Duration;

use conduit_link::{TaskEntry, TaskStatus};
use conduit_protocol::{
    ClientCapabilities, Content, Era, Face, InputRequired, Outcome, ToolResult, WireError,
};
use conduit_server::Input;
use conduit_telemetry::Outcome as Label;
use serde_json::value::RawValue;
use tracing::{error, warn};
use uuid::Uuid;

use super::journal::Journal;
use crate::call::Asked;
use crate::rounds::{self, Carried};
use crate::workers::Ended;

/// The longest status message, in bytes.
const LONGEST: usize = 1_024;

/// What follows a round.
#[derive(Debug)]
pub(super) enum Next {
    /// The work ends for now.
    End(Ending),
    /// The callback wants to run again, with what it has noted.
    Again(Carried),
}

/// What the store is told.
#[derive(Debug)]
pub(super) enum Ending {
    /// It is over.
    Finish(Finish),
    /// It waits for its client.
    Suspend {
        journal: Vec<u8>,
        questions: Vec<TaskEntry>,
    },
}

/// How a task is over.
#[derive(Debug)]
pub(super) struct Finish {
    pub(super) status: TaskStatus,
    pub(super) outcome: Box<RawValue>,
    pub(super) message: Option<String>,
}

/// Decides for one task.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    pub(super) face: &'a Face,
    pub(super) era: Era,
    pub(super) task: Uuid,
    pub(super) tool: &'a str,
    pub(super) capabilities: &'a ClientCapabilities,
    /// The largest result, in bytes.
    pub(super) result_bytes: usize,
    /// The most rounds.
    pub(super) rounds: u32,
}

/// What was known in the round that has ended.
pub(super) struct Round<'a> {
    pub(super) number: u32,
    pub(super) input: &'a Input,
    /// What the callback said last.
    pub(super) said: Option<String>,
}

impl Judge<'_> {
    /// Decides what becomes of the task; the journal notes what is asked.
    pub(super) fn decide(
        &self,
        ended: Ended<ToolResult>,
        time_limit: Duration,
        round: Round<'_>,
        journal: &mut Journal,
    ) -> Next {
        let finish = match ended.into_outcome(self.tool, time_limit) {
            Outcome::InputRequired(asked) => match self.ask(&asked, &round, journal) {
                Ok(next) => return next,
                Err(refused) => Finish::failed(&refused),
            },
            Outcome::Complete(result) => self.complete(&result, round.said),
            Outcome::Refused(refused) => Finish::failed(&refused),
            Outcome::Task(_) => Finish::failed(&WireError::task_not_possible()),
            // The list may grow.
            _ => Finish::failed(&WireError::internal()),
        };
        Next::End(Ending::Finish(finish))
    }

    fn complete(&self, result: &ToolResult, said: Option<String>) -> Finish {
        let outcome = self.face.stored_result(self.era, self.task, result);
        if outcome.get().len() > self.result_bytes {
            return self.too_large(outcome.get().len());
        }
        match self.era {
            // T-TASK-11 and L-TASK-11 are opposites.
            Era::Legacy if result.is_error => Finish {
                status: TaskStatus::Failed,
                message: Some(failure_of(result)),
                outcome,
            },
            Era::Legacy | Era::Modern => Finish {
                status: TaskStatus::Completed,
                message: said,
                outcome,
            },
        }
    }

    /// A result that is larger than one may be kept.
    pub(super) fn too_large(&self, bytes: usize) -> Finish {
        let Self {
            tool, result_bytes, ..
        } = self;
        warn!(
            tool,
            bytes,
            limit = result_bytes,
            "result of a task is too large to be kept"
        );
        let text = format!("the result of `{tool}` has more than {result_bytes} bytes");
        let code = WireError::internal().code;
        Finish::failed(&WireError::new(code, text))
    }

    fn ask(
        &self,
        asked: &InputRequired,
        round: &Round<'_>,
        journal: &mut Journal,
    ) -> Result<Next, WireError> {
        let InputRequired { requests, state } = asked;
        rounds::check(asked)?;
        let declared = rounds::check_declared(requests, self.capabilities);
        declared.map_err(|undeclared| match self.era {
            Era::Modern => undeclared,
            // R6: where the client cannot be asked, there is no such error.
            Era::Legacy => WireError::input_not_possible(),
        })?;
        let carried = Carried::after(round.number, round.input, state.clone());
        if carried.round > self.rounds {
            error!(
                tool = self.tool,
                limit = self.rounds,
                "a task asks too often"
            );
            return Err(WireError::internal());
        }
        if requests.is_empty() {
            return Ok(Next::Again(carried));
        }
        let questions = journal.ask(carried, requests);
        Ok(Next::End(Ending::Suspend {
            journal: journal.to_json(),
            questions,
        }))
    }
}

impl Finish {
    pub(super) fn failed(refused: &WireError) -> Self {
        Self {
            status: TaskStatus::Failed,
            outcome: refused.to_json(),
            message: Some(clip(&refused.message)),
        }
    }
}

/// Returns what a run is counted as.
pub(super) fn label(ended: &Ended<ToolResult>) -> Label {
    match ended {
        Ended::Returned(Outcome::Complete(result)) if result.is_failure() => Label::ToolError,
        Ended::Returned(Outcome::Complete(_)) => Label::Ok,
        Ended::Returned(Outcome::InputRequired(_)) => Label::InputRequired,
        Ended::Returned(_) => Label::Error,
        Ended::Panicked => Label::Panic,
        Ended::OutOfTime => Label::Timeout,
        Ended::Aborted => Label::Cancelled,
    }
}

/// Whether a callback that was told to stop did, rather than finish.
pub(super) fn gave_up(ended: &Ended<ToolResult>) -> bool {
    match ended {
        Ended::Returned(Outcome::Complete(result)) => result.is_failure(),
        Ended::Returned(Outcome::InputRequired(_)) | Ended::Panicked | Ended::OutOfTime => false,
        Ended::Returned(_) | Ended::Aborted => true,
    }
}

/// The first text of a result that tells of a failure.
fn failure_of(result: &ToolResult) -> String {
    let text = result.content.iter().find_map(|block| {
        if let Content::Text(block) = block {
            Some(clip(&block.text))
        } else {
            None
        }
    });
    text.unwrap_or_else(|| "the tool has failed".to_owned())
}

fn clip(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST);
    text.get(..end).unwrap_or_default().to_owned()
}
