//! How the tree comes up.

use std::fs;

use conduit_lifecycle::Phase;
use conduit_supervisor::{Claim, TreePhase};

use crate::child::{Settings, descriptors};
use crate::house::{block_on, notes, quick, start};

tests! {
    every_slot_serves_once_the_start_is_over,
    the_kinds_start_one_after_another,
    a_child_reads_settings_larger_than_a_pipe,
    a_gateway_inherits_the_socket_and_the_counters_only,
    a_hub_inherits_no_socket,
    a_slot_that_cannot_start_is_parked_and_the_others_serve,
    a_tree_whose_gateways_cannot_start_is_closed,
    a_child_that_is_never_ready_is_killed,
    a_scrape_asks_every_process,
    the_state_directory_is_held_while_the_tree_lives,
}

fn every_slot_serves_once_the_start_is_over() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;

        let status = house.supervisor.board().status();

        assert_eq!(status.phase, TreePhase::Serving);
        assert!(
            status
                .slots
                .iter()
                .all(|slot| slot.phase == Phase::Serving && slot.linked)
        );
        let names: Vec<_> = status.slots.iter().map(|slot| slot.slot.as_str()).collect();
        assert_eq!(names, ["store", "hub-0", "gateway-0", "gateway-1"]);
        house
            .until(|house| house.supervisor.board().ready().is_ok())
            .await;
        assert!(house.supervisor.board().status().worst_probe_ms.is_some());
        house.supervisor.stop().await;
    });
}

fn the_kinds_start_one_after_another() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;

        let mut started = notes(&house.path(), "start");

        started[2..].sort_unstable();
        assert_eq!(started, ["store", "hub-0", "gateway-0", "gateway-1"]);
        house.supervisor.stop().await;
    });
}

fn a_child_reads_settings_larger_than_a_pipe() {
    block_on(async {
        let settings = Settings {
            padding: "x".repeat(1 << 20),
            ..Settings::default()
        };

        let house = start(&quick(), &settings).await;

        assert_eq!(house.supervisor.board().status().phase, TreePhase::Serving);
        house.supervisor.stop().await;
    });
}

/// Returns where a child's descriptors lead, from the third on, without what our
/// own parent handed down to us (pipes of cargo).
fn inherited(state_dir: &std::path::Path, slot: &str) -> Vec<(u32, String)> {
    let list = fs::read_to_string(descriptors(state_dir, slot)).unwrap();
    let mut found: Vec<_> = list
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(number, target)| (number.parse().unwrap(), target.to_owned()))
        .filter(|(number, target)| {
            *number > 2 && !target.starts_with("pipe:") && !target.starts_with("/proc/")
        })
        .collect();
    found.sort_unstable();
    found
}

fn a_gateway_inherits_the_socket_and_the_counters_only() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;

        let found = inherited(&house.path(), "gateway-1");

        assert!(
            found[0].0 == 3 && found[0].1.starts_with("socket:"),
            "{found:?}"
        );
        assert!(
            found[1].0 == 4 && found[1].1.contains("conduit-balance"),
            "{found:?}"
        );
        assert!(stray(&found[2..]).is_empty(), "{found:?}");
        house.supervisor.stop().await;
    });
}

fn a_hub_inherits_no_socket() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;

        let found = inherited(&house.path(), "hub-0");

        assert!(stray(&found).is_empty(), "{found:?}");
        house.supervisor.stop().await;
    });
}

/// What may have come to us from our own parent is not our leak.
fn stray(found: &[(u32, String)]) -> Vec<&String> {
    let ours = ["socket:", "memfd:", "anon_inode:", "/lock"];
    found
        .iter()
        .map(|(_, target)| target)
        .filter(|target| ours.iter().any(|word| target.contains(word)))
        .collect()
}

fn a_slot_that_cannot_start_is_parked_and_the_others_serve() {
    block_on(async {
        let settings = Settings {
            broken: vec!["store".to_owned(), "gateway-1".to_owned()],
            ..Settings::default()
        };

        let house = start(&quick(), &settings).await;

        assert_eq!(house.slot("store").phase, Phase::Parked);
        assert_eq!(house.slot("gateway-1").phase, Phase::Parked);
        assert_eq!(house.slot("hub-0").phase, Phase::Serving);
        assert_eq!(house.slot("gateway-0").phase, Phase::Serving);
        let status = house.supervisor.board().status();
        assert_eq!(status.phase, TreePhase::Degraded);
        let last = house.slot("gateway-1").last_exit;
        assert_eq!(last.as_deref(), Some("status 7 (failed)"));
        house
            .until(|house| {
                let late = house.supervisor.board().ready().unwrap_err();
                late.len() == 1 && late[0].slot == "gateway-1"
            })
            .await;
        house.supervisor.stop().await;
    });
}

fn a_tree_whose_gateways_cannot_start_is_closed() {
    block_on(async {
        let settings = Settings {
            broken: vec!["gateway-0".to_owned(), "gateway-1".to_owned()],
            ..Settings::default()
        };

        let house = start(&quick(), &settings).await;

        let board = house.supervisor.board();
        assert_eq!(board.status().phase, TreePhase::Closed);
        board.closed().await;
        house.supervisor.stop().await;
    });
}

fn a_child_that_is_never_ready_is_killed() {
    block_on(async {
        let settings = Settings {
            mute: vec!["hub-0".to_owned()],
            ..Settings::default()
        };
        let options = conduit_supervisor::Options {
            ready_timeout: std::time::Duration::from_millis(500),
            restarts: 0,
            ..quick()
        };

        let house = start(&options, &settings).await;

        let hub = house.slot("hub-0");
        assert_eq!(hub.phase, Phase::Parked);
        let last = hub.last_exit.unwrap();
        assert_eq!(last, "signal 9 (never_ready), killed: not ready in time");
        let map = house.supervisor.board().status().shard_map;
        assert_eq!((map.epoch, map.shards), (2, vec![]));
        house.supervisor.stop().await;
    });
}

fn a_scrape_asks_every_process() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;

        let mut parts = house.supervisor.board().scrape().await;

        assert!(parts.remove(0).len() > 20, "our own");
        parts.sort_unstable();
        assert_eq!(
            parts,
            ["gateway-0", "gateway-1", "hub-0", "store"].map(|slot| slot.as_bytes())
        );
        house.supervisor.stop().await;
    });
}

fn the_state_directory_is_held_while_the_tree_lives() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;
        let path = house.path();
        assert!(Claim::take(&path).is_err());

        house.supervisor.stop().await;

        Claim::take(&path).unwrap();
    });
}
