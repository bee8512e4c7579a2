//! The supervisor of the model: who lives, who is told which map, and when.

use std::collections::BTreeSet;

use conduit_link::{Roll, ShardMap};
use uuid::Uuid;

/// A place in the tree; `P` is a process.
#[derive(Debug)]
pub(super) enum Place<P> {
    Empty,
    Running(P),
    /// Killed, but not reaped yet.
    Dead(Uuid),
}

impl<P> Place<P> {
    pub(super) const fn running(&self) -> Option<&P> {
        match self {
            Self::Running(process) => Some(process),
            Self::Empty | Self::Dead(_) => None,
        }
    }

    pub(super) const fn running_mut(&mut self) -> Option<&mut P> {
        match self {
            Self::Running(process) => Some(process),
            Self::Empty | Self::Dead(_) => None,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Supervisor {
    pub(super) map: ShardMap,
    /// Gateways that were sent a map and are not reaped.
    pub(super) told: BTreeSet<Uuid>,
    former: Option<Vec<u16>>,
    reaped: Vec<Uuid>,
    lives: u128,
}

impl Supervisor {
    pub(super) const fn new_life(&mut self) -> Uuid {
        self.lives += 1;
        Uuid::from_u128(self.lives)
    }

    /// Makes a new map: of these shards, or those of the map before the last one.
    pub(super) fn scale(&mut self, shards: Vec<u16>, is_back: bool) {
        let shards = match self.former.take() {
            Some(former) if is_back => former,
            Some(_) | None => shards,
        };
        let map = ShardMap {
            epoch: self.map.epoch + 1,
            shards,
        };
        let last = std::mem::replace(&mut self.map, map);
        self.former = Some(last.shards).filter(|shards| !shards.is_empty());
    }

    pub(super) fn reap(&mut self, life: Uuid) {
        self.told.remove(&life);
        self.reaped.push(life);
    }

    pub(super) fn roll(&self) -> Roll {
        Roll {
            map: self.map.clone(),
            told: self.told.iter().copied().collect(),
            reaped: self.reaped.clone(),
        }
    }
}
