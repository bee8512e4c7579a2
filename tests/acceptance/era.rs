//! Which era a request belongs to (6.1).

use std::sync::Arc;

use conduit::Head;
use conduit_testkit::{Call, Reply, Version};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::inside::{House, modern, request};
use crate::log::told;
use crate::{CAPABILITIES, CLIENT, LOG_LEVEL, VERSION, fixture};

const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn at_001_a_request_with_both_keys_is_modern() {
    let reply = fixture().await.send(&list(1)).await;

    is_modern(&reply);
}

#[tokio::test]
async fn at_002_both_keys_make_even_initialize_modern() {
    let call = Call::modern("initialize", handshake()).id(json!(2));

    let reply = fixture().await.send(&call).await;

    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::NOT_FOUND, -32601)
    );
    assert_eq!(reply.message()["id"], 2);
    assert_eq!(reply.header("mcp-session-id"), None);
}

#[tokio::test]
async fn at_003_the_version_alone_is_refused() {
    let call = list(3).without_meta(CAPABILITIES);

    is_refused(&fixture().await.send(&call).await, 3, CAPABILITIES);
}

#[tokio::test]
async fn at_004_the_capabilities_alone_are_refused() {
    let call = list(4).without_meta(VERSION);

    is_refused(&fixture().await.send(&call).await, 4, VERSION);
}

#[tokio::test]
async fn at_005_one_key_alone_is_no_legacy_handshake() {
    let call = Call::modern("initialize", handshake())
        .id(json!(5))
        .without_meta(CAPABILITIES);

    let reply = fixture().await.send(&call).await;

    is_refused(&reply, 5, CAPABILITIES);
    assert_eq!(reply.header("mcp-session-id"), None);
}

#[tokio::test]
async fn at_006_one_key_alone_is_refused_of_discover_too() {
    let tree = fixture().await;

    for (missing, named) in [(CAPABILITIES, CAPABILITIES), (VERSION, VERSION)] {
        let call = Call::modern("server/discover", json!({})).id(json!(6));
        is_refused(&tree.send(&call.without_meta(missing)).await, 6, named);
    }
}

#[tokio::test]
async fn at_007_discover_without_keys_and_headers_is_modern_without_a_version() {
    let tree = fixture().await;
    let call = Call::message(
        json!({ "jsonrpc": "2.0", "id": 7, "method": "server/discover", "params": {} }),
    );

    let reply = tree.send(&call).await;

    assert_eq!(reply.status, StatusCode::OK);
    let result = reply.result();
    assert!(
        result["supportedVersions"]
            .as_array()
            .is_some_and(|versions| versions.contains(&json!("2026-07-28"))),
        "{reply}"
    );
    assert!(result["capabilities"].is_object(), "{reply}");
    assert!(result["resultType"].is_string(), "{reply}");
    let stops = told(&tree, "request.stop", 1).await;
    assert_eq!(stops[0]["era"], "modern");
    assert_eq!(stops[0].get("protocol_version"), None);
}

#[tokio::test]
async fn at_010_metadata_that_is_no_object_carries_neither_key() {
    let tree = fixture().await;

    for meta in [json!("x"), json!([])] {
        let reply = tree
            .send(&Call::legacy("tools/list", json!({ "_meta": meta })).id(json!(10)))
            .await;
        assert!(reply.result()["tools"].is_array(), "{reply}");
        assert_eq!(reply.result().get("resultType"), None, "{reply}");
    }
    assert_eq!(tree.slot("gateway-0").await.restarts, 0);
}

#[tokio::test]
async fn at_011_a_version_that_is_no_text_is_named_and_not_repeated() {
    let call = list(11).meta(VERSION, json!(20_260_728));

    let reply = fixture().await.send(&call).await;

    is_refused(&reply, 11, VERSION);
    assert!(!message(&reply).contains("20260728"), "{reply}");
}

#[tokio::test]
async fn at_012_a_version_that_is_null_is_there_and_no_text() {
    let call = list(12).meta(VERSION, Value::Null);

    is_refused(&fixture().await.send(&call).await, 12, VERSION);
}

#[tokio::test]
async fn at_013_capabilities_that_are_no_object_are_refused() {
    let tree = fixture().await;

    for value in [json!([]), json!("x"), json!(1), json!(true), Value::Null] {
        let call = list(13).meta(CAPABILITIES, value);
        is_refused(&tree.send(&call).await, 13, CAPABILITIES);
    }
}

