//! Supervised actors.
//!
//! An [`Actor`] is a struct that handles one kind of message, one at a time.
//! A [`Tree`] starts actors, watches them and starts them again within a
//! budget; a [`Seat`] is the address of one of them and survives its restarts.
//!
//! Under it is `ractor`, which this crate alone names. What we add: seats,
//! one-for-one supervision with a restart budget (ractor's default ends the
//! parent together with any child), and the depth of every mailbox.
//!
//! # Bounds
//!
//! Mailboxes have no bound of their own. So a message must be paid for before it
//! is cast: it holds a permit of its sender, or somebody waits for its answer.
//!
//! # What a failure costs
//!
//! A panic or an `Err` of [`Actor::handle`] ends the actor: the message at hand
//! and the rest of its mailbox are lost, and whoever waits for an answer hears
//! [`AskError::Lost`]. The actor is made anew by its factory; once the budget is
//! spent, [`Tree::failed`] resolves and the process has to end.

mod seat;
mod tree;

pub use self::seat::{AskError, Reply, Seat, Vacant};
pub use self::tree::{ChildView, SpawnFailed, Tree, TreeOptions};

/// One concern that handles one message at a time.
pub trait Actor: Send + 'static {
    /// What the actor understands.
    type Message: Send + 'static;

    /// Handles one message.
    ///
    /// # Errors
    ///
    /// An `Err` asks for a restart. A request that fails is an answer, never an
    /// `Err`.
    fn handle(
        &mut self,
        message: Self::Message,
    ) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// Why an actor asks to be restarted; the text goes to the log.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub &'static str);
