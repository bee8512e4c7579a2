//! `kill -9` of one process after the other, under load.

use std::time::Duration;

use conduit_testkit::process::Signal;
use conduit_testkit::{Call, Era, PATIENCE, Tree, Version, process, wait_until};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::load::{CONNECTIONS, Load, Tally};
use crate::{BACK, pair, turn};

#[tokio::test]
async fn a_killed_gateway_costs_the_calls_that_it_held_and_is_back_in_a_second() {
    let _turn = turn().await;
    let tree = pair().await;

    for gateway in ["gateway-0", "gateway-1"] {
        let load = Load::start(&tree).await;
        let held = tree
            .metrics()
            .await
            .sum("conduit_http_connections", &[("process", gateway)]);

        let took = kill(&tree, gateway).await;

        load.goes_on(CONNECTIONS * 4).await;
        let tally = load.stop().await;
        served_on(&tally);
        assert!(
            tally.broken as f64 <= held,
            "{gateway} held {held} connections: {tally:?}"
        );
        assert!(took <= BACK, "{gateway} was back after {took:?}");
    }
    tells_the_story(&tree, &["gateway-0", "gateway-1"]).await;
}

#[tokio::test]
async fn a_killed_hub_costs_nobody_anything_and_is_back_in_a_second() {
    let _turn = turn().await;
    without_loss("hub-0").await;
}

#[tokio::test]
async fn a_killed_store_costs_nobody_anything_and_is_back_in_a_second() {
    let _turn = turn().await;
    without_loss("store").await;
}

#[tokio::test]
async fn a_session_outlives_its_gateway_and_the_store() {
    let _turn = turn().await;
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;

    for slot in ["gateway-0", "gateway-1", "store"] {
        kill(&tree, slot).await;
        let reply = tree
            .send(&Call::legacy("ping", Value::Null).session(&session))
            .await;
        assert_eq!(reply.status, StatusCode::OK, "after {slot}: {reply}");
    }
}

#[tokio::test]
async fn a_call_that_needs_the_store_waits_for_the_next_one() {
    let _turn = turn().await;
    let tree = pair().await;

    tree.signal_slot("store", Signal::KILL).await;
    let session = tree.session(Version::November2025).await;

    let reply = tree
        .send(&Call::legacy("ping", Value::Null).session(&session))
        .await;
    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn a_cancellation_finds_its_way_after_the_hub_was_replaced() {
    let _turn = turn().await;
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );
    kill(&tree, "hub-0").await;
    let call = Era::Legacy
        .tool("slow", json!({ "seconds": 600 }))
        .id(json!("far"))
        .session(&session);
    let cancel =
        Call::legacy("notifications/cancelled", json!({ "requestId": "far" })).notification();

    tokio::join!(first.send(&call), async {
        wait_until("the call to run", PATIENCE, async || {
            (tree.metrics().await.sum("conduit_workers_busy", &[]) >= 1.0).then_some(())
        })
        .await;
        second.send(&cancel.session(&session)).await;
    });

    let metrics = tree.metrics().await;
    let taken = metrics.sum("conduit_hub_mail_total", &[("outcome", "taken")]);
    assert!(taken >= 1.0, "{}", metrics.text());
}

#[tokio::test]
async fn with_every_gateway_dead_clients_wait_and_are_served() {
    let _turn = turn().await;
    let tree = pair().await;
    for gateway in ["gateway-0", "gateway-1"] {
        let pid = tree.signal_slot(gateway, Signal::KILL).await;
        process::end_of(pid, PATIENCE).await;
    }

    let reply = tree
        .send(&Era::Modern.tool("echo", json!({ "message": "still here" })))
        .await;

    assert_eq!(reply.text(), "still here");
    tree.ready().await;
}

/// Kills what is in a slot and returns how long until another is ready, and so is
/// the whole.
pub(crate) async fn kill(tree: &Tree, slot: &str) -> Duration {
    let before = tree.pid_of(slot).await;
    let start = Instant::now();
    process::signal(before, Signal::KILL);
    tree.replaced(slot, before, PATIENCE).await;
    tree.ready().await;
    start.elapsed()
}

/// Nobody was told anything wrong, and nobody waited for long.
#[track_caller]
pub(crate) fn served_on(tally: &Tally) {
    assert!(
        tally.wrong.is_empty() && tally.unconnected.is_empty(),
        "{tally:?}"
    );
    assert!(tally.slowest < Duration::from_secs(5), "{tally:?}");
}

async fn without_loss(slot: &str) {
    let tree = pair().await;
    let load = Load::start(&tree).await;

    let took = kill(&tree, slot).await;

    load.goes_on(CONNECTIONS * 4).await;
    let tally = load.stop().await;
    served_on(&tally);
    assert_eq!(tally.broken, 0, "{tally:?}");
    assert!(took <= BACK, "{slot} was back after {took:?}");
    tells_the_story(&tree, &[slot]).await;
}

/// Each of `slots` was restarted once and nobody else, and all is well again.
async fn tells_the_story(tree: &Tree, slots: &[&str]) {
    let metrics = tree.metrics().await;
    for status in tree.status().await.slots {
        let name = status.slot.as_str();
        let expected = u32::from(slots.contains(&name));
        let counted = metrics.sum("conduit_restarts_total", &[("slot", name)]);
        assert!(
            (counted - f64::from(expected)).abs() < 0.5,
            "{name} was restarted {counted} times"
        );
        assert_eq!(status.restarts, u64::from(expected), "{status:?}");
    }
    assert!(tree.is_ready().await);
}
