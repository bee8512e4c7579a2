//! Starts the children, watches them, replaces them and stops them.
//!
//! It hears of every exit (from the task that keeps the process), of every
//! control link (from the link thread) and of time. What to do about it is
//! decided in [`place`] and [`roster`]; it is done in [`work`].
//!
//! Invariant: a slot has one process at a time, and only that process, known by
//! its id and its life, speaks for the slot.
//!
//! When it fails, the children go on: what is known of them is in the
//! [`Table`](crate::table::Table), what has to be heard is repeated until it is
//! ([`tell`]), and links and times are looked at anew with each message.

mod clock;
mod effect;
mod keeper;
mod place;
mod report;
mod roster;
mod work;

use std::sync::Arc;
use std::time::Duration;

use conduit_actor::{Actor, AskError, Failure, Reply, Seat, Tree};
use conduit_link::{
    Answer, Answerer, Delivery, DownReason, Hello, Incoming, Link, Message as Body, Operation,
    Receiver, Refusal, Role,
};
use tokio::sync::oneshot;
use tracing::debug;
use uuid::Uuid;

pub(crate) use self::effect::Exit;
pub(crate) use self::roster::{Member, ORDER, Roster};
use self::work::Work;
use crate::error::Error;
use crate::house::House;

/// What the actor hears. Each message with a reply is repeated until it is heard,
/// so it may come twice.
#[derive(Debug)]
pub(crate) enum Message {
    /// Start everything. Once.
    Begin { reply: Reply<()> },
    /// A link came up. One for each connection.
    Linked { link: Link, hello: Box<Hello> },
    /// A link went down. One for each that came up.
    Unlinked { link: Link, reason: DownReason },
    /// A child told something; the link's window bounds how much of it waits.
    Heard { link: Link, incoming: Incoming },
    /// A process was reaped. One for each that was started.
    Exited {
        index: usize,
        life: Uuid,
        exit: Exit,
        reply: Reply<()>,
    },
    /// The time has come for something. One at a time, from the clock.
    Tick { reply: Reply<()> },
    /// Empty the slots of a kind. One for each kind.
    Drain {
        role: Role,
        grace: Duration,
        reply: Reply<()>,
    },
    /// Want so many processes of a kind. One for each operation that scales, see
    /// [`OPERATIONS`](crate::operations::OPERATIONS).
    Scale {
        role: Role,
        count: u16,
        reply: Reply<()>,
    },
    /// An operator asks. One for each operation, of which
    /// [`OPERATIONS`](crate::operations::OPERATIONS) are let in.
    Asked {
        operation: Operation,
        answerer: Answerer,
    },
    /// Empty all slots at once. Never in the mailbox, see [`kill`].
    Kill,
}

/// Makes the seat of the actor.
pub(crate) fn seat() -> Seat<Message> {
    Seat::new("children")
}

/// Starts the actor and its clock; nothing is started until [`Message::Begin`].
pub(crate) async fn start(house: &Arc<House>, tree: &Tree) -> Result<(), Error> {
    let held = Arc::clone(house);
    tree.start_at(&house.children, move || Children {
        house: Arc::clone(&held),
    })
    .await?;
    house.tasks.spawn(clock::keep_time(Arc::clone(house)));
    Ok(())
}

/// Tells the actor something, again until it is heard. While nobody is in the seat
/// the work is done here: what ends the tree must not depend on an actor that has
/// failed.
///
/// # Cancel safety
///
/// Dropping the future leaves open whether the message was heard.
pub(crate) async fn tell(house: &Arc<House>, message: impl Fn(Reply<()>) -> Message) {
    loop {
        match house.children.ask(PATIENCE, &message).await {
            Ok(()) => return,
            Err(AskError::Vacant(_)) => {
                handle(house, message(oneshot::channel().0));
                return;
            }
            Err(AskError::Lost(_) | AskError::Late(_)) => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// Kills every child, now and without the actor.
pub(crate) fn kill(house: &Arc<House>) {
    handle(house, Message::Kill);
}

/// Returns what the control links deliver to.
pub(crate) fn receiver(children: Seat<Message>) -> Receiver {
    Arc::new(move |link, delivery| {
        let message = match delivery {
            Delivery::Up(hello) => Message::Linked {
                link,
                hello: Box::new(hello),
            },
            Delivery::Down(reason) => Message::Unlinked { link, reason },
            Delivery::Event(incoming) => Message::Heard { link, incoming },
            Delivery::Call(incoming, answerer) => match incoming.message {
                Body::Operation(operation) if link.slot().role == Role::Operator => {
                    Message::Asked {
                        operation,
                        answerer,
                    }
                }
                Body::ToSupervisor(_)
                | Body::ToChild(_)
                | Body::ToHub(_)
                | Body::FromHub(_)
                | Body::ToStore(_)
                | Body::FromStore(_)
                | Body::Operation(_)
                | Body::Answer(_) => {
                    answerer.answer(Answer::Refused(Refusal::Misplaced));
                    return;
                }
            },
        };
        if children.cast(message).is_err() {
            debug!("nobody hears the control links now");
        }
    })
}

// === Behind the seat ===

struct Children {
    house: Arc<House>,
}

impl Actor for Children {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        handle(&self.house, message);
        Ok(())
    }
}

/// Does everything that a message asks for, and everything that is due.
fn handle(house: &Arc<House>, message: Message) {
    let mut table = house.table.lock();
    let mut work = Work::new(house, &mut table);
    let reply = work.take(message);
    work.look_at_links();
    work.advance();
    let next = work.next_look();
    drop(table);
    house.due.send_replace(next);
    house.changed.send_replace(());
    if reply.is_some_and(|reply| reply.send(()).is_err()) {
        debug!("the asker has left");
    }
}

/// How long a task waits for the actor before it asks again.
const PATIENCE: Duration = Duration::from_secs(1);
/// The pause before it asks again.
const AGAIN: Duration = Duration::from_millis(10);
