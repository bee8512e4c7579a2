//! What has to hold: at each moment, when a publish is done, and when all is at rest.

use std::rc::Rc;

use conduit_link::{Topic, owner_of};
use uuid::Uuid;

use super::gateway;
use super::supervisor::Place;
use super::world::{GATEWAYS, World, fail};

impl World {
    /// When a publish is done, each stream that may count on it has been told.
    pub(super) fn check(&mut self, at: usize) {
        let Some(publisher) = self.gateways[at].running_mut() else {
            return;
        };
        for publish in std::mem::take(&mut publisher.done) {
            let topic = &publish.topic;
            let gateways = self.gateways.iter().enumerate();
            let gateways = gateways.filter_map(|(at, place)| Some((at, place.running()?)));
            for (listener, gateway) in gateways {
                let missed = gateway.streams.iter().find(|stream| {
                    let counts_on_it = stream
                        .acknowledged
                        .is_some_and(|acknowledged| acknowledged < publish.began)
                        && stream.topics.contains(topic);
                    let told = stream.told.get(topic);
                    counts_on_it && told.is_none_or(|&told| told < publish.began)
                });
                if let Some(stream) = missed {
                    fail(format!(
                        "gateway {at} has published, gateway {listener} was not told: \
                         {publish:?} {stream:?}"
                    ));
                }
            }
        }
    }

    /// Looks what would become of any publish that began now, and arrived at once.
    pub(super) fn probe(&mut self) {
        for (number, topic) in Rc::clone(&self.topics).iter().enumerate() {
            let listeners = self.listeners(topic);
            if listeners.is_empty() {
                continue;
            }
            for at in 0..GATEWAYS {
                let Some(publisher) = self.gateways[at].running() else {
                    continue;
                };
                if publisher.ledger.is_unheard(topic) {
                    fail(format!(
                        "gateway {at} believes {number} unheard: {listeners:?}"
                    ));
                }
                let Some((hub, epoch)) = publisher.ledger.route(topic) else {
                    continue;
                };
                let link = publisher.up.get(&hub).and_then(|id| self.links.get(id));
                let is_clear = link.is_some_and(|link| !link.is_broken && link.to_hub.is_empty());
                let hub = self.hubs[usize::from(hub)].running_mut();
                let Some(hub) = hub.filter(|hub| is_clear && epoch <= hub.shard.epoch()) else {
                    continue;
                };
                let Ok(audience) = hub.shard.audience(epoch, topic) else {
                    continue;
                };
                let links = || audience.links.iter().filter_map(|id| self.links.get(id));
                let missed = listeners
                    .iter()
                    .find(|listener| links().all(|link| link.gateway_life != **listener));
                if missed.is_some() && !audience.is_partial {
                    fail(format!(
                        "gateway {at} misses {missed:?} for {number}: {audience:?}"
                    ));
                }
            }
        }
    }

    /// Returns the lives of the gateways that have answered for a stream of a topic.
    pub(super) fn listeners(&self, topic: &Topic) -> Vec<Uuid> {
        let gateways = self.gateways.iter().filter_map(Place::running);
        let listening = gateways.filter(|gateway| {
            let mut streams = gateway.streams.iter();
            streams.any(|stream| {
                stream.acknowledged.is_some() && stream.topics.iter().any(|it| **it == *topic)
            })
        });
        listening.map(|gateway| gateway.life).collect()
    }
}

/// What has to hold when nothing happens any more.
pub(super) fn rest(world: &World) {
    let gateways = || world.gateways.iter().filter_map(Place::running);
    let mut registrations = vec![0; world.hubs.len()];
    let mut topics = vec![0; world.hubs.len()];
    for topic in World::topics() {
        let listens = |stream: &gateway::Stream| stream.topics.iter().any(|it| **it == topic);
        let holders = gateways().filter(|gateway| gateway.streams.iter().any(listens));
        let holders = holders.count();
        let owner = owner_of(&world.supervisor.map, topic.fingerprint()).expect("a shard");
        registrations[usize::from(owner)] += holders;
        topics[usize::from(owner)] += usize::from(holders > 0);
        for gateway in gateways() {
            let is_unheard = gateway.ledger.is_unheard(&topic);
            if is_unheard != (holders == 0) {
                fail(format!("{topic:?} has {holders} holders, {is_unheard}"));
            }
        }
    }
    for (index, hub) in world.hubs.iter().enumerate() {
        let Some(hub) = hub.running() else { continue };
        if !hub.shard.is_open() {
            fail(format!("hub {index} is not open"));
        }
        let has = (hub.shard.registrations(), hub.shard.topics());
        if has != (registrations[index], topics[index]) {
            fail(format!("hub {index} holds {has:?}: {:?}", hub.shard));
        }
    }
    for stream in gateways().flat_map(|gateway| &gateway.streams) {
        if stream.acknowledged.is_none() {
            fail(format!("never acknowledged: {stream:?}"));
        }
    }
}
