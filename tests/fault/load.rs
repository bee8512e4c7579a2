//! Many connections that never stop calling, and what became of their calls.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use conduit_testkit::{Broken, Conn, Era, PATIENCE, Tree, wait_until};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// How many connections call at once.
pub(crate) const CONNECTIONS: u64 = 64;

/// Callers at work; they stop when this is dropped.
#[derive(Debug)]
pub(crate) struct Load {
    callers: JoinSet<Tally>,
    shared: Arc<Shared>,
}

/// What became of the calls.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Answered as they should be.
    pub(crate) answered: u64,
    /// Left without an answer by a connection that broke.
    pub(crate) broken: u64,
    /// Answered with something else.
    pub(crate) wrong: Vec<String>,
    /// Connections that could not be made.
    pub(crate) unconnected: Vec<String>,
    /// The longest that any caller waited.
    pub(crate) slowest: Duration,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    answered: AtomicU64,
}

impl Load {
    /// Starts all callers, and returns once each is connected and calls.
    pub(crate) async fn start(tree: &Tree) -> Self {
        let shared = Arc::new(Shared::default());
        let mut callers = JoinSet::new();
        for caller in 0..CONNECTIONS {
            callers.spawn(call(tree.endpoint(), caller, Arc::clone(&shared)));
        }
        let load = Self { callers, shared };
        wait_until("all connections to be open", PATIENCE, async || {
            let open = tree.metrics().await.sum("conduit_http_connections", &[]);
            (open >= CONNECTIONS as f64).then_some(())
        })
        .await;
        load.goes_on(CONNECTIONS * 4).await;
        load
    }

    /// Waits until that many more calls are answered.
    pub(crate) async fn goes_on(&self, calls: u64) {
        let goal = self.shared.answered.load(Ordering::Relaxed) + calls;
        wait_until("calls to be answered", PATIENCE, async || {
            (self.shared.answered.load(Ordering::Relaxed) >= goal).then_some(())
        })
        .await;
    }

    /// Ends every caller after its answer, and adds up.
    pub(crate) async fn stop(self) -> Tally {
        self.shared.stop.store(true, Ordering::Relaxed);
        let tallies = self.callers.join_all().await;
        tallies
            .into_iter()
            .fold(Tally::default(), |mut sum, of_one| {
                sum.answered += of_one.answered;
                sum.broken += of_one.broken;
                sum.wrong.extend(of_one.wrong);
                sum.unconnected.extend(of_one.unconnected);
                sum.slowest = sum.slowest.max(of_one.slowest);
                sum
            })
    }
}

async fn call(address: SocketAddr, caller: u64, shared: Arc<Shared>) -> Tally {
    let mut tally = Tally::default();
    let mut conn: Option<Conn> = None;
    while !shared.stop.load(Ordering::Relaxed) {
        let start = Instant::now();
        let mut ours = match conn.take() {
            Some(ours) => ours,
            None => match Conn::try_open(address).await {
                Ok(ours) => ours,
                Err(problem) => {
                    tally.unconnected.push(problem.to_string());
                    return tally;
                }
            },
        };
        let text = format!("{caller}-{}", tally.answered);
        match echo(&mut ours, &text).await {
            Ok(None) => {
                tally.answered += 1;
                shared.answered.fetch_add(1, Ordering::Relaxed);
                conn = Some(ours);
            }
            Ok(Some(wrong)) => {
                tally.wrong.push(wrong);
                conn = Some(ours);
            }
            Err(_) => tally.broken += 1,
        }
        tally.slowest = tally.slowest.max(start.elapsed());
    }
    tally
}

/// Calls echo; returns what is wrong with the answer, if anything.
async fn echo(conn: &mut Conn, text: &str) -> Result<Option<String>, Broken> {
    let reply = conn
        .try_send(&Era::Modern.tool("echo", json!({ "message": text })))
        .await?;
    let is_right = reply.message()["result"]["content"][0]["text"] == text;
    Ok((!is_right).then(|| reply.to_string()))
}
