//! What is done to the processes of a tree, and when.

use std::time::Duration;

use conduit_testkit::process::{self, Signal};
use conduit_testkit::{Options, PATIENCE, Tree, wait_until};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::begin_to_scale;
use crate::dice::Dice;

/// How long it is quiet before a blow, in milliseconds, and how much longer at most.
const PAUSE: usize = 200;
const MORE_PAUSE: usize = 400;
/// How long somebody is stopped: not longer than is believed that it lives, or so long
/// that it is killed.
const NAP: Duration = Duration::from_secs(2);
const SLEEP: Duration = Duration::from_secs(5);
/// How many hubs there are, few or many.
pub(super) const HUBS: [usize; 2] = [1, 4];

/// What happens in a test: a seed has one schedule.
#[derive(Debug)]
pub(super) struct Schedule(Vec<(Duration, Blow)>);

/// What is done to a tree. Those of a kind are counted from 0 on, modulo how many
/// there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Blow {
    Kill(Kind, usize),
    /// It is stopped for so long, and goes on then, if nobody has killed it.
    Stop(Kind, usize, Duration),
    /// So many hubs are wanted.
    ScaleHub(usize),
}

/// A kind of process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Hub,
    Gateway,
    Store,
}

/// Harms a tree.
#[derive(Debug)]
pub(super) struct Harm<'a> {
    tree: &'a Tree,
    /// How many hubs there are to be.
    hubs: usize,
    /// Those who wake hubs up again.
    wakers: JoinSet<()>,
}

impl Schedule {
    /// Throws the dice for so many blows.
    pub(super) fn new(seed: u64, blows: usize) -> Self {
        let mut dice = Dice::of(seed, 502);
        let blows = (0..blows).map(|_| {
            let pause = PAUSE + dice.below(MORE_PAUSE);
            (Duration::from_millis(pause as u64), Blow::choose(&mut dice))
        });
        Self(blows.collect())
    }

    /// Returns how long it takes.
    pub(super) fn long(&self) -> Duration {
        self.0.iter().map(|(pause, _)| *pause).sum()
    }

    /// Returns the blows, each with how long it is quiet before.
    pub(super) fn blows(&self) -> impl Iterator<Item = (Duration, Blow)> {
        self.0.iter().copied()
    }
}

impl Blow {
    fn choose(dice: &mut Dice) -> Self {
        let (blow, number) = (dice.below(16), dice.below(12));
        let long = if number.is_multiple_of(2) { NAP } else { SLEEP };
        match blow {
            0..=4 => Self::Kill(Kind::Hub, number),
            5..=6 => Self::Kill(Kind::Gateway, number),
            7..=8 => Self::Kill(Kind::Store, number),
            9..=12 => Self::ScaleHub(HUBS[number % HUBS.len()]),
            13..=14 => Self::Stop(Kind::Hub, number, long),
            _ if number < 8 => Self::Stop(Kind::Gateway, number, long),
            _ => Self::Stop(Kind::Store, number, long),
        }
    }
}

impl Kind {
    /// Returns how the names of its slots begin.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Hub => "hub",
            Self::Gateway => "gateway",
            Self::Store => "store",
        }
    }
}

impl<'a> Harm<'a> {
    /// Starts a tree that is never parked.
    pub(super) async fn start(hubs: usize) -> Tree {
        let options = Options::fixture()
            .gateways(2)
            .environment("CONDUIT_HUB_COUNT", &hubs.to_string())
            .environment("CONDUIT_TASKS_LEASE_MS", "5000")
            .environment("CONDUIT_TASKS_MAX_ATTEMPTS", "1000")
            .environment("CONDUIT_SUPERVISOR_RESTARTS", "1000")
            .environment("CONDUIT_SUPERVISOR_BACKOFF_MOST_MS", "50");
        Tree::start(options).await
    }

    /// Harms a tree that has so many hubs.
    pub(super) fn of(tree: &'a Tree, hubs: usize) -> Self {
        Self {
            tree,
            hubs,
            wakers: JoinSet::new(),
        }
    }

    /// Does it; returns what was done. Nobody waits until all is well again.
    pub(super) async fn strike(&mut self, blow: Blow) -> String {
        let (kind, number) = match blow {
            Blow::ScaleHub(count) => {
                begin_to_scale(self.tree, "hub", count).await;
                self.hubs = count;
                return format!("{count} hubs are wanted");
            }
            Blow::Kill(kind, number) | Blow::Stop(kind, number, _) => (kind, number),
        };
        let Some((pid, slot)) = self.find(kind, number) else {
            return format!("no {kind:?} there");
        };
        match blow {
            Blow::Stop(_, _, long) => self.stop(pid, long),
            Blow::Kill(..) | Blow::ScaleHub(_) => process::signal(pid, Signal::KILL),
        }
        format!("{blow:?}: {slot}")
    }

    /// Waits until whoever was stopped is awake, or dead, and there are as many hubs as
    /// there are to be, and all is well.
    pub(super) async fn over(&mut self) {
        while self.wakers.join_next().await.is_some() {}
        wait_until("the hubs that are wanted", PATIENCE, async || {
            let slots = self.tree.status().await.slots;
            let hubs = slots.iter().filter(|slot| slot.slot.starts_with("hub"));
            let are_well = hubs.clone().all(|slot| slot.phase == "serving");
            (are_well && hubs.count() == self.hubs).then_some(())
        })
        .await;
        self.tree.ready().await;
    }
}

// === Behind the harm ===

impl Harm<'_> {
    fn stop(&mut self, pid: u32, long: Duration) {
        process::signal(pid, Signal::STOP);
        self.wakers.spawn(async move {
            // How long it is stopped is what is tested here.
            sleep(long).await;
            if process::state(pid) == Some('T') {
                process::signal(pid, Signal::CONT);
            }
        });
    }

    /// Finds a living process without the supervisor's help.
    fn find(&self, kind: Kind, number: usize) -> Option<(u32, String)> {
        let processes = self.tree.processes().into_iter();
        let mut found: Vec<(u32, String)> = processes
            .filter_map(|pid| {
                let line = process::command_line(pid);
                let (_, slot) = line.split_once("--slot ")?;
                let slot = slot.split(' ').next()?;
                slot.starts_with(kind.as_str())
                    .then(|| (pid, slot.to_owned()))
            })
            .collect();
        (!found.is_empty()).then(|| found.swap_remove(number % found.len()))
    }
}
