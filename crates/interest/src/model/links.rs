//! How links come up, move and break.

use conduit_link::Slot;

use super::wire::{Item, Link};
use super::world::{GATEWAYS, HUBS, World, awake_gateway, awake_hub, slot};
use super::{gateway, hub};

impl World {
    pub(super) fn connect(&mut self) {
        let pair = self.random.below(GATEWAYS * HUBS);
        self.connect_pair(pair);
    }

    pub(super) fn connect_pair(&mut self, pair: usize) {
        let (at, index) = (pair / HUBS, pair % HUBS);
        let links = &self.links;
        let (Some(gateway), Some(hub)) = (
            awake_gateway(&mut self.gateways, at),
            awake_hub(&mut self.hubs, index),
        ) else {
            return;
        };
        let is_there = links
            .values()
            .any(|link| link.gateway == at && link.hub == slot(index) && !link.is_broken);
        if is_there || !gateway.map.shards.contains(&slot(index)) {
            return;
        }
        self.last_link += 1;
        let mut haste = || [100, 100, 50, 5][self.random.below(4)];
        let link = Link {
            gateway: at,
            gateway_life: gateway.life,
            hub: slot(index),
            hub_life: hub.life,
            is_broken: false,
            haste: [haste(), haste()],
            to_hub: [Item::Up].into(),
            to_gateway: [Item::Up].into(),
        };
        let id = self.last_link;
        self.links.insert(id, link);
        self.log(|| format!("link {id}: gateway {at} to hub {index}"));
    }

    pub(super) fn tear(&mut self) {
        let ids: Vec<u64> = self.links.keys().copied().collect();
        if let Some(id) = self.random.pick(&ids)
            && let Some(link) = self.links.get_mut(&id)
        {
            link.tear(&mut self.random);
            self.log(|| format!("link {id} breaks"));
        }
    }

    /// Something comes out of a link, at one of its ends.
    pub(super) fn move_link(&mut self) {
        self.links.retain(|_, link| {
            let gateway = self.gateways[link.gateway].running();
            if gateway.is_none_or(|gateway| gateway.life != link.gateway_life) {
                link.to_gateway.clear();
            }
            let hub = self.hubs[usize::from(link.hub)].running();
            if hub.is_none_or(|hub| hub.life != link.hub_life) {
                link.to_hub.clear();
            }
            !link.to_gateway.is_empty() || !link.to_hub.is_empty() || !link.is_broken
        });
        let mut ends = Vec::new();
        for (&id, link) in &self.links {
            if !link.to_hub.is_empty() {
                ends.push((id, true, link.haste[0]));
            }
            if !link.to_gateway.is_empty() {
                ends.push((id, false, link.haste[1]));
            }
        }
        let Some((id, is_hub, haste)) = self.random.pick(&ends) else {
            return;
        };
        if !self.is_calm && !self.random.chance(haste) {
            return;
        }
        if is_hub {
            self.move_to_hub(id);
        } else {
            self.move_to_gateway(id);
        }
    }

    pub(super) fn move_to_hub(&mut self, id: u64) {
        let Some(link) = self.links.get(&id) else {
            return;
        };
        let (at, index, life) = (link.gateway, usize::from(link.hub), link.gateway_life);
        // A hub lets the links of a gateway in one after the other.
        let is_next = |(other, earlier): (&u64, &Link)| {
            let is_same = earlier.gateway_life == life && earlier.hub_life == link.hub_life;
            !is_same || *other >= id || !matches!(earlier.to_hub.front(), Some(Item::Up))
        };
        if !self.links.iter().all(is_next) {
            return;
        }
        let Some(hub) = awake_hub(&mut self.hubs, index) else {
            return;
        };
        let Some(item) = self
            .links
            .get_mut(&id)
            .and_then(|link| link.to_hub.pop_front())
        else {
            return;
        };
        let story = item.clone();
        let mut is_refused = false;
        let mut sent = match item {
            Item::Up => {
                let gateway = u16::try_from(at).expect("small");
                is_refused = !hub.up(id, Slot::gateway(gateway), life);
                hub::Sent::new()
            }
            Item::Message(message) => hub.take(id, message),
            Item::Down => hub.down(id),
        };
        if self.random.chance(90) {
            sent.extend(hub.follow_up());
        }
        self.log(|| format!("hub {index} from {id}: {story:?}"));
        if is_refused && let Some(link) = self.links.get_mut(&id) {
            link.tear(&mut self.random);
        }
        self.send_to_gateways(sent);
    }

    pub(super) fn move_to_gateway(&mut self, id: u64) {
        let Some(link) = self.links.get(&id) else {
            return;
        };
        let (at, hub) = (link.gateway, link.hub);
        // The end of one link comes before the next.
        let is_next = |(other, earlier): (&u64, &Link)| {
            let is_same = earlier.gateway_life == link.gateway_life && earlier.hub == hub;
            !is_same || *other >= id || earlier.to_gateway.is_empty()
        };
        if !self.links.iter().all(is_next) {
            return;
        }
        let now = self.now;
        let Some(gateway) = awake_gateway(&mut self.gateways, at) else {
            return;
        };
        let Some(item) = self
            .links
            .get_mut(&id)
            .and_then(|link| link.to_gateway.pop_front())
        else {
            return;
        };
        let story = item.clone();
        let mut sent = gateway::Sent::new();
        match item {
            Item::Up => gateway.up(hub, id),
            Item::Message(message) => sent = gateway.take(now, hub, id, message),
            Item::Down => gateway.down(hub, id, self.random.chance(50)),
        }
        gateway.acknowledge(now);
        if self.random.chance(90) {
            sent.extend(gateway.ask());
        }
        self.log(|| format!("gateway {at} from {id}: {story:?}"));
        self.send_to_hubs(sent);
        self.check(at);
    }

    pub(super) fn send_to_gateways(&mut self, sent: hub::Sent) {
        for (id, message) in sent {
            if let Some(link) = self.links.get_mut(&id).filter(|link| !link.is_broken) {
                link.to_gateway.push_back(Item::Message(message));
            }
        }
    }

    pub(super) fn send_to_hubs(&mut self, sent: gateway::Sent) {
        for (id, message) in sent {
            if let Some(link) = self.links.get_mut(&id).filter(|link| !link.is_broken) {
                link.to_hub.push_back(Item::Message(message));
            }
        }
    }
}
