//! Everything there is, and everything that can happen.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::rc::Rc;

use conduit_link::{Subject, Topic};

use super::gateway::Gateway;
use super::hub::Hub;
use super::random::Random;
use super::supervisor::{Place, Supervisor};
use super::wire::Link;

pub(super) const GATEWAYS: usize = 3;
pub(super) const HUBS: usize = 4;
pub(super) const PROCESSES: usize = GATEWAYS + HUBS;
pub(super) const TOPICS: usize = 6;

/// How often what goes wrong, of so many things that happen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Faults {
    pub(super) kills: usize,
    pub(super) breaks: usize,
    pub(super) hangs: usize,
    pub(super) scales: usize,
    /// How many registrations a shard takes.
    pub(super) room: usize,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) random: Random,
    pub(super) faults: Faults,
    pub(super) now: u64,
    pub(super) supervisor: Supervisor,
    pub(super) gateways: Vec<Place<Gateway>>,
    pub(super) hubs: Vec<Place<Hub>>,
    pub(super) links: BTreeMap<u64, Link>,
    pub(super) last_link: u64,
    pub(super) topics: Rc<[Topic]>,
    /// Nothing goes wrong any more.
    pub(super) is_calm: bool,
    /// How much has happened.
    pub(super) moves: usize,
    pub(super) log: Log,
}

/// Something that may happen.
type Action = fn(&mut World);

/// What has happened, for whoever looks into a failure; nothing unless somebody does.
#[derive(Clone, Debug, Default)]
pub(super) struct Log(pub(super) Option<Rc<RefCell<Vec<String>>>>);

impl World {
    pub(super) fn new(seed: u64, faults: Faults, log: Log) -> Self {
        let mut world = Self {
            random: Random::new(seed),
            faults,
            now: 0,
            supervisor: Supervisor::default(),
            gateways: (0..GATEWAYS).map(|_| Place::Empty).collect(),
            hubs: (0..HUBS).map(|_| Place::Empty).collect(),
            links: BTreeMap::new(),
            last_link: 0,
            topics: Self::topics().collect(),
            is_calm: true,
            moves: 0,
            log,
        };
        world.scale();
        world
    }

    /// Lets one thing happen, or not if it is not possible.
    pub(super) fn step(&mut self) {
        let Faults {
            kills,
            breaks,
            hangs,
            scales,
            room: _,
        } = self.faults;
        let actions: [(usize, Action); 16] = [
            (500, Self::move_link),
            (100, Self::move_control),
            (60, Self::follow_up),
            (60, Self::ask),
            (120, Self::connect),
            (100, Self::supervise),
            (60, Self::open),
            (50, Self::close),
            (30, Self::publish),
            (40, Self::attempt),
            (5, Self::hear_late),
            (breaks, Self::time_out),
            (breaks, Self::tear),
            (kills, Self::kill),
            (hangs, Self::hang),
            (scales, Self::scale),
        ];
        let all: usize = actions.iter().map(|(weight, _)| weight).sum();
        let mut at = self.random.below(all);
        for (weight, action) in actions {
            if at < weight {
                self.now += 1;
                action(self);
                return self.probe();
            }
            at -= weight;
        }
    }

    /// Lets everything happen that is not a fault, until nothing is left.
    pub(super) fn settle_down(&mut self) {
        self.is_calm = true;
        for place in &mut self.hubs {
            if let Some(hub) = place.running_mut() {
                hub.is_asleep = false;
            }
        }
        for gateway in self.gateways.iter_mut().filter_map(Place::running_mut) {
            gateway.is_asleep = false;
        }
        for _ in 0..100 {
            let before = self.activity();
            // Some hubs start before a gateway is told anything, and await nobody.
            let first = self.random.below(PROCESSES);
            for at in 0..PROCESSES {
                self.supervise_one((first + at) % PROCESSES);
            }
            for pair in 0..GATEWAYS * HUBS {
                self.connect_pair(pair);
            }
            for at in 0..PROCESSES {
                self.move_control_of(at);
            }
            for at in 0..GATEWAYS {
                self.hear_late_at(at);
            }
            self.follow_up();
            self.ask();
            for _ in 0..self.activity().0 {
                self.move_link();
            }
            self.attempt_all();
            self.now += 1;
            if before == self.activity() && self.is_quiet() {
                return;
            }
        }
        fail("it does not come to rest".to_owned());
    }

    /// All clients leave.
    pub(super) fn close_all(&mut self) {
        for gateway in self.gateways.iter_mut().filter_map(Place::running_mut) {
            while !gateway.streams.is_empty() {
                gateway.close(0);
            }
        }
    }

    pub(super) fn topics() -> impl Iterator<Item = Topic> {
        (0..TOPICS).map(topic)
    }

    pub(super) fn activity(&self) -> (usize, usize) {
        let links = self.links.values();
        let queued = links.map(|link| link.to_hub.len() + link.to_gateway.len());
        (queued.sum(), self.moves)
    }

    pub(super) fn is_quiet(&self) -> bool {
        let gateways = self.gateways.iter().all(|place| {
            place.running().is_some_and(|gateway| {
                let connected = gateway.up.keys().copied().collect::<Vec<_>>();
                gateway.is_linked
                    && gateway.maps.is_empty()
                    && connected == gateway.map.shards
                    && gateway.asks.is_empty()
                    && gateway.orphans.is_empty()
                    && gateway.publishes.is_empty()
            })
        });
        let hubs = self.hubs.iter().enumerate().all(|(index, place)| {
            let is_owner = self.supervisor.map.shards.contains(&slot(index));
            match place {
                Place::Running(hub) => is_owner && hub.is_linked && hub.rolls.is_empty(),
                Place::Empty => !is_owner,
                Place::Dead(_) => false,
            }
        });
        gateways && hubs && self.activity().0 == 0
    }

    pub(super) fn log(&mut self, text: impl FnOnce() -> String) {
        self.moves += 1;
        if let Some(log) = &self.log.0 {
            log.borrow_mut().push(format!("{:4} {}", self.now, text()));
        }
    }
}

/// Ends a schedule that shows a fault. Whoever runs it says so, not the panic hook.
pub(super) fn fail(why: String) -> ! {
    resume_unwind(Box::new(why))
}

pub(super) fn topic(number: usize) -> Topic {
    Topic {
        server: "model".to_owned(),
        subject: Subject::Resource(number.to_string()),
    }
}

pub(super) fn slot(index: usize) -> u16 {
    u16::try_from(index).expect("small")
}

pub(super) fn awake_hub(hubs: &mut [Place<Hub>], index: usize) -> Option<&mut Hub> {
    hubs[index].running_mut().filter(|hub| !hub.is_asleep)
}

pub(super) fn awake_gateway(gateways: &mut [Place<Gateway>], at: usize) -> Option<&mut Gateway> {
    gateways[at]
        .running_mut()
        .filter(|gateway| !gateway.is_asleep)
}
