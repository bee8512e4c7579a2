//! The pipeline: one guarded call of a tool, from its context to its response.
//!
//! In this order: build its context, track it in flight, run it within its bounds,
//! untrack it, shape what it returned, answer, count it. A panic is one more way
//! to return (R14).

use std::borrow::Cow;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use conduit_protocol::{Code, Context as Meta, Era, Outcome, RequestId, WireError};
use conduit_server::{Arguments, Context, ContextParts, Emit, Run, Work};
use conduit_telemetry::{CancelledBy, Outcome as Label, RequestSample, ToolSample, Trace};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::admission::Admitted;
use crate::cancellation::{Entry, Registry, Scope, Tracked};
use crate::exchange::{Accepts, MessageReply, Reply};
use crate::gateway::Shared;
use crate::hosted::{Hosted, HostedTool};
use crate::responder::{Emitter, Responder};
use crate::sessions::Session;
use crate::workers::{Bounds, Ended};

/// A call may be answered this much after its limit before somebody else does it.
const OVERDUE: Duration = Duration::from_secs(2);
/// A call that may stream opens its stream after this long without a result (R29).
const SILENCE: Duration = Duration::from_secs(15);

/// A `tools/call` that was let in.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) hosted: Arc<Hosted>,
    pub(crate) index: usize,
    pub(crate) id: RequestId,
    pub(crate) arguments: Option<Bytes>,
    pub(crate) context: Meta,
    pub(crate) session: Option<Arc<Session>>,
    /// The legacy version that is spoken; `None` in the modern era.
    pub(crate) version: Option<&'static str>,
    pub(crate) accepts: Accepts,
    pub(crate) client: Option<IpAddr>,
    /// Whether it came through a pipe.
    pub(crate) piped: bool,
    pub(crate) started: Instant,
}

/// Starts a call: on the loop if its tool is `inline`, else on the worker pool.
pub(crate) fn start(
    shared: &Arc<Shared>,
    call: Call,
    tool: &HostedTool,
    reply: oneshot::Sender<Reply>,
    admitted: Admitted,
) {
    let may_stream = call.may_stream();
    let responder = Responder::new(reply, admitted);
    let context = call.author_context(shared, &responder, may_stream);
    let arguments = call
        .arguments
        .clone()
        .map_or_else(Arguments::none, Arguments::new);
    let (server, index) = (Arc::clone(&call.hosted.server), call.index);
    let ending = Ending { call, responder };
    let begin = move || server.call_tool(index, arguments, context);
    if tool.policy.run == Run::Inline {
        start_inline(shared, tool, ending, begin, may_stream);
    } else {
        start_on_pool(shared, tool, ending, begin, may_stream);
    }
}

/// Polls the call once, here and now; what is not ready goes on as a task.
///
/// A call that is ready at once is never entered in the registry: nobody else runs
/// on this loop in between, so nobody could look for it there.
fn start_inline(
    shared: &Arc<Shared>,
    tool: &HostedTool,
    ending: Ending,
    begin: impl FnOnce() -> Work,
    may_stream: bool,
) {
    let polled = shared.mark.hold(&tool.named, ending.call.started, || {
        std::panic::catch_unwind(AssertUnwindSafe(|| match begin() {
            Work::Async(mut callback) => match callback.as_mut().now_or_never() {
                Some(outcome) => Ok(outcome),
                None => Err(Work::Async(callback)),
            },
            work @ Work::Blocking(_) => Err(work),
        }))
    });
    match polled {
        Ok(Ok(outcome)) => {
            ending.finish(&shared.registry, Ended::Returned(outcome), tool.time_limit);
        }
        Ok(Err(work)) => run_on_pool(shared, tool, ending, work, may_stream),
        Err(_panic) => panicked(shared, tool, ending),
    }
}

fn start_on_pool(
    shared: &Arc<Shared>,
    tool: &HostedTool,
    ending: Ending,
    begin: impl FnOnce() -> Work,
    may_stream: bool,
) {
    // Making the future is the author's code too.
    match std::panic::catch_unwind(AssertUnwindSafe(begin)) {
        Ok(work) => run_on_pool(shared, tool, ending, work, may_stream),
        Err(_panic) => panicked(shared, tool, ending),
    }
}

fn panicked(shared: &Shared, tool: &HostedTool, ending: Ending) {
    shared.telemetry.emit(tool.named.panicked());
    ending.finish(&shared.registry, Ended::Panicked, tool.time_limit);
}

