//! One shard of the hub: carries mail and changes between gateways.
//!
//! Gateways have no links among themselves. What one has to tell another goes to
//! the shard that owns the mail's key ([`conduit_link::owner`]), which passes it
//! on and answers with the receipts. A change of a topic goes likewise to the shard that
//! owns the topic, and from there to the gateways that have registered it.
//!
//! ```text
//! gateway ──mail, change──► link thread ──► shard (actor) ──► one task each ──► gateways
//!    ▲    ──register──►  book                                    │
//!    └───────────────────────── receipts ────────────────────────┘
//! ```
//!
//! # What a failure costs
//!
//! | fails | then |
//! | --- | --- |
//! | the actor | it starts again; mail and changes in its mailbox are refused, gateways stay attached and registered |
//! | the process | what is in flight is lost, its senders hear of it; gateways connect to the successor and register anew |
//! | a gateway | it counts as missing in what is on its way to it, and not later; what it registered is forgotten |
//!
//! A gateway that is not attached holds no requests, so nobody misses it; except in the
//! first half second of a hub, when mail for all, and every change, waits for those that are
//! still to connect and to register. Whoever settles later hears whether it may have missed
//! a change.
//!
//! Not here: who owns which key, what mail means, and who listens to a topic at a gateway.

mod error;
mod run;
mod shard;

pub use self::error::Error;
pub use self::run::{Options, run};
