//! A tree in a directory of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use conduit_lifecycle::Phase;
use conduit_supervisor::{Claim, Configured, Options, Plan, SlotView, Supervisor, bind};
use conduit_telemetry::Telemetry;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

use crate::child::{NOTES, Settings};

/// A tree and its directory.
pub(crate) struct House {
    pub(crate) supervisor: Supervisor,
    pub(crate) directory: TempDir,
}

/// Runs a test on a runtime like that of the supervisor.
pub(crate) fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(LIMIT, test)
            .await
            .expect("done in time");
    });
}

/// Times that a test can wait for.
pub(crate) fn quick() -> Options {
    Options {
        heartbeat: Duration::from_millis(100),
        dead_after: Duration::from_secs(1),
        ready_timeout: Duration::from_secs(5),
        restarts: 2,
        probe_interval: Duration::from_millis(100),
        drain_grace: Duration::from_secs(5),
        ..Options::default()
    }
}

/// Starts a store, a hub and two gateways.
pub(crate) async fn start(options: &Options, settings: &Settings) -> House {
    let directory = tempfile::tempdir().unwrap();
    let claim = Claim::take(directory.path()).unwrap();
    let listener = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let plan = Plan {
        gateways: Configured::exactly(2),
        hubs: Configured::exactly(1),
        state_dir: directory.path().to_owned(),
        settings_json: serde_json::to_vec(settings).unwrap(),
        options: *options,
        child_args: vec!["-v".into()],
    };
    let telemetry = Telemetry::new("supervisor");
    let supervisor = Supervisor::launch(plan, claim, listener, telemetry)
        .await
        .unwrap();
    supervisor.settled().await;
    House {
        supervisor,
        directory,
    }
}

impl House {
    /// Shows a slot.
    pub(crate) fn slot(&self, name: &str) -> SlotView {
        let slots = self.supervisor.board().status().slots;
        slots.into_iter().find(|slot| slot.slot == name).unwrap()
    }

    /// Returns the process that fills a slot.
    pub(crate) fn pid(&self, name: &str) -> u32 {
        self.slot(name).pid.expect("a process")
    }

    /// Sends a signal to the process that fills a slot.
    pub(crate) fn signal(&self, name: &str, signal: Signal) {
        kill_process(pid(self.pid(name)), signal).unwrap();
    }

    /// Waits until a condition holds.
    pub(crate) async fn until(&self, holds: impl Fn(&Self) -> bool) {
        let mut looks = tokio::time::interval(LOOK);
        while !holds(self) {
            looks.tick().await;
        }
    }

    /// Waits until a slot was filled again and serves.
    pub(crate) async fn back(&self, name: &str, restarts: u64) {
        self.until(|house| {
            let slot = house.slot(name);
            slot.phase == Phase::Serving && slot.restarts == restarts && slot.linked
        })
        .await;
    }

    /// Returns the processes that there are.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let slots = self.supervisor.board().status().slots;
        slots.iter().filter_map(|slot| slot.pid).collect()
    }

    /// Returns the state directory.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

/// Returns whether a process is there, dead or alive.
pub(crate) fn exists(process: u32) -> bool {
    test_kill_process(pid(process)).is_ok()
}

/// Returns what the children noted, of one kind.
pub(crate) fn notes(state_dir: &Path, kind: &str) -> Vec<String> {
    let notes = std::fs::read_to_string(state_dir.join(NOTES)).unwrap();
    let lines = notes.lines().filter_map(|line| line.strip_prefix(kind));
    lines.map(|slot| slot.trim().to_owned()).collect()
}

/// The longest that any test may take.
const LIMIT: Duration = Duration::from_secs(30);
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(2);

fn pid(process: u32) -> Pid {
    Pid::from_raw(i32::try_from(process).unwrap()).unwrap()
}
