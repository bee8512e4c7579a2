//! What the tree as a whole is doing, told from its slots. Pure.

use std::fmt;

use serde::{Serialize, Serializer};

/// What the whole tree is doing, for whoever looks after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TreePhase {
    /// Some slot has neither been ready nor been parked yet.
    Starting,
    /// Every slot serves.
    Serving,
    /// Clients are served, though some slot does not do its part.
    Degraded,
    /// No gateway serves: clients are not served.
    Closed,
    /// It was told to end.
    Draining,
}

/// What the phase depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signs {
    /// Whether the tree was told to end.
    pub(crate) stopping: bool,
    /// Whether every slot was ready once, or was parked.
    pub(crate) settled: bool,
    /// Who serves.
    pub(crate) serving: Serving,
}

/// Which slots serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serving {
    /// Every one.
    All,
    /// Some gateway.
    Some,
    /// No gateway.
    None,
}

impl TreePhase {
    /// Returns the lower-case word that status pages and logs show.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::Degraded => "degraded",
            Self::Closed => "closed",
            Self::Draining => "draining",
        }
    }

    pub(crate) const fn of(signs: Signs) -> Self {
        match signs {
            Signs { stopping: true, .. } => Self::Draining,
            Signs { settled: false, .. } => Self::Starting,
            Signs { serving, .. } => match serving {
                Serving::All => Self::Serving,
                Serving::Some => Self::Degraded,
                Serving::None => Self::Closed,
            },
        }
    }
}

impl fmt::Display for TreePhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for TreePhase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELL: Signs = Signs {
        stopping: false,
        settled: true,
        serving: Serving::All,
    };

    #[test]
    fn a_tree_serves_when_every_slot_does() {
        assert_eq!(TreePhase::of(WELL), TreePhase::Serving);
    }

    #[test]
    fn a_tree_that_misses_a_slot_is_degraded() {
        let signs = Signs {
            serving: Serving::Some,
            ..WELL
        };

        assert_eq!(TreePhase::of(signs), TreePhase::Degraded);
    }

    #[test]
    fn a_tree_without_gateways_is_closed() {
        let signs = Signs {
            serving: Serving::None,
            ..WELL
        };

        assert_eq!(TreePhase::of(signs), TreePhase::Closed);
    }

    #[test]
    fn a_start_and_an_end_are_called_so() {
        let starting = Signs {
            settled: false,
            serving: Serving::None,
            ..WELL
        };
        let stopping = Signs {
            stopping: true,
            ..starting
        };

        assert_eq!(TreePhase::of(starting), TreePhase::Starting);
        assert_eq!(TreePhase::of(stopping), TreePhase::Draining);
    }
}