#[tokio::test]
async fn at_014_a_client_may_keep_its_name_to_itself_but_not_garble_it() {
    let tree = fixture().await;

    for value in [json!("me"), json!([])] {
        let call = list(14).meta(CLIENT, value);
        is_refused(&tree.send(&call).await, 14, CLIENT);
    }
    let named = list(14).meta(CLIENT, json!({ "name": "c", "version": "1" }));
    for call in [named, list(14).without_meta(CLIENT)] {
        assert_eq!(tree.send(&call).await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn at_015_a_log_level_that_does_not_exist_is_refused() {
    let tree = fixture().await;

    for value in [
        json!("verbose"),
        json!("DEBUG"),
        json!(""),
        json!(3),
        Value::Null,
        json!({}),
    ] {
        let call = list(15).meta(LOG_LEVEL, value);
        is_refused(&tree.send(&call).await, 15, LOG_LEVEL);
    }
}

#[tokio::test]
async fn at_016_each_of_the_eight_log_levels_is_taken() {
    let tree = fixture().await;

    for level in [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ] {
        is_modern(&tree.send(&list(16).meta(LOG_LEVEL, json!(level))).await);
    }
}

#[tokio::test]
async fn at_017_a_value_that_is_refused_is_neither_answered_nor_logged() {
    let tree = fixture().await;
    let secret = "SECRET-7f3";

    let reply = tree
        .send(&list(17).meta(VERSION, json!({ "k": secret })))
        .await;

    is_refused(&reply, 17, VERSION);
    assert!(!reply.to_string().contains(secret), "{reply}");
    told(&tree, "request.stop", 1).await;
    assert!(!tree.stderr().contains(secret), "{}", tree.stderr());
}

#[tokio::test]
async fn at_019_a_session_header_does_not_change_the_era() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;

    is_modern(&tree.send(&list(19).session(&session)).await);
}

#[tokio::test]
async fn at_020_a_legacy_call_is_of_the_session_that_it_names() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let call = Call::legacy("tools/call", json!({ "name": "whoami", "arguments": {} }));

    let reply = tree.send(&call.id(json!(20)).session(&session)).await;

    assert_eq!(reply.result()["structuredContent"]["session"], *session);
}

#[tokio::test]
async fn at_021_a_modern_call_is_of_no_session_whatever_it_names() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let call = Call::modern("tools/call", json!({ "name": "whoami", "arguments": {} }));

    let reply = tree.send(&call.id(json!(21)).session(&session)).await;

    assert_eq!(reply.status, StatusCode::OK);
    let caller = &reply.result()["structuredContent"];
    assert_eq!(
        (&caller["era"], &caller["session"]),
        (&json!("modern"), &Value::Null)
    );
}

#[tokio::test]
async fn at_025_a_modern_call_does_not_mind_an_unknown_session() {
    let tree = fixture().await;

    for session in ["00000000-0000-4000-8000-000000000000", "nonsense"] {
        is_modern(&tree.send(&list(25).session(session)).await);
    }
}

#[tokio::test]
async fn at_027_a_legacy_version_in_modern_keys_is_not_served() {
    let call = in_version("2025-11-25").id(json!(27));

    let reply = fixture().await.send(&call).await;

    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::BAD_REQUEST, -32022)
    );
    let data = &reply.message()["error"]["data"];
    assert_eq!(data["requested"], "2025-11-25");
    assert!(
        data["supported"]
            .as_array()
            .is_some_and(|supported| supported.contains(&json!("2026-07-28"))),
        "{reply}"
    );
}

#[tokio::test]
async fn at_028_a_version_that_nobody_knows_is_answered_with_those_of_discover() {
    let tree = fixture().await;
    let discovered = tree.send(&Call::modern("server/discover", json!({}))).await;
    let versions = discovered.result()["supportedVersions"]
        .as_array()
        .expect("a list");

    let reply = tree.send(&in_version("v999.0.0")).await;

    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::BAD_REQUEST, -32022)
    );
    let data = &reply.message()["error"]["data"];
    assert_eq!(data["requested"], "v999.0.0");
    let supported = data["supported"].as_array().expect("a list");
    assert!(!supported.is_empty(), "{reply}");
    assert!(
        supported.iter().all(|version| versions.contains(version)),
        "{reply} and {discovered}"
    );
}

#[tokio::test]
async fn at_030_without_headers_the_handler_itself_looks_the_version_up() {
    let house = House::start().await;
    let mut message = modern(30, "tools/list", json!({}));
    message["params"]["_meta"][VERSION] = json!("v999.0.0");

    let (status, answer) = house.one(Head::default(), &message).await;

    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32022)));
    assert_eq!(answer["id"], 30);
}

