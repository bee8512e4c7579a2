//! Sessions, durable in `SQLite`.
//!
//! One process of the tree is the store. Gateways ask it over their links; it
//! answers a change after the commit, and the end of a session after every live
//! gateway has forgotten it (R12). So any gateway serves any session, and no
//! process's death loses one.
//!
//! ```text
//! link thread ──► sessions (actor) ──► keeper ──► writer (thread) ──► SQLite
//!                        └── look-ups ──► reader ──────────────────────┘
//! ```
//!
//! # What a failure costs
//!
//! | fails | then |
//! | --- | --- |
//! | the actor | it starts again; calls in its mailbox are refused |
//! | the writer | the process ends and is replaced; what was not answered may or may not be there |
//! | the process | the same; gateways drop what they know when the link breaks |
//! | the disk | changes are refused, look-ups go on, nothing acknowledged is lost |
//!
//! Not here: what a session means, who may use one, and when gateways report its
//! use.

mod backend;
mod clock;
mod error;
mod gateways;
mod keeper;
mod retention;
mod run;
mod sessions;
mod sqlite;
mod trouble;
mod writer;

pub use self::error::Error;
pub use self::run::{Options, run};
