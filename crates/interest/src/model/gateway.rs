//! A gateway of the model: the ledger, its clients and publishers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use conduit_link::{ShardMap, Topic};
use uuid::Uuid;

use super::wire::{ToGateway, ToHub};
use crate::{Ask, Heard, Ledger, Outcome};

/// What goes out, and on which link.
pub(super) type Sent = Vec<(u64, ToHub)>;

#[derive(Debug)]
pub(super) struct Gateway {
    pub(super) life: Uuid,
    pub(super) ledger: Ledger,
    pub(super) is_linked: bool,
    pub(super) is_asleep: bool,
    /// How often in a hundred times it hears of a map when it could.
    pub(super) haste: usize,
    pub(super) maps: VecDeque<ShardMap>,
    pub(super) map: ShardMap,
    /// The links that it knows to be up.
    pub(super) up: BTreeMap<u16, u64>,
    pub(super) streams: Vec<Stream>,
    pub(super) publishes: Vec<Publish>,
    /// Publishes that are done, for whoever checks them.
    pub(super) done: Vec<Publish>,
    /// The question to each shard that is not answered yet.
    pub(super) asks: BTreeMap<u16, (u64, Ask)>,
    /// Questions whose link went down; that is heard of later.
    pub(super) orphans: VecDeque<(u16, Ask)>,
    calls: u64,
}

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) topics: Vec<Arc<Topic>>,
    /// When it was acknowledged.
    pub(super) acknowledged: Option<u64>,
    /// When it was last told of each topic.
    pub(super) told: BTreeMap<Arc<Topic>, u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Publish {
    pub(super) topic: Arc<Topic>,
    pub(super) began: u64,
    attempt: Option<Attempt>,
}

#[derive(Clone, Debug)]
struct Attempt {
    link: u64,
    call: u64,
}

impl Gateway {
    pub(super) fn new(life: Uuid, haste: usize) -> Self {
        Self {
            life,
            ledger: Ledger::new(100),
            is_linked: false,
            is_asleep: false,
            haste,
            maps: VecDeque::new(),
            map: ShardMap::default(),
            up: BTreeMap::new(),
            streams: Vec::new(),
            publishes: Vec::new(),
            done: Vec::new(),
            asks: BTreeMap::new(),
            orphans: VecDeque::new(),
            calls: 0,
        }
    }

    pub(super) fn take_map(&mut self, map: ShardMap) {
        self.ledger.take_map(&map);
        self.up.retain(|hub, _| map.shards.contains(hub));
        self.asks.retain(|hub, _| map.shards.contains(hub));
        self.map = map;
    }

    pub(super) fn up(&mut self, hub: u16, link: u64) {
        if self.map.shards.contains(&hub) {
            self.ledger.up(hub);
            self.up.insert(hub, link);
        }
    }

    /// `is_late`: whether the failure of what was asked is heard of later than this.
    pub(super) fn down(&mut self, hub: u16, link: u64, is_late: bool) {
        for publish in &mut self.publishes {
            publish.attempt.take_if(|attempt| attempt.link == link);
        }
        if self.up.get(&hub) != Some(&link) {
            return;
        }
        self.up.remove(&hub);
        if let Some((_, ask)) = self.asks.remove(&hub) {
            if is_late {
                self.orphans.push_back((hub, ask));
            } else {
                self.ledger.answered(hub, ask, Outcome::Failed);
            }
        }
        self.ledger.down(hub);
    }

    pub(super) fn take(&mut self, now: u64, hub: u16, link: u64, message: ToGateway) -> Sent {
        let is_up = self.up.get(&hub) == Some(&link);
        match message {
            ToGateway::Asked { call, outcome } => {
                if self.asks.get(&hub).is_some_and(|(known, _)| *known == call) {
                    self.answered(hub, outcome);
                }
                Sent::new()
            }
            ToGateway::Published { call, is_told } => {
                self.published(link, call, is_told);
                Sent::new()
            }
            ToGateway::Tell(tell) => {
                if is_up {
                    let ledger = &mut self.ledger;
                    ledger.hear(hub, &tell.added, &tell.removed, tell.complete);
                }
                vec![(link, ToHub::Told)]
            }
            ToGateway::Change { delivery, topic } => {
                for stream in &mut self.streams {
                    if stream.topics.contains(&topic) {
                        stream.told.insert(Arc::clone(&topic), now);
                    }
                }
                vec![(link, ToHub::Changed { delivery })]
            }
        }
    }

