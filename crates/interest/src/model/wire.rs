//! The links between gateways and hubs: what is said, and how it is lost.

use std::collections::VecDeque;
use std::sync::Arc;

use conduit_link::Topic;
use uuid::Uuid;

use super::random::Random;
use crate::{Outcome, Question, Tell};

/// What comes out of a link at one of its ends, in this order.
#[derive(Clone, Debug)]
pub(super) enum Item<M> {
    Up,
    Message(M),
    Down,
}

#[derive(Clone, Debug)]
pub(super) enum ToHub {
    Ask {
        call: u64,
        epoch: u64,
        question: Question,
    },
    Publish {
        call: u64,
        epoch: u64,
        topic: Arc<Topic>,
    },
    Told,
    Changed {
        delivery: u64,
    },
}

#[derive(Clone, Debug)]
pub(super) enum ToGateway {
    Asked { call: u64, outcome: Outcome },
    Published { call: u64, is_told: bool },
    Tell(Tell),
    Change { delivery: u64, topic: Arc<Topic> },
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) gateway: usize,
    pub(super) gateway_life: Uuid,
    pub(super) hub: u16,
    pub(super) hub_life: Uuid,
    pub(super) is_broken: bool,
    /// How often in a hundred times something comes out when it could: at the hub, and at
    /// the gateway.
    pub(super) haste: [usize; 2],
    pub(super) to_hub: VecDeque<Item<ToHub>>,
    pub(super) to_gateway: VecDeque<Item<ToGateway>>,
}

impl Link {
    /// Loses what is on its way, or the end of it.
    pub(super) fn tear(&mut self, random: &mut Random) {
        if self.is_broken {
            return;
        }
        self.is_broken = true;
        lose(&mut self.to_hub, random);
        lose(&mut self.to_gateway, random);
    }
}

fn lose<M>(queue: &mut VecDeque<Item<M>>, random: &mut Random) {
    let is_new = matches!(queue.front(), Some(Item::Up));
    let left = random.below(queue.len() + 1).max(usize::from(is_new));
    queue.truncate(left);
    queue.push_back(Item::Down);
}
