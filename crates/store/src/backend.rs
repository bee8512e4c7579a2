//! What a database must be able to do for us.
//!
//! `SQLite` is the only one so far. Whichever it is passes the suite in
//! `backend/suite.rs`. Rules are not here: a backend asks
//! [`Retention`] who has to leave, and [`Course`](crate::task::Course) what becomes of a
//! task.

#[cfg(test)]
pub(crate) mod suite;
mod tasks;

use std::error::Error as StdError;

use conduit_link::SessionRecord;
use uuid::Uuid;

use crate::retention::{Retention, Second};
use crate::tally::Census;

pub(crate) use self::tasks::{
    Answering, Cancelling, Creating, Expired, Holdings, Listed, Losses, Place, SPENT_LONGER,
    Spending, TaskReader, TaskTables, Which,
};

/// A database, seen by the one thread that writes to it.
pub(crate) trait Backend: Send + 'static {
    /// The way in for reads beside the writer.
    type Reader: Reader;

    /// Opens a way in for reads, which never wait for the writer.
    fn reader(&self) -> Result<Self::Reader, Failure>;

    /// Runs `body` in one transaction.
    ///
    /// Everything that it did is durable once this returns `Ok`, and undone
    /// otherwise. `body` runs at most once a call.
    fn transaction(&mut self, body: Body<'_>) -> Result<(), Failure>;

    /// Returns how many sessions there are since the last transaction.
    fn live(&self) -> u64;

    /// Returns how many tasks there are since then.
    fn census(&self) -> Census;
}

/// What happens inside a transaction.
pub(crate) type Body<'a> = &'a mut dyn FnMut(&mut dyn Tables) -> Result<(), Failure>;

/// What can be done inside a transaction.
pub(crate) trait Tables: TaskTables {
    /// Keeps a new session, after the oldest idle ones have left for it.
    ///
    /// One that exists already stays as it is: the caller asks again because it
    /// did not hear the first answer.
    fn open(
        &mut self,
        record: &SessionRecord,
        kept: Retention,
        now: Second,
    ) -> Result<Opening, Failure>;

    /// Changes a session's log level; tells whether there is such a session.
    fn set_level(&mut self, id: Uuid, level: &str, now: Second) -> Result<bool, Failure>;

    /// Lets a session hear of a resource, or no longer. One that hears of
    /// [`SUBSCRIPTIONS`](crate::retention::SUBSCRIPTIONS) hears of no more.
    fn subscribe(
        &mut self,
        id: Uuid,
        uri: &str,
        on: bool,
        now: Second,
    ) -> Result<Subscribing, Failure>;

    /// Notes that sessions were used. Time never goes back; unknown ids are no
    /// matter.
    fn touch(&mut self, ids: &[Uuid], now: Second) -> Result<(), Failure>;

    /// Removes a session and returns what it was.
    fn end(&mut self, id: Uuid) -> Result<Option<SessionRecord>, Failure>;

    /// Removes sessions whose time is over, longest unused first, at most a
    /// [`SLICE`](crate::retention::SLICE), and returns their ids.
    ///
    /// Whatever was used in the future counts as used now: the clock was set
    /// back since.
    fn sweep(&mut self, kept: Retention, now: Second) -> Result<Vec<Uuid>, Failure>;
}

/// Reads what is committed.
pub(crate) trait Reader: TaskReader + Send + 'static {
    /// Looks a session up.
    fn session(&self, id: Uuid) -> Result<Option<SessionRecord>, Failure>;
}

/// What became of a new session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// It is kept.
    Opened {
        /// Those that left for it.
        left: Vec<Uuid>,
    },
    /// There are as many as there may be, all of them in use.
    Full,
}

/// What became of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subscribing {
    /// The session is not what it was.
    Changed,
    /// It was so already.
    Unchanged,
    /// The session hears of as many resources as it may.
    Full,
    /// There is no such session.
    Unknown,
}

/// The database did not do what it should.
#[derive(Debug, thiserror::Error)]
#[error("cannot {attempt}")]
pub(crate) struct Failure {
    attempt: &'static str,
    source: Box<dyn StdError + Send + Sync>,
}

impl Failure {
    /// `attempt` completes the sentence "cannot …".
    pub(crate) fn new(
        attempt: &'static str,
        source: impl StdError + Send + Sync + 'static,
    ) -> Self {
        Self {
            attempt,
            source: Box::new(source),
        }
    }
}
