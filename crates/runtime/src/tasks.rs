//! Calls that go on as tasks: how one is made, and who does its work.
//!
//! The truth about tasks is in the store. A gateway holds the work of some of them, each
//! under a fence by which the store refuses whatever a later holder has replaced. The
//! handle keeps what is held in a ledger; the actor (`foreman.rs`) takes more work while
//! there is room, and says again and again what is still held. Each piece of work runs
//! by itself (`run.rs`) and tells the store what came of it.
//!
//! Invariant: work that the store may have given to somebody else is stopped, and
//! nothing more is written of it.
//!
//! Bounds: [`Options::running`] pieces of work that this gateway asks for; what it makes
//! itself the store counts. When the actor fails it is restarted over the same ledger,
//! and nothing is lost.

mod ending;
mod foreman;
mod journal;
mod ledger;
mod notes;
mod run;
mod shown;
mod watch;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use conduit_actor::Seat;
use conduit_link::{
    Asker, Holding, Mail, NewTask as Stored, Refusal, TakenTask, TaskAnswer, TaskEra, TaskOwner,
    TaskQuestion, TaskRecord, TaskWork,
};
use conduit_protocol::{
    ClientCapabilities, Code, Era, LogLevel, NewTask, ProgressToken, Rendered, RequestId,
    TraceContext, WireError, task_status,
};
use conduit_telemetry::{Gauge, Held};
use parking_lot::Mutex;
use serde_bytes::ByteBuf;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};
use uuid::Uuid;

pub(crate) use self::foreman::{Foreman, Message};
use self::journal::{Called, Journal};
use self::ledger::{Ledger, Stop};
pub(crate) use self::run::until;
pub(crate) use self::shown::{Shown, short, stored_era};
pub(crate) use self::watch::{Waiter, Waiting, Watch, Watched, news};
use crate::gateway::Shared;
use crate::hosted::Hosted;
use crate::mail::millis;
use crate::outbox::TaskNews;
use crate::rounds::Carried;
use crate::sessions::Session;
use crate::store::{self, StoreDoor};
use crate::streams;

/// The most tasks that are being withdrawn at once, and for how long that is tried.
const WITHDRAWALS: usize = 4_096;
const WITHDRAWING: Duration = Duration::from_mins(1);
/// When trying again makes sense.
const RETRY: Duration = Duration::from_secs(1);
/// What a task's own cancellation is answered with, where somebody hears it.
pub(crate) const CANCELLED: Code = Code(-32_800);

/// How a gateway treats tasks.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long a task is kept unless somebody says otherwise.
    pub ttl: Duration,
    /// The longest that a task is kept, whatever somebody says.
    pub most_ttl: Duration,
    /// How often clients should ask, unless the author says otherwise.
    pub poll: Duration,
    /// How often the work of a restartable tool is started in all.
    pub attempts: u16,
    /// The most pieces of work at once for which this gateway asks.
    pub running: usize,
    /// For how long the store believes that work is held of which it hears nothing.
    pub lease: Duration,
    /// The largest result, in bytes.
    pub result_bytes: usize,
}

/// A call that is to go on as a task.
#[derive(Debug)]
pub(crate) struct Making {
    pub(crate) hosted: Arc<Hosted>,
    pub(crate) era: Era,
    /// The version of the protocol that is spoken.
    pub(crate) version: Option<Cow<'static, str>>,
    pub(crate) session: Option<Arc<Session>>,
    /// On whose behalf it is made, once somebody has authenticated.
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) request_id: RequestId,
    pub(crate) tool: Arc<str>,
    /// The JSON text of an object.
    pub(crate) arguments: Bytes,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) client_info: Option<Box<RawValue>>,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) trace: TraceContext,
    pub(crate) progress_token: Option<ProgressToken>,
    /// What is wished for: by the client first, then by the callback, then by the tool.
    pub(crate) new: NewTask,
    /// Whether its work may be started again when its gateway has died.
    pub(crate) restartable: bool,
    /// What was answered and noted before it became a task.
    pub(crate) carried: Carried,
}

