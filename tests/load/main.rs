//! Many connections, and what they leave behind: nothing.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests report by panicking"
)]

use std::time::Duration;

use conduit_testkit::{Call, Conn, Era, Options, PATIENCE, Tree, process, wait_until};
use serde_json::json;

const SEQUENTIAL: usize = 10_000;
const IDLE: usize = 2_000;

/// What the second time may add to the memory of the whole tree: the noise of a
/// few pages in each of its processes.
const NOISE: u64 = 2 * 1024 * 1024;

#[tokio::test]
async fn ten_thousand_connections_leave_nothing_behind() {
    let tree = Tree::start(Options::conduit().gateways(2)).await;
    let start = tree.descriptors();

    sequential(&tree).await;
    let first = settled(&tree, start).await;
    sequential(&tree).await;
    let second = settled(&tree, start).await;

    report("sequential", &tree, first, second);
    assert!(
        second <= first + NOISE,
        "the second time added {} bytes",
        second - first
    );
}

#[tokio::test]
async fn two_thousand_idle_connections_leave_nothing_behind() {
    process::raise_descriptor_limit();
    let tree = Tree::start(Options::conduit().gateways(2)).await;
    let start = tree.descriptors();

    idle(&tree).await;
    let first = settled(&tree, start).await;
    idle(&tree).await;
    let second = settled(&tree, start).await;

    report("idle", &tree, first, second);
    assert!(
        second <= first + NOISE,
        "the second time added {} bytes",
        second - first
    );
}

async fn sequential(tree: &Tree) {
    for number in 0..SEQUENTIAL {
        let mut conn = tree.conn().await;
        let reply = conn.send(&echo()).await;
        assert_eq!(reply.text(), "hello", "connection {number}");
    }
}

async fn idle(tree: &Tree) {
    let mut kept: Vec<Conn> = Vec::with_capacity(IDLE);
    for _ in 0..IDLE {
        let mut conn = tree.conn().await;
        conn.send(&echo()).await;
        kept.push(conn);
    }
    let open = tree.metrics().await.sum("conduit_http_connections", &[]);
    assert!((open - 2_000.0).abs() < 0.5, "{open} connections are open");
    assert!(kept.iter().all(|conn| !conn.is_closed()));
}

/// Waits until nothing of the clients is left, and returns the memory of the tree.
async fn settled(tree: &Tree, descriptors: usize) -> u64 {
    wait_until(
        "connections and descriptors to be as before",
        PATIENCE,
        async || {
            let metrics = tree.metrics().await;
            let open = metrics.sum("conduit_http_connections", &[])
                + metrics.sum("conduit_requests_in_flight", &[]);
            (open < 0.5 && tree.descriptors() <= descriptors + SCRAPE).then_some(())
        },
    )
    .await;
    tree.memory()
}

/// The admin connection of the scrape itself may not be closed yet.
const SCRAPE: usize = 1;

#[expect(
    clippy::print_stdout,
    reason = "figures for whoever asks with --nocapture"
)]
fn report(what: &str, tree: &Tree, first: u64, second: u64) {
    let processes = tree.processes().len();
    println!(
        "{what}: {processes} processes, {} kB after the first time, {} kB after the second",
        first / 1024,
        second / 1024
    );
}

fn echo() -> Call {
    Era::Modern.tool("echo", json!({ "message": "hello" }))
}

#[tokio::test]
async fn start_time_and_idle_memory_are_told() {
    let start = tokio::time::Instant::now();
    let tree = Tree::start(Options::conduit()).await;
    tree.send(&echo()).await;
    let took: Duration = start.elapsed();

    println!(
        "start to first answer: {took:?}; idle memory: {} kB",
        tree.memory() / 1024
    );
    tree.stop().await;
}
