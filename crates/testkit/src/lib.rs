//! Starts the real binaries on port 0, speaks to them, scrapes them.
//!
//! Only ever a dev-dependency. What goes wrong is a panic with everything that a
//! reader needs to see the reason, the processes' own words included. A suite
//! starts a [`Tree`], sends [`Call`]s over a [`Conn`] and looks at the [`Reply`];
//! whatever arrives is checked against the schema of its protocol version on the
//! way. Nothing here sleeps: [`wait_until`] asks again until a condition holds.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a test kit reports by panicking"
)]

mod call;
mod conn;
mod launch;
mod metrics;
mod raw;
mod reply;
mod schema;
mod tree;
mod wait;

pub mod process;

pub use self::call::{Call, Era, Version, initialize, initialize_with};
pub use self::conn::{Broken, Conn};
pub use self::launch::{Ending, Launch, Options, binary};
pub use self::metrics::Metrics;
pub use self::raw::Raw;
pub use self::reply::{Event, Events, Reply};
pub use self::schema::check;
pub use self::tree::{SlotStatus, Status, Tree};
pub use self::wait::{PATIENCE, wait_until};
