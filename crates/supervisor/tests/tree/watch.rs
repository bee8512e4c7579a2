//! How children are watched and replaced.

use std::sync::Arc;
use std::time::Duration;

use conduit_link::{Delivery, Links, Slot, build_id};
use conduit_supervisor::Options;
use rustix::process::Signal;
use tokio::sync::mpsc;
use tokio::time::Instant;
use uuid::Uuid;

use crate::child::Settings;
use crate::house::{block_on, exists, notes, quick, start};

tests! {
    a_killed_child_is_back_within_a_second,
    a_stopped_child_is_killed_reaped_and_replaced,
    a_child_whose_loop_stands_still_is_replaced,
    a_dead_gateway_is_not_ready,
    a_stranger_does_not_speak_for_a_slot,
    a_child_that_keeps_dying_is_parked,
    children_are_replaced_though_the_actor_that_watches_them_failed,
    the_tree_stops_in_order_though_its_actors_have_failed,
}

const SLOTS: [&str; 4] = ["store", "hub-0", "gateway-0", "gateway-1"];

fn a_killed_child_is_back_within_a_second() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;
        for slot in SLOTS {
            let before = house.pids();
            let killed = Instant::now();

            house.signal(slot, Signal::KILL);
            house.back(slot, 1).await;

            assert!(
                killed.elapsed() < Duration::from_secs(1),
                "{:?}",
                killed.elapsed()
            );
            let kept = house
                .pids()
                .iter()
                .filter(|pid| before.contains(pid))
                .count();
            assert_eq!(kept, SLOTS.len() - 1, "the others are not touched");
        }
        house
            .until(|house| house.supervisor.board().ready().is_ok())
            .await;
        house.supervisor.stop().await;
    });
}

fn a_stopped_child_is_killed_reaped_and_replaced() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;
        for slot in SLOTS {
            let hung = house.pid(slot);

            house.signal(slot, Signal::STOP);
            house.back(slot, 1).await;

            assert!(!exists(hung), "reaped");
            let last = house.slot(slot).last_exit.unwrap();
            assert_eq!(last, "signal 9 (hung), killed: no heartbeat");
        }
        house.supervisor.stop().await;
    });
}

fn a_child_whose_loop_stands_still_is_replaced() {
    block_on(async {
        let settings = Settings {
            stalled: vec!["gateway-0".to_owned()],
            ..Settings::default()
        };
        let options = Options {
            stall_limit: Duration::from_secs(2),
            ..quick()
        };

        let house = start(&options, &settings).await;

        house
            .until(|house| house.slot("gateway-0").restarts > 0)
            .await;
        let last = house.slot("gateway-0").last_exit.unwrap();
        assert_eq!(last, "signal 9 (hung), killed: main loop stands still");
        house.supervisor.killer().kill();
        house.supervisor.stop().await;
    });
}

fn a_dead_gateway_is_not_ready() {
    block_on(async {
        let options = Options {
            dead_after: Duration::from_mins(1),
            probe_valid: Duration::from_millis(500),
            ..quick()
        };
        let house = start(&options, &Settings::default()).await;
        house
            .until(|house| house.supervisor.board().ready().is_ok())
            .await;

        house.signal("gateway-1", Signal::STOP);

        house
            .until(|house| house.supervisor.board().ready().is_err())
            .await;
        let late = house.supervisor.board().ready().unwrap_err();
        assert_eq!(late.len(), 1);
        assert_eq!(late[0].slot, "gateway-1");
        house.signal("gateway-1", Signal::CONT);
        house
            .until(|house| house.supervisor.board().ready().is_ok())
            .await;
        house.supervisor.stop().await;
    });
}

fn a_stranger_does_not_speak_for_a_slot() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;
        let gateway = house.slot("gateway-0");
        let options = conduit_link::Options::new(
            house.path().join("run"),
            Slot::gateway(0),
            Uuid::new_v4(),
            build_id().unwrap(),
        );
        let links = Links::start(options).unwrap();
        let (tell, mut told) = mpsc::channel(64);

        let link = links.connect(
            Slot::SUPERVISOR,
            Arc::new(move |_, delivery| {
                if let Delivery::Down(_) = delivery {
                    tell.try_send(()).expect("room for the news");
                }
            }),
        );

        told.recv().await.expect("refused");
        link.close();
        house.until(|house| house.slot("gateway-0").linked).await;
        assert_eq!(house.slot("gateway-0").life, gateway.life);
        links.stop(Duration::ZERO).await;
        house.supervisor.stop().await;
    });
}

fn a_child_that_keeps_dying_is_parked() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;
        for restarts in 1..=2 {
            house.signal("hub-0", Signal::KILL);
            house.back("hub-0", restarts).await;
        }

        house.signal("hub-0", Signal::KILL);

        house
            .until(|house| house.slot("hub-0").phase == conduit_lifecycle::Phase::Parked)
            .await;
        let map = house.supervisor.board().status().shard_map;
        assert_eq!((map.epoch, map.shards), (2, vec![]));
        house.supervisor.stop().await;
    });
}

fn children_are_replaced_though_the_actor_that_watches_them_failed() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;
        for slot in ["store", "hub-0", "gateway-0"] {
            house.supervisor.kill_actor("children");
            house.supervisor.kill_actor("prober");

            house.signal(slot, Signal::KILL);

            house.back(slot, 1).await;
        }
        house
            .until(|house| house.supervisor.board().ready().is_ok())
            .await;
        house.supervisor.stop().await;
    });
}

fn the_tree_stops_in_order_though_its_actors_have_failed() {
    block_on(async {
        let house = start(&quick(), &Settings::default()).await;
        let (pids, path) = (house.pids(), house.path());
        let fail = async {
            loop {
                house.supervisor.kill_actor("children");
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            error = house.supervisor.ended() => {
                assert_eq!(error.to_string(), "actor `children` of the supervisor failed too often");
            }
            () = fail => {}
        }

        house.supervisor.stop().await;

        assert!(!pids.iter().any(|&pid| exists(pid)), "all are reaped");
        let mut ended = notes(&path, "end");
        ended[..2].sort_unstable();
        assert_eq!(ended, ["gateway-0", "gateway-1", "hub-0", "store"]);
    });
}
