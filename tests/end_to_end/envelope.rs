//! Messages as such: ids, kinds, and what is no message at all.

use conduit_testkit::{Call, Era, Reply};
use http::StatusCode;
use serde_json::{Value, json};

use crate::demo;

#[tokio::test]
async fn ids_come_back_as_they_were_spelled() {
    let tree = demo().await;

    for id in [
        json!(0),
        json!(-7),
        json!("7"),
        json!(""),
        json!("a\"\u{e9}\n"),
        json!(9_007_199_254_740_993_u64),
        json!(u64::MAX),
    ] {
        for era in Era::BOTH {
            let reply = tree
                .send(&era.tool("echo", json!({ "message": "x" })).id(id.clone()))
                .await;
            assert_eq!(reply.message()["id"], id);
        }
    }
}

#[tokio::test]
async fn an_id_beyond_all_machine_integers_comes_back_digit_by_digit() {
    let body = r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}"#;

    let reply = demo().await.send(&Call::bytes(body)).await;

    let text = String::from_utf8_lossy(&reply.body).into_owned();
    assert!(
        text.contains(r#""id":123456789012345678901234567890"#),
        "{text}"
    );
}

#[tokio::test]
async fn errors_echo_the_id() {
    let tree = demo().await;

    for call in [
        Call::modern("no/such", Value::Null),
        Call::legacy("no/such", Value::Null),
        Era::Modern.tool("no_such", json!({})),
        Era::Legacy.tool("no_such", json!({})),
        Call::legacy("tools/call", json!([1])),
    ] {
        let reply = tree.send(&call.clone().id(json!("my-id"))).await;
        assert_eq!(reply.message()["id"], "my-id", "{call:?}");
        assert!(reply.message().get("error").is_some(), "{call:?}");
    }
}

#[tokio::test]
async fn an_unknown_method_is_404_in_the_modern_era_and_200_in_the_legacy_one() {
    let tree = demo().await;

    for (era, status) in [
        (Era::Modern, StatusCode::NOT_FOUND),
        (Era::Legacy, StatusCode::OK),
    ] {
        let reply = tree.send(&era.call("foo/bar", Value::Null)).await;
        assert_eq!((reply.status, reply.code()), (status, -32601));
    }
}

#[tokio::test]
async fn what_the_modern_era_has_given_up_is_unknown_there() {
    let tree = demo().await;

    for method in [
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/result",
        "tasks/list",
    ] {
        let reply = tree
            .send(&Call::modern(
                method,
                json!({ "level": "info", "uri": "a:b" }),
            ))
            .await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::NOT_FOUND, -32601),
            "{method}"
        );
    }
}

#[tokio::test]
async fn discover_without_keys_is_served_under_a_legacy_version_header_too() {
    let reply = demo()
        .await
        .send(&Call::legacy("server/discover", json!({})))
        .await;

    // Its version header is legacy, its body has no keys: the seeds' table serves it.
    assert_eq!(reply.result()["supportedVersions"], json!(["2026-07-28"]));
}

#[tokio::test]
async fn ping_is_answered_with_nothing_at_all() {
    let tree = demo().await;

    for params in [Value::Null, json!({})] {
        let reply = tree.send(&Call::legacy("ping", params)).await;
        assert_eq!(
            reply.message(),
            &json!({ "jsonrpc": "2.0", "id": 1, "result": {} })
        );
    }
}

#[tokio::test]
async fn notifications_are_accepted_without_a_word() {
    let tree = demo().await;

    for era in Era::BOTH {
        for method in ["notifications/initialized", "notifications/whatever"] {
            is_accepted(
                &tree
                    .send(&era.call(method, Value::Null).notification())
                    .await,
            );
        }
    }
}

#[tokio::test]
async fn a_notification_needs_no_method_header() {
    let call = Call::modern("notifications/initialized", Value::Null)
        .notification()
        .without("mcp-method");

    is_accepted(&demo().await.send(&call).await);
}

#[tokio::test]
async fn a_modern_header_alone_does_not_make_a_notification_wrong() {
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });

    let reply = demo()
        .await
        .send(&Call::message(message).header("mcp-protocol-version", "2026-07-28"))
        .await;

    is_accepted(&reply);
}

#[tokio::test]
async fn responses_are_dropped_without_a_word() {
    let tree = demo().await;

    for message in [
        json!({ "jsonrpc": "2.0", "id": 7, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": 1, "message": "x" } }),
    ] {
        is_accepted(&tree.send(&Call::message(message)).await);
    }
}

#[tokio::test]
async fn a_batch_is_refused_as_a_whole() {
    let tree = demo().await;

    for batch in [
        json!([]),
        json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }]),
    ] {
        let reply = tree.send(&Call::message(batch)).await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::BAD_REQUEST, -32600)
        );
        assert_eq!(reply.message().get("id"), None);
    }
}

#[tokio::test]
async fn what_is_not_json_is_a_parse_error_without_id() {
    let tree = demo().await;
    let bad_utf8: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}";

    for body in [
        &b""[..],
        b"{",
        b"nonsense",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,}",
        b"{} {}",
        bad_utf8,
    ] {
        let reply = tree.send(&Call::bytes(body)).await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::BAD_REQUEST, -32700),
            "{reply}"
        );
        assert_eq!(reply.message().get("id"), None);
    }
}

#[tokio::test]
async fn json_that_is_no_message_is_an_invalid_request() {
    let tree = demo().await;

    for message in [
        json!(5),
        json!("ping"),
        Value::Null,
        json!({}),
        json!({ "jsonrpc": "2.0" }),
        json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }),
        json!({ "id": 1, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": 1 }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": 5 }),
    ] {
        let reply = tree.send(&Call::message(message.clone())).await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::BAD_REQUEST, -32600),
            "{message}"
        );
    }
}

#[tokio::test]
async fn an_id_of_the_wrong_type_makes_an_invalid_request_without_id() {
    let tree = demo().await;

    for id in [Value::Null, json!(1.5), json!(true), json!([]), json!({})] {
        let reply = tree
            .send(&Call::legacy("ping", Value::Null).id(id.clone()))
            .await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::BAD_REQUEST, -32600),
            "{id}"
        );
        assert_eq!(reply.message().get("id"), None, "{id}");
    }
}

#[tokio::test]
async fn params_that_are_no_object_are_invalid_params() {
    let tree = demo().await;

    for params in [json!([]), json!("x"), json!(1)] {
        let reply = tree.send(&Call::legacy("tools/list", params.clone())).await;
        assert_eq!(reply.code(), -32602, "{params}");
        assert_eq!(reply.message()["id"], 1, "{params}");
    }
}

#[tokio::test]
async fn a_message_of_ten_thousand_levels_is_refused_and_kills_nobody() {
    let tree = demo().await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"message":"x","more":{}{}}}}}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );

    let reply = tree.send(&Call::bytes(deep)).await;

    assert_ne!(reply.status, StatusCode::INTERNAL_SERVER_ERROR, "{reply}");
    assert_eq!(tree.slot("gateway-0").await.restarts, 0);
}

#[track_caller]
fn is_accepted(reply: &Reply) {
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{reply}");
    assert!(reply.body.is_empty(), "{reply}");
}