fn run_on_pool(
    shared: &Arc<Shared>,
    tool: &HostedTool,
    ending: Ending,
    work: Work,
    may_stream: bool,
) {
    let bounds = Bounds {
        named: Arc::clone(&tool.named),
        time_limit: tool.time_limit,
        grace: tool.policy.grace,
        concurrency: tool.concurrency.clone(),
        token: ending.responder.call().token().clone(),
    };
    let workers = Arc::clone(&shared.workers);
    let registry = shared.registry.clone();
    let tracked = ending.track(shared, tool);
    shared.workers.spawn(async move {
        let running = workers.run(work, &bounds);
        let ended = if may_stream {
            let mut running = std::pin::pin!(running);
            tokio::select! {
                biased;
                ended = running.as_mut() => ended,
                () = sleep(SILENCE) => {
                    ending.responder.open();
                    running.await
                }
            }
        } else {
            running.await
        };
        drop(tracked);
        ending.finish(&registry, ended, bounds.time_limit);
    });
}

impl Call {
    /// Whether notifications may precede the response (R7).
    fn may_stream(&self) -> bool {
        let asked = match self.context.era {
            Era::Modern => {
                self.context.progress_token.is_some() || self.context.log_level.is_some()
            }
            Era::Legacy => self.session.is_some(),
        };
        asked && self.accepts.events
    }

    fn scope(&self) -> Scope {
        if self.piped {
            return Scope::Pipe;
        }
        let session = self.session.as_ref().map(|session| session.id);
        Scope::of(session, None, self.client)
    }

    fn author_context(
        &self,
        shared: &Shared,
        responder: &Arc<Responder>,
        may_stream: bool,
    ) -> Context {
        let Meta {
            era,
            version,
            client_info,
            log_level,
            progress_token,
            trace,
            ..
        } = &self.context;
        let session = self.session.as_deref();
        let emit = may_stream.then(|| -> Arc<dyn Emit> {
            Arc::new(Emitter::new(
                Arc::clone(responder),
                shared.telemetry.clone(),
                progress_token.clone(),
                session.map_or(*log_level, |session| Some(session.level)),
            ))
        });
        Context::new(ContextParts {
            era: *era,
            version: self.version.map(Cow::Borrowed).or_else(|| version.clone()),
            session: session.map(|session| Arc::clone(&session.text)),
            principal: None,
            request_id: self.id.clone(),
            client_info: client_info
                .clone()
                .or_else(|| session.and_then(|session| session.client.clone())),
            trace: trace.clone(),
            progress_token: progress_token.clone(),
            token: responder.call().token().clone(),
            emit,
        })
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
    fn track(&self, shared: &Shared, tool: &HostedTool) -> Tracked {
        let call = &self.call;
        let entry = Entry {
            responder: Arc::clone(&self.responder),
            tool: Arc::clone(&tool.name),
            loose: call.context.era == Era::Legacy && call.session.is_none(),
            overdue_at: call.started + tool.time_limit + OVERDUE,
        };
        shared.registry.track(call.scope(), call.id.clone(), entry)
    }

    fn finish(self, registry: &Registry, ended: Ended, time_limit: Duration) {
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
        let name = call.hosted.tool_name(call.index);
        let outcome = if registry.is_ending() && matches!(ended, Ended::Aborted) {
            // R43: it is not the client who has cancelled it.
            Outcome::Refused(shutting_down())
        } else {
            ended.into_outcome(&name, time_limit)
        };
        let message = call
            .hosted
            .face
            .outcome(call.context.era, &call.id, &outcome);
        let took = call.started.elapsed();
        // An author's own error is an ordinary one, whatever its code (R46).
        responder.finish(MessageReply::new(200, message));
        let metrics = &call.hosted.metrics;
        metrics.tool(ToolSample {
            tool: Some(&name),
            outcome: label,
            took,
        });
        let Meta {
            era,
            version,
            trace,
            ..
        } = &call.context;
        metrics.request(RequestSample {
            method: Some("tools/call"),
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

/// What a call is answered that the end of the process has stopped (R43).
pub(crate) fn shutting_down() -> WireError {
    WireError::new(Code::INTERNAL_ERROR, "the server is shutting down")
}

fn label(ended: &Ended, cancelled: bool) -> Label {
    match ended {
        _ if cancelled => Label::Cancelled,
        Ended::Returned(Outcome::Complete(result)) if result.is_error => Label::ToolError,
        Ended::Returned(Outcome::Complete(_)) => Label::Ok,
        Ended::Returned(_) => Label::Error,
        Ended::Panicked => Label::Panic,
        Ended::OutOfTime => Label::Timeout,
        Ended::Aborted => Label::Cancelled,
    }
}
