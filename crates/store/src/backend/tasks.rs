//! What a database must be able to do with tasks.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use conduit_link::{
    Asker, Holding, NewTask, TakenTask, TaskEntry, TaskEra, TaskOwner, TaskRecord, TaskStatus,
};
use uuid::Uuid;

use super::Failure;
use crate::clock::Moment;
use crate::task::{Holder, Limits, Loss};

/// What can be done with tasks inside a transaction. A task whose time is over is not
/// found by any of it.
pub(crate) trait TaskTables {
    /// Keeps a new task, which `holder` holds unless it holds as many as it may.
    ///
    /// One that exists already stays as it is: the caller asks again because it did
    /// not hear the first answer.
    fn create(
        &mut self,
        task: &NewTask,
        holder: Holder,
        limits: &Limits,
        now: Moment,
    ) -> Result<Creating, Failure>;

    /// Keeps what the client of a task has answered.
    fn answer(
        &mut self,
        id: Uuid,
        asker: &Asker,
        answers: &[TaskEntry],
        now: Moment,
    ) -> Result<Answering, Failure>;

    /// Cancels a task that the asker may see, or the operator.
    fn cancel(
        &mut self,
        id: Uuid,
        asker: Option<&Asker>,
        now: Moment,
    ) -> Result<Option<Cancelling>, Failure>;

    /// Lets `holder` hold tasks that are ready, the oldest first.
    fn take(
        &mut self,
        holder: Holder,
        limit: u16,
        limits: &Limits,
        now: Moment,
    ) -> Result<Vec<TakenTask>, Failure>;

    /// Notes what a task says of itself.
    fn note(&mut self, holding: Holding, message: &str, now: Moment) -> Result<Holdings, Failure>;

    /// Ends a round with questions.
    fn suspend(
        &mut self,
        holding: Holding,
        journal: &[u8],
        questions: &[TaskEntry],
        now: Moment,
    ) -> Result<Holdings, Failure>;

    /// Ends a task.
    fn finish(
        &mut self,
        holding: Holding,
        status: TaskStatus,
        outcome: &[u8],
        message: Option<&str>,
        now: Moment,
    ) -> Result<Holdings, Failure>;

    /// Takes tasks from the life that holds them, at most a
    /// [`SLICE`](crate::task::SLICE).
    fn lose(
        &mut self,
        life: Uuid,
        which: Which<'_>,
        loss: Loss,
        now: Moment,
    ) -> Result<Losses, Failure>;

    /// Removes tasks whose time is over, the longest over first, at most a
    /// [`SLICE`](crate::task::SLICE).
    fn expire(&mut self, now: Moment) -> Result<Vec<Expired>, Failure>;

    /// Spends a state, unless there are as many spent ones as there may be.
    fn spend(
        &mut self,
        nonce: Uuid,
        until: Moment,
        limits: &Limits,
        now: Moment,
    ) -> Result<Spending, Failure>;

    /// Forgets spent states that nobody can use any more, at most a
    /// [`SLICE`](crate::task::SLICE), and tells how many.
    fn forget_spent(&mut self, now: Moment) -> Result<usize, Failure>;
}

/// Reads what is committed of tasks. One whose time is over is not found by any of it.
pub(crate) trait TaskReader {
    /// Looks a task up.
    fn task(&self, id: Uuid, now: Moment) -> Result<Option<TaskRecord>, Failure>;

    /// Returns the versions of those that there are.
    fn versions(&self, ids: &[Uuid], now: Moment) -> Result<Vec<(Uuid, u64)>, Failure>;

    /// Returns tasks of an owner, without outcomes and questions: the newest first, at
    /// most `limit` of those that come after the place.
    fn tasks(
        &self,
        of: Listed<'_>,
        after: Option<Place>,
        limit: usize,
        now: Moment,
    ) -> Result<Vec<TaskRecord>, Failure>;

    /// Returns whoever holds tasks.
    fn holders(&self) -> Result<Vec<Holder>, Failure>;

