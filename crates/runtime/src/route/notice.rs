//! Notifications and responses: what has no answer, or hardly any.

use std::sync::Arc;

use conduit_link::Mail;
use conduit_protocol::{
    CancelledParams, Code, Context, Era, Method, Notification, REJECTION_STATUS, WireError,
    classify_notification, error, error_with_null_id,
};
use conduit_telemetry::CancelledBy;
use serde_json::value::RawValue;

use super::session::Unresolved;
use super::{Session, answer, request, session};
use crate::cancellation::{Cancelled, Scope};
use crate::exchange::Dispatch;
use crate::gateway::Shared;
use crate::sessions;

/// Takes a response. The server asks nothing yet, so it answers nothing (H-07).
pub(super) fn take_response(shared: &Arc<Shared>, dispatch: Dispatch, session: Session) {
    match session::of(shared, &dispatch.head, session) {
        Ok(_) => answer::accept(dispatch.reply),
        Err(Unresolved::Ask(id)) => session::resolve(shared, dispatch, id, None),
        Err(Unresolved::Absent(status, refused)) => {
            answer::send(dispatch.reply, status, error(None, &refused));
        }
    }
}

/// Takes a notification.
pub(super) fn take(
    shared: &Arc<Shared>,
    dispatch: Dispatch,
    notification: &Notification<'_>,
    session: Session,
) {
    let named = request::version_header(dispatch.head.headers.as_deref());
    match classify_notification(&notification.method, notification.params, named) {
        // The modern era has no client notification over HTTP (R5).
        Ok(Context {
            era: Era::Modern, ..
        }) => {
            return answer::accept(dispatch.reply);
        }
        Ok(_legacy) => {}
        Err(refused) => {
            let message = error(None, &refused);
            return answer::send(dispatch.reply, REJECTION_STATUS, message);
        }
    }
    let session = match session::of(shared, &dispatch.head, session) {
        Ok(session) => session,
        Err(Unresolved::Ask(id)) => return session::resolve(shared, dispatch, id, None),
        Err(Unresolved::Absent(status, refused)) => {
            return answer::send(dispatch.reply, status, error(None, &refused));
        }
    };
    match Method::route_notification(Era::Legacy, &notification.method) {
        Some(Method::Cancelled) => cancel(shared, dispatch, notification.params, session),
        Some(_) | None => answer::accept(dispatch.reply),
    }
}

/// Stops a call for its client, here or at another gateway (R2, R4).
fn cancel(
    shared: &Arc<Shared>,
    dispatch: Dispatch,
    params: Option<&RawValue>,
    session: Option<Arc<sessions::Session>>,
) {
    let null_id = |error: &WireError| error_with_null_id(error);
    let params = match CancelledParams::parse(params) {
        Ok(params) => params,
        Err(error) => return answer::send(dispatch.reply, 200, null_id(&error)),
    };
    let Some(CancelledParams {
        request_id: id,
        reason,
    }) = params
    else {
        return answer::accept(dispatch.reply);
    };
    let scope = Scope::of(
        session.map(|session| session.id),
        None,
        dispatch.head.client,
    );
    match shared
        .registry
        .cancel(&scope, &id, reason.as_deref(), CancelledBy::Notice)
    {
        Cancelled::Stopped | Cancelled::Again => answer::accept(dispatch.reply),
        Cancelled::Full => {
            let error = WireError::new(
                Code::CANCELLATION_LIMIT,
                "too many cancelled requests have not ended yet",
            );
            answer::send(dispatch.reply, 200, null_id(&error));
        }
        Cancelled::Unknown => {
            let post = shared.post.clone();
            let mail = Mail::Cancel {
                scope: scope.to_string(),
                request_id: id.as_json().to_owned(),
                reason,
            };
            shared.tasks.spawn(async move {
                post.send_to_others(mail).await;
                answer::accept(dispatch.reply);
                drop(dispatch.call);
            });
        }
    }
}
