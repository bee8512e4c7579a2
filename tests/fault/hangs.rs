//! SIGSTOP: a process that lives but does not answer is killed and replaced.

use std::time::Duration;

use conduit_testkit::process::Signal;
use conduit_testkit::{Call, Era, Options, PATIENCE, Tree, process, wait_until};
use serde_json::json;
use tokio::time::Instant;

use crate::deaths::served_on;
use crate::load::{CONNECTIONS, Load};
use crate::{BACK, pair, turn};

/// A process is dead that was silent for three seconds, asked every second.
const NOTICED: Duration = Duration::from_secs(4);

#[tokio::test]
async fn a_hung_gateway_is_killed_and_replaced_and_costs_what_it_held() {
    let _turn = turn().await;
    replaced("gateway-0", true).await;
}

#[tokio::test]
async fn a_hung_hub_is_killed_and_replaced_and_costs_nothing() {
    let _turn = turn().await;
    replaced("hub-0", false).await;
}

#[tokio::test]
async fn a_hung_store_is_killed_and_replaced_and_costs_nothing() {
    let _turn = turn().await;
    replaced("store", false).await;
}

#[tokio::test]
async fn a_tool_that_blocks_its_gateway_is_named_and_does_not_pass_for_a_death() {
    let _turn = turn().await;
    let tree = pair().await;
    let mut conn = tree.conn_to("gateway-0").await;
    let before = tree.pid_of("gateway-0").await;

    // Longer than a silent process may be.
    let reply = conn.send(&block(5.0)).await;

    assert_eq!(reply.text(), "blocked the loop");
    let now = tree.slot("gateway-0").await;
    assert_eq!((now.pid, now.restarts), (Some(before), 0), "{now:?}");
    wait_until("the tool to be named", PATIENCE, async || {
        let stalls = tree.metrics().await.sum("conduit_loop_stalls_total", &[]);
        (stalls >= 1.0 && tree.stderr().contains("block_loop")).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_gateway_that_is_blocked_for_too_long_is_replaced() {
    let _turn = turn().await;
    let options = Options::fixture()
        .gateways(2)
        .environment("CONDUIT_SUPERVISOR_STALL_LIMIT_MS", "1500");
    let tree = Tree::start(options).await;
    let mut conn = tree.conn_to("gateway-0").await;
    let before = tree.pid_of("gateway-0").await;

    let call = block(600.0);
    let (broken, _) = tokio::join!(
        conn.try_send(&call),
        tree.replaced("gateway-0", before, PATIENCE)
    );

    assert!(broken.is_err(), "a blocked gateway cannot answer");
    tree.ready().await;
}

fn block(seconds: f64) -> Call {
    Era::Modern.tool("block_loop", json!({ "seconds": seconds }))
}

async fn replaced(slot: &str, holds_calls: bool) {
    let tree = pair().await;
    let load = Load::start(&tree).await;
    let held = tree
        .metrics()
        .await
        .sum("conduit_http_connections", &[("process", slot)]);

    let pid = tree.signal_slot(slot, Signal::STOP).await;
    process::end_of(pid, NOTICED + BACK).await;
    let end = Instant::now();
    tree.replaced(slot, pid, PATIENCE).await;
    tree.ready().await;
    let took = end.elapsed();

    load.goes_on(CONNECTIONS * 4).await;
    let tally = load.stop().await;
    assert!(
        tally.wrong.is_empty() && tally.unconnected.is_empty(),
        "{tally:?}"
    );
    if holds_calls {
        assert!(
            tally.broken as f64 <= held,
            "{slot} held {held} connections: {tally:?}"
        );
        assert!(tally.slowest < NOTICED + 2 * BACK, "{tally:?}");
    } else {
        assert_eq!(tally.broken, 0, "{tally:?}");
        served_on(&tally);
    }
    assert!(took <= BACK, "{slot} was back {took:?} after its end");
    let hung = tree.metrics().await.sum(
        "conduit_child_exits_total",
        &[("slot", slot), ("cause", "hung")],
    );
    assert!(
        (hung - 1.0).abs() < 0.5,
        "{hung} exits of {slot} were hangs"
    );
}
