//! The end of a call: shape what it returned, answer, count it.

use std::sync::Arc;
use std::time::Duration;

use conduit_protocol::{
    Code, Context as Meta, Era, InputRequired, Method, Outcome, Rendered, WireError, error,
    http_status,
};
use conduit_server::{Context, Input};
use conduit_telemetry::{CancelledBy, Outcome as Label, RequestSample, Trace};
use tokio::time::Instant;
use tracing::error;

use super::{Asked, Call, Streams};
use crate::cancellation::{Entry, Tracked};
use crate::exchange::MessageReply;
use crate::gateway::Shared;
use crate::responder::Responder;
use crate::rounds::{self, Carried};
use crate::workers::Ended;

/// A call may be answered this much after its limit before somebody else does it.
const OVERDUE: Duration = Duration::from_secs(2);

/// Everything that has to happen once a call is over.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) call: Call,
    pub(super) responder: Arc<Responder>,
    /// As its callback saw it in the last round.
    pub(super) context: Context,
    /// What that callback had, and has noted.
    pub(super) input: Arc<Input>,
    /// How many rounds there were before.
    pub(super) round: u32,
    /// Whether its request has brought anything from a round before.
    pub(super) brought: bool,
}

/// What a client hears, and what is counted.
struct Answer {
    status: u16,
    message: Rendered,
    label: Label,
}

impl Ending {
    /// Enters the call in the registry, for as long as the result lives.
    pub(super) fn track(&self, shared: &Shared, callback: Arc<str>, limit: Duration) -> Tracked {
        let call = &self.call;
        let entry = Entry {
            responder: Arc::clone(&self.responder),
            callback,
            loose: call.context.era == Era::Legacy && call.session.is_none(),
            overdue_at: Some(call.started + limit + OVERDUE),
        };
        shared.registry.track(call.scope(), call.id.clone(), entry)
    }

    /// Lets the call take this much longer from now on.
    pub(super) fn extend(tracked: &Tracked, by: Duration) {
        tracked.extend(Instant::now() + by + OVERDUE);
    }

    /// Answers and counts a call that is over.
    pub(super) fn finish<T: Asked>(self, shared: &Shared, ended: Ended<T>, time_limit: Duration) {
        let registry = &shared.registry;
        let Self {
            call, responder, ..
        } = &self;
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
        let answer = self.shape(shared, outcome, label);
        self.answer::<T>(answer);
    }

    /// Answers a call that goes on as a task.
    pub(super) fn hand_over<T: Asked>(self, begun: Result<Rendered, WireError>) {
        let answer = match begun {
            Ok(message) => Answer {
                status: 200,
                message,
                label: Label::Task,
            },
            Err(refused) => self.refusal(&refused, http_status(self.call.context.era, &refused)),
        };
        self.answer::<T>(answer);
    }
}

/// Whether a call is not over with what its callback has returned: it asks a legacy
/// client, or becomes a task.
pub(super) fn goes_on<T: Asked>(shared: &Shared, outcome: &Outcome<T>, streams: Streams) -> bool {
    match outcome {
        Outcome::InputRequired(_) => T::ASKS && bridges(shared, streams),
        Outcome::Task(_) => T::METHOD == Method::ToolsCall,
        Outcome::Complete(_) | Outcome::Refused(_) | _ => false,
    }
}

/// Whether the client can be asked on the stream of its call (R6).
pub(super) fn bridges(shared: &Shared, streams: Streams) -> bool {
    streams == Streams::InSession && shared.options.bridge_input
}

/// What a call is answered that the end of the process has stopped (R43).
pub(crate) fn shutting_down() -> WireError {
    WireError::new(Code::INTERNAL_ERROR, "the server is shutting down")
}

// === Behind the ending ===

impl Ending {
    fn shape<T: Asked>(&self, shared: &Shared, outcome: Outcome<T>, label: Label) -> Answer {
        let (era, hosted) = (self.call.context.era, &self.call.hosted);
        let outcome = match outcome {
            Outcome::InputRequired(asked) if T::ASKS && era == Era::Modern => {
                return match self.ask::<T>(shared, asked) {
                    Ok(message) => Answer {
                        status: 200,
                        message,
                        label: Label::InputRequired,
                    },
                    Err(refused) => self.refusal(&refused, status_of(era, &refused)),
                };
            }
            // An answer to what one client said is for nobody else (M-MRTR-14).
            Outcome::Complete(result) if self.brought => Outcome::Complete(result.uncached()),
            outcome @ (Outcome::Complete(_) | Outcome::Refused(_) | _) => outcome,
        };
        let status = if let Outcome::Refused(refused) = &outcome {
            status_of(era, refused)
        } else {
            200
        };
        Answer {
            status,
            message: hosted.face.outcome(era, &self.call.id, &outcome),
            label,
        }
    }

    /// Asks a modern client to come back with answers; nothing here waits for it.
    fn ask<T: Asked>(&self, shared: &Shared, asked: InputRequired) -> Result<Rendered, WireError> {
        let Self {
            call,
            context,
            input,
            ..
        } = self;
        rounds::check(&asked)?;
        rounds::check_declared(&asked.requests, context.client_capabilities())?;
        let next = Carried::after(self.round, input, asked.state);
        if next.round > shared.options.input_rounds {
            return Err(rounds::too_many(shared, &call.subject));
        }
        let token = rounds::seal(shared, &call.hosted, T::METHOD, &call.body, &next)?;
        if asked.requests.is_empty() && token.is_none() {
            error!(subject = &*call.subject, "a callback asks for nothing");
            return Err(WireError::internal());
        }
        let method = T::METHOD.as_str();
        let metrics = &call.hosted.metrics;
        metrics.input_required(method, asked.requests.len(), token.is_some());
        let face = &call.hosted.face;
        Ok(face.input_required(&call.id, &asked.requests, token.as_deref()))
    }

    fn refusal(&self, refused: &WireError, status: u16) -> Answer {
        Answer {
            status,
            message: error(Some(&self.call.id), refused),
            label: Label::Error,
        }
    }

    fn answer<T: Asked>(self, answer: Answer) {
        let Self {
            call, responder, ..
        } = self;
        let Answer {
            status,
            message,
            label,
        } = answer;
        let took = call.started.elapsed();
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
            era: (*era).into(),
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
fn status_of(era: Era, refused: &WireError) -> u16 {
    match era {
        Era::Modern if refused.code == Code::MISSING_CLIENT_CAPABILITY => http_status(era, refused),
        Era::Modern | Era::Legacy => 200,
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
