//! Answers that the dispatcher gives by itself.

use std::time::Duration;

use conduit_protocol::{Code, Rendered, RequestId, WireError, error};
use tokio::sync::oneshot;

use crate::exchange::{MessageReply, Reply};

/// When trying again makes sense.
const RETRY: Duration = Duration::from_secs(1);

/// Answers with a whole message. A client that left takes it with it.
pub(super) fn send(reply: oneshot::Sender<Reply>, status: u16, message: Rendered) {
    drop(reply.send(Reply::Message(MessageReply::new(status, message))));
}

/// Says that a notification or a response was taken.
pub(super) fn accept(reply: oneshot::Sender<Reply>) {
    drop(reply.send(Reply::Accepted));
}

/// A refusal that is worth another try in a moment: 503 (R34).
pub(crate) fn busy(id: Option<&RequestId>, reason: String) -> MessageReply {
    let refused = WireError::refused(503, reason).with_retry_after(RETRY);
    MessageReply::new(503, error(id, &refused))
}

/// A message without an envelope is 400; one whose parameters are wrong is an
/// ordinary error (R46).
pub(super) fn malformed_status(error: &WireError) -> u16 {
    if error.code == Code::INVALID_PARAMS {
        200
    } else {
        400
    }
}
