//! The address of a supervised actor.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use ractor::ActorRef;
use tokio::sync::oneshot;

/// Where an answer goes; the asker may have left.
pub type Reply<T> = oneshot::Sender<T>;

/// Reaches whichever incarnation of an actor is alive; cheap to clone.
pub struct Seat<M> {
    shared: Arc<Shared<M>>,
}

/// The message found no actor: it is stopped, or between two lives.
#[derive(thiserror::Error)]
#[error("no actor at `{name}`")]
pub struct Vacant<M> {
    /// The name of the seat.
    pub name: &'static str,
    /// The message, given back.
    pub message: M,
}

/// Why an ask had no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Nobody was there to hear it.
    #[error("no actor at `{0}`")]
    Vacant(&'static str),
    /// The actor ended, or dropped the message, before it answered.
    #[error("`{0}` ended before it answered")]
    Lost(&'static str),
    /// The answer took longer than the caller's patience.
    #[error("`{0}` did not answer in time")]
    Late(&'static str),
}

struct Shared<M> {
    name: &'static str,
    occupant: RwLock<Option<ActorRef<Counted<M>>>>,
    depth: Arc<AtomicUsize>,
}

impl<M: Send + 'static> Seat<M> {
    /// Makes an empty seat; [`Tree::start_at`](crate::Tree::start_at) fills it.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            shared: Arc::new(Shared {
                name,
                occupant: RwLock::new(None),
                depth: Arc::new(AtomicUsize::new(0)),
            }),
        }
    }

    /// Returns the name of the seat, as logs and metrics show it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.shared.name
    }

    /// Returns how many messages wait in the mailbox or are being handled.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.shared.depth.load(Ordering::Relaxed)
    }

    /// Hands a message to the actor, without waiting for anything.
    ///
    /// # Errors
    ///
    /// [`Vacant`] gives the message back when no actor is there.
    pub fn cast(&self, message: M) -> Result<(), Vacant<M>> {
        let vacant = |message| Vacant {
            name: self.shared.name,
            message,
        };
        let occupant = self.shared.occupant.read();
        let Some(actor) = occupant.as_ref() else {
            return Err(vacant(message));
        };
        match actor.cast(Counted::new(message, &self.shared.depth)) {
            Ok(()) => Ok(()),
            Err(ractor::MessagingErr::SendErr(refused)) => Err(vacant(refused.into_inner())),
            Err(_) => unreachable_type(self.shared.name),
        }
    }

    /// Asks the actor and waits at most `patience` for the answer.
    ///
    /// # Errors
    ///
    /// [`AskError`] when nobody is there, the actor ends, or time runs out.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the question in the mailbox; its answer is
    /// then thrown away.
    pub async fn ask<T>(
        &self,
        patience: Duration,
        question: impl FnOnce(Reply<T>) -> M,
    ) -> Result<T, AskError> {
        let (reply, answer) = oneshot::channel();
        let name = self.shared.name;
        self.cast(question(reply))
            .map_err(|vacant| AskError::Vacant(vacant.name))?;
        match tokio::time::timeout(patience, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_gone)) => Err(AskError::Lost(name)),
            Err(_elapsed) => Err(AskError::Late(name)),
        }
    }

    pub(crate) fn fill(&self, actor: Option<ActorRef<Counted<M>>>) {
        *self.shared.occupant.write() = actor;
    }
}

impl<M> Clone for Seat<M> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<M> fmt::Debug for Seat<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat")
            .field("name", &self.shared.name)
            .field("depth", &self.shared.depth.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

impl<M> fmt::Debug for Vacant<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vacant")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

// === Behind the seat ===

/// A message that is counted from its cast until it has been handled or lost.
pub(crate) struct Counted<M> {
    message: Option<M>,
    depth: Arc<AtomicUsize>,
}

impl<M> Counted<M> {
    fn new(message: M, depth: &Arc<AtomicUsize>) -> Self {
        depth.fetch_add(1, Ordering::Relaxed);
        Self {
            message: Some(message),
            depth: Arc::clone(depth),
        }
    }

    /// Takes the message out; the count falls when `self` is dropped.
    pub(crate) fn take(&mut self) -> Option<M> {
        self.message.take()
    }

    #[expect(
        clippy::expect_used,
        reason = "the message is taken once, and only by its reader"
    )]
    fn into_inner(mut self) -> M {
        self.take()
            .expect("a refused message still holds its content")
    }
}

impl<M> Drop for Counted<M> {
    fn drop(&mut self) {
        self.depth.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A seat is filled by [`fill`](Seat::fill) alone, which fixes the message type.
#[expect(
    clippy::unreachable,
    reason = "the seat's type parameter fixes the message type"
)]
fn unreachable_type(name: &str) -> ! {
    unreachable!("`{name}` holds an actor of another message type")
}
