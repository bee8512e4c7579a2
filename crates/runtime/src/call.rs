//! The pipeline: one guarded call of a callback, from its context to its response.
//!
//! In this order: build its context, prepare it, track it in flight, run it within its
//! bounds, untrack it, shape what it returned, answer, count it. A panic is one more way
//! to return (R14).

mod asked;

use std::borrow::Cow;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use conduit_protocol::{
    Code, Context as Meta, Era, Method, Outcome, RequestId, WireError, http_status,
};
use conduit_server::{Context, ContextParts, Emit, Job, Run, Work};
use conduit_telemetry::{CancelledBy, Outcome as Label, RequestSample, Trace};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

pub(crate) use self::asked::Asked;
use crate::admission::Admitted;
use crate::cancellation::{Entry, Registry, Scope, Tracked};
use crate::exchange::{Accepts, MessageReply, Reply};
use crate::gateway::Shared;
use crate::hosted::Hosted;
use crate::responder::{Comeback, Emitter, Responder};
use crate::sessions::Session;
use crate::watchdog::Named;
use crate::workers::{Bounds, Ended};

/// A call may be answered this much after its limit before somebody else does it.
const OVERDUE: Duration = Duration::from_secs(2);
/// A call that may stream opens its stream after this long without a result (R29).
const SILENCE: Duration = Duration::from_secs(15);

/// A call of a callback that was let in.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) hosted: Arc<Hosted>,
    /// What is asked for: a tool, a URI, a prompt.
    pub(crate) subject: Arc<str>,
    pub(crate) id: RequestId,
    pub(crate) context: Meta,
    pub(crate) session: Option<Arc<Session>>,
    /// The legacy version that is spoken; `None` in the modern era.
    pub(crate) version: Option<&'static str>,
    pub(crate) accepts: Accepts,
    pub(crate) client: Option<IpAddr>,
    /// The place of its server.
    pub(crate) server: usize,
    /// Whether it came through a pipe.
    pub(crate) piped: bool,
    pub(crate) started: Instant,
}

/// Starts a call: on the loop if its callback is `inline`, else on the worker pool.
///
/// `prepare` is the author's code, as is what it prepares; or it says right away what
/// becomes of the call. `named` is known before it is prepared.
pub(crate) fn start<T: Asked>(
    shared: &Arc<Shared>,
    mut call: Call,
    named: &Arc<Named>,
    reply: oneshot::Sender<Reply>,
    admitted: Admitted,
    prepare: impl FnOnce(Context) -> Result<Job<T>, Outcome<T>>,
) {
    let streams = call.streams::<T>();
    let comeback = call.comeback(shared, streams);
    let responder = Responder::new(reply, admitted, comeback);
    let context = call.author_context::<T>(shared, &responder, streams);
    let started = call.started;
    let ending = Ending { call, responder };
    let began = shared.mark.hold(named, started, || {
        let begin = AssertUnwindSafe(|| begin(prepare(context)));
        std::panic::catch_unwind(begin)
    });
    match began {
        Ok(Begun::Ended(outcome, limit)) => {
            let limit = limit.unwrap_or(ending.call.hosted.time_limit);
            ending.finish(&shared.registry, Ended::Returned(outcome), limit);
        }
        Ok(Begun::Goes(job)) => run_on_pool(shared, named, ending, job, streams),
        Err(_panic) => {
            shared.telemetry.emit(named.panicked());
            let limit = ending.call.hosted.time_limit;
            ending.finish::<T>(&shared.registry, Ended::Panicked, limit);
        }
    }
}

/// How a call has begun.
enum Begun<T> {
    /// It is over.
    Ended(Outcome<T>, Option<Duration>),
    /// It has to go on elsewhere.
    Goes(Job<T>),
}

/// Polls an inline call once, here and now; what is not ready goes on as a task.
///
/// A call that is ready at once is never entered in the registry: nobody else runs
/// on this loop in between, so nobody could look for it there.
fn begin<T>(prepared: Result<Job<T>, Outcome<T>>) -> Begun<T> {
    let mut job = match prepared {
        Ok(job) => job,
        Err(outcome) => return Begun::Ended(outcome, None),
    };
    if job.policy.run == Run::Inline
        && let Work::Async(callback) = &mut job.work
        && let Some(outcome) = callback.as_mut().now_or_never()
    {
        return Begun::Ended(outcome, job.policy.time_limit);
    }
    Begun::Goes(job)
}

