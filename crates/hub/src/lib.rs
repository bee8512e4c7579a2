//! One shard of the hub: carries mail between gateways.
//!
//! Gateways have no links among themselves. What one has to tell another goes to
//! the shard that owns the mail's key ([`conduit_link::owner`]), which passes it
//! on and answers with the receipts.
//!
//! ```text
//! gateway ──mail──► link thread ──► shard (actor) ──► one task a mail ──► gateways
//!    ▲                                                     │
//!    └───────────────────── receipts ──────────────────────┘
//! ```
//!
//! # What a failure costs
//!
//! | fails | then |
//! | --- | --- |
//! | the actor | it starts again; mail in its mailbox is refused, gateways stay attached |
//! | the process | mail in flight is lost, its senders hear of it; gateways connect to the successor |
//! | a gateway | it counts as missing in mail on its way to it, and not in later mail |
//!
//! A gateway that is not attached holds no requests, so nobody misses it; except in the
//! first half second of a hub, when mail for all waits for those that are still to connect.
//!
//! Not here: who owns which key, and what mail means.

mod error;
mod run;
mod shard;

pub use self::error::Error;
pub use self::run::{Options, run};
