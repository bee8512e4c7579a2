//! What a process or an actor is doing with its life.

use std::fmt;

/// The phases of a supervised thing, in the order in which they occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Started, not ready to work.
    Starting,
    /// Ready and working.
    Serving,
    /// Finishing what it has; takes nothing new.
    Draining,
    /// Ended, waiting for its next start.
    Waiting,
    /// Failed too often; left alone until the parking time is over.
    Parked,
    /// Ended for good.
    Gone,
}

impl Phase {
    /// Returns the lower-case word that status pages and logs show.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::Draining => "draining",
            Self::Waiting => "waiting",
            Self::Parked => "parked",
            Self::Gone => "gone",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
