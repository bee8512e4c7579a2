//! The acceptance tests of the seeds, by their numbers; `tests/acceptance.md` maps each
//! number to its test, here or elsewhere.
//!
//! One file a section. Most speak HTTP with the real binary and read of its telemetry
//! in its log; those that say so speak with a [`conduit::Handler`] in this process.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests report by panicking"
)]

mod cancellation;
mod era;
mod input;
mod inside;
mod listen;
mod log;
mod results;
mod routing;
mod streams;
mod tasks;
mod telemetry;

use conduit_testkit::{Options, PATIENCE, Tree, wait_until};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A wait that ends only by being stopped.
const FOREVER: u64 = 600_000;

/// Starts the fixture server with one gateway; its log can be read with [`log::told`].
async fn fixture() -> Tree {
    Tree::start(options()).await
}

fn options() -> Options {
    logged(Options::fixture())
}

fn logged(options: Options) -> Options {
    options
        .gateways(1)
        .environment("CONDUIT_LOG_FORMAT", "json")
        .environment("CONDUIT_LOG_LEVEL", "debug")
}

/// Waits until that many calls are in flight.
async fn in_flight(tree: &Tree, count: f64) {
    wait_until(&format!("{count} calls in flight"), PATIENCE, async || {
        let now = tree.metrics().await.sum("conduit_requests_in_flight", &[]);
        ((now - count).abs() < 0.5).then_some(())
    })
    .await;
}

/// Waits until that many callbacks are at work.
async fn at_work(tree: &Tree, count: f64) {
    wait_until(
        &format!("{count} callbacks at work"),
        PATIENCE,
        async || {
            let now = tree.metrics().await.sum("conduit_workers_busy", &[]);
            ((now - count).abs() < 0.5).then_some(())
        },
    )
    .await;
}
