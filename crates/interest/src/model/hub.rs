//! A hub of the model: the shard, and a thin shell as the real one has it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use conduit_link::{Roll, Slot, Topic};
use uuid::Uuid;

use super::wire::{ToGateway, ToHub};
use super::world::fail;
use crate::{Number, Outcome, Question, Refused, Shard};

/// What goes out, and on which link.
pub(super) type Sent = Vec<(u64, ToGateway)>;

#[derive(Debug)]
pub(super) struct Hub {
    pub(super) life: Uuid,
    pub(super) shard: Shard<u64>,
    pub(super) is_linked: bool,
    pub(super) is_asleep: bool,
    pub(super) rolls: VecDeque<Roll>,
    held: Vec<Held>,
    deliveries: BTreeMap<u64, Delivery>,
    next_delivery: u64,
    /// What each attached link has registered, as simple as can be.
    expected: BTreeMap<u64, (Uuid, BTreeSet<Topic>)>,
}

/// An answer that waits until everybody knows.
#[derive(Debug)]
struct Held {
    link: u64,
    call: u64,
    epoch: u64,
    number: Number,
}

#[derive(Debug)]
struct Delivery {
    publisher: u64,
    call: u64,
    left: BTreeSet<u64>,
    is_partial: bool,
}

impl Hub {
    pub(super) fn new(life: Uuid, room: usize) -> Self {
        Self {
            life,
            shard: Shard::new(room),
            is_linked: false,
            is_asleep: false,
            rolls: VecDeque::new(),
            held: Vec::new(),
            deliveries: BTreeMap::new(),
            next_delivery: 0,
            expected: BTreeMap::new(),
        }
    }

    pub(super) fn roll(&mut self, roll: Roll) {
        self.expected
            .retain(|_, (life, _)| !roll.reaped.contains(life));
        self.shard.roll(roll);
    }

    /// Returns whether the link is of any use.
    pub(super) fn up(&mut self, link: u64, slot: Slot, life: Uuid) -> bool {
        let is_attached = self.shard.attach(slot, life, link, link).is_ok();
        if is_attached {
            self.expected.retain(|_, (other, _)| *other != life);
            self.expected.insert(link, (life, BTreeSet::new()));
        }
        is_attached
    }

    pub(super) fn down(&mut self, link: u64) -> Sent {
        self.shard.detach(link);
        self.expected.remove(&link);
        self.held.retain(|held| held.link != link);
        let mut sent = Sent::new();
        for delivery in self.deliveries.values_mut() {
            if delivery.left.remove(&link) {
                delivery.is_partial = true;
            }
        }
        self.finish(&mut sent);
        sent
    }

    pub(super) fn take(&mut self, link: u64, message: ToHub) -> Sent {
        let mut sent = Sent::new();
        match message {
            ToHub::Ask {
                call,
                epoch,
                question,
            } => {
                if let Some(outcome) = self.ask(link, call, epoch, question) {
                    sent.push((link, ToGateway::Asked { call, outcome }));
                }
            }
            ToHub::Publish { call, epoch, topic } => {
                self.publish(link, call, epoch, &topic, &mut sent);
            }
            ToHub::Told => self.shard.noted(link),
            ToHub::Changed { delivery } => {
                if let Some(delivery) = self.deliveries.get_mut(&delivery) {
                    delivery.left.remove(&link);
                }
            }
        }
        self.finish(&mut sent);
        sent
    }

    /// Sees to what follows a change.
    pub(super) fn follow_up(&mut self) -> Sent {
        let mut sent = Sent::new();
        let links: Vec<u64> = self.shard.links().map(|(id, _, _)| id).collect();
        for link in links {
            if let Some(tell) = self.shard.next_tell(link) {
                sent.push((link, ToGateway::Tell(tell)));
            }
        }
        let shard = &self.shard;
        self.held.retain(|held| {
            let outcome = if shard.is_known(held.number) {
                Outcome::Done
            } else if shard.epoch() > held.epoch {
                Outcome::Failed
            } else {
                return true;
            };
            let call = held.call;
            sent.push((held.link, ToGateway::Asked { call, outcome }));
            false
        });
        sent
    }

    fn ask(&mut self, link: u64, call: u64, epoch: u64, question: Question) -> Option<Outcome> {
        let done = match question {
            Question::Enter => self.shard.enter(link, epoch),
            Question::Settle => self.shard.settle(link, epoch),
            Question::Unregister(topics) => {
                let topics: Vec<Topic> = topics.iter().map(|topic| Topic::clone(topic)).collect();
                if let Some((_, expected)) = self.expected.get_mut(&link) {
                    expected.retain(|topic| !topics.contains(topic));
                }
                self.shard.unregister(link, &topics)
            }
            Question::Register(topics) => {
                let topics: Vec<Topic> = topics.iter().map(|topic| Topic::clone(topic)).collect();
                let registered = self.shard.register(link, epoch, topics.clone());
                if let Ok(number) = registered {
                    let (_, expected) = self.expected.get_mut(&link).expect("attached");
                    expected.extend(topics);
                    self.held.push(Held {
                        link,
                        call,
                        epoch,
                        number,
                    });
                    return None;
                }
                registered.map(drop)
            }
        };
        Some(match done {
            Ok(()) => Outcome::Done,
            Err(Refused::Full) => Outcome::Full,
            Err(Refused::Stale | Refused::Detached) => Outcome::Failed,
        })
    }

    fn publish(&mut self, link: u64, call: u64, epoch: u64, topic: &Arc<Topic>, sent: &mut Sent) {
        let Ok(mut audience) = self.shard.audience(epoch, topic) else {
            let is_told = false;
            sent.push((link, ToGateway::Published { call, is_told }));
            return;
        };
        audience.links.sort_unstable();
        let listens = |(_, topics): &&(Uuid, BTreeSet<Topic>)| topics.contains(&**topic);
        let expected = self.expected.iter().filter(|(_, of)| listens(of));
        let expected: Vec<u64> = expected.map(|(id, _)| *id).collect();
        if audience.links != expected {
            fail(format!(
                "{audience:?} for {topic:?}, registered are {expected:?}"
            ));
        }
        self.next_delivery += 1;
        let delivery = self.next_delivery;
        for &to in &audience.links {
            let topic = Arc::clone(topic);
            sent.push((to, ToGateway::Change { delivery, topic }));
        }
        self.deliveries.insert(
            delivery,
            Delivery {
                publisher: link,
                call,
                left: audience.links.into_iter().collect(),
                is_partial: audience.is_partial,
            },
        );
    }

    fn finish(&mut self, sent: &mut Sent) {
        self.deliveries.retain(|_, delivery| {
            if delivery.left.is_empty() {
                let (call, is_told) = (delivery.call, !delivery.is_partial);
                sent.push((delivery.publisher, ToGateway::Published { call, is_told }));
            }
            !delivery.left.is_empty()
        });
    }
}
