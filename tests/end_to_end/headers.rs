//! The headers that repeat what the body says.

use conduit_testkit::{Call, Era, Reply};
use http::StatusCode;
use serde_json::{Value, json};

use crate::demo;

#[tokio::test]
async fn a_missing_header_is_a_mismatch() {
    let tree = demo().await;

    for header in ["mcp-protocol-version", "mcp-method", "mcp-name"] {
        mismatches(&tree.send(&echo().without(header)).await);
    }
}

#[tokio::test]
async fn a_header_that_says_otherwise_is_a_mismatch() {
    let tree = demo().await;

    for (header, value) in [
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-method", "tools/list"),
        ("mcp-method", "TOOLS/CALL"),
        ("mcp-name", "add"),
        ("mcp-name", ""),
        ("mcp-name", "=?base64?b3RoZXI=?="),
        ("mcp-name", "=?base64?not base64?="),
        ("mcp-name", "=?base64?ZWNobw=="),
        ("mcp-name", "=?BASE64?ZWNobw==?="),
        ("mcp-name", "=?base64?ZWNobw?="),
        ("mcp-name", "=?base64?/w==?="),
    ] {
        mismatches(&tree.send(&echo().header(header, value)).await);
    }
}

#[tokio::test]
async fn header_and_body_are_compared_before_the_version_is_looked_up() {
    let call = echo().meta("io.modelcontextprotocol/protocolVersion", json!("v999.0.0"));

    mismatches(&demo().await.send(&call).await);
}

#[tokio::test]
async fn two_lines_of_a_header_are_a_mismatch() {
    let tree = demo().await;

    for (header, value) in [
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
        ("mcp-protocol-version", "2026-07-28"),
    ] {
        mismatches(&tree.send(&echo().second_header(header, value)).await);
    }
}

#[tokio::test]
async fn an_encoded_name_is_decoded_before_it_is_compared() {
    let reply = demo()
        .await
        .send(&echo().header("mcp-name", "=?base64?ZWNobw==?="))
        .await;

    assert_eq!(reply.text(), "hello");
}

#[tokio::test]
async fn an_encoded_name_beyond_ascii_reaches_the_lookup() {
    let call = Era::Modern
        .tool("Zażółć", json!({}))
        .header("mcp-name", "=?base64?WmHFvMOzxYLEhw==?=");

    let reply = demo().await.send(&call).await;

    // Not a header error: there is no such tool.
    assert_eq!((reply.status, reply.code()), (StatusCode::OK, -32602));
}

#[tokio::test]
async fn space_around_a_value_does_not_count() {
    let tree = demo().await;
    let mut raw = tree.raw().await;
    let host = raw.host();
    let wire = echo()
        .wire(&host)
        .replace("mcp-name: echo", "mcp-name: \t echo \t");

    raw.write(wire).await;

    let answer = raw.read_until("hello").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_name_on_a_method_without_one_is_ignored() {
    let reply = demo()
        .await
        .send(&Call::modern("tools/list", json!({})).header("mcp-name", "echo"))
        .await;

    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn an_unknown_param_header_is_ignored() {
    let reply = demo()
        .await
        .send(&echo().header("mcp-param-region", "eu"))
        .await;

    assert_eq!(reply.text(), "hello");
}

#[tokio::test]
async fn a_legacy_request_may_leave_its_version_out() {
    let reply = demo()
        .await
        .send(&Call::legacy("ping", Value::Null).without("mcp-protocol-version"))
        .await;

    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn a_legacy_request_under_a_version_that_nobody_serves_is_invalid() {
    let tree = demo().await;

    for version in ["1999-01-01", "latest", ""] {
        let reply = tree
            .send(&Call::legacy("ping", Value::Null).header("mcp-protocol-version", version))
            .await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::BAD_REQUEST, -32600),
            "{version}"
        );
        assert_eq!(reply.message()["id"], 1);
    }
}

fn echo() -> Call {
    Era::Modern.tool("echo", json!({ "message": "hello" }))
}

#[track_caller]
fn mismatches(reply: &Reply) {
    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::BAD_REQUEST, -32020),
        "{reply}"
    );
    assert_eq!(reply.message()["id"], 1, "{reply}");
}
