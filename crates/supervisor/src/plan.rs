//! What the supervisor is started with.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use conduit_lifecycle::Backoff;
use conduit_link::{Role, Slot};

/// Which processes there shall be, and how they are treated.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many gateways.
    pub gateways: u16,
    /// How many shards of the hub.
    pub hubs: u16,
    /// The state directory; sockets live in `run` below it.
    pub state_dir: PathBuf,
    /// What each child reads from its standard input, as it is.
    pub settings_json: Vec<u8>,
    /// How children are watched, restarted and stopped.
    pub options: Options,
    /// Arguments that each child gets after its own.
    pub child_args: Vec<OsString>,
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
    /// Returns every slot, in the order of their start.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        let row = |role, count| (0..count).map(move |index| Slot { role, index });
        row(Role::Store, 1)
            .chain(row(Role::Hub, self.hubs))
            .chain(row(Role::Gateway, self.gateways))
            .collect()
    }

    /// Returns the directory of the sockets.
    pub(crate) fn run_dir(&self) -> PathBuf {
        self.state_dir.join(crate::claim::RUN)
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
            kill_after: Duration::from_secs(2),
            stall_limit: Duration::from_secs(30),
            probe_interval: Duration::from_secs(1),
            probe_patience: Duration::from_secs(2),
            probe_valid: Duration::from_secs(3),
            scrape_patience: Duration::from_secs(1),
        }
    }
}
