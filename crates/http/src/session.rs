//! GET and DELETE: a legacy session's stream, and its end (R12, R25).

use std::sync::Arc;

use conduit_protocol::{LEGACY_VERSIONS, MODERN_VERSIONS};
use conduit_runtime::{SessionError, session_id};
use conduit_telemetry::RefusedReason;
use http::{HeaderMap, HeaderName, HeaderValue};
use warp::reply::Response;

use crate::routes::State;
use crate::{events, media, refusal};

/// Answers a GET: the stream of a live session, else 404 or 405 (R25).
/// With the id of an event it goes on behind that (L-HTTP-18); with one that there is
/// not, or no more, it is 400, so that nobody comes back for it for ever.
pub(crate) async fn open_stream(
    state: &Arc<State>,
    server: usize,
    headers: &HeaderMap,
) -> Response {
    let accepts_events = media::accepts(headers).is_some_and(|accepts| accepts.events);
    let Some(session) = headers.get(&SESSION) else {
        return refusal::method_not_allowed();
    };
    if !accepts_events {
        return refusal::method_not_allowed();
    }
    if !names_known_version(headers) {
        return refusal::unknown_version();
    }
    let Some(id) = session_id(session.as_bytes()) else {
        return refusal::session_not_found();
    };
    let last_event = headers.get(&LAST_EVENT).map(HeaderValue::as_bytes);
    match state
        .gateway
        .open_session_stream(server, id, last_event)
        .await
    {
        Ok(stream) => events::respond(state, stream, state.limits.budget.share()),
        Err(SessionError::NoSuchEvent) => refusal::no_such_event(),
        Err(SessionError::NotFound) => refusal::session_not_found(),
        Err(SessionError::Unavailable) => unavailable(state),
        Err(SessionError::Full) => {
            state.telemetry.refused(RefusedReason::Streams);
            refusal::busy()
        }
        Err(SessionError::TooMany) => {
            state.telemetry.refused(RefusedReason::Streams);
            refusal::too_many_streams()
        }
    }
}

/// Answers a DELETE: 204 once every live gateway has forgotten the session.
pub(crate) async fn end(state: &Arc<State>, server: usize, headers: &HeaderMap) -> Response {
    let Some(session) = headers.get(&SESSION) else {
        return refusal::session_required();
    };
    if !names_known_version(headers) {
        return refusal::unknown_version();
    }
    let Some(id) = session_id(session.as_bytes()) else {
        return refusal::session_not_found();
    };
    match state.gateway.end_session(server, id).await {
        Ok(()) => refusal::empty(204),
        Err(SessionError::NotFound | SessionError::NoSuchEvent) => refusal::session_not_found(),
        Err(SessionError::Unavailable | SessionError::Full | SessionError::TooMany) => {
            unavailable(state)
        }
    }
}

/// Whether the version header, if there is one, names a version that is served
/// (L-HTTP-20, R44).
fn names_known_version(headers: &HeaderMap) -> bool {
    let known = |version: &HeaderValue| {
        let mut served = MODERN_VERSIONS.iter().chain(&LEGACY_VERSIONS);
        served.any(|known| version.as_bytes() == known.as_bytes())
    };
    headers.get_all(&VERSION).iter().all(known)
}

fn unavailable(state: &State) -> Response {
    state.telemetry.refused(RefusedReason::Store);
    refusal::busy()
}

static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
