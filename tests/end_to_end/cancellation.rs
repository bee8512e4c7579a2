//! Who can stop a call, and who cannot.

use conduit_testkit::{Call, Era, Options, PATIENCE, Reply, Tree, Version, wait_until};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{demo, fixture, pair};

/// Far longer than any test waits: such a call ends only by being stopped.
const FOREVER: u64 = 600;

#[tokio::test]
async fn a_modern_client_that_leaves_its_stream_stops_the_call() {
    let tree = demo().await;
    let mut conn = tree.conn().await;
    let mut events = conn
        .stream(
            &Era::Modern
                .tool("countdown", json!({ "from": 1000 }))
                .progress(json!(1)),
        )
        .await;
    events
        .next()
        .await
        .expect("a stream")
        .expect("the first progress");

    drop((conn, events));

    stopped(&tree, "countdown", "hang_up").await;
}

#[tokio::test]
async fn a_modern_client_that_leaves_before_its_answer_stops_the_call() {
    let tree = fixture().await;
    let mut raw = tree.raw().await;
    let host = raw.host();
    raw.write(slow(Era::Modern).wire(&host)).await;
    running(&tree, 1.0).await;

    drop(raw);

    stopped(&tree, "slow", "hang_up").await;
}

#[tokio::test]
async fn a_legacy_client_that_leaves_stops_nothing() {
    let tree = fixture().await;
    let mut raw = tree.raw().await;
    let host = raw.host();
    raw.write(
        Era::Legacy
            .tool("slow", json!({ "seconds": 1 }))
            .wire(&host),
    )
    .await;
    running(&tree, 1.0).await;

    drop(raw);

    ended(&tree, "slow", "ok", 1.0).await;
}

#[tokio::test]
async fn a_legacy_client_stops_its_call_from_another_connection() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;

    let (answer, accepted) = call_and_cancel(&tree, &session, &session).await;

    assert!(answer.is_some(), "the call went on");
    assert_eq!(
        (accepted.status, accepted.body.len()),
        (StatusCode::ACCEPTED, 0)
    );
    stopped(&tree, "slow", "notice").await;
}

#[tokio::test]
async fn a_legacy_client_stops_its_call_from_another_gateway() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );
    let call = slow(Era::Legacy).id(json!("far")).session(&session);

    let (answer, accepted) = tokio::join!(first.send(&call), async {
        running(&tree, 1.0).await;
        second.send(&cancel(json!("far")).session(&session)).await
    });

    assert_eq!(accepted.status, StatusCode::ACCEPTED);
    assert!(
        answer.status.is_success() || answer.status.is_client_error(),
        "{answer}"
    );
    stopped(&tree, "slow", "mail").await;
}

#[tokio::test]
async fn another_session_stops_nothing() {
    let tree = fixture().await;
    let mine = tree.session(Version::November2025).await;
    let other = tree.session(Version::November2025).await;
    let mut conn = tree.conn().await;
    let call = Era::Legacy
        .tool("slow", json!({ "seconds": 1 }))
        .id(json!(5))
        .session(&mine);

    let (answer, accepted) = tokio::join!(conn.send(&call), async {
        running(&tree, 1.0).await;
        tree.send(&cancel(json!(5)).session(&other)).await
    });

    assert_eq!(accepted.status, StatusCode::ACCEPTED);
    assert!(answer.message().get("result").is_some(), "{answer}");
    ended(&tree, "slow", "ok", 1.0).await;
}

#[tokio::test]
async fn the_type_of_an_id_counts() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let mut conn = tree.conn().await;
    let call = Era::Legacy
        .tool("slow", json!({ "seconds": 1 }))
        .id(json!(42))
        .session(&session);

    let (answer, _) = tokio::join!(conn.send(&call), async {
        running(&tree, 1.0).await;
        tree.send(&cancel(json!("42")).session(&session)).await
    });

    assert!(answer.message().get("result").is_some(), "{answer}");
    ended(&tree, "slow", "ok", 1.0).await;
}

