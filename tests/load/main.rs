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

/// What a time may add to the memory of the whole tree and still count as nothing:
/// the noise of a few pages in each of its processes, half a kilobyte for each of
/// the idle connections.
const NOISE: u64 = 1024 * 1024;

/// How often the allocator may find that its heap has to be a little larger, before
/// growth is a leak. A leak grows every time.
const TIMES: usize = 8;

#[tokio::test]
async fn ten_thousand_connections_leave_nothing_behind() {
    leave_nothing_behind("sequential", sequential).await;
}

#[tokio::test]
async fn two_thousand_idle_connections_leave_nothing_behind() {
    process::raise_descriptor_limit();
    leave_nothing_behind("idle", idle).await;
}

/// Opens and closes connections in some way, again and again, until that adds no
/// memory; each time, live counts and descriptors are back to what they were.
async fn leave_nothing_behind(what: &str, open_and_close: impl AsyncFn(&Tree)) {
    let tree = Tree::start(Options::conduit().gateways(2)).await;
    let descriptors = tree.descriptors();
    let mut memory = vec![tree.memory()];

    let mut added = u64::MAX;
    while added > NOISE && memory.len() <= TIMES {
        open_and_close(&tree).await;
        let now = settled(&tree, descriptors).await;
        // The first time fills caches, pools and heaps: it says nothing.
        if memory.len() > 1 {
            added = now.saturating_sub(*memory.last().unwrap_or(&0));
        }
        memory.push(now);
    }

    let kilobytes: Vec<u64> = memory.iter().map(|bytes| bytes / 1024).collect();
    report(&format!(
        "{what}: kilobytes before, and after each time: {kilobytes:?}"
    ));
    assert!(
        added <= NOISE,
        "{what} connections add memory every time: {kilobytes:?}"
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
fn report(line: &str) {
    println!("{line}");
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

    report(&format!(
        "start to first answer: {took:?}, idle memory: {} kB",
        tree.memory() / 1024
    ));
    tree.stop().await;
}
