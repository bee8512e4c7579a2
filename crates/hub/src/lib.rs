//! One shard of the hub: carries mail and changes between gateways.
//!
//! Gateways have no links among themselves. What one has to tell another goes to
//! the shard that owns the mail's key ([`conduit_link::owner`]), which passes it
//! on and answers with the receipts. A change of a topic goes likewise to the shard that
//! owns the topic, and from there to the gateways that have registered it.
//!
//! ```text
//! gateway ──mail, change──► link thread ──► shard (actor) ──► one task each ──► gateways
//!    ▲    ──register──►  roster                                  │
//!    └───────────────────────── receipts ────────────────────────┘
//! ```
//!
//! # What a failure costs
//!
//! | fails | then |
//! | --- | --- |
//! | the actor | it starts again; mail and changes in its mailbox are refused, gateways stay attached and registered |
//! | the process | what is in flight is lost, its senders hear of it; gateways connect to the successor and register anew, before which nobody is told of anything |
//! | a gateway | what it registered stays until the supervisor has reaped it, or until it is back |
//!
//! A gateway that is not attached holds no requests, so mail does not wait for it; except in
//! the first half second of a hub.
//!
//! Not here: who owns which key, what mail means, who listens to a topic at a gateway, and
//! why no change is lost ([`conduit_interest`]).

mod error;
mod run;
mod shard;

pub use self::error::Error;
pub use self::run::{Options, Window, run};
