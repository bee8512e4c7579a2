//! Carries each mail and each change to the gateways it is for, and collects their
//! receipts.
//!
//! Gateways ask it over their links. Three things are not the actor's, and outlive a
//! restart of it, when no link would say again that it is up:
//!
//! - the *book*: which gateways are attached, and which of them have settled;
//! - the *interest*, in the book: which topics each of them has registered;
//! - the *gathering*: whether those that are to be there have settled.
//!
//! The link thread writes them. So registrations are done in the order in which they
//! came, and are in effect when they are answered.
//!
//! Invariants: a mail or a change has a place until its sender is answered, and there
//! are [`Options::mails`] places. A change reaches whoever had registered its topic, or
//! its sender hears that somebody is missing; whoever settles later hears that it may
//! have missed something.
//!
//! When the actor fails, what is in its mailbox is refused (`NotNow`); what is on its
//! way goes on.

mod book;
mod gathering;
mod interest;
mod tally;

use std::sync::Arc;
use std::time::Duration;

use conduit_actor::{Actor, Failure, Seat, Tree};
use conduit_link::{
    Answer, Answerer, CallError, FromHub, Lane, Link, Mail, Message as Frame, Recipients, Refusal,
    Slot, Topic,
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

use self::book::{Book, Unregistered};
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

/// What the shard carries.
#[derive(Debug)]
pub(crate) enum Load {
    /// A mail.
    Letter(Letter),
    /// This topic has changed.
    Change(Topic),
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
        book: Arc::new(Mutex::new(Book::new(options.topics))),
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
        let former = {
            let mut book = self.book.lock();
            let former = book.attach(gateway.clone(), life, link.id(), link);
            self.telemetry.hub_topics().set(book.registered());
            former
        };
        if former.is_some_and(|former| former != life) {
            debug!(%gateway, %life, "gateway is another now");
        }
    }

    /// A link to a gateway is down.
    pub(crate) fn detach(&self, link: &Link) {
        let mut book = self.book.lock();
        book.detach(&link.slot(), link.id());
        self.telemetry.hub_topics().set(book.registered());
    }

    /// A gateway wants to hear of topics, as long as this link lasts.
    pub(crate) fn register(&self, link: &Link, topics: Vec<Topic>) -> Answer {
        let mut book = self.book.lock();
        let registered = book.register(&link.slot(), link.id(), topics);
        self.telemetry.hub_topics().set(book.registered());
        match registered {
            Ok(()) => Answer::Done,
            Err(Unregistered::Full) => Answer::Refused(Refusal::Full),
            Err(Unregistered::Detached) => Answer::Refused(Refusal::NotNow),
        }
    }

    /// A gateway no longer wants to hear of topics.
    pub(crate) fn unregister(&self, link: &Link, topics: &[Topic]) -> Answer {
        let mut book = self.book.lock();
        book.unregister(link.id(), topics);
        self.telemetry.hub_topics().set(book.registered());
        Answer::Done
    }

    /// A gateway has registered all that it wants to hear of.
    pub(crate) fn settle(&self, link: &Link) -> Answer {
        let (missed, settled) = {
            let mut book = self.book.lock();
            let missed = book.settle(&link.slot(), link.id());
            (missed, book.settled())
        };
        self.gathering.arrived(settled);
        missed.map_or(Answer::Refused(Refusal::NotNow), |missed| Answer::Settled {
            missed,
        })
    }

    /// Carries a load and answers its sender, within `deadline` from now; without
    /// waiting for any of it.
    pub(crate) fn carry(&self, load: Load, deadline: Duration, answerer: Answerer) {
        let due = Instant::now() + deadline.min(self.longest);
        let place = match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => place,
            Err(TryAcquireError::NoPermits) => {
                load.count(MailOutcome::Refused, &self.telemetry);
                return answerer.answer(Answer::Refused(Refusal::Full));
            }
            Err(TryAcquireError::Closed) => {
                return answerer.answer(Answer::Refused(Refusal::NotNow));
            }
        };
        let message = Message::Carry {
            load,
            due,
            answerer,
            place,
        };
        if let Err(vacant) = self.seat.cast(message) {
            // Dropping the answerer refuses.
            debug!(%vacant, "mail or change is refused");
        }
    }

    /// Refuses new mail and changes, and waits until what is on its way has arrived.
    pub(crate) async fn finish(&self, patience: Duration) {
        self.places.close();
        self.on_their_way.close();
        if tokio::time::timeout(patience, self.on_their_way.wait())
            .await
            .is_err()
        {
            warn!(
                loads = self.on_their_way.len(),
                "mails or changes are still on their way"
            );
        }
    }
}

