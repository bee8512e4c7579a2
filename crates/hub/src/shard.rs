//! Carries each mail and each change to the gateways it is for, and collects their
//! receipts.
//!
//! Gateways ask it over their links. Who is attached and who listens to what is not the
//! actor's ([`Roster`], behind a lock), and outlives a restart of it, when no link would
//! say again that it is up. The link thread writes it. So registrations are done in the
//! order in which they came, and are in effect when they are answered.
//!
//! Invariants: a mail or some changes have a place until their sender is answered, and there
//! are [`Options::mails`] places. A change reaches whoever had registered its topic, or its
//! sender hears that it has to be published again (see [`conduit_interest`]).
//!
//! When the actor fails, what is in its mailbox is refused (`NotNow`); what is on its
//! way goes on.

mod roster;
mod tally;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use conduit_actor::{Actor, Failure, Seat, Tree};
use conduit_interest::Unknown;
use conduit_link::{
    Answer, Answerer, CallError, Change, FromHub, Lane, Link, Mail, Message as Frame, Recipients,
    Refusal, Slot,
};
use conduit_telemetry::{MailOutcome, Telemetry};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::time::{Instant, timeout_at};
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

pub(crate) use self::roster::Roster;
use self::tally::{Tally, outcome};
use crate::{Error, Options};

/// How long mail for all others waits for gateways that are still to connect to a hub
/// that has just started.
const GATHERING: Duration = Duration::from_millis(500);

/// Hands loads to the shard; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    seat: Seat<Message>,
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
    /// These topics have changed, by the map of this epoch.
    Changes { epoch: u64, changes: Vec<Change> },
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
    roster: &Roster,
    telemetry: Telemetry,
) -> Result<Handle, Error> {
    let handle = Handle {
        seat: Seat::new("shard"),
        places: Arc::new(Semaphore::new(options.mails.min(Semaphore::MAX_PERMITS))),
        on_their_way: TaskTracker::new(),
        longest: options.longest,
        telemetry,
    };
    let shard = Shard {
        roster: roster.clone(),
        gathered_by: Instant::now() + GATHERING,
        on_their_way: handle.on_their_way.clone(),
        telemetry: handle.telemetry.clone(),
    };
    let make = move || shard.clone();
    tree.start_at(&handle.seat, make).await?;
    Ok(handle)
}

impl Handle {
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
            debug!(%vacant, "mail or changes are refused");
        }
    }

    /// Counts changes that a gateway has published here.
    pub(crate) fn published(&self, changes: usize) {
        self.telemetry.hub_published(changes);
    }

    /// Returns how many loads are on their way.
    pub(crate) fn on_their_way(&self) -> usize {
        self.on_their_way.len()
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
            Self::Changes { changes, .. } => telemetry.changes_told(outcome, changes.len()),
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
    roster: Roster,
    gathered_by: Instant,
    on_their_way: TaskTracker,
    telemetry: Telemetry,
}

/// What one gateway has to be told, by its place among the changes.
struct Told {
    link: Link,
    which: Vec<usize>,
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
            answerer.answer(match load {
                Load::Letter(letter) => shard.post(&letter, due).await,
                Load::Changes { epoch, changes } => shard.tell(epoch, changes, due).await,
            });
            drop(place);
        });
        Ok(())
    }
}

impl Shard {
    /// Brings a mail to whom it is for and returns what its sender is answered.
    async fn post(&self, letter: &Letter, due: Instant) -> Answer {
        match &letter.to {
            Recipients::One(slot) => {
                let to = self.roster.one(slot);
                self.deliver_to_one(letter.frame(), to, due).await
            }
            Recipients::Others => {
                // Those that are attached by then get it, complete or not.
                let gathered = self.roster.gathered();
                drop(timeout_at(self.gathered_by.min(due), gathered).await);
                let to = self.roster.others(&letter.from);
                self.deliver(letter.frame(), to, due).await
            }
        }
    }

    /// Tells everybody who listens of changes, and returns which of them have to be
    /// published again.
    async fn tell(&self, epoch: u64, changes: Vec<Change>, due: Instant) -> Answer {
        let (mut left, told) = match self.audience(epoch, &changes, due).await {
            Ok(audience) => audience,
            Err(refusal) => return Answer::Refused(refusal),
        };
        let mut receipts: FuturesUnordered<_> = told
            .into_iter()
            .map(|Told { link, which }| {
                let picked = which.iter().filter_map(|&at| changes.get(at)).cloned();
                let changed = FromHub::Changed {
                    changes: picked.collect(),
                };
                async move {
                    let answer = ask(&link, Frame::FromHub(changed), due).await;
                    (answer, which)
                }
            })
            .collect();
        while let Some((answer, which)) = receipts.next().await {
            let outcome = match answer {
                Ok(Answer::Done) => MailOutcome::Taken,
                Ok(_) | Err(_) => MailOutcome::Missing,
            };
            self.telemetry.changes_told(outcome, which.len());
            if outcome == MailOutcome::Missing {
                left.extend(which);
            }
        }
        left.sort_unstable();
        left.dedup();
        let left = left.into_iter().filter_map(|at| u32::try_from(at).ok());
        Answer::Told {
            left: left.collect(),
        }
    }

    /// Finds out, once that is known, whom to tell of changes; and which of them cannot be
    /// told to everybody now.
    async fn audience(
        &self,
        epoch: u64,
        changes: &[Change],
        due: Instant,
    ) -> Result<(Vec<usize>, Vec<Told>), Refusal> {
        loop {
            let moved = self.roster.moved();
            match self.look(epoch, changes) {
                Ok(audience) => return Ok(audience),
                Err(Unknown::Stale) => return Err(Refusal::Stale),
                Err(Unknown::NotYet) => {}
            }
            if timeout_at(due, moved).await.is_err() {
                return Err(Refusal::NotNow);
            }
        }
    }

    fn look(&self, epoch: u64, changes: &[Change]) -> Result<(Vec<usize>, Vec<Told>), Unknown> {
        let mut left = Vec::new();
        let mut told: BTreeMap<u64, Told> = BTreeMap::new();
        self.roster.ask(|book| {
            book.ask_audience(epoch)?;
            for (at, change) in changes.iter().enumerate() {
                let audience = book.audience_now(&change.topic);
                if audience.is_partial {
                    left.push(at);
                }
                for link in audience.links {
                    let told = told.entry(link.id()).or_insert_with(|| Told {
                        link,
                        which: Vec::new(),
                    });
                    told.which.push(at);
                }
            }
            Ok(())
        })?;
        Ok((left, told.into_values().collect()))
    }

    /// Brings a frame to all of them at once and returns their receipts.
    async fn deliver(&self, frame: Frame, to: Vec<Link>, due: Instant) -> Answer {
        let mut answers: FuturesUnordered<_> = to
            .iter()
            .map(|link| ask(link, frame.clone(), due))
            .collect();
        let mut tally = Tally::default();
        while let Some(answer) = answers.next().await {
            let outcome = outcome(&answer);
            tally.count(outcome);
            self.telemetry.mail(outcome);
        }
        tally.receipts()
    }

    /// Brings a frame to one gateway and returns its own answer; receipts with one missing
    /// if there is none.
    async fn deliver_to_one(&self, frame: Frame, to: Option<Link>, due: Instant) -> Answer {
        let answer = match to {
            Some(link) => ask(&link, frame, due).await,
            None => Err(CallError::Down),
        };
        let outcome = outcome(&answer);
        self.telemetry.mail(outcome);
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
