//! No change is lost whoever dies: the promise of the hub.
//!
//! Hundreds of streams over two gateways ask for random resources, lists and tasks;
//! publishers publish at full speed; every few hundred milliseconds somebody is killed,
//! stopped, added or taken away. When it is quiet again, each stream that lived was told
//! of each change that had happened (`audience/life.rs` says what that means), and of
//! nothing else.
//!
//! A seed fixes what streams ask for, what is published and what is done to whom and
//! when; what that meets is for the machine to say.

mod agenda;
mod harm;
mod publishers;
mod watched;

use std::sync::Arc;

use conduit_testkit::{Conn, Tree};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use self::agenda::{Agenda, Batch, RESOURCES, uri};
use self::harm::{HUBS, Harm, Schedule};
use self::publishers::{Publishers, publish};
use self::watched::Watched;
use crate::audience::{Asked, Audience, LISTS, Pace, Plan, Published};
use crate::dice::Dice;
use crate::{report, turn};

/// How many streams there are, and how many of them are of what kind.
const STREAMS: usize = 500;
const SESSIONS: usize = 60;
const WATCHERS: usize = 80;
const SLOW: usize = 30;
const STALLING: usize = 30;
/// For how many resources a stream asks at most, and for how many a slow one does.
const NARROW: usize = 40;
const WIDE: usize = 400;
/// For how many resources a session asks at most: each is a call.
const SUBSCRIPTIONS: usize = 8;
/// How many of all resources change at once at the end.
const AT_ONCE: usize = 100;
/// How many blows a tree gets.
const BLOWS: usize = 20;
/// Each kind of blow is among those of these.
const SEEDS: [u64; 3] = [26, 35, 39];

#[tokio::test]
async fn no_change_is_lost_whoever_dies() {
    let _turn = turn().await;
    survive(SEEDS).await;
}

#[tokio::test]
#[ignore = "takes half an hour: `tests/run --long` runs it"]
async fn no_change_is_lost_whoever_dies_for_long() {
    let _turn = turn().await;
    survive(1..=100).await;
}

/// Goes through the schedules of all seeds, and tells which of them something was lost
/// in.
async fn survive(seeds: impl IntoIterator<Item = u64>) {
    let mut wrong = Vec::new();
    for seed in seeds {
        let hubs = HUBS[Dice::of(seed, 503).below(HUBS.len())];
        let tree = Harm::start(hubs).await;
        match lives_through(&tree, hubs, seed).await {
            Ok(()) => drop(tree.stop().await),
            Err(lost) => {
                report(&format!("seed {seed}: {lost}\n{}", *tree));
                wrong.push(format!("seed {seed}: {lost}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn lives_through(tree: &Tree, hubs: usize, seed: u64) -> Result<(), String> {
    let (endpoint, start) = (tree.endpoint(), Instant::now());
    let published = Arc::new(Mutex::new(Published::default()));
    let (watched, tasks) = Watched::start(endpoint, start, seed).await?;
    let mut audience = Audience::open(endpoint, start, plans(seed, &tasks), seed);
    audience.opened().await?;
    report(&format!("seed {seed}: open after {:?}", start.elapsed()));

    let schedule = Schedule::new(seed, BLOWS);
    let agenda = Agenda::new(seed, schedule.long());
    let publishers = Publishers::start(endpoint, start, agenda, Arc::clone(&published), seed);
    let mut harm = Harm::of(tree, hubs);
    for (pause, blow) in schedule.blows() {
        sleep(pause).await;
        let done = harm.strike(blow).await;
        report(&format!("seed {seed}, {:.3?}: {done}", start.elapsed()));
        audience.check()?;
    }
    harm.over().await;
    audience.calm();

    let changes = publishers.done().await?;
    report(&format!("seed {seed}: quiet after {:?}", start.elapsed()));
    audience.opened().await?;
    audience.told(&published).await?;
    audience.told_tasks(&watched.settle().await?).await?;
    let unfounded = audience.unfounded(&published);
    let counts = audience.counts_but("");
    let told: usize = counts.iter().map(|count| count.told).sum();
    report(&format!(
        "seed {seed}: {changes} changes, {} streams, told {told} times, {:?}",
        audience.lives(),
        start.elapsed(),
    ));
    if !unfounded.is_empty() {
        return Err(format!("told of what nobody published: {unfounded:?}"));
    }

    everything_changes(tree, start, &published).await?;
    audience.told(&published).await
}

/// Publishes every topic once more: nobody has become deaf.
async fn everything_changes(
    tree: &Tree,
    start: Instant,
    published: &Mutex<Published>,
) -> Result<(), String> {
    let mut conn = Conn::open(tree.endpoint()).await;
    let uris: Vec<String> = (0..2 * RESOURCES).map(uri).collect();
    let resources = uris
        .chunks(AT_ONCE)
        .map(|some| Batch::Resources(some.to_vec()));
    for batch in resources.chain(LISTS.map(Batch::List)) {
        publish(&mut conn, start, &batch, published).await?;
    }
    Ok(())
}

/// Throws the dice for what each stream asks for.
fn plans(seed: u64, tasks: &[String]) -> Vec<Plan> {
    let mut dice = Dice::of(seed, 504);
    let plan = |number: usize| {
        if number < SESSIONS {
            let count = dice.below(SUBSCRIPTIONS);
            let session = Plan::session(some(&mut dice, count));
            let is_resuming = number.is_multiple_of(2);
            return if is_resuming {
                session.resuming()
            } else {
                session
            };
        }
        let (most, pace) = match number - SESSIONS {
            0..SLOW => (WIDE, Pace::Slow),
            other if other < SLOW + STALLING => (WIDE, Pace::Stalling),
            _ => (NARROW, Pace::Brisk),
        };
        let count = 1 + dice.below(most);
        let mut asked = Asked {
            topics: some(&mut dice, count).collect(),
            ..Asked::default()
        };
        for list in LISTS {
            if dice.below(4) == 0 {
                asked.topics.insert(list.to_owned());
            }
        }
        if number >= STREAMS - WATCHERS {
            let count = 1 + dice.below(4);
            let some = (0..count).map(|_| tasks[dice.below(tasks.len())].clone());
            asked.tasks = some.collect();
        }
        Plan::listen(asked).pace(pace)
    };
    (0..STREAMS).map(plan).collect()
}

fn some(dice: &mut Dice, count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|_| uri(dice.below(2 * RESOURCES)))
}

#[test]
fn every_kind_of_blow_is_among_those_of_three_seeds() {
    let schedules = SEEDS.map(|seed| Schedule::new(seed, BLOWS)).into_iter();
    let blows: Vec<harm::Blow> = schedules
        .flat_map(|schedule| schedule.blows().map(|(_, blow)| blow).collect::<Vec<_>>())
        .collect();
    let kinds = [
        "Kill(Hub,",
        "Kill(Gateway,",
        "Kill(Store,",
        "Stop(Hub,",
        "Stop(Gateway,",
        "Stop(Store,",
        " 2s)",
        " 5s)",
        "ScaleHub(1)",
        "ScaleHub(4)",
    ];
    for kind in kinds {
        let is_there = blows.iter().any(|blow| format!("{blow:?}").contains(kind));
        assert!(is_there, "no {kind} in {blows:?}");
    }
}
