//! One piece of work of a task: from what the store gave to what it is told.
//!
//! A callback runs from its start in each round; between two rounds nothing of it is
//! kept here. Once the task's time is up its callback is told to stop, and aborted a
//! moment later: nobody can see what it comes to.

use std::borrow::Cow;
use std::convert::Infallible;
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use conduit_link::{Holding, Refusal, TakenTask, TaskAnswer, TaskQuestion, TaskRecord, TaskWork};
use conduit_protocol::{Method, ToolResult, WireError};
use conduit_server::{Arguments, Context, ContextParts, Emit, Input, TaskPart, ToolEntry, Work};
use conduit_telemetry::{Outcome as Label, TaskSample, ToolSample};
use serde_bytes::ByteBuf;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, error, warn};

use super::ending::{Ending, Finish, Judge, Next, Round, gave_up, label};
use super::journal::{Called, Journal};
use super::ledger::Stop;
use super::notes::Notes;
use super::{Place, changed, short};
use crate::gateway::Shared;
use crate::hosted::{Hosted, HostedTool};
use crate::store;
use crate::tasks::shown::era_of;
use crate::watchdog::Named;
use crate::workers::{Bounds, Ended};

/// How long a callback may go on once its task's time is up.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Between two attempts to tell the store what came of a task.
const AGAIN: Duration = Duration::from_millis(100);
/// What counts as for ever: a task without a time to live.
const FOREVER: Duration = Duration::from_hours(24 * 365);

/// Begins with work that the store gave when it was asked at `since`.
pub(super) fn start(shared: &Arc<Shared>, taken: TakenTask, since: Instant) {
    let holding = Holding {
        id: taken.record.id,
        fence: taken.fence,
    };
    let executor = &shared.executor;
    debug!(task = %short(holding.id), tool = taken.record.tool, "work of a task begins");
    let run = Run {
        place: executor.enter(holding, since),
        until: until(&taken.record),
        shared: Arc::clone(shared),
        record: taken.record,
    };
    let tracked = executor.shared.runs.track_future(run.carry_out(taken.work));
    shared.workers.spawn(tracked);
}

// === Behind the start ===

/// Work that is being done.
struct Run {
    shared: Arc<Shared>,
    record: TaskRecord,
    place: Place,
    /// When the task's time is up.
    until: Instant,
}

/// What the work needs, found and read.
struct Prepared {
    hosted: Arc<Hosted>,
    entry: Arc<ToolEntry>,
    named: Arc<Named>,
    called: Called,
    journal: Journal,
    attempt: u16,
}

/// What came of the work.
struct Verdict {
    ending: Ending,
    label: Label,
    /// Whether the callback stopped because it was told to.
    gave_up: bool,
    server: Option<Arc<Hosted>>,
}

impl Run {
    async fn carry_out(self, work: TaskWork) {
        let started = Instant::now();
        let verdict = match self.prepare(&work) {
            Ok(prepared) => self.work(prepared).await,
            Err(refused) => Verdict {
                ending: Ending::Finish(Finish::failed(&refused)),
                label: Label::Error,
                gave_up: false,
                server: self.shared.hosted_of(&self.record.server).cloned(),
            },
        };
        let took = started.elapsed();
        let label = match self.place.begin_writing() {
            Err(Stop::Ending) if verdict.gave_up => {
                self.give_back().await;
                Label::Cancelled
            }
            // It may have come to something although it was told to stop.
            Ok(()) | Err(Stop::Ending) => {
                self.write(verdict.ending).await;
                verdict.label
            }
            Err(stop @ (Stop::Over | Stop::Lost)) => {
                debug!(task = %short(self.record.id), ?stop, "nothing is written of a task");
                Label::Cancelled
            }
        };
        if let Some(hosted) = verdict.server {
            hosted.metrics.task(TaskSample {
                tool: &self.record.tool,
                outcome: label,
                took,
            });
        }
    }

