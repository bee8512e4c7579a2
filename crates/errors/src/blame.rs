//! Who has to act before the same thing can succeed.

use std::fmt;

/// Who has to do something before the same thing can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blame {
    /// The caller: a different request would work.
    Client,
    /// Nobody: we are busy, and the same request may work in a moment.
    Load,
    /// Whoever runs the server: its configuration, its disk, its network.
    Operator,
    /// A server behind us; the same request may work later.
    Upstream,
    /// We: this is a bug.
    Us,
}

impl Blame {
    /// Returns the exit status of a process that ends for such a reason, unless
    /// its code has a more exact one ([`Code::exit_status`](crate::Code::exit_status)).
    ///
    /// Source: `sysexits.h`.
    #[must_use]
    pub const fn exit_status(self) -> u8 {
        match self {
            Self::Client => 64,
            Self::Upstream => 69,
            Self::Us => 70,
            Self::Load => 75,
            Self::Operator => 78,
        }
    }

    /// Returns the lower-case word that logs and metrics use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Load => "load",
            Self::Operator => "operator",
            Self::Upstream => "upstream",
            Self::Us => "us",
        }
    }
}

impl fmt::Display for Blame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
