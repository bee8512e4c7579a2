//! Keeps sessions: what each call of a gateway does.
//!
//! Invariant: a record leaves in the same breath in which it was read, so it is
//! in the link before any order to forget it that a later commit causes. All of
//! this runs on one thread; only the writer and the sockets are elsewhere.
//!
//! The keeper outlives the actor in front of it: a session that was removed from
//! the database is forgotten by the gateways even if that actor fails meanwhile.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use conduit_link::{Answer, Link, Refusal, SessionRecord, ToStore};
use conduit_telemetry::{StoreOperation, StoreOutcome, Telemetry};
use parking_lot::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

use crate::backend::{Opening, Reader, Subscribing};
use crate::clock::Clock;
use crate::gateways::{Audience, Gateways, Reason};
use crate::retention::{Retention, SLICE};
use crate::trouble::Trouble;
use crate::writer::{Refused, Writer};

/// Sweeping more often than this is of no use: the clock counts seconds.
const SWEEP_PAUSE: Duration = Duration::from_millis(10);

/// Keeps sessions.
#[derive(Debug)]
pub(crate) struct Keeper {
    writer: Writer,
    reading: Mutex<Reading>,
    gateways: Arc<Gateways>,
    kept: Retention,
    clock: Clock,
    telemetry: Telemetry,
}

impl Keeper {
    pub(crate) fn new(
        writer: Writer,
        reader: impl Reader,
        gateways: Arc<Gateways>,
        kept: Retention,
        telemetry: Telemetry,
    ) -> Self {
        Self {
            writer,
            reading: Mutex::new(Reading {
                reader: Box::new(reader),
                trouble: Trouble::with("reading"),
            }),
            gateways,
            kept,
            clock: Clock::start(),
            telemetry,
        }
    }

    /// Looks a session up; takes microseconds and waits for nobody.
    pub(crate) fn look(&self, id: Uuid) -> Answer {
        let Reading { reader, trouble } = &mut *self.reading.lock();
        match reader.session(id) {
            Ok(session) => {
                trouble.succeeded();
                Answer::Session(session)
            }
            Err(failure) => {
                trouble.failed(&failure);
                Answer::Refused(Refusal::Storage)
            }
        }
    }

    /// Does what a gateway asks, whose link is `asker`.
    pub(crate) async fn answer(&self, question: ToStore, asker: &Link) -> Answer {
        let done = match question {
            ToStore::LookSession { id } => Ok(self.look(id)),
            ToStore::OpenSession(record) => self.open(record).await,
            ToStore::SetSessionLevel { id, level } => self.set_level(id, level, asker).await,
            ToStore::SubscribeSession { id, uri, on } => self.subscribe(id, uri, on).await,
            ToStore::TouchSessions { ids } => self.touch(&ids).await,
            ToStore::EndSession { id } => self.end(id).await,
        };
        done.unwrap_or_else(|refused| {
            Answer::Refused(match refused {
                Refused::Failed => Refusal::Storage,
                Refused::Gone => Refusal::NotNow,
            })
        })
    }

    /// Counts what a gateway was answered.
    pub(crate) fn answered(&self, operation: StoreOperation, answer: &Answer, took: Duration) {
        self.telemetry
            .store_operation(operation, outcome(answer), took);
    }

    /// Ends the sessions whose time is over, now and from time to time.
    pub(crate) async fn sweep_for_ever(&self, every: Duration) {
        loop {
            let start = Instant::now();
            let outcome = match self.sweep().await {
                Ok(()) => StoreOutcome::Ok,
                Err(Refused::Failed) => StoreOutcome::Failed,
                Err(Refused::Gone) => StoreOutcome::Refused,
            };
            self.telemetry
                .store_operation(StoreOperation::Sweep, outcome, start.elapsed());
            tokio::time::sleep(every.max(SWEEP_PAUSE)).await;
        }
    }
}