#[tokio::test]
async fn without_a_session_the_only_call_of_that_id_from_an_address_is_stopped() {
    let tree = fixture().await;
    let mut conn = tree.conn().await;

    let call = slow(Era::Legacy).id(json!("only"));
    let (answer, _) = tokio::join!(timeout(PATIENCE, conn.send(&call)), async {
        running(&tree, 1.0).await;
        tree.send(&cancel(json!("only"))).await
    });

    assert!(answer.is_ok(), "the call went on");
    stopped(&tree, "slow", "notice").await;
}

#[tokio::test]
async fn without_a_session_one_of_two_calls_of_that_id_is_never_stopped() {
    let tree = fixture().await;
    let (mut one, mut other) = (tree.conn().await, tree.conn().await);
    let call = Era::Legacy
        .tool("slow", json!({ "seconds": 1 }))
        .id(json!("common"));

    let (first, second, _) = tokio::join!(one.send(&call), other.send(&call), async {
        running(&tree, 2.0).await;
        tree.send(&cancel(json!("common"))).await
    });

    for reply in [first, second] {
        assert!(reply.message().get("result").is_some(), "{reply}");
    }
    ended(&tree, "slow", "ok", 2.0).await;
}

#[tokio::test]
async fn without_a_session_calls_of_one_id_at_two_gateways_are_two_calls() {
    let tree = pair().await;
    let (mut first, mut second, mut third) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
        tree.conn_to("gateway-1").await,
    );
    let call = Era::Legacy
        .tool("slow", json!({ "seconds": 1 }))
        .id(json!("same"));

    let (one, other, accepted) = tokio::join!(first.send(&call), second.send(&call), async {
        running(&tree, 2.0).await;
        third.send(&cancel(json!("same"))).await
    });

    assert_eq!(accepted.status, StatusCode::ACCEPTED);
    assert!(one.message().get("result").is_some(), "{one}");
    assert!(other.message().get("result").is_some(), "{other}");
    ended(&tree, "slow", "ok", 2.0).await;
}

#[tokio::test]
async fn without_a_session_the_only_call_of_that_id_is_stopped_from_another_gateway() {
    let tree = pair().await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );
    let call = slow(Era::Legacy).id(json!("sole"));

    let (answer, _accepted) = tokio::join!(timeout(PATIENCE, first.send(&call)), async {
        running(&tree, 1.0).await;
        second.send(&cancel(json!("sole"))).await
    });

    assert!(answer.is_ok(), "the call went on");
    stopped(&tree, "slow", "mail").await;
}

#[tokio::test]
async fn without_a_session_nothing_is_stopped_where_that_is_switched_off() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_CANCELLATION_ADDRESS_SCOPE", "off");
    let tree = Tree::start(options).await;
    let mut conn = tree.conn().await;
    let call = Era::Legacy
        .tool("slow", json!({ "seconds": 1 }))
        .id(json!("only"));

    let (answer, _) = tokio::join!(conn.send(&call), async {
        running(&tree, 1.0).await;
        tree.send(&cancel(json!("only"))).await
    });

    assert!(answer.message().get("result").is_some(), "{answer}");
}

#[tokio::test]
async fn a_modern_call_is_not_stopped_by_a_notification() {
    let tree = fixture().await;
    let mut conn = tree.conn().await;
    let call = Era::Modern
        .tool("slow", json!({ "seconds": 1 }))
        .id(json!(1));

    let (answer, accepted) = tokio::join!(conn.send(&call), async {
        running(&tree, 1.0).await;
        let modern =
            Call::modern("notifications/cancelled", json!({ "requestId": 1 })).notification();
        [tree.send(&modern).await, tree.send(&cancel(json!(1))).await]
    });

    assert!(
        accepted
            .iter()
            .all(|reply| reply.status == StatusCode::ACCEPTED)
    );
    assert!(answer.message().get("result").is_some(), "{answer}");
}

