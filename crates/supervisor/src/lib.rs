//! The operating-system processes: start, watch, kill, reap, replace.
//!
//! The supervisor of `conduit up` owns the listening socket and the state
//! directory, and one child process for each slot: the store, the hubs, the
//! gateways. It never holds a request.
//!
//! ```text
//! Claim::take ── orphans end ── bind ── Supervisor::launch ── Board (status, readiness, metrics)
//!                             └── stop: gateways, hubs, store
//! ```
//!
//! Two actors do the work. `children` starts, watches and replaces; its decisions
//! are in the pure files `place` and `roster`. `prober` asks each gateway every
//! second whether its real pipeline answers.
//!
//! How many gateways and hubs there are changes while the tree runs: an operator asks over
//! the socket that the children use (`operations`), what he wishes is kept in
//! `scale.json` (`wishes`), and the roster grows and shrinks. A surplus slot drains and
//! leaves no trace; a surplus hub leaves the shard map first.
//!
//! # Bounds
//!
//! One process and one task for each slot, of which there are [`MOST_GATEWAYS`] and
//! [`MOST_HUBS`] at most; one open probe for each gateway; four scrapes and 16 operations
//! at a time. A stop takes the graces of the three kinds, and after each
//! [`Options::kill_after`] at most.
//!
//! Not here: signals (the caller turns them into [`Supervisor::stop`] and
//! [`Killer::kill`]), the admin port (it shows what [`Board`] knows), and what
//! a child does when its supervisor is gone (it drains and ends by itself).

mod balance;
mod bind;
mod board;
mod children;
mod claim;
mod collect;
mod error;
mod house;
mod operations;
mod orphans;
mod plan;
mod prober;
mod spawn;
mod supervisor;
mod table;
mod tree_phase;
mod wishes;

pub use self::bind::bind;
pub use self::board::{Board, NotReady, ProbeView, SlotView, Status};
pub use self::claim::Claim;
pub use self::error::Error;
pub use self::orphans::Mark;
pub use self::plan::{Configured, MOST_GATEWAYS, MOST_HUBS, Options, Plan};
pub use self::supervisor::{Killer, Supervisor};
pub use self::tree_phase::TreePhase;