/// Makes a task of a call, which is durable when this returns; answers the call.
///
/// # Errors
///
/// 42900 when there are as many tasks as there may be, 50300 when the store does not
/// answer, -32602 when the call is too large to be kept.
///
/// Cancel safe: a task whose making nobody waited for is given back.
pub(crate) async fn begin(shared: &Arc<Shared>, making: Making) -> Result<Rendered, WireError> {
    let (hosted, era, id) = (
        Arc::clone(&making.hosted),
        making.era,
        making.request_id.clone(),
    );
    let new = making.into_stored(&shared.options.tasks);
    let work = TaskWork {
        input: new.input.clone(),
        journal: new.journal.clone(),
        answers: Vec::new(),
        attempt: 1,
    };
    let (task, asker) = (new.id, maker_of(&new));
    let since = Instant::now();
    let question = TaskQuestion::Create(new);
    let created = shared
        .store
        .ask_of_tasks(question, shared.options.store_patience);
    let record = match created.await {
        Ok(Ok(TaskAnswer::Created { record, fence })) => {
            if let Some(fence) = fence {
                let record = record.clone();
                let taken = TakenTask {
                    record,
                    work,
                    fence,
                };
                run::start(shared, taken, since);
            }
            record
        }
        Ok(Err(Refusal::Full)) => {
            return Err(WireError::refused(429, "too many tasks").with_retry_after(RETRY));
        }
        Err(store::Error::TooLarge) => {
            return Err(WireError::invalid_params(
                "`params.arguments` are too large for a task",
            ));
        }
        Err(store::Error::CannotWrite) => return Err(cannot_write()),
        Ok(_) | Err(store::Error::Unavailable) => {
            withdraw(shared, task, asker);
            return Err(unavailable());
        }
    };
    let shown = Shown::of(record);
    Ok(hosted.face.task_created(era, &id, &shown.view()))
}

/// Cancels a task that was refused because the store did not answer: it may have been
/// made all the same, and its client will make another one. Waits for nobody; after
/// [`WITHDRAWING`] the task is left to itself.
fn withdraw(shared: &Arc<Shared>, id: Uuid, asker: Asker) {
    let Ok(place) = Arc::clone(&shared.executor.shared.withdrawals).try_acquire_owned() else {
        warn!("too many tasks are being withdrawn, one may be done although it was refused");
        return;
    };
    let here = Arc::clone(shared);
    shared.tasks.spawn(async move {
        let until = Instant::now() + WITHDRAWING;
        while Instant::now() < until {
            let question = TaskQuestion::Cancel {
                id,
                asker: Some(asker.clone()),
            };
            let patience = here.options.store_patience;
            if here.store.ask_of_tasks(question, patience).await.is_ok() {
                break;
            }
            sleep(RETRY).await;
        }
        drop(place);
    });
}

/// Looks a task up on behalf of somebody.
pub(crate) async fn look(
    store: &StoreDoor,
    patience: Duration,
    id: Uuid,
    asker: Asker,
) -> Result<Option<TaskRecord>, store::Error> {
    let question = TaskQuestion::Get { id, asker };
    match store.ask_of_tasks(question, patience).await? {
        Ok(TaskAnswer::Task(record)) => Ok(record),
        other => {
            debug!(answer = ?other.map(drop), "the store did not answer with a task");
            Err(store::Error::Unavailable)
        }
    }
}

/// Lets everybody know who wants to that a task has changed; waits for nobody.
pub(crate) fn changed(shared: &Arc<Shared>, record: &TaskRecord) {
    drop(shared.publisher.publish_task(&record.server, record.id));
    let TaskOwner::Session(session) = record.owner else {
        return;
    };
    if record.era != TaskEra::Legacy {
        return;
    }
    let notification = task_status(&Shown::of(record.clone()).view());
    let mail = Mail::TaskStatus {
        session: session.to_string(),
        task: record.id,
        version: record.version,
        notification: ByteBuf::from(notification.clone().into_bytes().to_vec()),
    };
    let told = streams::Message::TaskStatus {
        session,
        task: record.id,
        news: TaskNews::status(record.version, notification),
        answerer: None,
    };
    if shared.streams.cast(told).is_err() {
        debug!("streams are restarting, a session misses a status");
    }
    let post = shared.post.clone();
    shared.tasks.spawn(async move {
        if post.send_to_others(mail).await.is_none() {
            debug!("a session may miss the status of a task");
        }
    });
}

/// What a request is answered that needs the store when there is none to be had.
pub(crate) fn unavailable() -> WireError {
    let reason = "the store is not available, try again in a moment";
    WireError::refused(503, reason).with_retry_after(RETRY)
}

/// What a request is answered that would change what the store cannot write.
pub(crate) fn cannot_write() -> WireError {
    let reason = "the store cannot write, so nothing new can be kept; try again later";
    WireError::refused(503, reason).with_retry_after(RETRY)
}

// === The handle ===

/// Reaches the work that is done here; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Executor {
    shared: Arc<Inner>,
}

/// A piece of work's place in the ledger, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    executor: Executor,
    holding: Holding,
    token: CancellationToken,
    _running: Held,
}

#[derive(Debug)]
struct Inner {
    seat: Seat<Message>,
    ledger: Mutex<Ledger>,
    runs: TaskTracker,
    /// Of which each task that is being withdrawn holds one.
    withdrawals: Arc<Semaphore>,
    ending: AtomicBool,
    running: Gauge,
}