    pub(super) fn answered(&mut self, hub: u16, outcome: Outcome) {
        if let Some((_, ask)) = self.asks.remove(&hub) {
            self.ledger.answered(hub, ask, outcome);
        }
    }

    /// Asks each shard what it has to be asked.
    pub(super) fn ask(&mut self) -> Sent {
        let mut sent = Sent::new();
        for (&hub, &link) in &self.up {
            if self.asks.contains_key(&hub) {
                continue;
            }
            if let Some(ask) = self.ledger.next(hub) {
                self.calls += 1;
                let (call, epoch, question) = (self.calls, ask.epoch, ask.question.clone());
                self.asks.insert(hub, (call, ask));
                let message = ToHub::Ask {
                    call,
                    epoch,
                    question,
                };
                sent.push((link, message));
            }
        }
        sent
    }

    pub(super) fn open(&mut self, topics: Vec<Topic>) {
        if let Ok(topics) = self.ledger.want(topics) {
            self.streams.push(Stream {
                topics,
                acknowledged: None,
                told: BTreeMap::new(),
            });
        }
    }

    pub(super) fn close(&mut self, at: usize) {
        let stream = self.streams.swap_remove(at);
        self.ledger.release(&stream.topics);
    }

    /// Acknowledges the streams that hear everything, and ends those that never will.
    pub(super) fn acknowledge(&mut self, now: u64) {
        let ledger = &self.ledger;
        let mut refused = Vec::new();
        for (at, stream) in self.streams.iter_mut().enumerate() {
            let is = |heard| {
                stream
                    .topics
                    .iter()
                    .any(|topic| ledger.heard(topic) == heard)
            };
            if is(Heard::Refused) {
                refused.push(at);
            } else if stream.acknowledged.is_none() && !is(Heard::NotYet) {
                stream.acknowledged = Some(now);
            }
        }
        for at in refused.into_iter().rev() {
            self.close(at);
        }
    }

    pub(super) fn publish(&mut self, now: u64, topic: Topic) -> Sent {
        self.publishes.push(Publish {
            topic: Arc::new(topic),
            began: now,
            attempt: None,
        });
        self.attempt(self.publishes.len() - 1)
    }

    /// Tries a publish, unless that goes on already.
    pub(super) fn attempt(&mut self, at: usize) -> Sent {
        let publish = &mut self.publishes[at];
        if publish.attempt.is_some() {
            return Sent::new();
        }
        if self.ledger.is_unheard(&publish.topic) {
            self.done.push(self.publishes.swap_remove(at));
            return Sent::new();
        }
        let route = self.ledger.route(&publish.topic);
        let Some((hub, epoch)) = route else {
            return Sent::new();
        };
        let Some(&link) = self.up.get(&hub) else {
            return Sent::new();
        };
        self.calls += 1;
        let (call, topic) = (self.calls, Arc::clone(&publish.topic));
        publish.attempt = Some(Attempt { link, call });
        vec![(link, ToHub::Publish { call, epoch, topic })]
    }

    /// Nobody waits for the answer to a publish any longer.
    pub(super) fn give_up(&mut self, at: usize) {
        self.publishes[at].attempt = None;
    }

    fn published(&mut self, link: u64, call: u64, is_told: bool) {
        let mut publishes = self.publishes.iter();
        let this = |publish: &Publish| {
            let attempt = publish.attempt.as_ref();
            attempt.is_some_and(|attempt| attempt.link == link && attempt.call == call)
        };
        let Some(at) = publishes.position(this) else {
            return;
        };
        if is_told {
            self.done.push(self.publishes.swap_remove(at));
        } else {
            self.publishes[at].attempt = None;
        }
    }
}
