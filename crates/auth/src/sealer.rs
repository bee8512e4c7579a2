//! Seals what a client carries for us, and opens it again.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use crate::token::{Content, Frame, MOST_PAYLOAD, MOST_TOKEN, head};
use crate::{Binding, KeyRing};

/// Seals and opens tokens with the keys of a ring. A clone is the same one.
#[derive(Clone)]
pub struct Sealer {
    shared: Arc<Shared>,
}

/// What was in a token that is genuine and in time.
#[derive(Clone, PartialEq, Eq)]
pub struct Opened {
    /// What the caller had sealed.
    pub payload: Vec<u8>,
    /// Names this token alone, for those who accept it only once.
    pub id: Uuid,
    /// From when on the token is refused, in milliseconds since 1970.
    pub expires_ms: u64,
}

/// The payload does not fit into a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the state has {bytes} bytes, a token holds at most {MOST_PAYLOAD}")]
pub struct TooLarge {
    /// The bytes of the payload.
    pub bytes: usize,
}

/// Why a token is refused. It is for log and metric: a client hears the same of all
/// (R15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Rejected {
    /// It has more than [`MOST_TOKEN`] bytes, and was not looked at.
    #[error("the token is longer than {MOST_TOKEN} bytes")]
    TooLong,
    /// It is nothing that this version of the program has made.
    #[error("the token is malformed")]
    Malformed,
    /// The key that it names is not in the ring, or not any more.
    #[error("the token names an unknown key")]
    UnknownKey,
    /// It was changed, or belongs to another server, principal or request.
    #[error("the token was changed, or sealed for another request")]
    Forged,
    /// Its time is over, or begins more than a minute from now.
    #[error("the token has expired")]
    Expired,
}

impl Sealer {
    /// Makes one whose tokens expire after `lifetime`.
    #[must_use]
    pub fn new(ring: KeyRing, lifetime: Duration) -> Self {
        Self::with_clock(ring, lifetime, SystemTime::now)
    }

    /// Makes one that asks `clock` for the time of day.
    #[must_use]
    pub fn with_clock(
        ring: KeyRing,
        lifetime: Duration,
        clock: impl Fn() -> SystemTime + Send + Sync + 'static,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                ring,
                lifetime,
                clock: Box::new(clock),
            }),
        }
    }

    /// Seals a payload for a request. The text of the token is base64url; two tokens
    /// are never equal.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] when the payload has more than [`MOST_PAYLOAD`] bytes.
    pub fn seal(&self, binding: &Binding<'_>, payload: &[u8]) -> Result<String, TooLarge> {
        let too_large = TooLarge {
            bytes: payload.len(),
        };
        if payload.len() > MOST_PAYLOAD {
            return Err(too_large);
        }
        let issued_ms = self.shared.now_ms();
        let content = Content {
            issued_ms,
            expires_ms: issued_ms.saturating_add(millis(self.shared.lifetime)),
            id: Uuid::new_v4(),
            payload: payload.to_vec(),
        };
        let key = self.shared.ring.newest();
        let associated = binding.associated(&head(key.id));
        let (nonce, sealed) = key
            .secret
            .seal(&content.to_bytes(), &associated)
            .ok_or(too_large)?;
        let frame = Frame {
            key: key.id,
            nonce,
            sealed,
        };
        Ok(frame.to_text())
    }

    /// Opens a token that was sealed for this request. It opens as often as it comes.
    ///
    /// # Errors
    ///
    /// [`Rejected`]; any text is refused or opened, whoever made it.
    pub fn open(&self, binding: &Binding<'_>, token: &str) -> Result<Opened, Rejected> {
        if token.len() > MOST_TOKEN {
            return Err(Rejected::TooLong);
        }
        let frame = Frame::from_text(token).ok_or(Rejected::Malformed)?;
        let key = self
            .shared
            .ring
            .find(frame.key)
            .ok_or(Rejected::UnknownKey)?;
        let associated = binding.associated(&head(key.id));
        let plain = key
            .secret
            .open(&frame.nonce, &frame.sealed, &associated)
            .ok_or(Rejected::Forged)?;
        let content = Content::from_bytes(&plain).ok_or(Rejected::Malformed)?;
        if !content.is_in_time(self.shared.now_ms()) {
            return Err(Rejected::Expired);
        }
        Ok(Opened {
            payload: content.payload,
            id: content.id,
            expires_ms: content.expires_ms,
        })
    }
}

impl Rejected {
    /// Returns the kind in one word, for a metric.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::Malformed => "malformed",
            Self::UnknownKey => "unknown_key",
            Self::Forged => "forged",
            Self::Expired => "expired",
        }
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer")
            .field("ring", &self.shared.ring)
            .field("lifetime", &self.shared.lifetime)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Opened {
    /// Leaves out the payload, which may hold anything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("id", &self.id)
            .field("expires_ms", &self.expires_ms)
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

/// How far the clocks of two machines may be apart. A token from further ahead would
/// live for longer than it may.
const LEEWAY: Duration = Duration::from_mins(1);

struct Shared {
    ring: KeyRing,
    lifetime: Duration,
    clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
}

impl Shared {
    /// A clock that stands before 1970 counts as 1970.
    fn now_ms(&self) -> u64 {
        let now = (self.clock)().duration_since(UNIX_EPOCH);
        millis(now.unwrap_or_default())
    }
}

impl Content {
    fn is_in_time(&self, now_ms: u64) -> bool {
        now_ms < self.expires_ms && self.issued_ms <= now_ms.saturating_add(millis(LEEWAY))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
