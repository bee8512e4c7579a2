//! Which era a request belongs to, and what it is told when it belongs to none.

use conduit_testkit::{Call, Reply, Version, initialize};
use http::StatusCode;
use serde_json::{Value, json};

use crate::demo;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

#[tokio::test]
async fn both_keys_make_a_request_modern() {
    let reply = demo()
        .await
        .send(&Call::modern("tools/list", json!({})))
        .await;

    assert_eq!(reply.result()["resultType"], "complete");
}

#[tokio::test]
async fn both_keys_make_even_initialize_modern_and_so_unknown() {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });

    let reply = demo().await.send(&Call::modern("initialize", params)).await;

    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::NOT_FOUND, -32601)
    );
    assert_eq!(reply.header("mcp-session-id"), None);
}

#[tokio::test]
async fn the_version_alone_is_invalid_and_the_other_key_is_named() {
    let tree = demo().await;

    for method in ["tools/list", "server/discover", "initialize"] {
        let reply = tree
            .send(&Call::modern(method, json!({})).without_meta(CAPABILITIES))
            .await;
        is_invalid(&reply, CAPABILITIES);
    }
}

#[tokio::test]
async fn the_capabilities_alone_are_invalid_and_the_other_key_is_named() {
    let tree = demo().await;

    for method in ["tools/list", "server/discover", "initialize"] {
        let reply = tree
            .send(&Call::modern(method, json!({})).without_meta(VERSION))
            .await;
        is_invalid(&reply, VERSION);
    }
}

#[tokio::test]
async fn discover_without_keys_and_headers_is_served_as_modern() {
    let reply = demo().await.send(&keyless("server/discover")).await;

    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.result()["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(reply.result()["resultType"], "complete");
}

#[tokio::test]
async fn a_request_without_keys_under_a_modern_version_header_is_invalid() {
    let tree = demo().await;

    for method in ["server/discover", "tools/list"] {
        let call = keyless(method).header("mcp-protocol-version", "2026-07-28");
        is_invalid(&tree.send(&call).await, "io.modelcontextprotocol/");
    }
}

#[tokio::test]
async fn initialize_is_legacy_whatever_the_header_says() {
    let tree = demo().await;

    for header in ["2026-07-28", "2025-06-18", "1999-01-01"] {
        let reply = tree
            .send(&initialize(Version::November2025).header("mcp-protocol-version", header))
            .await;
        assert_eq!(
            reply.result()["protocolVersion"],
            "2025-11-25",
            "under {header}"
        );
    }
}

#[tokio::test]
async fn a_request_without_keys_is_legacy() {
    let tree = demo().await;

    for params in [
        json!({}),
        json!({ "_meta": {} }),
        json!({ "_meta": { "progressToken": "p" } }),
        Value::Null,
    ] {
        let reply = tree.send(&Call::legacy("tools/list", params.clone())).await;
        assert!(reply.result()["tools"].is_array(), "{params}");
        assert_eq!(reply.result().get("resultType"), None, "{params}");
    }
}

#[tokio::test]
async fn keys_of_the_wrong_type_are_named_and_never_repeated() {
    let tree = demo().await;
    let secret = "SECRET-7f3";

    for (key, value) in [
        (VERSION, json!(20_260_728)),
        (VERSION, Value::Null),
        (VERSION, json!({ "k": secret })),
        (CAPABILITIES, json!([])),
        (CAPABILITIES, json!(secret)),
        (CAPABILITIES, Value::Null),
        (CLIENT, json!(secret)),
        (CLIENT, json!([])),
        (LOG_LEVEL, json!("verbose")),
        (LOG_LEVEL, json!("DEBUG")),
        (LOG_LEVEL, json!(3)),
    ] {
        let reply = tree
            .send(&Call::modern("tools/list", json!({})).meta(key, value))
            .await;
        is_invalid(&reply, key);
        assert!(!reply.to_string().contains(secret), "{reply}");
    }
    assert!(!tree.stderr().contains(secret), "{}", tree.stderr());
}

#[tokio::test]
async fn a_request_may_keep_its_clients_name_to_itself() {
    let reply = demo()
        .await
        .send(&Call::modern("tools/list", json!({})).without_meta(CLIENT))
        .await;

    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn a_version_that_we_do_not_serve_is_answered_with_those_that_we_do() {
    let tree = demo().await;

    for version in ["2025-11-25", "v999.0.0"] {
        let call = Call::modern("tools/list", json!({}))
            .meta(VERSION, json!(version))
            .header("mcp-protocol-version", version);
        let reply = tree.send(&call).await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::BAD_REQUEST, -32022)
        );
        assert_eq!(
            reply.message()["error"]["data"],
            json!({ "supported": ["2026-07-28"], "requested": version })
        );
    }
}

#[tokio::test]
async fn a_modern_request_does_not_mind_a_session_header() {
    let tree = demo().await;
    let session = tree.session(Version::November2025).await;

    for id in [session.as_str(), "00000000-0000-4000-8000-000000000000"] {
        let reply = tree
            .send(&Call::modern("tools/list", json!({})).session(id))
            .await;
        assert_eq!(reply.result()["resultType"], "complete");
        assert_eq!(reply.header("mcp-session-id"), None);
    }
}

#[tokio::test]
async fn a_notification_with_one_key_alone_is_invalid_and_has_no_id_to_echo() {
    let call = Call::modern("notifications/whatever", json!({}))
        .notification()
        .without_meta(CAPABILITIES);

    let reply = demo().await.send(&call).await;

    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::BAD_REQUEST, -32602)
    );
    assert_eq!(reply.message().get("id"), None);
}

/// A request with no trace of an era in body or head.
fn keyless(method: &str) -> Call {
    Call::message(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} }))
}

#[track_caller]
fn is_invalid(reply: &Reply, named: &str) {
    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::BAD_REQUEST, -32602),
        "{reply}"
    );
    assert_eq!(reply.message()["id"], 1, "{reply}");
    let text = reply.message()["error"]["message"]
        .as_str()
        .expect("a message");
    assert!(text.contains(named), "{text:?} does not name {named}");
}