#[tokio::test]
async fn at_033_a_traceparent_that_is_no_text_is_dropped() {
    let call = Call::modern("tools/call", json!({ "name": "whoami", "arguments": {} }))
        .meta("traceparent", json!(5));

    let reply = fixture().await.send(&call).await;

    let trace = &reply.result()["structuredContent"]["trace"];
    assert_eq!(trace.get("traceparent"), Some(&Value::Null), "{reply}");
}

#[tokio::test]
async fn at_035_a_malformed_trace_is_dropped_and_refuses_nothing() {
    let tree = fixture().await;
    let call = list(35)
        .meta("traceparent", json!("bad"))
        .meta("tracestate", json!("\n"))
        .meta("baggage", json!(5));

    let reply = tree.send(&call).await;

    assert_eq!(reply.status, StatusCode::OK);
    let stops = told(&tree, "request.stop", 1).await;
    for field in ["traceparent", "tracestate", "baggage"] {
        assert_eq!(stops[0].get(field), None, "{stops:?}");
    }
}

#[tokio::test]
async fn at_036_a_trace_is_read_in_the_legacy_era_too() {
    let tree = fixture().await;
    let trace = json!({ "traceparent": TRACEPARENT, "tracestate": "a=1", "baggage": "k=v" });

    let reply = tree
        .send(&Call::legacy("tools/list", json!({ "_meta": trace })))
        .await;

    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.result().get("resultType"), None);
    let stops = told(&tree, "request.stop", 1).await;
    assert_eq!(stops[0]["era"], "legacy");
    for field in ["traceparent", "tracestate", "baggage"] {
        assert_eq!(stops[0][field], trace[field]);
    }
}

#[tokio::test]
async fn at_038_what_is_not_json_is_refused_before_it_has_an_era() {
    let tree = fixture().await;

    let reply = tree.send(&Call::bytes("nonsense")).await;

    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::BAD_REQUEST, -32700)
    );
    told(&tree, "request.stop", 0).await;
}

#[tokio::test]
async fn at_039_what_a_modern_call_ignores_stays_with_its_transport() {
    let house = House::start().await;
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("mcp-session-id", "00000000-0000-4000-8000-000000000000"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "whoami"),
    ] {
        headers.insert(name, value.parse().expect("a value"));
    }
    let head = Head {
        headers: Some(Arc::new(headers.clone())),
        ..Head::default()
    };
    let call = modern(39, "tools/call", json!({ "name": "whoami" }));

    let (status, answer) = house.one(head.clone(), &call).await;

    assert_eq!(status, 200);
    assert_eq!(answer["result"]["content"][0]["text"], "modern, no session");
    assert_eq!(head.headers.as_deref(), Some(&headers));
}

#[tokio::test]
async fn at_040_a_message_is_classified_by_itself_and_not_by_the_one_before() {
    let house = House::start().await;
    let head = Head::default();

    let (_, first) = house
        .one(head.clone(), &modern(1, "tools/list", json!({})))
        .await;
    let (_, second) = house.one(head, &request(40, "tools/list", json!({}))).await;

    assert_eq!(first["result"]["resultType"], "complete");
    assert!(second["result"]["tools"].is_array(), "{second}");
    assert_eq!(second["result"].get("resultType"), None);
}

#[tokio::test]
async fn at_041_a_context_that_comes_along_is_not_classified_again() {
    let house = House::start().await;
    let head = Head {
        context: Some(Box::new(conduit::protocol::Context::new(
            conduit::Era::Legacy,
        ))),
        ..Head::default()
    };

    let (status, answer) = house.one(head, &modern(41, "tools/list", json!({}))).await;

    assert_eq!(status, 200);
    assert!(answer["result"]["tools"].is_array(), "{answer}");
    assert_eq!(answer["result"].get("resultType"), None);
}

fn list(id: u64) -> Call {
    Call::modern("tools/list", json!({})).id(json!(id))
}

fn in_version(version: &str) -> Call {
    Call::modern("tools/list", json!({}))
        .meta(VERSION, json!(version))
        .header("mcp-protocol-version", version)
}

fn handshake() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "c", "version": "1" },
    })
}

fn message(reply: &Reply) -> &str {
    reply.message()["error"]["message"]
        .as_str()
        .expect("a message")
}

#[track_caller]
fn is_modern(reply: &Reply) {
    assert_eq!(reply.status, StatusCode::OK, "{reply}");
    assert_eq!(reply.result()["resultType"], "complete", "{reply}");
}

/// AT-018: every one of them is 400.
#[track_caller]
fn is_refused(reply: &Reply, id: u64, named: &str) {
    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::BAD_REQUEST, -32602),
        "{reply}"
    );
    assert_eq!(reply.message()["id"], id, "{reply}");
    assert!(message(reply).contains(named), "{reply}");
}
