//! Error codes with a page each, who is to blame, and the exit status.
//!
//! An error of ours says what was attempted ([`std::fmt::Display`]), why it
//! failed ([`std::error::Error::source`]) and which code it has ([`Coded`]). The
//! code decides the rest, once for all errors: who has to act, the exit status, and
//! the page that `conduit explain` shows.
//!
//! Not here: the codes of JSON-RPC, which belong to the wire (`protocol`).

mod blame;
mod chain;
mod code;
mod declared;

pub use self::blame::Blame;
pub use self::chain::chain;
pub use self::code::{Code, Coded};
