//! What may become of a task: its transitions, and the limits on all of them. Pure.
//!
//! A task is *held* while a gateway does its work, *ready* while its work waits for
//! one, and neither while it waits for its client or has ended. Whoever does its work
//! names its holding by the fence, which grows with each holding and whenever one is
//! taken away: what comes late is refused.

#[cfg(test)]
mod tests;

use std::time::Duration;

use conduit_link::{NewTask, TaskEntry, TaskStatus};
use uuid::Uuid;

use crate::clock::Moment;

/// The most tasks that one transaction deletes or takes from a holder, so that none
/// grows long.
pub(crate) const SLICE: usize = 200;

/// The most bytes of what travels with a task in one message; a frame of 8 MiB has
/// room for the rest of it.
pub(crate) const ROOM: usize = (8 << 20) - (256 << 10);

/// The most bytes of work that one answer hands over, unless a single task has more.
pub(crate) const TAKEN: usize = 2 << 20;

/// The most questions that a task asks at a time.
pub(crate) const QUESTIONS: usize = 1_000;

/// The most bytes of what a task says of itself.
const MESSAGE: usize = 1_024;

/// A holder does not have to name a task before this time, however short the lease is:
/// the news of it may be on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(2);

/// How tasks are kept, and how many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The most tasks, ended ones included.
    pub(crate) total: u64,
    /// The most of one owner; whoever knows only an id owns nothing.
    pub(crate) per_owner: u64,
    /// The most of one server that one gateway holds.
    pub(crate) running: u64,
    /// The most of those that belong to one owner.
    pub(crate) running_per_owner: u64,
    /// The largest outcome, in bytes.
    pub(crate) result: usize,
    /// The most spent states.
    pub(crate) spent: u64,
}

/// How many there are, against [`Limits`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) all: u64,
    /// Of the owner; nothing if there is none.
    pub(crate) of_owner: Option<u64>,
}

impl Limits {
    /// Tells whether one more task may be kept.
    pub(crate) fn may_keep(&self, kept: Load) -> bool {
        kept.all < self.total && kept.of_owner.is_none_or(|kept| kept < self.per_owner)
    }

    /// Tells whether a gateway may hold one more task.
    pub(crate) fn may_hold(&self, held: Load) -> bool {
        held.all < self.running
            && held
                .of_owner
                .is_none_or(|held| held < self.running_per_owner)
    }

    /// Tells whether an outcome is small enough to be kept, and to be sent.
    pub(crate) fn may_end_with(&self, outcome: &[u8]) -> bool {
        outcome.len() <= self.result.min(ROOM)
    }
}

/// Tells whether a new task is small enough to be handed over.
pub(crate) fn fits(task: &NewTask) -> bool {
    task.input.len().saturating_add(task.journal.len()) <= ROOM
}

/// Returns how many bytes questions or answers have.
pub(crate) fn size(entries: &[TaskEntry]) -> usize {
    entries.iter().fold(0, |sum, entry| {
        sum.saturating_add(entry.key.len())
            .saturating_add(entry.json.len())
    })
}

/// Returns the moment before which a task was leased that its holder would name by
/// now, if it had it.
pub(crate) fn named_by_now(lease: Duration, now: Moment) -> Moment {
    now.minus((lease / 3).max(ON_ITS_WAY))
}

/// Cuts what a task says of itself to the length that is kept.
pub(crate) fn cut(mut message: String) -> String {
    let mut end = MESSAGE.min(message.len());
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.truncate(end);
    message
}

/// Who holds a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// The life of the gateway.
    pub(crate) life: Uuid,
    /// The index of its slot.
    pub(crate) slot: u16,
}

/// The part of a task that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Course {
    pub(crate) status: TaskStatus,
    /// Grows with each change that a client could see.
    pub(crate) version: u64,
    /// When a client could last see one.
    pub(crate) updated: Moment,
    pub(crate) message: Option<String>,
    /// Starts without the end of a round.
    pub(crate) attempt: u16,
    /// The most of them.
    pub(crate) attempts: u16,
    pub(crate) fence: u64,
    pub(crate) holder: Option<Holder>,
    /// When it was last leased.
    pub(crate) leased: Option<Moment>,
}

/// The holding is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fenced;

/// The task had ended before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended;

/// What became of the end of a holding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It has ended now.
    Now,
    /// It had ended, and by nothing but the same: the first answer was not heard.
    Before,
}

/// Why a holder has lost its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// It has died, or does not have them.
    Died,
    /// It gives them back.
    Released,
}

