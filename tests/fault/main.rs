//! Bad days: processes die, hang, or cannot start.
//!
//! These tests measure time, so they take turns.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests report by panicking"
)]

mod changes;
mod crash_rounds;
mod deaths;
mod dice;
mod hangs;
mod load;
mod orphans;
mod parked;
mod task_rounds;
mod tidied;

use std::time::Duration;

use conduit_testkit::{Options, Tree};
use tokio::sync::{Mutex, MutexGuard};

/// A slot is back and ready within this time of the end of the process before.
const BACK: Duration = Duration::from_secs(1);

/// Waits for the machine to be ours alone.
async fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

/// Starts the fixture server with two gateways.
async fn pair() -> Tree {
    Tree::start(Options::fixture().gateways(2)).await
}
