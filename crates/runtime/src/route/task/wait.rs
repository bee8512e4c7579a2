//! `tasks/result`: waits for the end of a task (L-TASK-07).
//!
//! A task that asks its client something does so on the stream of whoever waits for its
//! result. That the client leaves cancels neither.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use conduit_link::{Subject, TaskEntry, TaskRecord, Topic};
use conduit_protocol::{
    Face, InputRequest, Method, RequestId, TaskParams, TaskStatus, WireError, error, http_status,
};
use conduit_telemetry::{Outcome, RefusedReason};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::debug;
use uuid::Uuid;

use super::{Asking, Refused, answers};
use crate::admission::Admitted;
use crate::bridge::{self, Unanswered};
use crate::call::shutting_down;
use crate::cancellation::{Entry, Scope, Tracked};
use crate::exchange::{Head, MessageReply};
use crate::interest::Wanted;
use crate::responder::{Comeback, Responder};
use crate::route::busy;
use crate::route::later::Later;
use crate::tasks::{self, Shown, Waiter};

/// A request that waits opens its stream after this long without a result (R29).
const SILENCE: Duration = Duration::from_secs(15);
/// A request that waits looks again after this long, should it not hear of a change.
const LOOK: Duration = Duration::from_secs(5);

/// A request for the result of a task, which waits for the end of it (L-TASK-07).
struct Wait {
    asking: Asking,
    task: TaskParams,
    responder: Arc<Responder>,
    call: Admitted,
    /// Whether its client reads a stream, on which it can be asked.
    streams: bool,
}

impl Asking {
    /// Waits for the end of a task and answers with what it came to. That the client
    /// leaves cancels neither.
    pub(super) async fn wait(self, later: Later, head: &Head, task: TaskParams) {
        let scope = if head.pipe.is_some() {
            Scope::Pipe
        } else {
            let session = self.session.as_ref().map(|session| session.id);
            Scope::of(head.server, session, None, head.client)
        };
        let streams = self.session.is_some() && head.accepts.events;
        let comeback = self.comeback(head, streams);
        let id = later.id.clone();
        let era = self.era;
        let (reply, call, count) = later.into_parts();
        let responder = Responder::new(reply, call.clone(), comeback);
        let tracked = track(&self, &responder, scope, &id);
        let wait = Wait {
            asking: self,
            task,
            responder,
            call,
            streams,
        };
        let outcome = wait.outcome_or_silence().await;
        drop(tracked);
        let face = &wait.asking.hosted.face;
        let (message, label) = match outcome {
            Ok(shown) => (answer_of(face, &id, &shown), Outcome::Ok),
            Err(Refused::Request(refused)) => {
                let message = error(Some(&id), &refused);
                (
                    MessageReply::new(http_status(era, &refused), message),
                    Outcome::Error,
                )
            }
            Err(Refused::Store) => {
                wait.asking.shared.telemetry.refused(RefusedReason::Store);
                let busy = busy(Some(&id), "the store is not available".to_owned());
                (busy, Outcome::Refused)
            }
        };
        wait.responder.finish(message);
        count.done(label);
    }

    fn comeback(&self, head: &Head, streams: bool) -> Option<Comeback> {
        let session = self.session.as_deref()?;
        let resumes = streams && session.resumes() && head.pipe.is_none();
        resumes.then(|| Comeback {
            session: session.id,
            replays: self.shared.replays.clone(),
        })
    }
}

fn track(asking: &Asking, responder: &Arc<Responder>, scope: Scope, id: &RequestId) -> Tracked {
    let entry = Entry {
        responder: Arc::clone(responder),
        callback: Method::TasksResult.as_str().into(),
        loose: asking.session.is_none(),
        // It may take as long as the task does.
        overdue_at: None,
    };
    asking.shared.registry.track(scope, id.clone(), entry)
}

/// What `tasks/result` says of a task that has ended.
fn answer_of(face: &Face, id: &RequestId, shown: &Shown) -> MessageReply {
    let message = match (shown.status(), shown.outcome()) {
        (TaskStatus::Cancelled, _) => error(
            Some(id),
            &WireError::new(tasks::CANCELLED, "Task cancelled"),
        ),
        (_, None) => error(Some(id), &WireError::internal()),
        // L-TASK-11: one that has failed may have a result all the same.
        (TaskStatus::Failed, Some(outcome)) if WireError::from_json(outcome).is_some() => {
            face.task_error(id, outcome)
        }
        (_, Some(outcome)) => face.task_result(id, outcome),
    };
    MessageReply::new(200, message)
}