/// What became of a task without a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its work may be started again.
    Ready,
    /// It has failed.
    Failed,
}

impl Course {
    /// Begins a task, which is ready.
    pub(crate) fn begin(attempts: u16, message: Option<String>, now: Moment) -> Self {
        Self {
            status: TaskStatus::Working,
            version: 1,
            updated: now,
            message: message.map(cut),
            attempt: 0,
            attempts: attempts.max(1),
            fence: 0,
            holder: None,
            leased: None,
        }
    }

    /// Tells whether its work waits for somebody to do it.
    pub(crate) fn is_ready(&self) -> bool {
        self.status == TaskStatus::Working && self.holder.is_none()
    }

    /// Lets somebody do its work, which no client can see.
    pub(crate) fn hold(&mut self, holder: Holder, now: Moment) {
        self.attempt = self.attempt.saturating_add(1);
        self.fence = self.fence.saturating_add(1);
        self.holder = Some(holder);
        self.leased = Some(now);
    }

    /// Notes what it says of itself.
    pub(crate) fn note(&mut self, fence: u64, message: String, now: Moment) -> Result<(), Fenced> {
        if !self.is_held_by(fence) {
            return Err(Fenced);
        }
        self.message = Some(cut(message));
        self.change(now);
        Ok(())
    }

    /// Ends a round with questions.
    pub(crate) fn suspend(&mut self, fence: u64, now: Moment) -> Result<Ending, Fenced> {
        // Nothing but this ends a holding, raises no fence and leaves the task going on.
        let was_held = fence > 0 && self.fence == fence;
        if was_held && self.holder.is_none() && !self.status.is_terminal() {
            return Ok(Ending::Before);
        }
        if !self.is_held_by(fence) {
            return Err(Fenced);
        }
        self.status = TaskStatus::InputRequired;
        self.holder = None;
        self.attempt = 0;
        self.change(now);
        Ok(Ending::Now)
    }

    /// Takes note of answers: of all that are outstanding, or of some.
    pub(crate) fn answer(&mut self, all: bool, now: Moment) {
        if all {
            self.status = TaskStatus::Working;
        }
        self.change(now);
    }

    /// Ends it, completed or failed. If it [had ended](Ending::Before), by the same
    /// holding and with the same status, the outcomes are still to be compared.
    pub(crate) fn finish(
        &mut self,
        fence: u64,
        status: TaskStatus,
        message: Option<String>,
        now: Moment,
    ) -> Result<Ending, Fenced> {
        if self.fence == fence && self.status == status && self.status.is_terminal() {
            return Ok(Ending::Before);
        }
        if !self.is_held_by(fence) {
            return Err(Fenced);
        }
        self.end(status, message, now);
        Ok(Ending::Now)
    }

    /// Cancels it, and returns who held it.
    pub(crate) fn cancel(&mut self, now: Moment) -> Result<Option<Holder>, Ended> {
        if self.status.is_terminal() {
            return Err(Ended);
        }
        let holder = self.holder;
        self.fence = self.fence.saturating_add(1);
        self.end(TaskStatus::Cancelled, None, now);
        Ok(holder)
    }

    /// Takes it from its holder.
    pub(crate) fn lose(&mut self, loss: Loss, now: Moment) -> Fate {
        self.fence = self.fence.saturating_add(1);
        if self.attempt < self.attempts {
            self.holder = None;
            return Fate::Ready;
        }
        self.end(TaskStatus::Failed, Some(loss.message().to_owned()), now);
        Fate::Failed
    }

    pub(crate) fn is_held_by(&self, fence: u64) -> bool {
        self.holder.is_some() && self.fence == fence
    }

    fn end(&mut self, status: TaskStatus, message: Option<String>, now: Moment) {
        self.status = status;
        self.holder = None;
        if let Some(message) = message {
            self.message = Some(cut(message));
        }
        self.change(now);
    }

    /// Lets clients see a change, and time never go back.
    fn change(&mut self, now: Moment) {
        self.version = self.version.saturating_add(1);
        self.updated = self.updated.max(now);
    }
}

impl Loss {
    /// Returns what the task says of itself, if it fails.
    const fn message(self) -> &'static str {
        match self {
            Self::Died => "the process that ran this task has died",
            Self::Released => "the process that ran this task has ended",
        }
    }

    /// Returns the error that the task then has, as JSON text.
    pub(crate) fn outcome(self) -> Vec<u8> {
        let message = self.message();
        format!(r#"{{"code":-32603,"message":"{message}"}}"#).into_bytes()
    }
}
