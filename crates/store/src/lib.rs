//! Sessions and tasks, durable in `SQLite`.
//!
//! One process of the tree is the store. Gateways ask it over their links; it
//! answers a change after the commit, and the end of a session after every live
//! gateway has forgotten it (R12). So any gateway serves any session and any task,
//! and no process's death loses one.
//!
//! ```text
//! link thread ──► door (actor) ──► keeper ──► writer (thread) ──► SQLite
//!                      └── look-ups ──► reader ──────────────────────┘
//! ```
//!
//! The work of a task is done by the gateway that holds it. The store decides who that
//! is, and takes a task from nobody but the dead.
//!
//! [`Local`] is a store without links, for a process that is alone; [`Archive`] is the
//! operator's view of the file.
//!
//! # What a failure costs
//!
//! | fails | then |
//! | --- | --- |
//! | the actor | it starts again; calls in its mailbox are refused |
//! | the writer | the process ends and is replaced; what was not answered may or may not be there |
//! | the process | the same; gateways drop what they know when the link breaks, and go on with their tasks |
//! | a gateway | its tasks are ready for another, if they may be started again, or have failed |
//! | the disk | changes are refused, look-ups go on, nothing acknowledged is lost |
//!
//! Not here: what a session or a task means, what a task's work is, and when gateways
//! report the use of a session.

mod archive;
mod backend;
mod clock;
mod door;
mod error;
mod gateways;
mod house;
mod keeper;
mod lives;
mod local;
mod news;
mod options;
mod retention;
mod run;
mod sqlite;
mod tally;
mod task;
mod trouble;
mod writer;

pub use self::archive::{Archive, Cancelled, Filter, Page, Shown};
pub use self::error::Error;
pub use self::local::Local;
pub use self::options::{Options, TaskOptions};
pub use self::run::run;
