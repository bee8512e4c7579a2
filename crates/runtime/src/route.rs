//! The way of a message through the dispatcher: parse, classify, route.
//!
//! The first refusal wins, in the order of C-ERA-07. What needs no callback is
//! answered here; what waits for somebody (a session that is not in the cache, a
//! new session, a cancel that other gateways may know) becomes a task.

mod answer;
mod callback;
mod handshake;
mod later;
mod listen;
mod notice;
mod request;
mod session;
mod state;
mod task;

use std::sync::Arc;

use conduit_protocol::{Message, WireError, error, parse};
use conduit_telemetry::RefusedReason;

pub(crate) use self::answer::busy;
use crate::exchange::Dispatch;
use crate::gateway::Shared;
use crate::sessions;

/// What is known of the session that a legacy message names.
#[derive(Clone, Debug)]
pub(crate) enum Session {
    /// Nobody has looked yet.
    Unresolved,
    /// This one.
    Live(Arc<sessions::Session>),
}

/// Takes one message and sees to it that it is answered.
pub(crate) fn take(shared: &Arc<Shared>, dispatch: Dispatch, session: Session) {
    let body = dispatch.body.clone();
    let Some(hosted) = shared.hosted.get(dispatch.head.server) else {
        return answer::send(dispatch.reply, 404, error(None, &WireError::internal()));
    };
    match parse(&body) {
        Err(malformed) => {
            shared.telemetry.refused(RefusedReason::Malformed);
            let status = answer::malformed_status(&malformed.error);
            let message = error(malformed.id.as_ref(), &malformed.error);
            answer::send(dispatch.reply, status, message);
        }
        Ok(Message::Response(response)) => {
            notice::take_response(shared, dispatch, &response, session);
        }
        Ok(Message::Notification(notification)) => {
            notice::take(shared, dispatch, &notification, session);
        }
        Ok(Message::Request(request)) => {
            request::take(shared, hosted, dispatch, &request, session);
        }
    }
}
