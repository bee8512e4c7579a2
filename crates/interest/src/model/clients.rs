//! What happens inside the processes, and what clients and publishers do.

use super::gateway;
use super::world::{GATEWAYS, HUBS, TOPICS, World, awake_gateway, awake_hub, slot, topic};
use crate::Outcome;

impl World {
    pub(super) fn follow_up(&mut self) {
        for index in 0..HUBS {
            if let Some(hub) = awake_hub(&mut self.hubs, index) {
                let sent = hub.follow_up();
                self.send_to_gateways(sent);
            }
        }
    }

    pub(super) fn ask(&mut self) {
        for at in 0..GATEWAYS {
            if let Some(gateway) = awake_gateway(&mut self.gateways, at) {
                let sent = gateway.ask();
                self.send_to_hubs(sent);
            }
        }
    }

    pub(super) fn hear_late(&mut self) {
        let at = self.random.below(GATEWAYS);
        self.hear_late_at(at);
    }

    pub(super) fn hear_late_at(&mut self, at: usize) {
        if let Some(gateway) = awake_gateway(&mut self.gateways, at)
            && let Some((hub, ask)) = gateway.orphans.pop_front()
        {
            gateway.ledger.answered(hub, ask, Outcome::Failed);
        }
    }

    /// Somebody does not wait for an answer any longer.
    pub(super) fn time_out(&mut self) {
        let at = self.random.below(GATEWAYS);
        let hub = slot(self.random.below(HUBS));
        let Some(gateway) = awake_gateway(&mut self.gateways, at) else {
            return;
        };
        if gateway.publishes.is_empty() || self.random.chance(50) {
            gateway.answered(hub, Outcome::Failed);
        } else {
            gateway.give_up(self.random.below(gateway.publishes.len()));
        }
        self.log(|| format!("gateway {at} waits no longer"));
    }

    pub(super) fn open(&mut self) {
        let at = self.random.below(GATEWAYS);
        // Few topics at a time, so that many streams are the first or the last of one.
        let mut topics = vec![topic(self.random.below(TOPICS))];
        if self.random.chance(30) {
            let other = topic(self.random.below(TOPICS));
            topics.extend((topics[0] != other).then_some(other));
        }
        let now = self.now;
        let Some(gateway) = awake_gateway(&mut self.gateways, at) else {
            return;
        };
        if gateway.streams.len() > 1 {
            return;
        }
        let story = topics.clone();
        gateway.open(topics);
        gateway.acknowledge(now);
        self.log(|| format!("gateway {at} opens {story:?}"));
    }

    pub(super) fn close(&mut self) {
        let at = self.random.below(GATEWAYS);
        if let Some(gateway) = awake_gateway(&mut self.gateways, at)
            && !gateway.streams.is_empty()
        {
            let stream = self.random.below(gateway.streams.len());
            let topics = gateway.streams[stream].topics.clone();
            gateway.close(stream);
            self.log(|| format!("gateway {at} closes {topics:?}"));
        }
    }

    pub(super) fn publish(&mut self) {
        let at = self.random.below(GATEWAYS);
        let number = self.random.below(TOPICS);
        let now = self.now;
        if let Some(gateway) = awake_gateway(&mut self.gateways, at)
            && gateway.publishes.len() < 4
        {
            let sent = gateway.publish(now, topic(number));
            self.log(|| format!("gateway {at} publishes {number} at {now}"));
            self.send_to_hubs(sent);
            self.check(at);
        }
    }

    pub(super) fn attempt(&mut self) {
        let at = self.random.below(GATEWAYS);
        let Some(gateway) = awake_gateway(&mut self.gateways, at) else {
            return;
        };
        if !gateway.publishes.is_empty() {
            let sent = gateway.attempt(self.random.below(gateway.publishes.len()));
            self.send_to_hubs(sent);
            self.check(at);
        }
    }

    pub(super) fn attempt_all(&mut self) {
        for at in 0..GATEWAYS {
            let Some(gateway) = awake_gateway(&mut self.gateways, at) else {
                continue;
            };
            let mut sent = gateway::Sent::new();
            for publish in (0..gateway.publishes.len()).rev() {
                sent.extend(gateway.attempt(publish));
            }
            self.send_to_hubs(sent);
            self.check(at);
        }
    }
}
