//! Kills at random, many times over. Takes long: `tests/run --long` runs it.

use conduit_testkit::process::Signal;
use conduit_testkit::{Options, PATIENCE, Tree, process};

use crate::deaths::served_on;
use crate::dice::Dice;
use crate::load::{CONNECTIONS, Load};
use crate::turn;

const SLOTS: [&str; 4] = ["gateway-0", "gateway-1", "hub-0", "store"];
const SEEDS: u64 = 8;
const KILLS: usize = 12;

#[tokio::test]
#[ignore = "takes minutes: `tests/run --long` runs it"]
async fn whoever_is_killed_whenever_the_rest_serves_on() {
    let _turn = turn().await;
    for seed in 1..=SEEDS {
        let tree = patient().await;
        let load = Load::start(&tree).await;
        let mut dice = Dice::new(seed);

        for _ in 0..KILLS {
            let slot = SLOTS[dice.below(SLOTS.len())];
            let signal = if dice.below(8) == 0 {
                Signal::STOP
            } else {
                Signal::KILL
            };
            let pid = tree.signal_slot(slot, signal).await;
            load.goes_on(1 + dice.below(200) as u64).await;
            process::end_of(pid, PATIENCE).await;
            tree.replaced(slot, pid, PATIENCE).await;
        }
        tree.ready().await;

        load.goes_on(CONNECTIONS * 4).await;
        let tally = load.stop().await;
        assert!(
            tally.wrong.is_empty() && tally.unconnected.is_empty(),
            "seed {seed}: {tally:?}"
        );
        assert!(
            tally.broken <= CONNECTIONS * KILLS as u64,
            "seed {seed}: {tally:?}"
        );
        tree.stop().await;
    }
}

#[tokio::test]
#[ignore = "takes minutes: `tests/run --long` runs it"]
async fn a_process_that_is_killed_on_sight_for_long_is_always_replaced() {
    let _turn = turn().await;
    let tree = patient().await;

    for round in 0..100 {
        for slot in SLOTS {
            let pid = tree.signal_slot(slot, Signal::KILL).await;
            tree.replaced(slot, pid, PATIENCE).await;
        }
        assert!(
            tree.processes().len() == SLOTS.len() + 1,
            "round {round}: {:?}",
            tree.processes()
        );
    }

    let load = Load::start(&tree).await;
    served_on(&load.stop().await);
}

/// A system that never parks a slot, and starts it again at once.
async fn patient() -> Tree {
    let options = Options::fixture()
        .gateways(2)
        .environment("CONDUIT_SUPERVISOR_RESTARTS", "1000")
        .environment("CONDUIT_SUPERVISOR_BACKOFF_MOST_MS", "50");
    Tree::start(options).await
}