impl Wait {
    /// Opens the stream if nothing comes for too long.
    async fn outcome_or_silence(&self) -> Result<Shown, Refused> {
        let mut outcome = Box::pin(self.outcome());
        if self.streams {
            if let Ok(outcome) = timeout(SILENCE, outcome.as_mut()).await {
                return outcome;
            }
            self.responder.open();
        }
        outcome.await
    }

    async fn outcome(&self) -> Result<Shown, Refused> {
        let unknown = || WireError::unknown_task(&self.task.text);
        let id = self.task.task_id.ok_or_else(unknown)?;
        let shared = &self.asking.shared;
        // Before the first look, so that nothing is missed behind it.
        let waiter = shared.waiting.wait(id);
        let wanted = self.listen(id).await;
        let waiting = async {
            let mut shown = self.look().await?;
            loop {
                shown = match shown.status() {
                    TaskStatus::Working => self.changed(&shown, &waiter).await?,
                    TaskStatus::InputRequired => self.ask_until_changed(&shown, &waiter).await?,
                    TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => {
                        return Ok(shown);
                    }
                };
            }
        };
        let waited = self
            .call
            .token()
            .run_until_cancelled(Box::pin(waiting))
            .await;
        drop(wanted);
        waited.unwrap_or_else(|| Err(self.stopped().into()))
    }

    async fn look(&self) -> Result<Shown, Refused> {
        self.asking.find(&self.task).await.map(Shown::of)
    }

    /// Waits until the task is another than it was, or is no more.
    async fn changed(&self, shown: &Shown, waiter: &Waiter) -> Result<Shown, Refused> {
        loop {
            tokio::select! {
                () = waiter.changed() => {}
                () = sleep(LOOK) => {}
                () = sleep_until(expiry(&shown.record)) => {}
            }
            let now = self.look().await?;
            if now.record.version != shown.record.version {
                return Ok(now);
            }
        }
    }

    /// Asks the session's client what the task wants to know, unless somebody else has
    /// answered, or the task is over.
    async fn ask_until_changed(&self, shown: &Shown, waiter: &Waiter) -> Result<Shown, Refused> {
        tokio::select! {
            biased;
            asked = self.ask(shown) => {
                asked?;
                self.look().await
            }
            now = self.changed(shown, waiter) => now,
        }
    }

    /// Lets the hub tell this gateway of the task.
    async fn listen(&self, id: Uuid) -> Option<Wanted> {
        let shared = &self.asking.shared;
        let topic = Topic {
            server: self.asking.hosted.name.to_string(),
            subject: Subject::Task(id),
        };
        let wanted = shared.interest.want(vec![topic]).ok()?;
        if wanted.heard(shared.options.hub_patience).await.is_err() {
            debug!("nobody will tell that a task has ended, it is looked at");
        }
        Some(wanted)
    }

    /// Asks the session's client what the task wants to know, on the stream of this
    /// request, until some of it is answered. An answer that does not fit is asked for
    /// again (M-MRTR-10).
    async fn ask(&self, shown: &Shown) -> Result<(), Refused> {
        let Asking {
            shared, session, ..
        } = &self.asking;
        if !shared.options.bridge_input {
            return Err(WireError::input_not_possible().into());
        }
        let Some(session) = session.as_ref().filter(|_| self.streams) else {
            // L-TASK-07: it waits for the end all the same; others may ask.
            return pending().await;
        };
        let task = shown.record.id;
        let questions = shown.questions().iter();
        let requests: Vec<_> = questions
            .filter_map(|(key, json)| Some((key.clone(), InputRequest::from_json(json)?)))
            .collect();
        for _ in 0..shared.options.input_rounds {
            let asked = bridge::ask(
                shared,
                session,
                &self.responder,
                requests.clone(),
                Some(task),
                self.call.token(),
            );
            let responses = asked.await.map_err(Unanswered::into_error)?;
            let responses = responses.into_iter();
            let fitting = responses.filter_map(|one| answers(shown.questions(), vec![one]).ok());
            let answers: Vec<TaskEntry> = fitting.flatten().collect();
            if !answers.is_empty() {
                self.asking.hand_in(task, answers).await?;
                return Ok(());
            }
            debug!(task = %tasks::short(task), "no answer of a client fits, it is asked again");
        }
        Err(Unanswered::Refused.into_error().into())
    }

    /// Why it is no longer waited for.
    fn stopped(&self) -> WireError {
        if self.asking.shared.registry.is_ending() {
            shutting_down()
        } else {
            WireError::new(tasks::CANCELLED, "Request cancelled")
        }
    }
}

/// When the time of a task is up, a moment later than the store may think.
fn expiry(record: &TaskRecord) -> Instant {
    tasks::until(record) + Duration::from_millis(50)
}