    fn prepare(&self, work: &TaskWork) -> Result<Prepared, WireError> {
        let record = &self.record;
        let unable = |what: &'static str| {
            error!(task = %short(record.id), server = record.server, tool = record.tool, what,
                "a task's work cannot be done");
            WireError::internal()
        };
        let hosted = self.shared.hosted_of(&record.server).cloned();
        let hosted = hosted.ok_or_else(|| unable("the server is gone"))?;
        let shown = hosted.shown();
        let tool = shown.tool(&record.tool);
        let HostedTool { entry, named } = tool.ok_or_else(|| unable("the tool is gone"))?;
        let called = Called::from_json(&work.input);
        let journal = Journal::resume(work);
        let (Some(called), Some(journal)) = (called, journal) else {
            return Err(unable("what was kept of it cannot be read"));
        };
        Ok(Prepared {
            entry: Arc::clone(entry),
            named: Arc::clone(named),
            hosted,
            called,
            journal,
            attempt: work.attempt,
        })
    }

    /// Runs the callback, round after round as long as it asks nobody anything.
    async fn work(&self, mut prepared: Prepared) -> Verdict {
        let mut journal = std::mem::take(&mut prepared.journal);
        let Prepared { hosted, called, .. } = &prepared;
        let options = &self.shared.options;
        let judge = Judge {
            face: &hosted.face,
            era: era_of(self.record.era),
            task: self.record.id,
            tool: &self.record.tool,
            capabilities: &called.capabilities,
            result_bytes: options.tasks.result_bytes,
            rounds: options.input_rounds,
        };
        loop {
            let carried = std::mem::take(&mut journal.carried);
            let number = carried.round;
            let input = carried.into_input();
            let notes = Arc::new(Notes::default());
            let context = self.context(&prepared, &input, &notes);
            let began = Instant::now();
            let (ended, limit) = self.run_tool(&prepared, context, &notes).await;
            let (label, gave_up) = (label(&ended), gave_up(&ended));
            hosted.metrics.tool(ToolSample {
                tool: Some(&self.record.tool),
                outcome: label,
                took: began.elapsed(),
            });
            let round = Round {
                number,
                input: &input,
                said: notes.last(),
            };
            match judge.decide(ended, limit, round, &mut journal) {
                Next::Again(carried) => journal.carried = carried,
                Next::End(ending) => {
                    if let Ending::Suspend { questions, .. } = &ending {
                        let method = Method::ToolsCall.as_str();
                        hosted.metrics.input_required(method, questions.len(), true);
                    }
                    return Verdict {
                        ending,
                        label,
                        gave_up,
                        server: Some(Arc::clone(hosted)),
                    };
                }
            }
        }
    }

    fn context(&self, prepared: &Prepared, input: &Arc<Input>, notes: &Arc<Notes>) -> Context {
        let called = &prepared.called;
        let emit: Arc<dyn Emit> = Arc::<Notes>::clone(notes);
        let parts = ContextParts {
            era: era_of(self.record.era),
            version: called.version.clone().map(Cow::Owned),
            session: called.session.as_deref().map(Arc::from),
            principal: called.principal.as_deref().map(Arc::from),
            request_id: called.request_id.clone(),
            client_info: called.client_info.clone(),
            capabilities: called.capabilities.clone(),
            log_level: None,
            trace: called.trace.clone(),
            progress_token: called.progress_token.clone(),
            token: self.place.token().clone(),
            emit: Some(emit),
            input: Arc::clone(input),
            allows_task: true,
            task: Some(TaskPart {
                id: self.record.id.to_string().into(),
                attempt: prepared.attempt,
            }),
        };
        Context::new(parts).with_changes(prepared.hosted.changes())
    }

    /// Runs the callback once, and returns within which limit.
    async fn run_tool(
        &self,
        prepared: &Prepared,
        context: Context,
        notes: &Notes,
    ) -> (Ended<ToolResult>, Duration) {
        let Prepared {
            entry,
            named,
            called,
            ..
        } = prepared;
        let left = self.until.saturating_duration_since(Instant::now()) + LAST_WORDS;
        let limit = entry
            .policy
            .time_limit
            .map_or(left, |limit| limit.min(left));
        let arguments = called.arguments.as_deref();
        let arguments = arguments.map_or_else(Arguments::none, Arguments::from);
        let prepare = AssertUnwindSafe(|| entry.call(arguments, context));
        let work: Work = match std::panic::catch_unwind(prepare) {
            Ok(work) => work,
            Err(_panic) => {
                self.shared.telemetry.emit(named.panicked());
                return (Ended::Panicked, limit);
            }
        };
        let bounds = Bounds {
            named: Arc::clone(named),
            time_limit: limit,
            grace: entry.policy.grace,
            concurrency: entry.permits().cloned(),
            token: self.place.token().clone(),
        };
        let ended = tokio::select! {
            biased;
            ended = self.shared.workers.run(work, &bounds) => ended,
            never = self.mind(notes) => match never {},
        };
        if matches!(ended, Ended::OutOfTime) {
            // A thread that goes on all the same may look at it.
            self.place.token().cancel();
        }
        (ended, limit)
    }

    /// Tells the store what the work says of itself, and stops it once its time is up.
    async fn mind(&self, notes: &Notes) -> Infallible {
        let expiring = async {
            sleep_until(self.until).await;
            self.place.stop(Stop::Over);
            pending().await
        };
        let noting = async {
            loop {
                let message = notes.next().await;
                self.note(message).await;
            }
        };
        // Neither ends.
        tokio::select! {
            never = expiring => never,
            never = noting => never,
        }
    }

    async fn note(&self, message: String) {
        if self.place.stopped().is_some() {
            return;
        }
        let question = TaskQuestion::Note {
            holding: self.place.holding(),
            message,
        };
        let patience = self.shared.options.store_patience;
        match self.shared.store.ask_of_tasks(question, patience).await {
            Ok(Ok(TaskAnswer::Task(Some(record)))) => changed(&self.shared, &record),
            Ok(Err(Refusal::Fenced)) => self.place.stop(Stop::Lost),
            // The next one says it all.
            Ok(_) | Err(_) => debug!(task = %short(self.record.id), "a note of a task is lost"),
        }
    }

    /// Tells the store what came of the work.
    async fn write(&self, ending: Ending) {
        let holding = self.place.holding();
        let question = match ending {
            Ending::Finish(finish) => finish.into_question(holding),
            Ending::Suspend { journal, questions } => TaskQuestion::Suspend {
                holding,
                journal: ByteBuf::from(journal),
                questions,
            },
        };
        let written = match self.tell(question).await {
            Err(store::Error::TooLarge) => {
                warn!(task = %short(self.record.id), "what a task came to is too large for the store");
                let error = WireError::new(
                    WireError::internal().code,
                    "what the task came to is too large to be kept",
                );
                let failed = Finish::failed(&error).into_question(holding);
                self.tell(failed).await
            }
            told => told,
        };
        match written {
            Ok(Some(record)) => changed(&self.shared, &record),
            Ok(None) => {}
            Err(error) => {
                error!(task = %short(self.record.id), %error, "what a task came to is lost");
            }
        }
    }

    /// Asks again until the store has taken it, or would not, or the task's time is up.
    async fn tell(&self, question: TaskQuestion) -> Result<Option<TaskRecord>, store::Error> {
        let patience = self.shared.options.store_patience;
        loop {
            let asking = self.shared.store.ask_of_tasks(question.clone(), patience);
            match asking.await {
                Ok(Ok(TaskAnswer::Task(record))) => return Ok(record),
                Ok(Err(Refusal::Full)) | Err(store::Error::TooLarge) => {
                    return Err(store::Error::TooLarge);
                }
                Ok(Err(refusal)) => {
                    debug!(task = %short(self.record.id), ?refusal, "the store does not take it");
                    return Ok(None);
                }
                Ok(Ok(_)) | Err(store::Error::Unavailable | store::Error::CannotWrite) => {}
            }
            if matches!(self.place.stopped(), Some(Stop::Over | Stop::Lost)) {
                return Ok(None);
            }
            if Instant::now() >= self.until {
                return Err(store::Error::Unavailable);
            }
            sleep(AGAIN).await;
        }
    }

    /// Gives the work back, because this process ends.
    async fn give_back(&self) {
        let question = TaskQuestion::Release {
            held: vec![self.place.holding()],
        };
        let patience = self.shared.options.store_patience;
        if self
            .shared
            .store
            .ask_of_tasks(question, patience)
            .await
            .is_err()
        {
            debug!(task = %short(self.record.id), "a task is not given back, its lease runs out");
        }
    }
}

impl Finish {
    fn into_question(self, holding: Holding) -> TaskQuestion {
        TaskQuestion::Finish {
            holding,
            status: self.status,
            outcome: ByteBuf::from(self.outcome.get()),
            message: self.message,
        }
    }
}

/// When the time of a task is up.
pub(crate) fn until(record: &TaskRecord) -> Instant {
    let ends_ms = record
        .ttl_ms
        .map(|ttl_ms| record.created_ms.saturating_add(ttl_ms));
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ms = now.map_or(0, crate::mail::millis);
    let left = ends_ms.map_or(FOREVER, |ends_ms| {
        Duration::from_millis(ends_ms.saturating_sub(now_ms))
    });
    Instant::now() + left.min(FOREVER)
}
