//! One peer, as the rest of the process holds it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::line::Line;
use crate::{Answer, Message, Slot};

/// Reaches one peer; cheap to clone.
#[derive(Clone)]
pub struct Link {
    line: Arc<Line>,
}

/// Which frames go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Lane {
    /// Little, and urgent: overtakes data, needs no credit.
    Control,
    /// Everything else: needs credit of its receiver.
    Data,
}

/// Why an event was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// As many frames wait as may.
    #[error("the queue to the peer is full")]
    Full,
    /// The link is not up.
    #[error("the link to the peer is down")]
    Down,
    /// The message is larger than a frame may be.
    #[error("the message is too large for a frame")]
    TooLarge,
}

/// Why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The deadline passed first; the peer may have heard the call.
    #[error("the peer did not answer in time")]
    Late,
    /// The connection broke after the call was written: its outcome is unknown.
    #[error("the link broke before the peer answered")]
    Broken,
    /// The link is closed for ever; the peer has not heard the call.
    #[error("the link to the peer is closed")]
    Down,
    /// The message is larger than a frame may be.
    #[error("the message is too large for a frame")]
    TooLarge,
}

impl Link {
    /// Returns whom the link leads to.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.line.peer.clone()
    }

    /// Returns a number that no other link of this process has or had. A link that
    /// we opened keeps it over reconnects; an accepted one is one connection.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.line.id
    }

    /// Returns whether the link is up.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.line.is_up()
    }

    /// Returns the lag of the peer's main loop, as its last heartbeat said.
    #[must_use]
    pub fn peer_lag(&self) -> Duration {
        self.line.peer_lag()
    }

    /// Queues an event, without ever waiting. If the connection breaks before it
    /// is written, it is lost, and the receiver hears
    /// [`Delivery::Down`](crate::Delivery::Down).
    ///
    /// # Errors
    ///
    /// [`SendError`]; the event is then not queued.
    pub fn send(&self, lane: Lane, message: Message) -> Result<(), SendError> {
        self.line.send(lane, message)
    }

    /// Asks the peer. Waits for the link to be up, for a place in the queue and for
    /// the answer; all of it may take `deadline`.
    ///
    /// A call that was not written when a connection broke waits for the next one.
    /// An accepted link has no next one.
    ///
    /// # Errors
    ///
    /// [`CallError`]; [`CallError::Broken`] and [`CallError::Late`] leave open
    /// whether the peer has done it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future takes the call back if it is not written yet; else its
    /// answer is thrown away.
    pub async fn call(
        &self,
        lane: Lane,
        message: Message,
        deadline: Duration,
    ) -> Result<Answer, CallError> {
        tokio::time::timeout(deadline, self.line.call(lane, message))
            .await
            .unwrap_or(Err(CallError::Late))
    }

    /// Closes the link for ever, at once: what waits in its queue is dropped.
    pub fn close(&self) {
        self.line.close();
    }

    pub(crate) const fn new(line: Arc<Line>) -> Self {
        Self { line }
    }
}

impl PartialEq for Link {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.line, &other.line)
    }
}

impl Eq for Link {}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("peer", &self.line.peer)
            .field("id", &self.line.id)
            .field("up", &self.line.is_up())
            .finish_non_exhaustive()
    }
}
