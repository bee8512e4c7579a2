//! The actor that hears what gateways ask.
//!
//! One per process. Look-ups are answered at once, in the order in which they
//! came; whatever has to wait for a commit, or for gateways to forget, becomes a
//! task of the process, so that it delays nobody behind it.
//!
//! Bounds: each message holds the credit of its link until it is answered, so
//! mailbox and tasks together are no more than the links' windows.
//!
//! When it fails, the calls in its mailbox are answered
//! [`NotNow`](conduit_link::Refusal::NotNow) and the actor starts again: it knows
//! nothing that is not in the database. Calls that have become tasks go on.

use std::sync::Arc;

use conduit_actor::{Actor, Failure, Seat, Tree};
use conduit_link::{Answer, Answerer, ToStore};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tracing::debug;

use crate::Error;
use crate::gateways::Gateway;
use crate::keeper::{self, Keeper};

/// Reaches the actor; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    seat: Seat<Message>,
}

/// Starts the actor, whose longer work becomes tasks of `tasks`.
///
/// # Errors
///
/// [`Error::Actors`] when the tree is stopping.
pub(crate) async fn start(
    tree: &Tree,
    keeper: Arc<Keeper>,
    tasks: TaskTracker,
) -> Result<Handle, Error> {
    let seat = Seat::new("door");
    tree.start_at(&seat, move || Door {
        keeper: Arc::clone(&keeper),
        tasks: tasks.clone(),
    })
    .await?;
    Ok(Handle { seat })
}

impl Handle {
    /// Hands over what a gateway asks, or the operator. Never waits; without an actor
    /// the question is dropped, and so refused.
    pub(crate) fn ask(&self, asker: Option<Arc<Gateway>>, question: ToStore, answerer: Answerer) {
        let message = Message::Asked {
            asker,
            question,
            since: Instant::now(),
            reply: answerer,
        };
        if let Err(vacant) = self.seat.cast(message) {
            debug!(actor = vacant.name, "no actor, call is refused");
        }
    }
}

// === Behind the handle ===

enum Message {
    Asked {
        asker: Option<Arc<Gateway>>,
        question: ToStore,
        since: Instant,
        reply: Answerer,
    },
}

struct Door {
    keeper: Arc<Keeper>,
    tasks: TaskTracker,
}

impl Actor for Door {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        let Message::Asked {
            asker,
            question,
            since,
            reply,
        } = message;
        let operation = keeper::operation(&question);
        let respond = move |keeper: &Keeper, answer: Answer| {
            keeper.answered(operation, &answer, since.elapsed());
            reply.answer(answer);
        };
        if let Some(answer) = self.keeper.look(&question) {
            respond(&self.keeper, answer);
            return Ok(());
        }
        let keeper = Arc::clone(&self.keeper);
        self.tasks.spawn(async move {
            let answer = keeper.answer(question, asker.as_deref()).await;
            respond(&keeper, answer);
        });
        Ok(())
    }
}
