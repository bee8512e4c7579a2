//! A gateway's reply as an HTTP response.

use std::convert::Infallible;

use bytes::Bytes;
use conduit_protocol::Rendered;
use conduit_runtime::{Accepts, Event, MessageReply, Reply};
use futures_util::stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use warp::Reply as _;
use warp::reply::Response;

use crate::body::Share;
use crate::routes::State;
use crate::{events, refusal};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Writes a reply to a POST; it takes over what the request took of the budget.
pub(crate) fn write(state: &State, reply: Reply, accepts: Accepts, share: Share) -> Response {
    match reply {
        // A client that reads events only gets its one message as an event, as
        // long as it is a success: errors keep their status and their JSON.
        Reply::Message(reply) if !accepts.json && reply.status == 200 => {
            let MessageReply {
                message, session, ..
            } = reply;
            let mut response =
                events::respond(state, stream::iter([Event::message(message)]), share);
            insert_session(&mut response, session);
            response
        }
        Reply::Message(reply) => respond(reply, Some(share)),
        Reply::Accepted => refusal::empty(202),
        Reply::Stream(events) => events::respond(state, events, share),
    }
}

/// Writes one JSON-RPC message with its status.
pub(crate) fn json(reply: MessageReply) -> Response {
    respond(reply, None)
}

// === Behind the reply ===

fn respond(reply: MessageReply, share: Option<Share>) -> Response {
    let MessageReply {
        status,
        message,
        session,
        retry_after,
    } = reply;
    let mut response = body(message, share);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    insert_session(&mut response, session);
    response
}

/// A message in two parts is written in two parts: a list that all clients share
/// is not copied for each of them.
fn body(message: Rendered, share: Option<Share>) -> Response {
    let (head, tail) = message.into_parts();
    let head = match share {
        Some(share) => share.hold(head),
        None => head,
    };
    match tail {
        None => Response::new(head.into()),
        Some(tail) => {
            let length = head.len() + tail.len();
            let parts = [Ok::<Bytes, Infallible>(head), Ok(tail)];
            let mut response = warp::reply::stream(stream::iter(parts)).into_response();
            response.headers_mut().insert(CONTENT_LENGTH, length.into());
            response
        }
    }
}

fn insert_session(response: &mut Response, session: Option<uuid::Uuid>) {
    if let Some(id) = session
        && let Ok(id) = HeaderValue::try_from(id.to_string())
    {
        response.headers_mut().insert(SESSION, id);
    }
}
