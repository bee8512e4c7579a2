//! Turns what a call emits into its reply: the first thing decides (R7, R29).

use std::sync::Arc;
use std::time::Duration;

use conduit_protocol::{
    Era, LogLevel, ProgressToken, Rendered, RequestId, WireError, log_message, progress,
};
use conduit_server::{Emission, Emit};
use conduit_telemetry::{LostKind, Telemetry};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::admission::Admitted;
use crate::exchange::{MessageReply, Reply};
use crate::outbox::{Events, Kind, Outbox};
use crate::replays::Replays;

/// Answers one call, exactly once.
#[derive(Debug)]
pub(crate) struct Responder {
    state: Mutex<State>,
    call: Admitted,
    /// For a stream to which its client may come back.
    comeback: Option<Comeback>,
}

/// Where a stream is kept for whoever comes back to it.
#[derive(Clone, Debug)]
pub(crate) struct Comeback {
    pub(crate) session: Uuid,
    pub(crate) replays: Replays,
}

#[derive(Debug)]
enum State {
    /// Nothing was said yet; JSON is still possible.
    Silent(oneshot::Sender<Reply>),
    /// The stream is open.
    Streaming(Open),
    /// The response is out.
    Answered,
}

#[derive(Clone, Debug)]
struct Open {
    outbox: Arc<Outbox>,
    /// Its name among the kept ones.
    stream: Option<Uuid>,
}

impl Responder {
    pub(crate) fn new(
        reply: oneshot::Sender<Reply>,
        call: Admitted,
        comeback: Option<Comeback>,
    ) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::Silent(reply)),
            call,
            comeback,
        })
    }

    /// Returns the call that is being answered.
    pub(crate) const fn call(&self) -> &Admitted {
        &self.call
    }

    /// Sends the response; a second one is ignored. Returns whether it was the first.
    pub(crate) fn finish(&self, reply: MessageReply) -> bool {
        let state = std::mem::replace(&mut *self.state.lock(), State::Answered);
        match state {
            State::Silent(sender) => {
                self.call.answer();
                let reply = if self.call.is_silent() {
                    Reply::Accepted
                } else {
                    Reply::Message(reply)
                };
                // A client that left takes the answer with it.
                drop(sender.send(reply));
                true
            }
            State::Streaming(Open { outbox, stream }) => {
                outbox.finish((!self.call.is_silent()).then_some(reply.message));
                if let (Some(stream), Some(comeback)) = (stream, &self.comeback) {
                    comeback.replays.ended(stream);
                }
                true
            }
            State::Answered => false,
        }
    }

    /// Opens a stream that tells of changes, in place of an answer.
    pub(crate) fn open_changes(&self, outbox: Arc<Outbox>, events: Events) {
        let mut state = self.state.lock();
        let open = State::Streaming(Open {
            outbox,
            stream: None,
        });
        if let State::Silent(sender) = std::mem::replace(&mut *state, open) {
            // A client that left takes the stream with it.
            drop(sender.send(Reply::Stream(events)));
        }
    }

    /// Opens the stream, if nothing was said yet.
    pub(crate) fn open(&self) {
        let mut state = self.state.lock();
        self.open_locked(&mut state);
    }

    /// Answers with an error, whatever the call is doing. Returns whether it was
    /// the first answer.
    pub(crate) fn refuse(&self, id: &RequestId, error: &WireError) -> bool {
        let status = conduit_protocol::http_status(Era::Legacy, error);
        let message = conduit_protocol::error(Some(id), error);
        self.finish(MessageReply::new(status, message))
    }

    /// Sends a notification ahead of the response; returns how many were dropped.
    fn notify(&self, kind: Kind, message: Rendered) -> usize {
        if self.call.is_silent() {
            return 0;
        }
        let mut state = self.state.lock();
        match self.open_locked(&mut state) {
            Some(outbox) => outbox.notify(kind, message),
            None => 1,
        }
    }

    /// Asks the client something ahead of the response: what is asked is never dropped.
    pub(crate) fn ask(&self, request: Rendered) {
        // Whether it arrives is known by its answer.
        self.notify(Kind::Request, request);
    }

    /// Lets the client go until later, if it can come back.
    fn close(&self, retry: Duration) {
        if self.comeback.is_some()
            && let Some(outbox) = self.open_locked(&mut self.state.lock())
        {
            outbox.close(retry);
        }
    }

    fn open_locked(&self, state: &mut State) -> Option<Arc<Outbox>> {
        match std::mem::replace(state, State::Answered) {
            State::Silent(sender) => {
                let open = self.make_outbox();
                let outbox = Arc::clone(&open.outbox);
                let events = Events::of_call(Arc::clone(&outbox), self.call.clone());
                *state = State::Streaming(open);
                // A client that left takes the stream with it.
                drop(sender.send(Reply::Stream(events)));
                Some(outbox)
            }
            State::Streaming(open) => {
                let outbox = Arc::clone(&open.outbox);
                *state = State::Streaming(open);
                Some(outbox)
            }
            State::Answered => None,
        }
    }

    fn make_outbox(&self) -> Open {
        match &self.comeback {
            Some(Comeback { session, replays }) => {
                let (stream, outbox) = replays.open(*session);
                Open {
                    outbox,
                    stream: Some(stream),
                }
            }
            None => Open {
                outbox: Arc::default(),
                stream: None,
            },
        }
    }
}

/// Carries a callback's notifications to its responder.
#[derive(Debug)]
pub(crate) struct Emitter {
    responder: Arc<Responder>,
    telemetry: Telemetry,
    token: Option<ProgressToken>,
    level: Option<LogLevel>,
    /// The last progress: it has to grow (C-PROG).
    progress: Mutex<f64>,
}

impl Emitter {
    pub(crate) fn new(
        responder: Arc<Responder>,
        telemetry: Telemetry,
        token: Option<ProgressToken>,
        level: Option<LogLevel>,
    ) -> Self {
        Self {
            responder,
            telemetry,
            token,
            level,
            progress: Mutex::new(f64::NEG_INFINITY),
        }
    }

    /// Whether `done` is more than was ever reported.
    fn grows(&self, done: f64) -> bool {
        let mut last = self.progress.lock();
        let grows = done.is_finite() && done > *last;
        if grows {
            *last = done;
        }
        grows
    }
}

impl Emit for Emitter {
    fn emit(&self, emission: Emission) {
        let dropped = match emission {
            Emission::Progress {
                done,
                total,
                message,
            } => match &self.token {
                Some(token) if self.grows(done) => progress(token, done, total, message.as_deref())
                    .map_or(0, |progress| {
                        self.responder.notify(Kind::Progress, progress.into())
                    }),
                Some(_) | None => 0,
            },
            Emission::Log {
                level,
                logger,
                data,
            } => match self.level {
                Some(least) if level >= least => self.responder.notify(
                    Kind::Log,
                    log_message(level, logger.as_deref(), &data).into(),
                ),
                Some(_) | None => 0,
            },
            Emission::Close { retry } => {
                self.responder.close(retry);
                0
            }
            // A call has no status, and what this runtime does not know, it cannot say.
            Emission::Status { .. } | _ => 1,
        };
        if dropped > 0 {
            self.telemetry.lost(LostKind::Notification, dropped);
        }
    }
}