#[tokio::test]
async fn a_cancellation_of_nothing_is_accepted() {
    let tree = fixture().await;

    for id in [
        json!("unknown"),
        json!(0),
        json!(-1),
        json!(""),
        Value::Null,
        json!("a".repeat(256)),
    ] {
        let reply = tree.send(&cancel(id.clone())).await;
        assert_eq!(
            (reply.status, reply.body.len()),
            (StatusCode::ACCEPTED, 0),
            "{id}"
        );
    }
    let without = Call::legacy("notifications/cancelled", Value::Null).notification();
    assert_eq!(tree.send(&without).await.status, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn a_malformed_cancellation_is_answered_under_a_null_id() {
    let tree = fixture().await;

    for id in [
        json!(true),
        json!(1.5),
        json!({}),
        json!([]),
        json!("a".repeat(257)),
        json!("é".repeat(129)),
    ] {
        is_malformed(&tree.send(&cancel(id)).await);
    }
    for params in [json!([1]), json!("x"), json!(5)] {
        is_malformed(
            &tree
                .send(&Call::legacy("notifications/cancelled", params).notification())
                .await,
        );
    }
}

#[tokio::test]
async fn a_call_that_was_stopped_leaves_its_id_free() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    call_and_cancel(&tree, &session, &session).await;

    let again = Era::Legacy
        .tool("slow", json!({ "seconds": 0 }))
        .id(json!("mine"))
        .session(&session);
    let reply = tree.send(&again).await;

    assert!(reply.message().get("result").is_some(), "{reply}");
}

/// Sends a call that lasts for ever in one session and its cancellation in another.
async fn call_and_cancel(tree: &Tree, mine: &str, other: &str) -> (Option<Reply>, Reply) {
    let mut conn = tree.conn().await;
    let call = slow(Era::Legacy).id(json!("mine")).session(mine);
    tokio::join!(
        async { timeout(PATIENCE, conn.send(&call)).await.ok() },
        async {
            running(tree, 1.0).await;
            tree.send(&cancel(json!("mine")).session(other)).await
        }
    )
}

fn slow(era: Era) -> Call {
    era.tool("slow", json!({ "seconds": FOREVER }))
}

fn cancel(id: Value) -> Call {
    let mut params = json!({ "reason": "the test says so" });
    params["requestId"] = id;
    Call::legacy("notifications/cancelled", params).notification()
}

/// Waits until that many tools are at work.
async fn running(tree: &Tree, count: f64) {
    let at_work = async || tree.metrics().await.sum("conduit_workers_busy", &[]) >= count;
    wait_until("the call to run", PATIENCE, async || {
        at_work().await.then_some(())
    })
    .await;
}

/// Waits until that many calls of a tool have ended so, and nothing is in flight.
async fn ended(tree: &Tree, tool: &str, outcome: &str, count: f64) {
    wait_until(
        &format!("{count} calls of {tool} to end with {outcome}"),
        PATIENCE,
        async || {
            let metrics = tree.metrics().await;
            let ended = metrics.sum(
                "conduit_tool_calls_total",
                &[("tool", tool), ("outcome", outcome)],
            );
            let in_flight = metrics.sum("conduit_requests_in_flight", &[]);
            (ended >= count && in_flight < 1.0).then_some(())
        },
    )
    .await;
}

/// Waits until the only call of a tool has been stopped, and by whom is counted.
async fn stopped(tree: &Tree, tool: &str, by: &str) {
    ended(tree, tool, "cancelled", 1.0).await;
    wait_until(
        &format!("a cancellation by {by} to be counted"),
        PATIENCE,
        async || {
            let counted = tree
                .metrics()
                .await
                .sum("conduit_requests_cancelled_total", &[("by", by)]);
            (counted >= 1.0).then_some(())
        },
    )
    .await;
}

#[track_caller]
fn is_malformed(reply: &Reply) {
    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::OK, -32602),
        "{reply}"
    );
    assert!(
        reply.message()["id"].is_null() && reply.message().get("id").is_some(),
        "{reply}"
    );
}
