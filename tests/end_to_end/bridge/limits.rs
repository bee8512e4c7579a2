//! When a client is not asked, or no longer.

use conduit_testkit::{Call, Era, Options, PATIENCE, Reply, Tree, Version, wait_until};
use http::{Method, StatusCode};
use serde_json::json;

use super::{accept, ended, everything, hello, interview, next, question, text};
use crate::record::recorded;
use crate::{fixture, pair};

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_told_what_that_needs() {
    let tree = fixture().await;
    let able = tree.session_with(Version::November2025, everything()).await;
    let unable = tree.session(Version::November2025).await;
    let elsewhere = json!({ "sampling": {}, "roots": {} });
    let able_elsewhere = tree.session_with(Version::November2025, elsewhere).await;

    for (what, call) in [
        ("no session", Era::Legacy.tool("hello", json!({}))),
        ("no capability", hello(&unable)),
        ("another capability", hello(&able_elsewhere)),
        (
            "no events",
            hello(&able).header("accept", "application/json"),
        ),
    ] {
        let reply = tree.send(&call).await;

        is_impossible(&reply, what);
    }
}

#[tokio::test]
async fn a_client_is_not_asked_where_that_is_switched_off() {
    let options = Options::fixture()
        .gateways(1)
        .argument("--set")
        .argument("legacy.bridge_input=false");
    let tree = Tree::start(options).await;
    let session = tree.session_with(Version::November2025, everything()).await;

    let reply = tree.send(&hello(&session)).await;

    is_impossible(&reply, "switched off");
}

#[tokio::test]
async fn a_client_that_does_not_answer_in_time_ends_its_call() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_INPUT_BRIDGE_TIMEOUT_MS", "1000");
    let tree = Tree::start(options).await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let mut stream = tree.conn().await.into_stream(&hello(&session)).await;

    let asked = question(&mut stream).await;
    let done = next(&mut stream).await;

    assert_eq!(
        (&done["error"]["code"], &done["id"]),
        (&json!(-32603), &json!("call"))
    );
    let mut conn = tree.conn().await;
    accept(&mut conn, &session, &asked, json!({ "name": "late" })).await;
}

#[tokio::test]
async fn a_call_that_waits_for_an_answer_takes_no_time_of_its_tool() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_LIMITS_REQUEST_TIMEOUT_MS", "300")
        .environment("CONDUIT_LIMITS_DISPATCH_PATIENCE_MS", "300");
    let tree = Tree::start(options).await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let mut stream = tree.conn().await.into_stream(&hello(&session)).await;
    let asked = question(&mut stream).await;

    // A call without questions is out of time by then.
    let slow = Era::Legacy.tool("slow", json!({ "seconds": 600 }));
    let late = tree.send(&slow).await;
    assert_eq!(late.result()["isError"], true, "{late}");
    let mut conn = tree.conn().await;
    accept(&mut conn, &session, &asked, json!({ "name": "Ann" })).await;

    assert_eq!(text(&next(&mut stream).await), "Hello, Ann!");
}

#[tokio::test]
async fn there_is_room_for_answers_where_there_is_none_for_calls() {
    let options = Options::fixture()
        .gateways(1)
        .argument("--set")
        .argument("limits.in_flight=2");
    let tree = Tree::start(options).await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut stream = tree.conn().await.into_stream(&hello(&session)).await;
        let asked = question(&mut stream).await;
        streams.push((stream, asked));
    }
    let full = Era::Modern.tool("echo_pool", json!({ "message": "x" }));
    let refused = tree.send(&full).await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{refused}");
    let mut conn = tree.conn().await;

    for (stream, asked) in &mut streams {
        accept(&mut conn, &session, asked, json!({ "name": "Ann" })).await;
        assert_eq!(text(&next(stream).await), "Hello, Ann!");
    }
}

#[tokio::test]
async fn a_call_is_cancelled_while_it_waits_for_an_answer() {
    let tree = pair().await;
    let session = tree.session_with(Version::November2025, everything()).await;

    for gateway in ["gateway-0", "gateway-1"] {
        let conn = tree.conn_to("gateway-0").await;
        let mut stream = conn.into_stream(&interview(&session)).await;
        let asked = question(&mut stream).await;
        let runs = recorded(&tree, "interview").await;
        let mut other = tree.conn_to(gateway).await;

        let cancel = Call::legacy("notifications/cancelled", json!({ "requestId": "call" }));
        let taken = other.send(&cancel.notification().session(&session)).await;

        assert_eq!(taken.status, StatusCode::ACCEPTED, "{taken}");
        let rest = ended(&mut stream).await;
        assert!(
            !rest.iter().any(|message| message.get("result").is_some()),
            "{rest:?}"
        );
        accept(&mut other, &session, &asked, json!({ "name": "Ann" })).await;
        nothing_in_flight(&tree).await;
        assert_eq!(recorded(&tree, "interview").await, runs, "it ran again");
    }
}

#[tokio::test]
async fn the_end_of_a_session_ends_what_waits_for_its_answers() {
    let tree = pair().await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let conn = tree.conn_to("gateway-0").await;
    let mut stream = conn.into_stream(&hello(&session)).await;
    question(&mut stream).await;

    let end = Call::verb(Method::DELETE).session(&session);
    let ended_at = tree.conn_to("gateway-1").await.send(&end).await;

    assert_eq!(ended_at.status, StatusCode::NO_CONTENT);
    ended(&mut stream).await;
    nothing_in_flight(&tree).await;
}

#[tokio::test]
async fn an_older_client_that_left_is_not_waited_for_longer_than_it_may_take() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_INPUT_BRIDGE_TIMEOUT_MS", "1000");
    let tree = Tree::start(options).await;
    let session = tree.session_with(Version::June2025, everything()).await;
    let call = hello(&session).version(Version::June2025);
    let mut stream = tree.conn().await.into_stream(&call).await;
    question(&mut stream).await;

    drop(stream);

    nothing_in_flight(&tree).await;
}

#[tokio::test]
async fn a_tree_that_stops_does_not_wait_for_answers() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_SUPERVISOR_DRAIN_GRACE_MS", "200");
    let tree = Tree::start(options).await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let mut stream = tree.conn().await.into_stream(&hello(&session)).await;
    question(&mut stream).await;

    let (rest, _stopped) = tokio::join!(ended(&mut stream), tree.stop());

    let last = rest.last().expect("a response: R43");
    assert_eq!(
        (&last["error"]["code"], &last["id"]),
        (&json!(-32603), &json!("call"))
    );
}

#[track_caller]
fn is_impossible(reply: &Reply, what: &str) {
    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::OK, -32603),
        "{what}: {reply}"
    );
    let message = reply.message()["error"]["message"].to_string();
    for word in ["MRTR", "2026-07-28"] {
        assert!(message.contains(word), "{what}: {message}");
    }
}

async fn nothing_in_flight(tree: &Tree) {
    wait_until("nothing in flight", PATIENCE, async || {
        let now = tree.metrics().await.sum("conduit_requests_in_flight", &[]);
        (now < 0.5).then_some(())
    })
    .await;
}
