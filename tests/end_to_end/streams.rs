//! Progress, and when an answer is a stream of events (R7, R29).

use conduit_testkit::{Call, Era, Reply, Version};
use http::StatusCode;
use serde_json::{Value, json};

use crate::demo;

#[tokio::test]
async fn a_modern_call_with_a_token_streams_its_progress_and_then_its_answer() {
    let reply = demo()
        .await
        .send(&countdown(Era::Modern).progress(json!("p")).id(json!("c")))
        .await;

    assert_eq!(reply.status, StatusCode::OK);
    assert!(reply.is_stream(), "{reply}");
    assert_eq!(reply.message()["id"], "c");
    grows(&reply, &json!("p"));
}

#[tokio::test]
async fn a_token_comes_back_as_it_was_spelled() {
    let tree = demo().await;

    for token in [json!(0), json!(""), json!(9_007_199_254_740_993_u64)] {
        grows(
            &tree
                .send(&countdown(Era::Modern).progress(token.clone()))
                .await,
            &token,
        );
    }
}

#[tokio::test]
async fn a_stream_asks_proxies_not_to_hold_it_back() {
    let reply = demo()
        .await
        .send(&countdown(Era::Modern).progress(json!(1)))
        .await;

    assert_eq!(reply.header("x-accel-buffering"), Some("no"));
    assert!(
        reply
            .header("cache-control")
            .is_some_and(|value| value.contains("no-cache") || value.contains("no-store"))
    );
}

#[tokio::test]
async fn a_modern_stream_has_neither_ids_nor_retry() {
    let reply = demo()
        .await
        .send(&countdown(Era::Modern).progress(json!(1)))
        .await;

    let text = String::from_utf8_lossy(&reply.body).into_owned();
    assert!(
        !text
            .lines()
            .any(|line| line.starts_with("id:") || line.starts_with("retry:")),
        "{text}"
    );
}

#[tokio::test]
async fn the_connection_serves_on_after_a_stream() {
    let tree = demo().await;
    let mut conn = tree.conn().await;

    let first = conn.send(&countdown(Era::Modern).progress(json!(1))).await;
    let second = conn
        .send(&Era::Modern.tool("echo", json!({ "message": "again" })))
        .await;

    assert!(first.is_stream());
    assert_eq!(second.text(), "again");
}

#[tokio::test]
async fn without_a_token_the_answer_is_json_in_both_eras() {
    let tree = demo().await;

    for era in Era::BOTH {
        let reply = tree.send(&countdown(era)).await;
        assert_eq!((reply.status, reply.is_stream()), (StatusCode::OK, false));
        assert!(reply.notifications().is_empty());
    }
}

#[tokio::test]
async fn where_nothing_came_before_the_answer_it_is_json() {
    let tree = demo().await;

    for call in [
        Era::Modern.tool("echo", json!({ "message": "x" })),
        Era::Modern.tool("no_such_tool", json!({})),
        Call::modern("tools/list", json!({})),
    ] {
        let reply = tree.send(&call.clone().progress(json!("p"))).await;
        assert!(!reply.is_stream(), "{call:?}");
    }
}

#[tokio::test]
async fn a_client_that_takes_json_only_gets_json_without_progress() {
    let call = countdown(Era::Modern)
        .progress(json!("p"))
        .header("accept", "application/json");

    let reply = demo().await.send(&call).await;

    assert_eq!((reply.status, reply.is_stream()), (StatusCode::OK, false));
}

#[tokio::test]
async fn a_token_of_the_wrong_type_is_invalid_params() {
    let tree = demo().await;

    for token in [json!({}), json!(true), json!(1.5), Value::Null] {
        let reply = tree
            .send(&countdown(Era::Modern).progress(token.clone()))
            .await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::BAD_REQUEST, -32602),
            "{token}"
        );
    }
}

#[tokio::test]
async fn a_legacy_call_streams_its_progress_in_a_session() {
    let tree = demo().await;
    let session = tree.session(Version::November2025).await;

    let reply = tree
        .send(&countdown(Era::Legacy).progress(json!(7)).session(&session))
        .await;

    assert!(reply.is_stream(), "{reply}");
    grows(&reply, &json!(7));
}

#[tokio::test]
async fn a_legacy_call_without_a_session_is_answered_with_json() {
    let reply = demo()
        .await
        .send(&countdown(Era::Legacy).progress(json!(7)))
        .await;

    assert_eq!((reply.status, reply.is_stream()), (StatusCode::OK, false));
}

/// Short: what matters is that something is told on the way.
fn countdown(era: Era) -> Call {
    era.tool("countdown", json!({ "from": 2 }))
}

#[track_caller]
fn grows(reply: &Reply, token: &Value) {
    let told: Vec<f64> = reply
        .notifications()
        .iter()
        .map(|notification| {
            assert_eq!(notification["method"], "notifications/progress", "{reply}");
            assert_eq!(&notification["params"]["progressToken"], token, "{reply}");
            notification["params"]["progress"]
                .as_f64()
                .expect("a number")
        })
        .collect();
    assert!(!told.is_empty(), "{reply}");
    assert!(
        told.is_sorted_by(|before, after| before < after),
        "{told:?}"
    );
    assert!(reply.message().get("result").is_some(), "{reply}");
}
