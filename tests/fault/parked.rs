//! A slot that cannot start is left alone; the others go on and no client hangs.

use std::time::Duration;

use conduit_testkit::Version;
use conduit_testkit::process::Signal;
use conduit_testkit::{Call, Era, Options, PATIENCE, Tree, initialize, process, wait_until};
use http::StatusCode;
use serde_json::json;
use tokio::time::Instant;

use crate::turn;

#[tokio::test]
async fn with_a_parked_gateway_every_connection_is_served_by_the_others() {
    let _turn = turn().await;
    let tree = parked("gateway-0").await;

    for number in 0..200 {
        let text = number.to_string();
        assert_eq!(tree.send(&echo(&text)).await.text(), text);
    }

    let metrics = tree.metrics().await;
    assert!(metrics.sum("conduit_slot_parked", &[("slot", "gateway-0")]) > 0.5);
    assert!(!tree.is_ready().await, "a gateway is missing");
    assert_eq!(
        tree.ask("/healthz").await.expect("an answer").status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn with_a_parked_hub_calls_are_served() {
    let _turn = turn().await;
    let tree = parked("hub-0").await;

    let reply = tree.send(&echo("still here")).await;

    assert_eq!(reply.text(), "still here");
}

#[tokio::test]
async fn with_a_parked_store_calls_are_served_and_sessions_are_refused_in_time() {
    let _turn = turn().await;
    let tree = parked("store").await;

    phase(&tree, "degraded").await;
    let served = tree.send(&echo("still here")).await;
    let refused = tree.send(&initialize(Version::November2025)).await;

    assert_eq!(served.text(), "still here");
    assert_eq!(
        (refused.status, refused.code()),
        (StatusCode::SERVICE_UNAVAILABLE, 50300),
        "{refused}"
    );
    assert_eq!(refused.message()["id"], 1);
}

#[tokio::test]
async fn a_parked_slot_is_tried_again_later() {
    let _turn = turn().await;
    let tree = parked_for("gateway-0", "1500").await;

    wait_until("the slot to be filled", PATIENCE, async || {
        (tree.slot("gateway-0").await.phase == "serving").then_some(())
    })
    .await;

    tree.ready().await;
}

#[tokio::test]
async fn a_parked_slot_does_not_hold_up_the_end() {
    let _turn = turn().await;

    let ending = parked("gateway-0").await.stop().await;

    assert_eq!(ending.status, Some(0));
}

#[tokio::test]
async fn while_no_gateway_serves_clients_are_turned_away_and_the_status_says_so() {
    let _turn = turn().await;
    let options = Options::fixture()
        .gateways(2)
        .environment("CONDUIT_SUPERVISOR_BACKOFF_FIRST_MS", "10000")
        .environment("CONDUIT_SUPERVISOR_BACKOFF_MOST_MS", "10000");
    let tree = Tree::start(options).await;
    assert_eq!(tree.status().await.phase, "serving");
    let first = tree.signal_slot("gateway-0", Signal::KILL).await;
    phase(&tree, "degraded").await;
    tree.signal_slot("gateway-1", Signal::KILL).await;
    phase(&tree, "closed").await;

    let start = Instant::now();
    let refused = tree.send(&echo("anybody?")).await;

    let took = start.elapsed();
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{refused}");
    assert!(took < Duration::from_secs(3), "it hung for {took:?}");
    tree.replaced("gateway-0", first, 2 * PATIENCE).await;
    wait_until("clients to be served again", PATIENCE, async || {
        (tree.send(&echo("anybody?")).await.status == StatusCode::OK).then_some(())
    })
    .await;
    tree.ready().await;
}

async fn phase(tree: &Tree, expected: &str) {
    wait_until("the phase of the tree", PATIENCE, async || {
        (tree.status().await.phase == expected).then_some(())
    })
    .await;
}

async fn parked(slot: &str) -> Tree {
    parked_for(slot, "600000").await
}

/// A system in which whatever starts in one slot has been killed on sight until
/// the supervisor gave up.
async fn parked_for(slot: &str, retry_ms: &str) -> Tree {
    let options = Options::fixture()
        .gateways(2)
        .environment("CONDUIT_SUPERVISOR_RESTARTS", "2")
        .environment("CONDUIT_SUPERVISOR_PARKED_RETRY_MS", retry_ms);
    let tree = Tree::start(options).await;
    wait_until("the slot to be parked", PATIENCE, async || {
        let now = tree.slot(slot).await;
        if let Some(pid) = now.pid {
            process::signal(pid, Signal::KILL);
        }
        (now.phase == "parked").then_some(())
    })
    .await;
    tree
}

fn echo(text: &str) -> Call {
    Era::Modern.tool("echo", json!({ "message": text }))
}
