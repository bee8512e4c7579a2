//! What the product promises when all is well: one file a promise, each test with
//! a system of its own.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests report by panicking"
)]

mod admin;
mod bridge;
mod cancellation;
mod classification;
mod crowds;
mod embedded;
mod envelope;
mod front_door;
mod headers;
mod initialize;
mod input_rounds;
mod legacy_tasks;
mod limits;
mod listen;
mod lists;
mod parked_sessions;
mod record;
mod reports;
mod request_states;
mod resume;
mod session_streams;
mod sessions;
mod several_servers;
mod stream_limits;
mod streams;
mod targets;
mod tasks;
mod tools;

use conduit_testkit::{Options, Tree};

/// Starts the demo server with one gateway.
async fn demo() -> Tree {
    Tree::start(Options::conduit().gateways(1)).await
}

/// Starts the fixture server with one gateway.
async fn fixture() -> Tree {
    Tree::start(Options::fixture().gateways(1)).await
}

/// Starts the fixture server with two gateways.
async fn pair() -> Tree {
    Tree::start(Options::fixture().gateways(2)).await
}
