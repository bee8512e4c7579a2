//! Keys, and what is sealed with them.
//!
//! A client carries the state of a request from one round to the next as a token
//! (`requestState`). A [`Sealer`] makes the token such that a client can neither read
//! nor change it, and that it opens for the same server, principal, method and
//! parameters alone, until it expires (R16). Every process that has the same
//! [`KeyRing`] opens what another one sealed; nothing is kept between two rounds.
//!
//! ```text
//! token   base64url of: version (1) · key id (4) · nonce (24) · ciphertext
//! inside  issued (8) · expires (8) · id (16) · payload
//! bound   version · key id · server · principal · method · SHA-256 of the params
//! ```
//!
//! # Bounds
//!
//! A token has at most [`MOST_TOKEN`] bytes, a ring has at most [`MOST_KEYS`] keys.
//!
//! Not here: single use (a token opens as often as it comes; whoever needs more
//! remembers [`Opened::id`] until [`Opened::expires_ms`]), what the payload means, how
//! many rounds there may be, and principals.

mod binding;
mod cipher;
mod error;
mod ring;
mod sealer;
mod token;

pub use self::binding::Binding;
pub use self::error::{Error, Flaw};
pub use self::ring::{KeyId, KeyRing, MOST_KEYS, Rotated};
pub use self::sealer::{Opened, Rejected, Sealer, TooLarge};
pub use self::token::{MOST_PAYLOAD, MOST_TOKEN};
