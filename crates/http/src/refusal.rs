//! Answers that never reach the gateway.
//!
//! Each carries a JSON-RPC error, with the request's id where the body was read:
//! a client shows our text only then (R28, R34, M-ERR-04).

use std::convert::Infallible;
use std::time::Duration;

use conduit_protocol::{Code, RequestId, WireError, error, peek_id};
use conduit_runtime::MessageReply;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW,
    CONTENT_TYPE, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use warp::reject::Rejection;
use warp::reply::Response;

use crate::front::{Front, Refused};
use crate::reply;

/// What a connection above the limit hears, without being read.
pub(crate) const TOO_MANY_CONNECTIONS: &str = concat!(
    "HTTP/1.1 503 Service Unavailable\r\n",
    "content-type: application/json\r\n",
    "retry-after: 1\r\n",
    "connection: close\r\n",
    "content-length: 145\r\n\r\n",
    r#"{"jsonrpc":"2.0","error":{"code":50300,"message":"the server takes no more connections now, try again in a moment","data":{"retryAfterMs":1000}}}"#,
);

/// What a page may send whether it asks or not.
const HEADERS: &str = "content-type, accept, authorization, last-event-id, mcp-session-id, \
                       mcp-protocol-version, mcp-method, mcp-name";

const METHODS: HeaderValue = HeaderValue::from_static("POST, GET, DELETE, OPTIONS");

pub(crate) fn not_acceptable(body: &[u8]) -> Response {
    refuse(
        406,
        peek_id(body).as_ref(),
        "the Accept header excludes both application/json and text/event-stream",
    )
}

pub(crate) fn unsupported_media_type(body: &[u8]) -> Response {
    refuse(
        415,
        peek_id(body).as_ref(),
        "the Content-Type of a request has to be application/json, in UTF-8",
    )
}

pub(crate) fn too_large(most: usize) -> Response {
    let message = format!("a request may have at most {most} bytes (http.max_body_bytes)");
    refuse(413, None, message)
}

pub(crate) fn late() -> Response {
    refuse(408, None, "the request's body did not arrive in time")
}

pub(crate) fn broken() -> Response {
    refuse(400, None, "the request's body could not be read")
}

pub(crate) fn no_path() -> Response {
    refuse(400, None, "the request's target has no path")
}

pub(crate) fn busy() -> Response {
    try_again(503, "the server is busy, try again in a moment")
}

pub(crate) fn too_many_streams() -> Response {
    try_again(429, "this session has as many streams open as it may")
}

pub(crate) fn forbidden(refused: Refused) -> Response {
    refuse(403, None, refused.to_string())
}

pub(crate) fn session_not_found() -> Response {
    let absent = WireError::new(Code::INVALID_REQUEST, "Session not found; initialize again");
    reply::json(MessageReply::new(404, error(None, &absent)))
}

pub(crate) fn unknown_version() -> Response {
    refuse(
        400,
        None,
        "MCP-Protocol-Version names no version that is served",
    )
}

/// The client has to open a new stream, without a `Last-Event-ID`.
pub(crate) fn no_such_event() -> Response {
    refuse(400, None, "Last-Event-ID names no event that is still kept")
}

pub(crate) fn session_required() -> Response {
    refuse(400, None, "the Mcp-Session-Id header is missing")
}

pub(crate) fn method_not_allowed() -> Response {
    let mut response = refuse(405, None, "this method is not offered here");
    response.headers_mut().insert(ALLOW, METHODS);
    response
}

/// A status and nothing else.
pub(crate) fn empty(status: u16) -> Response {
    let mut response = Response::default();
    *response.status_mut() = code(status);
    response
}

/// A status and a line of text.
pub(crate) fn plain(status: u16, text: &'static str) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = code(status);
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    response
}

/// Answers `OPTIONS`; a page of a known origin learns what it may send.
pub(crate) fn options(front: &Front, headers: &HeaderMap) -> Response {
    let mut response = empty(204);
    let answer = response.headers_mut();
    answer.insert(ALLOW, METHODS);
    if let Some(origin) = headers.get(ORIGIN)
        && front.knows_origin(origin)
    {
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        answer.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        answer.insert(
            ACCESS_CONTROL_ALLOW_HEADERS,
            allowed_headers(headers.get(ACCESS_CONTROL_REQUEST_HEADERS)),
        );
        answer.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        answer.insert(VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// Our list, and whatever else of MCP a page asks for: the names of `Mcp-Param-*`
/// headers depend on the tool.
fn allowed_headers(requested: Option<&HeaderValue>) -> HeaderValue {
    let mut allowed = String::from(HEADERS);
    let requested = requested.and_then(|names| names.to_str().ok());
    for name in requested.unwrap_or_default().split(',').map(str::trim) {
        let is_ours = name
            .get(..4)
            .is_some_and(|start| start.eq_ignore_ascii_case("mcp-"));
        let is_known = HEADERS
            .split(", ")
            .any(|known| known.eq_ignore_ascii_case(name));
        if is_ours && !is_known && HeaderName::try_from(name).is_ok() {
            allowed.push_str(", ");
            allowed.push_str(name);
        }
    }
    HeaderValue::try_from(allowed).unwrap_or(HeaderValue::from_static(HEADERS))
}

/// Lets a page of a known origin read an answer.
pub(crate) fn share(front: &Front, origin: Option<&HeaderValue>, response: &mut Response) {
    if let Some(origin) = origin
        && front.knows_origin(origin)
    {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("mcp-session-id, retry-after, www-authenticate"),
        );
        headers.insert(VARY, HeaderValue::from_static("origin"));
    }
}

/// The filters themselves reject nothing; whatever they say is our fault.
pub(crate) async fn recover(rejection: Rejection) -> Result<Response, Infallible> {
    tracing::error!(?rejection, "a filter rejected a request");
    Ok(plain(500, "the request could not be routed"))
}

fn try_again(status: u16, message: &'static str) -> Response {
    let refused = WireError::refused(status, message).with_retry_after(Duration::from_secs(1));
    reply::json(MessageReply::new(status, error(None, &refused)))
}

fn refuse(
    status: u16,
    id: Option<&RequestId>,
    message: impl Into<std::borrow::Cow<'static, str>>,
) -> Response {
    let refused = WireError::new(Code::refusal(status), message);
    reply::json(MessageReply::new(status, error(id, &refused)))
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connection_too_many_gets_a_whole_answer() {
        let (head, body) = TOO_MANY_CONNECTIONS
            .split_once("\r\n\r\n")
            .expect("head and body");

        let length = format!("content-length: {}", body.len());

        assert!(head.contains(&length), "{length}");
        let error: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(error["error"]["code"], 50300);
    }

    #[track_caller]
    fn check_allowed(requested: &'static str, added: &str) {
        let allowed = allowed_headers(Some(&HeaderValue::from_static(requested)));
        assert_eq!(allowed, format!("{HEADERS}{added}"), "{requested}");
    }

    #[test]
    fn a_page_may_send_the_headers_of_a_tools_arguments() {
        check_allowed(
            "content-type,mcp-param-region, Mcp-Param-Zone",
            ", mcp-param-region, Mcp-Param-Zone",
        );
    }

    #[test]
    fn a_page_may_not_send_whatever_it_likes() {
        check_allowed("x-evil, cookie, mcp-a b, mcp, , mcp-name", "");
    }
}
