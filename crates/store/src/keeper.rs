//! Keeps sessions and tasks: what each call of a gateway does.
//!
//! Invariant: a record leaves in the same breath in which it was read, so it is
//! in the link before any order to forget it that a later commit causes. All of
//! this runs on one thread; only the writer and the sockets are elsewhere.
//!
//! The keeper outlives the actor in front of it: a session that was removed from
//! the database is forgotten by the gateways even if that actor fails meanwhile.

mod operation;
mod sessions;
mod tasks;
mod tending;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use conduit_link::{Answer, Refusal, TaskQuestion, ToStore};
use conduit_telemetry::{StoreOperation, StoreOutcome, Telemetry};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use uuid::Uuid;

pub(crate) use self::operation::operation;
use self::operation::outcome;
pub(crate) use self::tending::Lives;
use crate::backend::{Failure, Reader};
use crate::clock::Clock;
use crate::gateways::{Gateway, Gateways};
use crate::retention::Retention;
use crate::task::Limits;
use crate::trouble::Trouble;
use crate::writer::{Refused, Writer};

/// Sweeping more often than this is of no use: the clock counts seconds.
const SWEEP_PAUSE: Duration = Duration::from_millis(10);

/// How the keeper works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// How long sessions stay.
    pub(crate) kept: Retention,
    /// How many tasks there may be.
    pub(crate) limits: Limits,
    /// For how long a task is leased.
    pub(crate) lease: Duration,
}

/// Keeps sessions and tasks.
#[derive(Debug)]
pub(crate) struct Keeper {
    writer: Writer,
    reading: Mutex<Reading>,
    gateways: Arc<Gateways>,
    options: Options,
    clock: Clock,
    telemetry: Telemetry,
    /// There is work for whoever has room.
    ready: Notify,
    /// A task ends before what was planned for.
    sooner: Notify,
    /// When the next task is planned to end, in milliseconds since 1970.
    planned: AtomicI64,
}

impl Keeper {
    pub(crate) fn new(
        writer: Writer,
        reader: impl Reader,
        gateways: Arc<Gateways>,
        options: Options,
        telemetry: Telemetry,
    ) -> Self {
        Self {
            writer,
            reading: Mutex::new(Reading {
                reader: Box::new(reader),
                trouble: Trouble::with("reading"),
            }),
            gateways,
            options,
            clock: Clock::start(),
            telemetry,
            ready: Notify::new(),
            sooner: Notify::new(),
            planned: AtomicI64::new(i64::MAX),
        }
    }

    /// Answers what takes microseconds and waits for nobody.
    pub(crate) fn look(&self, question: &ToStore) -> Option<Answer> {
        if let ToStore::LookSession { id } = question {
            return Some(self.look_session(*id));
        }
        if let ToStore::Task(TaskQuestion::Get { id, asker }) = question {
            return Some(self.look_task(*id, asker));
        }
        None
    }

    /// Does what a gateway asks, or the operator.
    pub(crate) async fn answer(&self, question: ToStore, asker: Option<&Gateway>) -> Answer {
        let done = match (question, asker) {
            (ToStore::Task(TaskQuestion::Cancel { id, asker }), _) => self.cancel(id, asker).await,
            (_, None) => Ok(Answer::Refused(Refusal::Misplaced)),
            (ToStore::Task(question), Some(gateway)) => self.answer_task(question, gateway).await,
            (ToStore::LookSession { id }, _) => Ok(self.look_session(id)),
            (ToStore::OpenSession(record), _) => self.open(record).await,
            (ToStore::SetSessionLevel { id, level }, Some(gateway)) => {
                self.set_level(id, level, gateway).await
            }
            (ToStore::SubscribeSession { id, uri, on }, _) => self.subscribe(id, uri, on).await,
            (ToStore::TouchSessions { ids }, _) => self.touch(&ids).await,
            (ToStore::EndSession { id }, _) => self.end(id).await,
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

    /// Ends the sessions whose time is over, now and from time to time, and forgets
    /// spent states.
    pub(crate) async fn sweep_for_ever(&self, every: Duration) {
        loop {
            let start = Instant::now();
            let swept = self.sweep().await;
            self.swept(StoreOperation::Sweep, swept, start);
            let start = Instant::now();
            let swept = self.forget_spent().await;
            self.swept(StoreOperation::SweepSpent, swept, start);
            tokio::time::sleep(every.max(SWEEP_PAUSE)).await;
        }
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
    fn look_session(&self, id: Uuid) -> Answer {
        self.read(|reader| reader.session(id))
            .map_or_else(Answer::Refused, Answer::Session)
    }

    /// Reads what is committed.
    fn read<T>(&self, read: impl FnOnce(&dyn Reader) -> Result<T, Failure>) -> Result<T, Refusal> {
        let Reading { reader, trouble } = &mut *self.reading.lock();
        match read(&**reader) {
            Ok(found) => {
                trouble.succeeded();
                Ok(found)
            }
            Err(failure) => {
                trouble.failed(&failure);
                Err(Refusal::Storage)
            }
        }
    }

    fn swept(&self, operation: StoreOperation, swept: Result<(), Refused>, start: Instant) {
        let outcome = match swept {
            Ok(()) => StoreOutcome::Ok,
            Err(Refused::Failed) => StoreOutcome::Failed,
            Err(Refused::Gone) => StoreOutcome::Refused,
        };
        self.telemetry
            .store_operation(operation, outcome, start.elapsed());
    }
}
