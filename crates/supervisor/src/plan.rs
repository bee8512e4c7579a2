//! What the supervisor is started with.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use conduit_lifecycle::Backoff;
use conduit_link::Role;

/// Which processes there shall be, and how they are treated.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many gateways are configured, at most [`MOST_GATEWAYS`].
    pub gateways: Configured,
    /// How many shards of the hub are configured, at most [`MOST_HUBS`].
    pub hubs: Configured,
    /// The state directory; sockets live in `run` below it.
    pub state_dir: PathBuf,
    /// What each child reads from its standard input, as it is.
    pub settings_json: Vec<u8>,
    /// How children are watched, restarted and stopped.
    pub options: Options,
    /// Arguments that each child gets after its own.
    pub child_args: Vec<OsString>,
}

/// The most gateways that there may be.
pub const MOST_GATEWAYS: u16 = 256;
/// The most shards of the hub that there may be.
pub const MOST_HUBS: u16 = 64;

/// How many processes of a kind the configuration asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configured {
    /// As the setting says. While it says the same, what an operator wished holds (R40).
    pub setting: u16,
    /// How many that are: they differ where a setting of zero has a meaning.
    pub count: u16,
}

impl Configured {
    /// A setting that means what it says.
    #[must_use]
    pub const fn exactly(count: u16) -> Self {
        Self {
            setting: count,
            count,
        }
    }
}

/// How children are watched, restarted and stopped.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How often both ends of a link show that they live.
    pub heartbeat: Duration,
    /// A child that shows nothing for this long is killed.
    pub dead_after: Duration,
    /// A child that is not ready this long after its start is killed.
    pub ready_timeout: Duration,
    /// How often a slot may fail within [`Options::window`] before it is parked.
    pub restarts: usize,
    /// The time in which failures are counted.
    pub window: Duration,
    /// The delay before a restart.
    pub backoff: Backoff,
    /// A parked slot is tried again after this long, with a full budget.
    pub parked_retry: Duration,
    /// How long a stopping gateway may take for the calls that it holds.
    pub drain_grace: Duration,
    /// How long a stopping hub or store may take; they hold no calls of clients.
    pub inner_grace: Duration,
    /// How long a hub that is scaled away goes on beside the shards that take over from it.
    pub handover: Duration,
    /// How much longer than its grace a child may take to end before it is killed.
    pub kill_after: Duration,
    /// A child whose main loop stands still for longer is killed.
    pub stall_limit: Duration,
    /// How often each gateway is asked to send a request through its pipeline.
    pub probe_interval: Duration,
    /// A probe that has no answer after this long has failed.
    pub probe_patience: Duration,
    /// A gateway is ready while its last answer to a probe is not older.
    pub probe_valid: Duration,
    /// The longest that a child may take to hand over its metrics.
    pub scrape_patience: Duration,
}

impl Plan {
    /// Returns the directory of the sockets.
    pub(crate) fn run_dir(&self) -> PathBuf {
        self.state_dir.join(crate::claim::RUN)
    }
}

impl Options {
    /// Returns how long a process of a kind may take to drain.
    pub(crate) const fn grace(&self, role: Role) -> Duration {
        match role {
            Role::Gateway => self.drain_grace,
            Role::Hub | Role::Store | Role::Supervisor | Role::Operator => self.inner_grace,
        }
    }
}

/// Returns the most processes of a kind that there may be; none of a kind whose number is
/// not for anybody to choose.
pub(crate) const fn most(role: Role) -> Option<u16> {
    match role {
        Role::Gateway => Some(MOST_GATEWAYS),
        Role::Hub => Some(MOST_HUBS),
        Role::Store | Role::Supervisor | Role::Operator => None,
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(1),
            dead_after: Duration::from_secs(3),
            ready_timeout: Duration::from_secs(10),
            restarts: 10,
            window: Duration::from_mins(1),
            backoff: Backoff {
                first: Duration::from_millis(50),
                most: Duration::from_secs(5),
            },
            parked_retry: Duration::from_mins(1),
            drain_grace: Duration::from_secs(10),
            inner_grace: Duration::from_secs(1),
            handover: Duration::from_secs(1),
            kill_after: Duration::from_secs(2),
            stall_limit: Duration::from_secs(30),
            probe_interval: Duration::from_secs(1),
            probe_patience: Duration::from_secs(2),
            probe_valid: Duration::from_secs(3),
            scrape_patience: Duration::from_secs(1),
        }
    }
}