/// Returns the name under which a call is counted.
pub(crate) const fn operation(question: &ToStore) -> StoreOperation {
    match question {
        ToStore::OpenSession(_) => StoreOperation::OpenSession,
        ToStore::LookSession { .. } => StoreOperation::LookSession,
        ToStore::SetSessionLevel { .. } => StoreOperation::SetSessionLevel,
        ToStore::SubscribeSession { .. } => StoreOperation::SubscribeSession,
        ToStore::TouchSessions { .. } => StoreOperation::TouchSessions,
        ToStore::EndSession { .. } => StoreOperation::EndSession,
    }
}

// === Behind the keeper ===

struct Reading {
    reader: Box<dyn Reader>,
    trouble: Trouble,
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").finish_non_exhaustive()
    }
}

impl Keeper {
    async fn open(&self, record: SessionRecord) -> Result<Answer, Refused> {
        let (kept, now) = (self.kept, self.clock.now());
        let opening = self
            .writer
            .run(move |tables| tables.open(&record, kept, now))
            .await?;
        Ok(match opening {
            Opening::Opened { left } => {
                self.forget(&left, Reason::Ended, Audience::All).await;
                Answer::Done
            }
            Opening::Full => Answer::Refused(Refusal::Full),
        })
    }

    async fn set_level(&self, id: Uuid, level: String, asker: &Link) -> Result<Answer, Refused> {
        let now = self.clock.now();
        let found = self
            .writer
            .run(move |tables| tables.set_level(id, &level, now))
            .await?;
        if !found {
            return Ok(Answer::Session(None));
        }
        self.forget(&[id], Reason::Changed, Audience::AllBut(asker))
            .await;
        // Read now rather than then: it may have ended since, and the asker must
        // not learn of it after it was told to forget it.
        Ok(self.look(id))
    }

    async fn subscribe(&self, id: Uuid, uri: String, on: bool) -> Result<Answer, Refused> {
        let now = self.clock.now();
        let became = self
            .writer
            .run(move |tables| tables.subscribe(id, &uri, on, now))
            .await?;
        match became {
            Subscribing::Changed => {
                // The asker too: its answer may be lost, and its view would stay as it was.
                self.forget(&[id], Reason::Changed, Audience::All).await;
            }
            Subscribing::Unchanged => {}
            Subscribing::Full => return Ok(Answer::Refused(Refusal::Full)),
            Subscribing::Unknown => return Ok(Answer::Session(None)),
        }
        // Read now rather than then, as for a level.
        Ok(self.look(id))
    }

    async fn touch(&self, ids: &[Uuid]) -> Result<Answer, Refused> {
        let now = self.clock.now();
        let slice = usize::try_from(SLICE).unwrap_or(usize::MAX);
        for ids in ids.chunks(slice) {
            let ids = ids.to_vec();
            self.writer
                .run(move |tables| tables.touch(&ids, now))
                .await?;
        }
        Ok(Answer::Done)
    }

    async fn end(&self, id: Uuid) -> Result<Answer, Refused> {
        let ended = self.writer.run(move |tables| tables.end(id)).await?;
        if ended.is_some() {
            self.forget(&[id], Reason::Ended, Audience::All).await;
        }
        Ok(Answer::Session(ended))
    }

    async fn sweep(&self) -> Result<(), Refused> {
        let (kept, now) = (self.kept, self.clock.now());
        loop {
            let swept = self
                .writer
                .run(move |tables| tables.sweep(kept, now))
                .await?;
            self.forget(&swept, Reason::Ended, Audience::All).await;
            if u64::try_from(swept.len()).is_ok_and(|swept| swept < SLICE) {
                return Ok(());
            }
        }
    }

    async fn forget(&self, ids: &[Uuid], reason: Reason, audience: Audience<'_>) {
        self.gateways.forget(ids, reason, audience).await;
    }
}

const fn outcome(answer: &Answer) -> StoreOutcome {
    match answer {
        Answer::Session(None) => StoreOutcome::Missing,
        Answer::Refused(Refusal::Storage) => StoreOutcome::Failed,
        Answer::Refused(_) => StoreOutcome::Refused,
        Answer::Done
        | Answer::Session(Some(_))
        | Answer::Probed
        | Answer::Metrics(_)
        | Answer::Receipt { .. }
        | Answer::Settled { .. }
        | Answer::Replay(_)
        | Answer::Receipts { .. } => StoreOutcome::Ok,
    }
}
