//! A request whose answer takes time.

use std::sync::Arc;

use conduit_protocol::{Context, RequestId, WireError, error, http_status};
use conduit_telemetry::{Outcome, RequestSample};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::answer;
use super::request::{Exchange, trace};
use crate::admission::Admitted;
use crate::exchange::{Dispatch, MessageReply, Reply};
use crate::hosted::Hosted;

/// What is needed to answer it. Dropping it answers nothing.
#[derive(Debug)]
pub(super) struct Later {
    pub(super) hosted: Arc<Hosted>,
    pub(super) id: RequestId,
    pub(super) context: Context,
    method: String,
    started: Instant,
    reply: oneshot::Sender<Reply>,
    pub(super) call: Admitted,
}

impl Later {
    pub(super) fn of(exchange: Exchange<'_>, dispatch: Dispatch, context: Context) -> Self {
        Self {
            hosted: Arc::clone(exchange.hosted),
            id: exchange.id.clone(),
            context,
            method: exchange.method.to_owned(),
            started: exchange.started,
            reply: dispatch.reply,
            call: dispatch.call,
        }
    }

    /// Answers with a result.
    pub(super) fn answer(self, message: MessageReply) {
        self.finish(message, Outcome::Ok);
    }

    /// Answers with nothing but success.
    pub(super) fn done(self) {
        let message = self.hosted.face.empty(self.context.era, &self.id);
        self.answer(MessageReply::new(200, message));
    }

    /// Answers with an ordinary error.
    pub(super) fn fail(self, refused: &WireError) {
        let status = http_status(self.context.era, refused);
        self.fail_with(status, refused);
    }

    /// Answers with an error of this HTTP status.
    pub(super) fn fail_with(self, status: u16, refused: &WireError) {
        let message = MessageReply::new(status, error(Some(&self.id), refused));
        self.finish(message, Outcome::Error);
    }

    /// Refuses what may work in a moment: 503 (R34).
    pub(super) fn busy(self, reason: String) {
        let message = answer::busy(Some(&self.id), reason);
        self.finish(message, Outcome::Refused);
    }

    /// Gives up what would answer, uncounted: a stream is to follow (SUB-04).
    pub(super) fn into_reply(self) -> (oneshot::Sender<Reply>, Admitted) {
        (self.reply, self.call)
    }

    /// Gives up what would answer, and what has to be counted when somebody else has.
    pub(super) fn into_parts(self) -> (oneshot::Sender<Reply>, Admitted, Count) {
        let count = Count {
            hosted: self.hosted,
            context: self.context,
            method: self.method,
            started: self.started,
        };
        (self.reply, self.call, count)
    }

    fn finish(self, message: MessageReply, outcome: Outcome) {
        let (reply, call, count) = self.into_parts();
        count.done(outcome);
        // A client that left takes the answer with it.
        drop(reply.send(Reply::Message(message)));
        drop(call);
    }
}

/// A request that is to be counted once it is answered.
#[derive(Debug)]
pub(super) struct Count {
    hosted: Arc<Hosted>,
    context: Context,
    method: String,
    started: Instant,
}

impl Count {
    pub(super) fn done(self, outcome: Outcome) {
        self.hosted.metrics.request(RequestSample {
            method: Some(&self.method),
            era: self.context.era.into(),
            version: self.context.version.as_deref(),
            outcome,
            took: self.started.elapsed(),
            trace: trace(&self.context),
        });
    }
}