impl Load {
    fn count(&self, outcome: MailOutcome, telemetry: &Telemetry) {
        match self {
            Self::Letter(_) => telemetry.mail(outcome),
            Self::Change(_) => telemetry.change_told(outcome),
        }
    }
}

// === Behind the handle ===

#[derive(Debug)]
enum Message {
    /// There are never more of it than places.
    Carry {
        load: Load,
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
            load,
            due,
            answerer,
            place,
        } = message;
        let shard = self.clone();
        self.on_their_way.spawn(async move {
            answerer.answer(shard.carry(load, due).await);
            drop(place);
        });
        Ok(())
    }
}

impl Shard {
    /// Brings a load to whom it is for and returns what its sender is answered.
    async fn carry(&self, load: Load, due: Instant) -> Answer {
        match &load {
            Load::Letter(letter) => match &letter.to {
                Recipients::One(slot) => {
                    let to = self.book.lock().one(slot);
                    self.deliver_to_one(&load, letter.frame(), to, due).await
                }
                Recipients::Others => {
                    // Those that are attached by then get it, complete or not.
                    let _complete = self.gathering.complete(due).await;
                    let to = self.book.lock().others(&letter.from);
                    self.deliver(&load, letter.frame(), to, due).await
                }
            },
            Load::Change(topic) => {
                if !self.gathering.complete(due).await {
                    return Answer::Refused(Refusal::NotNow);
                }
                let to = self.book.lock().tell(topic);
                let topic = topic.clone();
                let changed = Frame::FromHub(FromHub::Changed { topic });
                self.deliver(&load, changed, to, due).await
            }
        }
    }

    /// Brings a frame to all of them at once and returns their receipts.
    async fn deliver(&self, load: &Load, frame: Frame, to: Vec<Link>, due: Instant) -> Answer {
        let mut answers: FuturesUnordered<_> = to
            .iter()
            .map(|link| ask(link, frame.clone(), due))
            .collect();
        let mut tally = Tally::default();
        while let Some(answer) = answers.next().await {
            let outcome = outcome(&answer);
            tally.count(outcome);
            load.count(outcome, &self.telemetry);
        }
        tally.receipts()
    }

    /// Brings a frame to one gateway and returns its own answer; receipts with one missing
    /// if there is none.
    async fn deliver_to_one(
        &self,
        load: &Load,
        frame: Frame,
        to: Option<Link>,
        due: Instant,
    ) -> Answer {
        let answer = match to {
            Some(link) => ask(&link, frame, due).await,
            None => Err(CallError::Down),
        };
        let outcome = outcome(&answer);
        load.count(outcome, &self.telemetry);
        answer.unwrap_or_else(|_error| {
            let mut tally = Tally::default();
            tally.count(outcome);
            tally.receipts()
        })
    }
}

impl Letter {
    fn frame(&self) -> Frame {
        Frame::FromHub(FromHub::Mail {
            from: self.from.clone(),
            mail: self.mail.clone(),
        })
    }
}

async fn ask(link: &Link, frame: Frame, due: Instant) -> Result<Answer, CallError> {
    let deadline = due.saturating_duration_since(Instant::now());
    link.call(Lane::Data, frame, deadline).await
}