fn run_on_pool<T: Asked>(
    shared: &Arc<Shared>,
    named: &Arc<Named>,
    ending: Ending,
    job: Job<T>,
    streams: Streams,
) {
    let Job {
        name,
        policy,
        permits,
        work,
    } = job;
    let named = if *named.callback == *name {
        Arc::clone(named)
    } else {
        Arc::new(Named {
            server: Arc::clone(&named.server),
            callback: Arc::clone(&name),
        })
    };
    let bounds = Bounds {
        named,
        time_limit: policy.time_limit.unwrap_or(ending.call.hosted.time_limit),
        grace: policy.grace,
        concurrency: permits,
        token: ending.responder.call().token().clone(),
    };
    let workers = Arc::clone(&shared.workers);
    let registry = shared.registry.clone();
    let tracked = ending.track(shared, name, bounds.time_limit);
    if policy.streams && streams == Streams::InSession {
        ending.responder.open();
    }
    shared.workers.spawn(async move {
        let running = workers.run(work, &bounds);
        let ended = if streams == Streams::Never {
            running.await
        } else {
            let mut running = std::pin::pin!(running);
            tokio::select! {
                biased;
                ended = running.as_mut() => ended,
                () = sleep(SILENCE) => {
                    ending.responder.open();
                    running.await
                }
            }
        };
        drop(tracked);
        ending.finish(&registry, ended, bounds.time_limit);
    });
}

/// Whether notifications may precede the response (R7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Streams {
    Never,
    /// The client has asked for it with this very request (modern).
    OnRequest,
    /// The first thing that the call says decides (legacy).
    InSession,
}

impl Call {
    fn streams<T: Asked>(&self) -> Streams {
        let asked = self.context.progress_token.is_some() || self.context.log_level.is_some();
        match (self.context.era, &self.session) {
            _ if !self.accepts.events => Streams::Never,
            (Era::Modern, _) if asked && T::METHOD == Method::ToolsCall => Streams::OnRequest,
            (Era::Legacy, Some(_)) => Streams::InSession,
            (Era::Modern, _) | (Era::Legacy, None) => Streams::Never,
        }
    }

    /// Where the stream is kept, if its client may come back to it (R43).
    fn comeback(&self, shared: &Shared, streams: Streams) -> Option<Comeback> {
        let session = self.session.as_deref()?;
        let resumes = streams == Streams::InSession && session.resumes() && !self.piped;
        resumes.then(|| Comeback {
            session: session.id,
            replays: shared.replays.clone(),
        })
    }

    fn scope(&self) -> Scope {
        if self.piped {
            return Scope::Pipe;
        }
        let session = self.session.as_ref().map(|session| session.id);
        Scope::of(self.server, session, None, self.client)
    }

    /// Takes over what nobody else needs.
    fn author_context<T: Asked>(
        &mut self,
        shared: &Shared,
        responder: &Arc<Responder>,
        streams: Streams,
    ) -> Context {
        let session = self.session.as_deref();
        let (client_info, capabilities) = match session {
            Some(session) => (session.client.clone(), session.capabilities.clone()),
            None => (
                self.context.client_info.take(),
                self.context.capabilities.take().unwrap_or_default(),
            ),
        };
        let Meta {
            era,
            version,
            log_level,
            progress_token,
            trace,
            ..
        } = &self.context;
        let log_level = session.map_or(*log_level, |session| Some(session.level));
        // Outside of `tools/call` a token is ignored (R7).
        let is_tool = T::METHOD == Method::ToolsCall;
        let progress_token = progress_token.clone().filter(|_| is_tool);
        let emit = (streams != Streams::Never).then(|| -> Arc<dyn Emit> {
            Arc::new(Emitter::new(
                Arc::clone(responder),
                shared.telemetry.clone(),
                progress_token.clone(),
                log_level,
            ))
        });
        let parts = ContextParts {
            era: *era,
            version: self.version.map(Cow::Borrowed).or_else(|| version.clone()),
            session: session.map(|session| Arc::clone(&session.text)),
            principal: None,
            request_id: self.id.clone(),
            client_info,
            capabilities,
            log_level: log_level.filter(|_| streams != Streams::Never),
            trace: trace.clone(),
            progress_token,
            token: responder.call().token().clone(),
            emit,
        };
        Context::new(parts).with_changes(self.hosted.changes())
    }
}

