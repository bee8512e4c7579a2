//! Carries each mail to the gateways it is for, and collects their receipts.
//!
//! Gateways ask it over their links. Which of them are attached is in the book,
//! which is not the actor's: the link thread writes it, and it outlives a restart
//! of the actor, when no link would say again that it is up.
//!
//! Invariant: a mail has a place until its sender is answered, and there are
//! [`Options::mails`] places.
//!
//! When the actor fails, the mail in its mailbox is refused (`NotNow`); mail on its
//! way goes on.

mod book;
mod gathering;
mod tally;

use std::sync::Arc;
use std::time::Duration;

use conduit_actor::{Actor, Failure, Seat, Tree};
use conduit_link::{
    Answer, Answerer, FromHub, Lane, Link, Mail, Message as Frame, Recipients, Refusal, Slot,
};
use conduit_telemetry::{MailOutcome, Telemetry};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};
use uuid::Uuid;

use self::book::Book;
use self::gathering::Gathering;
use self::tally::{Tally, outcome};
use crate::{Error, Options};

/// Reaches the shard; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    seat: Seat<Message>,
    book: Arc<Mutex<Book<Link>>>,
    gathering: Gathering,
    places: Arc<Semaphore>,
    on_their_way: TaskTracker,
    longest: Duration,
    telemetry: Telemetry,
}

/// A mail, from whom and for whom.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) from: Slot,
    pub(crate) to: Recipients,
    pub(crate) mail: Mail,
}

/// Starts the shard in `tree`.
///
/// # Errors
///
/// [`Error::Actors`] when the tree is stopping.
pub(crate) async fn start(
    tree: &Tree,
    options: &Options,
    telemetry: Telemetry,
) -> Result<Handle, Error> {
    let handle = Handle {
        seat: Seat::new("shard"),
        book: Arc::default(),
        gathering: Gathering::new(options.gateways, options.gathering),
        places: Arc::new(Semaphore::new(options.mails.min(Semaphore::MAX_PERMITS))),
        on_their_way: TaskTracker::new(),
        longest: options.longest,
        telemetry,
    };
    let shard = Shard {
        book: Arc::clone(&handle.book),
        gathering: handle.gathering.clone(),
        on_their_way: handle.on_their_way.clone(),
        telemetry: handle.telemetry.clone(),
    };
    let make = move || shard.clone();
    tree.start_at(&handle.seat, make).await?;
    Ok(handle)
}

impl Handle {
    /// A gateway is there, in this life.
    pub(crate) fn attach(&self, link: Link, life: Uuid) {
        let gateway = link.slot();
        let (former, attached) = {
            let mut book = self.book.lock();
            let former = book.attach(gateway.clone(), life, link.id(), link);
            (former, book.attached())
        };
        self.gathering.arrived(attached);
        if former.is_some_and(|former| former != life) {
            debug!(%gateway, %life, "gateway is another now");
        }
    }

    /// A link to a gateway is down.
    pub(crate) fn detach(&self, link: &Link) {
        self.book.lock().detach(&link.slot(), link.id());
    }

    /// Carries a letter and answers its sender, within `deadline` from now; without
    /// waiting for any of it.
    pub(crate) fn carry(&self, letter: Letter, deadline: Duration, answerer: Answerer) {
        let due = Instant::now() + deadline.min(self.longest);
        let place = match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => place,
            Err(TryAcquireError::NoPermits) => {
                self.telemetry.mail(MailOutcome::Refused);
                return answerer.answer(Answer::Refused(Refusal::Full));
            }
            Err(TryAcquireError::Closed) => {
                return answerer.answer(Answer::Refused(Refusal::NotNow));
            }
        };
        let message = Message::Carry {
            letter,
            due,
            answerer,
            place,
        };
        if let Err(vacant) = self.seat.cast(message) {
            // Dropping the answerer refuses.
            debug!(%vacant, "mail is refused");
        }
    }

    /// Refuses new mail, and waits until what is on its way has arrived.
    pub(crate) async fn finish(&self, patience: Duration) {
        self.places.close();
        self.on_their_way.close();
        if tokio::time::timeout(patience, self.on_their_way.wait())
            .await
            .is_err()
        {
            warn!(
                mails = self.on_their_way.len(),
                "mails are still on their way"
            );
        }
    }
}

// === Behind the handle ===

#[derive(Debug)]
enum Message {
    /// There are never more of it than places.
    Carry {
        letter: Letter,
        due: Instant,
        answerer: Answerer,
        place: OwnedSemaphorePermit,
    },
}

#[derive(Clone)]
struct Shard {
    book: Arc<Mutex<Book<Link>>>,
    gathering: Gathering,
    on_their_way: TaskTracker,
    telemetry: Telemetry,
}

impl Actor for Shard {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        let Message::Carry {
            letter,
            due,
            answerer,
            place,
        } = message;
        let Self {
            book,
            gathering,
            on_their_way,
            telemetry,
        } = self.clone();
        on_their_way.spawn(async move {
            if letter.to == Recipients::Others {
                gathering.complete(due).await;
            }
            let recipients = book.lock().recipients(&letter.to, &letter.from);
            let tally = deliver(&letter, recipients, due, &telemetry).await;
            answerer.answer(tally.receipts());
            drop(place);
        });
        Ok(())
    }
}

/// Brings a letter to all recipients at once and counts their receipts.
async fn deliver(
    letter: &Letter,
    recipients: Vec<Link>,
    due: Instant,
    telemetry: &Telemetry,
) -> Tally {
    let deadline = due.saturating_duration_since(Instant::now());
    let mut answers: FuturesUnordered<_> = recipients
        .iter()
        .map(|link| {
            let mail = Frame::FromHub(FromHub::Mail {
                from: letter.from.clone(),
                mail: letter.mail.clone(),
            });
            link.call(Lane::Data, mail, deadline)
        })
        .collect();
    let mut tally = Tally::default();
    while let Some(answer) = answers.next().await {
        let outcome = outcome(&answer);
        tally.count(outcome);
        telemetry.mail(outcome);
    }
    tally
}
