//! What clients of the hub send, beyond the loads: streams, subscriptions and tools.

use crate::endpoint::Endpoint;
use crate::request::{ID, Request};

use super::{Era, LEGACY, meta, post};

/// Renders a listen request for one resource.
pub(crate) fn listen(endpoint: &Endpoint, uri: &str) -> Request {
    let members = format!(
        r#"{},"notifications":{{"resourceSubscriptions":["{uri}"]}}"#,
        meta("{}")
    );
    let headers = [("Mcp-Method", "subscriptions/listen")];
    let body = body("subscriptions/listen", &members);
    post(endpoint, Era::Modern, None, &headers, &body)
}

/// Renders the request for the stream of a session.
pub(crate) fn stream(endpoint: &Endpoint, session: &str) -> Request {
    let headers = [
        ("Accept", "text/event-stream"),
        ("MCP-Protocol-Version", LEGACY),
        ("Mcp-Session-Id", session),
    ];
    Request::new("GET", endpoint, &headers, "")
}

/// Renders a session's subscription to a resource.
pub(crate) fn subscribe(endpoint: &Endpoint, session: &str, uri: &str) -> Request {
    let body = body("resources/subscribe", &format!(r#""uri":"{uri}""#));
    post(endpoint, Era::Legacy, Some(session), &[], &body)
}

/// Renders a call of a tool; the arguments are JSON.
pub(crate) fn tool(endpoint: &Endpoint, name: &str, arguments: &str) -> Request {
    let members = format!(r#"{},"name":"{name}","arguments":{arguments}"#, meta("{}"));
    let headers = [("Mcp-Method", "tools/call"), ("Mcp-Name", name)];
    let body = body("tools/call", &members);
    post(endpoint, Era::Modern, None, &headers, &body)
}

// === Behind the calls ===

fn body(method: &str, members: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{ID},"method":"{method}","params":{{{members}}}}}"#)
}