/// Everything that has to happen once a call is over.
#[derive(Debug)]
struct Ending {
    call: Call,
    responder: Arc<Responder>,
}

impl Ending {
    /// Enters the call in the registry, for as long as the result lives.
    fn track(&self, shared: &Shared, callback: Arc<str>, time_limit: Duration) -> Tracked {
        let call = &self.call;
        let entry = Entry {
            responder: Arc::clone(&self.responder),
            callback,
            loose: call.context.era == Era::Legacy && call.session.is_none(),
            overdue_at: Some(call.started + time_limit + OVERDUE),
        };
        shared.registry.track(call.scope(), call.id.clone(), entry)
    }

    fn finish<T: Asked>(self, registry: &Registry, ended: Ended<T>, time_limit: Duration) {
        let Self { call, responder } = self;
        let cancelled = responder.call().token().is_cancelled();
        let label = label(&ended, cancelled);
        let stopped_by = match &ended {
            Ended::OutOfTime => Some(CancelledBy::Deadline),
            _ if responder.call().was_hung_up() => Some(CancelledBy::HangUp),
            Ended::Returned(_) | Ended::Panicked | Ended::Aborted => None,
        };
        if let Some(by) = stopped_by {
            registry.cancelled(&call.scope(), &call.id, None, by);
        }
        let outcome = if registry.is_ending() && cancelled && gave_up(&ended) {
            // R43: it is not the client who has cancelled it.
            Outcome::Refused(shutting_down())
        } else {
            ended.into_outcome(&call.subject, time_limit)
        };
        let message = call
            .hosted
            .face
            .outcome(call.context.era, &call.id, &outcome);
        let took = call.started.elapsed();
        let status = status(call.context.era, &outcome);
        responder.finish(MessageReply::new(status, message));
        let metrics = &call.hosted.metrics;
        T::count(metrics, Some(&call.subject), label, took);
        let Meta {
            era,
            version,
            trace,
            ..
        } = &call.context;
        metrics.request(RequestSample {
            method: Some(T::METHOD.as_str()),
            era: match era {
                Era::Modern => conduit_telemetry::Era::Modern,
                Era::Legacy => conduit_telemetry::Era::Legacy,
            },
            version: version.as_deref().or(call.version),
            outcome: label,
            took,
            trace: Trace {
                traceparent: trace.traceparent.as_deref(),
                tracestate: trace.tracestate.as_deref(),
                baggage: trace.baggage.as_deref(),
            },
        });
    }
}

/// An author's own error is an ordinary one, whatever its code (R46), but for one that
/// tells what the client should have declared (R31).
fn status<T>(era: Era, outcome: &Outcome<T>) -> u16 {
    match (era, outcome) {
        (Era::Modern, Outcome::Refused(error)) if error.code == Code::MISSING_CLIENT_CAPABILITY => {
            http_status(era, error)
        }
        _ => 200,
    }
}

/// Whether a call that was told to stop did, rather than finish.
fn gave_up<T: Asked>(ended: &Ended<T>) -> bool {
    match ended {
        Ended::Returned(Outcome::Complete(result)) => result.is_failure(),
        Ended::Aborted | Ended::Returned(_) => true,
        Ended::Panicked | Ended::OutOfTime => false,
    }
}

/// What a call is answered that the end of the process has stopped (R43).
pub(crate) fn shutting_down() -> WireError {
    WireError::new(Code::INTERNAL_ERROR, "the server is shutting down")
}

fn label<T: Asked>(ended: &Ended<T>, cancelled: bool) -> Label {
    match ended {
        _ if cancelled => Label::Cancelled,
        Ended::Returned(Outcome::Complete(result)) if result.is_failure() => Label::ToolError,
        Ended::Returned(Outcome::Complete(_)) => Label::Ok,
        Ended::Returned(_) => Label::Error,
        Ended::Panicked => Label::Panic,
        Ended::OutOfTime => Label::Timeout,
        Ended::Aborted => Label::Cancelled,
    }
}
