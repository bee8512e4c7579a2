//! Notifications and responses: what has no answer, or hardly any.

use std::sync::Arc;

use conduit_link::Mail;
use conduit_protocol::limits::REFLECTED_CHARS;
use conduit_protocol::{
    CancelledParams, Code, Context, Era, Method, Notification, REJECTION_STATUS, RequestId,
    Response, WireError, classify_notification, error, error_with_null_id, reflected,
};
use conduit_telemetry::CancelledBy;
use serde_json::value::RawValue;
use tracing::{debug, warn};

use super::session::Unresolved;
use super::{Session, answer, request, session};
use crate::bridge;
use crate::cancellation::{Cancelled, Scope};
use crate::exchange::{Dispatch, Reply};
use crate::gateway::Shared;
use crate::sessions;

/// Takes a response: what was asked in its session it answers, wherever the call is
/// (R6). All others are dropped.
pub(super) fn take_response(
    shared: &Arc<Shared>,
    dispatch: Dispatch,
    response: &Response<'_>,
    session: Session,
) {
    match session::of(shared, &dispatch.head, session) {
        Ok(Some(session)) if *session.server == *hosted_name(shared, &dispatch) => {
            let Dispatch { call, reply, .. } = dispatch;
            bridge::take(shared, session.id, response, move |taken| {
                if taken {
                    answer::accept(reply);
                } else {
                    let busy = answer::busy(None, "the call cannot be reached now".to_owned());
                    drop(reply.send(Reply::Message(busy)));
                }
                drop(call);
            });
        }
        Ok(_) => answer::accept(dispatch.reply),
        Err(Unresolved::Ask(id)) => session::resolve(shared, dispatch, id, None),
        Err(Unresolved::Absent(status, refused)) => {
            answer::send(dispatch.reply, status, error(None, &refused));
        }
    }
}

fn hosted_name<'a>(shared: &'a Shared, dispatch: &Dispatch) -> &'a str {
    let hosted = shared.hosted.get(dispatch.head.server);
    hosted.map_or("", |hosted| &hosted.name)
}

/// Takes a notification.
pub(super) fn take(
    shared: &Arc<Shared>,
    dispatch: Dispatch,
    notification: &Notification<'_>,
    session: Session,
) {
    if dispatch.head.pipe.is_some() && notification.method == Method::Cancelled.as_str() {
        return cancel_on_pipe(shared, dispatch, notification.params);
    }
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
        Some(_) => answer::accept(dispatch.reply),
        None => {
            if !IGNORED.contains(&&*notification.method) {
                let method = reflected(&notification.method, REFLECTED_CHARS);
                warn!(method = &*method, "unknown notification dropped");
            }
            answer::accept(dispatch.reply);
        }
    }
}

/// What clients rightly tell, and nobody here needs to know (L-METH-04, L-METH-05).
const IGNORED: [&str; 2] = ["notifications/roots/list_changed", "notifications/progress"];

/// Stops any call of the pipe, whatever its era: closing a stream cannot (R5). What
/// is malformed is logged and dropped (R2).
fn cancel_on_pipe(shared: &Arc<Shared>, dispatch: Dispatch, params: Option<&RawValue>) {
    match CancelledParams::parse(params) {
        Ok(Some(CancelledParams { request_id, reason })) => {
            let reason = reason.as_deref();
            shared
                .registry
                .cancel(&Scope::Pipe, &request_id, reason, CancelledBy::Notice);
        }
        Ok(None) => {}
        Err(error) => debug!(error = &*error.message, "malformed cancellation dropped"),
    }
    answer::accept(dispatch.reply);
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
    let notice = Notice {
        scope: Scope::of(
            dispatch.head.server,
            session.map(|session| session.id),
            None,
            dispatch.head.client,
        ),
        id,
        reason,
    };
    let here = Arc::clone(shared);
    shared.tasks.spawn(async move {
        if notice.carry_out(&here).await == Cancelled::Full {
            let error = WireError::new(
                Code::CANCELLATION_LIMIT,
                "too many cancelled requests have not ended yet",
            );
            answer::send(dispatch.reply, 200, null_id(&error));
        } else {
            answer::accept(dispatch.reply);
        }
        drop(dispatch.call);
    });
}

/// A client's wish that a call of its scope stop.
struct Notice {
    scope: Scope,
    id: RequestId,
    reason: Option<String>,
}

impl Notice {
    async fn carry_out(&self, shared: &Shared) -> Cancelled {
        if shared.registry.must_be_sole(&self.scope) {
            return self.stop_sole(shared).await;
        }
        let here = self.stop_here(shared);
        if here == Cancelled::Unknown {
            self.stop_elsewhere(shared).await;
        }
        here
    }

    /// Stops the call if it is the only one of this id, at all gateways together.
    /// Whoever cannot ask them all stops nothing: strangers behind one address must
    /// not reach each other's calls by guessing (R4).
    async fn stop_sole(&self, shared: &Shared) -> Cancelled {
        let here = shared.registry.holds(&self.scope, &self.id);
        let find = Mail::Find {
            scope: self.scope.to_string(),
            request_id: self.id.as_json().to_owned(),
        };
        match (here, shared.post.send_to_others(find).await) {
            (true, Some(0)) => return self.stop_here(shared),
            (false, Some(1)) => self.stop_elsewhere(shared).await,
            (true | false, Some(_) | None) => {}
        }
        Cancelled::Unknown
    }

    fn stop_here(&self, shared: &Shared) -> Cancelled {
        let reason = self.reason.as_deref();
        let (scope, id) = (&self.scope, &self.id);
        shared
            .registry
            .cancel(scope, id, reason, CancelledBy::Notice)
    }

    async fn stop_elsewhere(&self, shared: &Shared) {
        let mail = Mail::Cancel {
            scope: self.scope.to_string(),
            request_id: self.id.as_json().to_owned(),
            reason: self.reason.clone(),
        };
        if shared.post.send_to_others(mail).await.is_none() {
            debug!("a cancel may not have reached every gateway");
        }
    }
}
