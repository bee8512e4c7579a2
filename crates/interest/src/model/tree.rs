//! What the supervisor does, and what is done to its processes.

use super::gateway::Gateway;
use super::hub::Hub;
use super::supervisor::Place;
use super::wire::Link;
use super::world::{GATEWAYS, HUBS, PROCESSES, World, awake_gateway, awake_hub, slot};

impl World {
    /// Reaps, starts, or links a process.
    pub(super) fn supervise(&mut self) {
        let at = self.random.below(PROCESSES);
        self.supervise_one(at);
    }

    pub(super) fn supervise_one(&mut self, at: usize) {
        if let Some(index) = at.checked_sub(GATEWAYS) {
            self.supervise_hub(index);
        } else {
            self.supervise_gateway(at);
        }
    }

    pub(super) fn supervise_gateway(&mut self, index: usize) {
        let supervisor = &mut self.supervisor;
        match &mut self.gateways[index] {
            place @ Place::Empty => {
                let haste = [100, 30, 5][self.random.below(3)];
                *place = Place::Running(Gateway::new(supervisor.new_life(), haste));
            }
            Place::Running(gateway) if !gateway.is_linked => {
                gateway.is_linked = true;
                supervisor.told.insert(gateway.life);
                gateway.maps.push_back(supervisor.map.clone());
            }
            Place::Running(_) => {}
            Place::Dead(life) => {
                supervisor.reap(*life);
                self.gateways[index] = Place::Empty;
                self.log(|| format!("gateway {index} is reaped"));
                self.send_rolls();
            }
        }
    }

    pub(super) fn supervise_hub(&mut self, index: usize) {
        let supervisor = &mut self.supervisor;
        let is_owner = supervisor.map.shards.contains(&slot(index));
        match &mut self.hubs[index] {
            place @ Place::Empty if is_owner => {
                let life = supervisor.new_life();
                *place = Place::Running(Hub::new(life, self.faults.room));
            }
            Place::Running(hub) if !hub.is_linked => {
                hub.is_linked = true;
                hub.rolls.push_back(supervisor.roll());
            }
            // It has left the map.
            Place::Running(_) if !is_owner => self.kill_hub(index),
            Place::Running(_) | Place::Empty => {}
            Place::Dead(_) => {
                self.hubs[index] = Place::Empty;
                self.log(|| format!("hub {index} is reaped"));
            }
        }
    }

    pub(super) fn scale(&mut self) {
        let chosen = 1 + self.random.below((1 << HUBS) - 1);
        let shards = (0..HUBS).filter(|index| chosen & (1 << index) > 0);
        let shards = shards.map(slot).collect();
        let is_back = self.random.chance(50);
        self.supervisor.scale(shards, is_back);
        let map = self.supervisor.map.clone();
        self.log(|| format!("{map:?}"));
        for gateway in self.gateways.iter_mut().filter_map(Place::running_mut) {
            if gateway.is_linked {
                gateway.maps.push_back(map.clone());
            }
        }
        self.send_rolls();
    }

    pub(super) fn send_rolls(&mut self) {
        let roll = self.supervisor.roll();
        for hub in self.hubs.iter_mut().filter_map(Place::running_mut) {
            if hub.is_linked {
                hub.rolls.push_back(roll.clone());
            }
        }
    }

    pub(super) fn kill(&mut self) {
        let at = self.random.below(PROCESSES);
        if let Some(index) = at.checked_sub(GATEWAYS) {
            self.kill_hub(index);
        } else if let Some(gateway) = self.gateways[at].running() {
            self.gateways[at] = Place::Dead(gateway.life);
            self.log(|| format!("gateway {at} is killed"));
            for link in self.links.values_mut().filter(|link| link.gateway == at) {
                link.tear(&mut self.random);
            }
        }
    }

    pub(super) fn kill_hub(&mut self, index: usize) {
        if let Some(hub) = self.hubs[index].running() {
            self.hubs[index] = Place::Dead(hub.life);
            self.log(|| format!("hub {index} is killed"));
            let to_it = |link: &&mut Link| link.hub == slot(index);
            for link in self.links.values_mut().filter(to_it) {
                link.tear(&mut self.random);
            }
        }
    }

    /// A process is not scheduled for a while.
    pub(super) fn hang(&mut self) {
        let at = self.random.below(PROCESSES);
        if let Some(index) = at.checked_sub(GATEWAYS) {
            if let Some(hub) = self.hubs[index].running_mut() {
                hub.is_asleep = !hub.is_asleep;
            }
        } else if let Some(gateway) = self.gateways[at].running_mut() {
            gateway.is_asleep = !gateway.is_asleep;
        }
    }

    /// A process hears of a map.
    pub(super) fn move_control(&mut self) {
        let at = self.random.below(PROCESSES);
        self.move_control_of(at);
    }

    pub(super) fn move_control_of(&mut self, at: usize) {
        let is_last = self.random.chance(20);
        if let Some(index) = at.checked_sub(GATEWAYS) {
            let Some(hub) = awake_hub(&mut self.hubs, index) else {
                return;
            };
            // Only the last roll counts for who comes late.
            let last = hub.rolls.len().saturating_sub(1);
            hub.rolls.drain(..if is_last { last } else { 0 });
            if let Some(roll) = hub.rolls.pop_front() {
                hub.roll(roll.clone());
                self.log(|| format!("hub {index}: {roll:?}"));
            }
            return;
        }
        let Some(gateway) = awake_gateway(&mut self.gateways, at) else {
            return;
        };
        if !self.is_calm && !self.random.chance(gateway.haste) {
            return;
        }
        if let Some(map) = gateway.maps.pop_front() {
            gateway.take_map(map.clone());
            gateway.acknowledge(self.now);
            let links = self.links.values_mut().filter(|link| link.gateway == at);
            for link in links.filter(|link| !map.shards.contains(&link.hub)) {
                link.tear(&mut self.random);
            }
            self.log(|| format!("gateway {at} takes map {}", map.epoch));
        }
    }
}
