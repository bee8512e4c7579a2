//! Who has to act before the same thing can succeed.

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
}