impl Executor {
    pub(crate) fn new(seat: Seat<Message>, running: Gauge) -> Self {
        Self {
            shared: Arc::new(Inner {
                seat,
                ledger: Mutex::default(),
                runs: TaskTracker::new(),
                withdrawals: Arc::new(Semaphore::new(WITHDRAWALS)),
                ending: AtomicBool::new(false),
                running,
            }),
        }
    }

    /// Stops the work of tasks that are over. Never waits.
    pub(crate) fn end(&self, ids: &[Uuid]) {
        let stopped = self.shared.ledger.lock().end(ids);
        debug!(tasks = ids.len(), stopped, "tasks are over");
    }

    /// Takes no more work from the store: the process ends.
    pub(crate) fn close(&self) {
        self.shared.ending.store(true, Ordering::Relaxed);
        self.shared.runs.close();
    }

    /// Waits until no work is done here; [`close`](Self::close) comes first.
    ///
    /// Cancel safe.
    pub(crate) async fn idle(&self) {
        self.shared.runs.wait().await;
    }

    /// Stops all work because the process ends; returns how much that was. Work that
    /// ends gives itself back.
    pub(crate) fn stop_all(&self) -> usize {
        self.shared.ledger.lock().stop_all().len()
    }

    /// Returns the work that was told to stop because the process ends, and has not.
    pub(crate) fn left(&self) -> Vec<Holding> {
        self.shared.ledger.lock().left()
    }

    pub(super) fn is_ending(&self) -> bool {
        self.shared.ending.load(Ordering::Relaxed)
    }

    fn enter(&self, holding: Holding, since: Instant) -> Place {
        Place {
            token: self.shared.ledger.lock().enter(holding, since),
            holding,
            executor: self.clone(),
            _running: self.shared.running.hold(),
        }
    }
}

impl Place {
    const fn holding(&self) -> Holding {
        self.holding
    }

    /// Returns the token that the callback watches.
    const fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Stops the work.
    fn stop(&self, stop: Stop) {
        self.executor.shared.ledger.lock().stop(&self.holding, stop);
    }

    fn stopped(&self) -> Option<Stop> {
        self.executor.shared.ledger.lock().stopped(&self.holding)
    }

    /// Notes that what came of the work is to be written, unless it was stopped.
    fn begin_writing(&self) -> Result<(), Stop> {
        self.executor
            .shared
            .ledger
            .lock()
            .begin_writing(&self.holding)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let shared = &self.executor.shared;
        shared.ledger.lock().leave(&self.holding);
        if shared.seat.cast(Message::Ended).is_err() {
            debug!("the foreman is restarting, it looks for work by itself");
        }
    }
}

// === Behind the handle ===

/// Says who has made a task, as whoever asks for it.
fn maker_of(task: &Stored) -> Asker {
    let (principal, session) = match &task.owner {
        TaskOwner::Principal(principal) => (Some(principal.clone()), None),
        TaskOwner::Session(session) => (None, Some(*session)),
        TaskOwner::Bearer => (None, None),
    };
    Asker {
        server: task.server.clone(),
        era: task.era,
        principal,
        session,
    }
}

impl Making {
    fn into_stored(self, options: &Options) -> Stored {
        let owner = match (&self.principal, &self.session) {
            (Some(principal), _) => TaskOwner::Principal(principal.to_string()),
            (None, Some(session)) => TaskOwner::Session(session.id),
            (None, None) => TaskOwner::Bearer,
        };
        let called = Called {
            version: self.version.map(Cow::into_owned),
            session: self.session.map(|session| session.text.to_string()),
            principal: self.principal.as_deref().map(str::to_owned),
            request_id: self.request_id,
            arguments: journal::raw_of(&self.arguments),
            capabilities: self.capabilities,
            client_info: self.client_info,
            log_level: self.log_level,
            trace: self.trace,
            progress_token: self.progress_token,
        };
        let ttl = self.new.ttl_ms.unwrap_or_else(|| millis(options.ttl));
        Stored {
            id: Uuid::new_v4(),
            server: self.hosted.name.to_string(),
            era: stored_era(self.era),
            owner,
            tool: self.tool.to_string(),
            // At least a moment: nothing is kept for no time at all.
            ttl_ms: Some(ttl.clamp(1, millis(options.most_ttl).max(1))),
            poll_ms: Some(self.new.poll_ms.unwrap_or_else(|| millis(options.poll))),
            message: self.new.message,
            input: ByteBuf::from(called.to_json()),
            journal: ByteBuf::from(Journal::of(self.carried).to_json()),
            attempts: if self.restartable {
                options.attempts.max(1)
            } else {
                1
            },
        }
    }
}

#[cfg(test)]
mod tests;
