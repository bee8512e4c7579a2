//! A model of the whole: a supervisor that kills, reaps and scales, hubs, gateways with
//! streams and publishers, and links that break; no clock but a counter of what happens.
//!
//! The shards and ledgers in it are the real ones. Each seed is one schedule of what
//! happens in which order, thousands of which are run. What has to hold is said in
//! [`oracle`]: a change that was told has reached everybody, and once nothing goes wrong any
//! more, everything is as it should be.

mod clients;
mod gateway;
mod hub;
mod links;
mod oracle;
mod random;
mod supervisor;
mod tree;
mod wire;
mod world;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use self::oracle::rest;
use self::world::{Faults, Log, World};

const STEPS: usize = 300;

const ANY: Faults = Faults {
    kills: 6,
    breaks: 10,
    hangs: 8,
    scales: 5,
    room: 100,
};

#[test]
fn no_change_is_lost_whatever_dies() {
    run(0..800, ANY);
}

#[test]
fn no_change_is_lost_while_the_hub_is_scaled() {
    let faults = Faults {
        kills: 1,
        breaks: 2,
        hangs: 12,
        scales: 16,
        ..ANY
    };
    run(10_000..11_000, faults);
}

#[test]
fn no_change_is_lost_where_links_break() {
    let faults = Faults {
        kills: 2,
        breaks: 60,
        hangs: 16,
        scales: 1,
        ..ANY
    };
    run(20_000..21_000, faults);
}

#[test]
fn no_change_is_lost_where_there_is_no_room() {
    run(30_000..30_400, Faults { room: 3, ..ANY });
}

/// Runs a schedule for each seed; tells the story of the first that fails.
fn run(seeds: std::ops::Range<u64>, faults: Faults) {
    let all = seeds.end - seeds.start;
    let failed: Vec<u64> = seeds
        .filter(|&seed| run_one(seed, faults, Log::default()).is_err())
        .collect();
    let Some(&first) = failed.first() else { return };
    let log = Rc::<RefCell<Vec<String>>>::default();
    let why = run_one(first, faults, Log(Some(Rc::clone(&log))));
    panic!(
        "{}\n{} of {all} schedules fail; this was seed {first} of {faults:?}: {why:?}",
        log.borrow().join("\n"),
        failed.len(),
    );
}

/// Runs one schedule. The same seed gives the same one.
fn run_one(seed: u64, faults: Faults, log: Log) -> Result<(), String> {
    let schedule = AssertUnwindSafe(|| {
        let mut world = World::new(seed, faults, log);
        if world.random.chance(85) {
            world.settle_down();
        }
        world.is_calm = false;
        for _ in 0..STEPS {
            world.step();
        }
        world.settle_down();
        rest(&world);
        world.close_all();
        world.settle_down();
        rest(&world);
    });
    catch_unwind(schedule).map_err(|why| match why.downcast::<String>() {
        Ok(why) => *why,
        Err(_) => "a panic".to_owned(),
    })
}
