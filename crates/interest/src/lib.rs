//! Who listens to what, at both ends of the links between gateways and hub shards: no
//! clock, no channel, no `async`.
//!
//! Gateways hold the truth: they have the clients. Each topic is owned by one shard, by the
//! shard map; a gateway registers there what its clients listen to ([`Ledger`]), and the
//! shard knows whom to tell of a change ([`Shard`]).
//!
//! ```text
//! gateway ──enter, register, settle, unregister──► shard ◄──publish── any gateway
//!    ▲                                               │
//!    └── who listens to something at all ────────────┘
//! ```
//!
//! # What holds
//!
//! **A change that was told has reached everybody who listens.** When a shard says that a
//! change is told, every gateway that lives has noted it, if it had answered for a stream
//! that listens to the topic before the change was published (R41). Whatever dies, hangs or
//! is scaled meanwhile, because
//!
//! - a shard tells nobody before it is *open*: each gateway that may have registered
//!   something elsewhere by an older map, or with an earlier life of this shard, has settled
//!   here by the newest map, or is dead. The supervisor says which those are
//!   ([`Roll`](conduit_link::Roll)), and who is dead, once it has reaped it;
//! - a gateway whose link is down keeps its registrations as *ghosts* until it has settled
//!   on a new link: a change of theirs is not told, and is published again;
//! - every question names the map that its sender follows. A shard that has heard of a newer
//!   one refuses, so nobody is told of a change by a map that others have left.
//!
//! So nothing is ever marked as changed on suspicion, and a death costs no re-reads.
//!
//! **Who knows that nobody listens need not publish** ([`Ledger::is_unheard`]). A shard says
//! to each gateway what anybody listens to, first all of it, then each difference; it says
//! that this is complete by a map only once it is open by that map. A registration is
//! answered only when every gateway that may believe such a word has noted the new topic,
//! or has given the word up: on another link, by a newer map, or by its death
//! ([`Shard::is_known`]). Hence no change can slip between: suppose that a gateway finds a
//! topic unheard by map `e` while a stream elsewhere has been answered for it. That stream
//! was registered by some map `f`. If `f = e`, the answer waited until this gateway had
//! noted the topic. If `f > e`, it waited until this gateway had entered `f`, and it follows
//! `e`. If `f < e`, the owner by `e` was not open before the stream's gateway had settled
//! there by `e`, and has not said that anything is complete.
//!
//! Two things must not spoil that. A topic that moves to another shard is taken back where
//! it was: so a shard that has heard of a newer map tells nothing more to those who follow
//! an older one. And a topic that comes back to a shard that never forgot it may have been
//! unheard elsewhere meanwhile: so it is registered anew before a stream is answered.
//!
//! The module `model` (tests only) drives both ends through thousands of schedules.
//!
//! # Bounds
//!
//! The memory of a shard is bounded by what is registered: see [`Shard`] and [`Ledger`].

mod gateway;
#[cfg(test)]
mod model;
mod shard;

pub use self::gateway::{Ask, Full, Heard, Ledger, Outcome, Question};
pub use self::shard::{Audience, NotAttached, Number, Refused, Shard, Tell, Unknown};
