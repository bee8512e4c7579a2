//! Bad days: processes die, hang, or cannot start.
//!
//! These tests measure time, so they take turns.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests report by panicking"
)]

mod audience;
mod changes;
mod crash_rounds;
mod deaths;
mod dice;
mod hangs;
mod hub_deaths;
mod load;
mod no_lost_change;
mod orphans;
mod parked;
mod task_rounds;
mod tidied;

use std::time::Duration;

use conduit_testkit::{Options, Tree, binary};
use tokio::process::Command;
use tokio::sync::{Mutex, MutexGuard};

/// A slot is back and ready within this time of the end of the process before.
const BACK: Duration = Duration::from_secs(1);

/// Waits for the machine to be ours alone.
async fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

/// Asks for so many processes of a kind, as an operator does, and waits until they are
/// there.
async fn scale(tree: &Tree, kind: &str, count: usize) {
    command_scale(tree, kind, count, &[]).await;
}

/// Asks for so many processes of a kind; returns as soon as the tree knows.
async fn begin_to_scale(tree: &Tree, kind: &str, count: usize) {
    command_scale(tree, kind, count, &["--no-wait"]).await;
}

async fn command_scale(tree: &Tree, kind: &str, count: usize, flags: &[&str]) {
    let output = Command::new(binary("fixture-server"))
        .args(["scale", kind, &count.to_string()])
        .args(flags)
        .arg("--state-dir")
        .arg(tree.state_dir())
        .output()
        .await
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
}

#[expect(
    clippy::print_stdout,
    reason = "a failed test shows where it was, and --nocapture where it is"
)]
fn report(line: &str) {
    println!("{line}");
}

/// Starts the fixture server with two gateways.
async fn pair() -> Tree {
    Tree::start(Options::fixture().gateways(2)).await
}