    /// Returns what a life holds, and since when.
    fn held(&self, life: Uuid) -> Result<Vec<(Holding, Moment)>, Failure>;

    /// Returns when the time of the next task is over.
    fn next_expiry(&self) -> Result<Option<Moment>, Failure>;
}

/// What became of a new task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Creating {
    /// The task and, if the holder holds it, with which fence; nothing when there are
    /// as many as there may be.
    pub(crate) kept: Option<(TaskRecord, Option<u64>)>,
    /// Those whose time was over and that have left.
    pub(crate) expired: Vec<Expired>,
}

/// What became of answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answering {
    /// They are kept, as far as they were asked for.
    Kept {
        /// The task.
        record: Box<TaskRecord>,
        /// Whether its work can go on.
        resumed: bool,
    },
    /// They are too large.
    Full,
    /// The asker may see no such task.
    Unknown,
}

/// What became of a task that was to be cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cancelling {
    /// The task.
    pub(crate) record: TaskRecord,
    /// Whether it had ended before.
    pub(crate) had_ended: bool,
    /// Who held it.
    pub(crate) holder: Option<Holder>,
}

/// What became of a holding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Holdings {
    /// It is done.
    Done(Box<TaskRecord>),
    /// The holding is no more.
    Fenced,
    /// What was to be kept is too large.
    Full,
}

/// Which of its tasks a life loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which<'a> {
    /// All.
    All,
    /// These.
    Only(&'a HashSet<Holding>),
    /// All but these, if they were leased before.
    AllBut(&'a HashSet<Holding>, Moment),
}

/// Tasks that lost their holder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// They are ready again.
    pub(crate) ready: Vec<Uuid>,
    /// They have failed.
    pub(crate) failed: Vec<Uuid>,
}

/// A task whose time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expired {
    pub(crate) id: Uuid,
    /// Who held it.
    pub(crate) holder: Option<Holder>,
    /// Whether it had ended before.
    pub(crate) had_ended: bool,
}

/// Whose tasks are listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed<'a> {
    pub(crate) owner: &'a TaskOwner,
    pub(crate) server: &'a str,
    pub(crate) era: TaskEra,
}

/// Where a task is in the list of them, the newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) created: Moment,
    pub(crate) id: Uuid,
}

/// What became of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spending {
    /// It is spent now.
    Now,
    /// It was spent before.
    Before,
    /// There are as many spent ones as there may be.
    Full,
}

/// A spent state is kept for so long after its end: the clocks of two processes differ.
pub(crate) const SPENT_LONGER: Duration = Duration::from_mins(1);

impl Losses {
    /// Returns how many there are.
    pub(crate) const fn len(&self) -> usize {
        self.ready.len() + self.failed.len()
    }
}

impl Place {
    /// Returns where a task is.
    pub(crate) fn of(task: &TaskRecord) -> Self {
        Self {
            created: Moment::new(0).plus(task.created_ms),
            id: task.id,
        }
    }

    /// Reads it from the text that a client brings back; nothing if it is not ours.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (created, id) = text.split_once('-')?;
        let place = Self {
            created: Moment::new(i64::from_str_radix(created, 16).ok()?),
            id: Uuid::parse_str(id).ok()?,
        };
        (place.to_string() == text).then_some(place)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{}", self.created.since_1970(), self.id.simple())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_back_from_its_text() {
        let place = Place {
            created: Moment::new(1_764_500_000_123),
            id: Uuid::from_u128(7),
        };

        assert_eq!(Place::parse(&place.to_string()), Some(place));
    }

    #[test]
    fn a_text_of_somebody_else_is_no_place() {
        let id = Uuid::from_u128(7).simple();
        for text in [
            String::new(),
            "7".to_owned(),
            format!("x-{id}"),
            format!("+7-{id}"),
            format!("07-{id}"),
            format!("7-{}", Uuid::from_u128(7)),
            format!("7-{id} "),
        ] {
            assert_eq!(Place::parse(&text), None, "{text}");
        }
    }
}
