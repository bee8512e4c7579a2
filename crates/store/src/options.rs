//! What a store is started with.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::retention::Retention;
use crate::task::Limits;
use crate::{keeper, writer};

/// What a store is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The database file, `conduit.db` in the state directory. Its log and index
    /// lie beside it.
    pub path: PathBuf,
    /// A session that nobody used for longer than this ends. Counted in whole
    /// seconds.
    pub session_idle: Duration,
    /// The most sessions at once. One more replaces the one that was not used for
    /// the longest time, if that is more than a minute.
    pub session_cap: u64,
    /// How tasks are kept.
    pub tasks: TaskOptions,
    /// The most changes that share one transaction; at least one.
    pub batch: usize,
    /// The time between two looks for sessions whose time is over.
    pub sweep_every: Duration,
    /// How long a gateway may take to forget a session, or to hear of tasks, before it
    /// counts as gone; also the longest that each step of the end may take.
    pub forget_deadline: Duration,
    /// The most changes that wait for the writer; at least one. More wait for a
    /// place, at most as many as the links allow.
    pub queue: usize,
}

/// How tasks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskOptions {
    /// The most tasks at once, those that have ended included. One more is refused.
    pub cap: u64,
    /// The most of them that belong to one principal or session.
    pub per_owner: u64,
    /// The most tasks of one server that one gateway works on at once. Others wait.
    pub running: u64,
    /// The most of those that belong to one principal or session.
    pub running_per_owner: u64,
    /// The largest result, in bytes. Never more than a frame has room for.
    pub max_result: usize,
    /// For how long a task is leased to a gateway. One that does not name a task among
    /// those that it holds, a third of this (or two seconds) after it got it, has lost it.
    pub lease: Duration,
    /// The most states that were good for one use and are remembered as used.
    pub spent_cap: u64,
}

impl Options {
    pub(crate) fn writer(&self) -> writer::Options {
        let at_least_one = |number| NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN);
        writer::Options {
            batch: at_least_one(self.batch),
            queue: at_least_one(self.queue),
        }
    }

    pub(crate) const fn keeper(&self) -> keeper::Options {
        keeper::Options {
            kept: Retention {
                idle: self.session_idle,
                cap: self.session_cap,
            },
            limits: Limits {
                total: self.tasks.cap,
                per_owner: self.tasks.per_owner,
                running: self.tasks.running,
                running_per_owner: self.tasks.running_per_owner,
                result: self.tasks.max_result,
                spent: self.tasks.spent_cap,
            },
            lease: self.tasks.lease,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;

    pub(crate) const TASKS: TaskOptions = TaskOptions {
        cap: 1_000,
        per_owner: 100,
        running: 10,
        running_per_owner: 10,
        max_result: 1_000,
        lease: Duration::from_secs(5),
        spent_cap: 100,
    };

    /// Options that no test waits for.
    pub(crate) fn options(path: &Path) -> Options {
        Options {
            path: path.to_owned(),
            session_idle: Duration::from_hours(1),
            session_cap: 1_000,
            tasks: TASKS,
            batch: 64,
            sweep_every: Duration::from_millis(50),
            forget_deadline: Duration::from_secs(30),
            queue: 64,
        }
    }
}
