//! The session that a legacy message names (R12).

use std::sync::Arc;

use conduit_protocol::{Code, RequestId, WireError, error};
use conduit_telemetry::RefusedReason;
use uuid::Uuid;

use super::{Session, answer, take};
use crate::exchange::{Dispatch, Head, MessageReply, Reply};
use crate::gateway::Shared;
use crate::{header, sessions};

/// Why a session is not at hand.
pub(super) enum Unresolved {
    /// It does not exist, or none is named where one has to be.
    Absent(u16, WireError),
    /// The store has to be asked.
    Ask(Uuid),
}

/// Finds the session that a head names, whatever the message.
pub(super) fn of(
    shared: &Shared,
    head: &Head,
    known: Session,
) -> Result<Option<Arc<sessions::Session>>, Unresolved> {
    if let Some(pipe) = &head.pipe {
        return Ok(pipe.session());
    }
    match known {
        Session::Live(session) => Ok(Some(session)),
        Session::Unresolved => match session_header(head) {
            Named::Nobody => Ok(None),
            Named::Nonsense => Err(not_found(shared)),
            Named::Session(id) => match shared.sessions.cached(id) {
                Some(session) => Ok(Some(session)),
                None => Err(Unresolved::Ask(id)),
            },
        },
    }
}

/// Asks the store for a session and takes the message again.
pub(super) fn resolve(
    shared: &Arc<Shared>,
    dispatch: Dispatch,
    session: Uuid,
    id: Option<RequestId>,
) {
    let again = Arc::clone(shared);
    shared.tasks.spawn(async move {
        let reply = match again.sessions.look(session).await {
            Ok(Some(session)) => return take(&again, dispatch, Session::Live(session)),
            Ok(None) => {
                let (status, absent) = absent(&again);
                MessageReply::new(status, error(id.as_ref(), &absent))
            }
            Err(unable) => {
                again.telemetry.refused(RefusedReason::Store);
                answer::busy(id.as_ref(), unable.to_string())
            }
        };
        drop(dispatch.reply.send(Reply::Message(reply)));
        drop(dispatch.call);
    });
}

/// The session does not exist, or no more: the client has to initialize again.
pub(super) fn not_found(shared: &Shared) -> Unresolved {
    let (status, error) = absent(shared);
    Unresolved::Absent(status, error)
}

fn absent(shared: &Shared) -> (u16, WireError) {
    shared.telemetry.refused(RefusedReason::Session);
    let error = WireError::new(Code::INVALID_REQUEST, "Session not found; initialize again");
    (404, error)
}

// === The header ===

enum Named {
    Nobody,
    Nonsense,
    Session(Uuid),
}

fn session_header(head: &Head) -> Named {
    let Some(headers) = &head.headers else {
        return Named::Nobody;
    };
    let mut values = headers.get_all(&header::SESSION).iter();
    match (values.next(), values.next()) {
        (None, _) => Named::Nobody,
        (Some(value), None) => {
            sessions::session_id(value.as_bytes()).map_or(Named::Nonsense, Named::Session)
        }
        (Some(_), Some(_)) => Named::Nonsense,
    }
}
