//! Clients that come in numbers, or that come and then do nothing.

use std::time::Duration;

use conduit_testkit::{Call, Era, Options, PATIENCE, Raw, Tree, process, wait_until};
use http::StatusCode;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::{demo, pair};

#[tokio::test]
async fn a_client_that_takes_nothing_of_its_answers_is_closed_in_time() {
    let options = Options::conduit()
        .gateways(1)
        .environment("CONDUIT_HTTP_WRITE_TIMEOUT_MS", "300");
    let tree = Tree::start(options).await;
    let mut raw = tree.raw().await;

    let closed = timeout(PATIENCE, ask_without_listening(&mut raw)).await;

    assert!(closed.is_ok(), "still open after {PATIENCE:?}");
}

#[tokio::test]
async fn answers_that_nobody_takes_keep_further_large_bodies_out() {
    let options = Options::conduit()
        .gateways(1)
        .environment("CONDUIT_HTTP_BODY_BUDGET_BYTES", "4500000");
    let tree = Tree::start(options).await;
    let mut raw = tree.raw().await;
    let mut deaf = JoinSet::new();
    deaf.spawn(async move { ask_without_listening(&mut raw).await });

    let mut refusals = 0;
    wait_until("large bodies to stay out", PATIENCE, async || {
        refusals = if is_let_in(&tree).await {
            0
        } else {
            refusals + 1
        };
        // One alone may be due to a body that is on its way.
        (refusals == 20).then_some(())
    })
    .await;

    let small = Era::Modern.tool("echo", json!({ "message": "hello" }));
    assert_eq!(tree.send(&small).await.text(), "hello");
    deaf.shutdown().await;
    wait_until("the budget to be free again", PATIENCE, async || {
        is_let_in(&tree).await.then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_thousand_connections_are_spread_over_the_gateways() {
    process::raise_descriptor_limit();
    let tree = pair().await;
    let mut held = Vec::new();
    for _ in 0..1_000 {
        held.push(tree.raw().await);
    }

    let (shares, _) = wait_until("all of them to be accepted", PATIENCE, async || {
        let metrics = tree.metrics().await;
        let share = |gateway| metrics.sum("conduit_http_connections", &[("process", gateway)]);
        let shares = [share("gateway-0"), share("gateway-1")];
        (shares.iter().sum::<f64>() > 999.5).then_some(shares)
    })
    .await;
    drop(held);

    for share in shares {
        assert!((425.0..=575.0).contains(&share), "{shares:?}");
    }
}

#[tokio::test]
async fn idle_connections_do_not_keep_health_checks_out() {
    process::raise_descriptor_limit();
    let tree = demo().await;
    let mut idle = Vec::new();
    for _ in 0..300 {
        idle.push(Raw::open(tree.admin()).await);
    }

    let health = timeout(Duration::from_secs(1), tree.ask("/healthz")).await;
    drop(idle);

    let reply = health.expect("in time").expect("an answer");
    assert_eq!(reply.status, StatusCode::OK);
}

/// Asks for more and more, until the other side closes.
async fn ask_without_listening(raw: &mut Raw) {
    let wire = large().wire(&raw.host());
    while raw.try_write(&wire).await {}
}

/// Whether a large body is answered; one that is refused on its way may not hear why.
async fn is_let_in(tree: &Tree) -> bool {
    let reply = tree.conn().await.try_send(&large()).await;
    reply.is_ok_and(|reply| reply.status == StatusCode::OK)
}

fn large() -> Call {
    let text = "x".repeat(4_000_000);
    Call::legacy(
        "tools/call",
        json!({ "name": "echo", "arguments": { "message": text } }),
    )
}
