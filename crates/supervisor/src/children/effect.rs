//! What a slot asks for and tells.

use std::fmt;
use std::time::Duration;

use conduit_telemetry::ExitCause;

/// What has to be done now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Start a process; answer with [`Place::started`](super::place::Place::started) or
    /// [`Place::not_started`](super::place::Place::not_started).
    Start,
    /// Kill it; answer with [`Place::exited`](super::place::Place::exited) once it is reaped.
    Kill,
    /// Ask it to drain within this time.
    Drain(Duration),
    /// Tell the world.
    Tell(News),
}

/// What the world hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// A process was started in an empty slot.
    Started {
        /// Its process id.
        pid: u32,
        /// The delay since its predecessor failed; none for the first of all.
        delay: Option<Duration>,
    },
    /// It is ready.
    Ready {
        /// Its process id.
        pid: u32,
        /// Since it was started.
        took: Duration,
    },
    /// It hangs, or is not wanted any more, and is killed.
    Killed {
        /// Its process id.
        pid: u32,
        /// Why.
        reason: KillReason,
    },
    /// It ended.
    Exited {
        /// Its process id; none if it could not even be started.
        pid: Option<u32>,
        /// Why.
        cause: ExitCause,
        /// How.
        exit: Exit,
    },
    /// The slot failed too often.
    Parked {
        /// How long it is left alone.
        pause: Duration,
    },
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// With a status.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// It could not even be started.
    NotStarted(String),
    /// It could not be waited for.
    NotWaited(String),
}

/// Why a process was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillReason {
    /// It was not ready in time.
    NeverReady,
    /// It sent no heartbeat.
    Silent,
    /// Its control link broke and did not come back.
    Unlinked,
    /// Its main loop stood still.
    Stalled,
    /// It did not end within its grace.
    Lingering,
    /// We stop, now.
    Stopped,
}

/// How the last occupant ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastExit {
    /// Why.
    pub(crate) cause: ExitCause,
    /// How.
    pub(crate) exit: Exit,
    /// Why we killed it, if we did.
    pub(crate) killed: Option<KillReason>,
}

impl KillReason {
    const fn as_str(self) -> &'static str {
        match self {
            Self::NeverReady => "not ready in time",
            Self::Silent => "no heartbeat",
            Self::Unlinked => "no control link",
            Self::Stalled => "main loop stands still",
            Self::Lingering => "did not end in time",
            Self::Stopped => "no time to drain",
        }
    }
}

impl fmt::Display for KillReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {status}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::NotStarted(why) => write!(f, "not started: {why}"),
            Self::NotWaited(why) => write!(f, "not waited for: {why}"),
        }
    }
}

impl fmt::Display for LastExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.exit, self.cause)?;
        match self.killed {
            Some(reason) => write!(f, ", killed: {reason}"),
            None => Ok(()),
        }
    }
}
