//! How the tree ends.

use std::time::Duration;

use conduit_supervisor::{Options, TreePhase};
use tokio::time::Instant;

use crate::child::Settings;
use crate::house::{block_on, exists, notes, quick, start};

tests! {
    a_stop_ends_the_kinds_in_reverse_order,
    a_child_that_does_not_drain_is_killed_in_time,
    a_kill_ends_a_stop_that_takes_long,
    a_dropped_supervisor_leaves_no_child,
}

fn a_stop_ends_the_kinds_in_reverse_order() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;
        let (pids, path) = (house.pids(), house.path());
        let stopping = Instant::now();

        house.supervisor.stop().await;

        assert!(
            stopping.elapsed() < Duration::from_secs(2),
            "{:?}",
            stopping.elapsed()
        );
        assert!(!pids.iter().any(|&pid| exists(pid)), "all are reaped");
        let mut ended = notes(&path, "end");
        ended[..2].sort_unstable();
        assert_eq!(ended, ["gateway-0", "gateway-1", "hub-0", "store"]);
    });
}

/// Times by which a child may take long, but not too long.
fn patient() -> Options {
    Options {
        drain_grace: Duration::from_secs(20),
        ..quick()
    }
}

fn deaf() -> Settings {
    Settings {
        deaf: vec!["gateway-0".to_owned()],
        ..Settings::default()
    }
}

fn a_child_that_does_not_drain_is_killed_in_time() {
    block_on(async {
        let options = Options {
            drain_grace: Duration::from_millis(300),
            kill_after: Duration::from_millis(200),
            ..quick()
        };
        let house = start(&options, &deaf()).await;
        let (pids, path) = (house.pids(), house.path());
        let stopping = Instant::now();

        house.supervisor.stop().await;

        assert!(
            stopping.elapsed() >= Duration::from_millis(500),
            "{:?}",
            stopping.elapsed()
        );
        assert!(
            stopping.elapsed() < Duration::from_secs(2),
            "{:?}",
            stopping.elapsed()
        );
        assert!(!pids.iter().any(|&pid| exists(pid)), "all are reaped");
        assert_eq!(notes(&path, "end"), ["gateway-1", "hub-0", "store"]);
    });
}

fn a_kill_ends_a_stop_that_takes_long() {
    block_on(async {
        let house = start(&patient(), &deaf()).await;
        let pids = house.pids();
        let killer = house.supervisor.killer();
        let board = house.supervisor.board();
        let kill = async {
            while board.status().phase != TreePhase::Draining {
                tokio::task::yield_now().await;
            }
            killer.kill();
        };
        let stopping = Instant::now();

        tokio::join!(house.supervisor.stop(), kill);

        assert!(
            stopping.elapsed() < Duration::from_secs(2),
            "{:?}",
            stopping.elapsed()
        );
        assert!(!pids.iter().any(|&pid| exists(pid)), "all are reaped");
    });
}

fn a_dropped_supervisor_leaves_no_child() {
    let mut pids = Vec::new();

    block_on(async {
        let house = start(&quick(), &Settings::default()).await;
        pids = house.pids();
        drop(house.supervisor);
    });

    // The runtime is gone; whoever is left is a corpse of ours, or is about to be.
    for pid in pids {
        while alive(pid) {
            std::thread::yield_now();
        }
    }
}

/// Returns whether a process runs: a killed one that nobody reaps does not.
fn alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        !state.starts_with('Z') && !state.starts_with('X')
    })
}
