//! What clients hear while the system ends: that it does, each of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use conduit_testkit::process::Signal;
use conduit_testkit::{Conn, Era, Options, PATIENCE, Tree, wait_until};
use http::StatusCode;
use serde_json::json;
use tokio::task::JoinSet;

#[tokio::test]
async fn clients_that_never_stop_calling_are_told_to_go_and_lose_nothing() {
    let tree = Tree::start(Options::conduit().gateways(2)).await;
    let (mut callers, answered) = (JoinSet::new(), Arc::new(AtomicU64::new(0)));
    for _ in 0..32 {
        callers.spawn(call_until_told(tree.endpoint(), Arc::clone(&answered)));
    }
    wait_until("everybody to call", PATIENCE, async || {
        (answered.load(Ordering::Relaxed) > 1_000).then_some(())
    })
    .await;

    tree.signal(Signal::TERM);

    for lost in callers.join_all().await {
        assert_eq!(lost, None);
    }
    tree.stop().await;
}

/// Calls until an answer says that it is the last; returns what was lost, if anything.
async fn call_until_told(endpoint: SocketAddr, answered: Arc<AtomicU64>) -> Option<String> {
    let mut conn = Conn::open(endpoint).await;
    let call = Era::Modern.tool("echo", json!({ "message": "x" }));
    loop {
        match conn.try_send(&call).await {
            Ok(reply) if reply.status != StatusCode::OK => return Some(reply.to_string()),
            Ok(reply) if reply.header("connection") == Some("close") => return None,
            Ok(_) => answered.fetch_add(1, Ordering::Relaxed),
            Err(problem) => return Some(problem.to_string()),
        };
    }
}
