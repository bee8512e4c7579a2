//! The pipeline: one guarded call of a callback, from its context to its response.
//!
//! In this order: build its context, prepare it, track it in flight, run it within its
//! bounds, see whether it has to go on (`call/flight.rs`), untrack it, shape what it
//! returned, answer, count it (`call/ending.rs`). A panic is one more way to return
//! (R14).

mod asked;
mod ending;
mod flight;
mod tasked;

use std::borrow::Cow;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use conduit_protocol::{Context as Meta, Era, Method, Outcome, RequestId};
use conduit_server::{Context, ContextParts, Emit, Input, Job, Run, Work};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::time::Instant;

pub(crate) use self::asked::Asked;
pub(crate) use self::ending::shutting_down;
use self::ending::{Ending, goes_on};
use self::flight::{Flight, Leg};
pub(crate) use self::tasked::{Course, course, with_policy};
use crate::admission::Admitted;
use crate::cancellation::Scope;
use crate::exchange::{Accepts, Reply};
use crate::gateway::Shared;
use crate::hosted::Hosted;
use crate::responder::{Comeback, Emitter, Responder};
use crate::rounds::Rounds;
use crate::sessions::Session;
use crate::watchdog::Named;
use crate::workers::Ended;

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
    /// The whole request.
    pub(crate) body: Bytes,
    /// What earlier rounds have brought.
    pub(crate) rounds: Rounds,
}

/// What the author's code makes a call of, once for each of its rounds.
pub(crate) trait Prepare<T>:
    FnMut(Context) -> Result<Job<T>, Outcome<T>> + Send + 'static
{
}

impl<T, F> Prepare<T> for F where F: FnMut(Context) -> Result<Job<T>, Outcome<T>> + Send + 'static {}

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
    mut prepare: impl Prepare<T>,
) {
    let streams = call.streams::<T>();
    let comeback = call.comeback(shared, streams);
    let responder = Responder::new(reply, admitted, comeback);
    let Rounds {
        carried,
        single_use,
    } = std::mem::take(&mut call.rounds);
    let (started, round) = (call.started, carried.round);
    let answered = !carried.answers.is_empty();
    let input = carried.into_input();
    let context = call.author_context::<T>(shared, &responder, streams, &input);
    let began = shared.mark.hold(named, started, || {
        let begin = AssertUnwindSafe(|| begin(prepare(context.clone()), single_use.is_some()));
        std::panic::catch_unwind(begin)
    });
    let ending = Ending {
        call,
        responder,
        context,
        input,
        round,
        brought: single_use.is_some() || answered,
    };
    let leg = match began {
        Ok(Begun::Ended(outcome, limit)) => {
            let limit = limit.unwrap_or(ending.call.hosted.time_limit);
            if !goes_on(shared, &outcome, streams) {
                return ending.finish(shared, Ended::Returned(outcome), limit);
            }
            Leg::Ended(Ended::Returned(outcome), limit)
        }
        Ok(Begun::Goes(job)) => Leg::Run(job),
        Err(_panic) => {
            shared.telemetry.emit(named.panicked());
            let limit = ending.call.hosted.time_limit;
            return ending.finish::<T>(shared, Ended::Panicked, limit);
        }
    };
    let flight = Flight {
        shared: Arc::clone(shared),
        ending,
        named: Arc::clone(named),
        streams,
        single_use,
        prepare,
    };
    flight.take_off(leg);
}

/// How a call has begun.
enum Begun<T> {
    /// It is over, or its first round is.
    Ended(Outcome<T>, Option<Duration>),
    /// It has to go on elsewhere.
    Goes(Job<T>),
}

/// Polls an inline call once, here and now; what is not ready goes on as a task.
///
/// A call that is ready at once is never entered in the registry: nobody else runs
/// on this loop in between, so nobody could look for it there. A state that holds for
/// one use has to be spent first, and that takes time.
fn begin<T>(prepared: Result<Job<T>, Outcome<T>>, has_state: bool) -> Begun<T> {
    let mut job = match prepared {
        Ok(job) => job,
        Err(outcome) => return Begun::Ended(outcome, None),
    };
    if job.policy.run == Run::Inline
        && !(job.policy.once && has_state)
        && let Work::Async(callback) = &mut job.work
        && let Some(outcome) = callback.as_mut().now_or_never()
    {
        return Begun::Ended(outcome, job.policy.time_limit);
    }
    Begun::Goes(job)
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
        input: &Arc<Input>,
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
            log_level: log_level.filter(|_| streams != Streams::Never),
            trace: trace.clone(),
            progress_token,
            token: responder.call().token().clone(),
            emit,
            input: Arc::clone(input),
            allows_task: *era == Era::Modern
                && is_tool
                && self.hosted.offered.tasks
                && capabilities.declares_tasks(),
            capabilities,
            task: None,
        };
        Context::new(parts).with_changes(self.hosted.changes())
    }
}
