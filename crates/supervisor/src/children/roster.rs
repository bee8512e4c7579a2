//! All slots together: who starts when, and which hubs there are. Pure, like
//! [`place`](super::place).

#[cfg(test)]
mod tests;

use std::time::Duration;

use conduit_lifecycle::Phase;
use conduit_link::{Role, ShardMap, Slot};

use super::effect::Effect;
use super::place::Place;
use crate::Options;

/// Every slot of the tree, in the order of their start.
#[derive(Debug)]
pub(crate) struct Roster {
    members: Vec<Member>,
    map: ShardMap,
    /// Whether kinds may start.
    begun: bool,
}

/// A slot and its life.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its name.
    pub(crate) slot: Slot,
    /// Its life.
    pub(crate) place: Place,
}

/// The kinds, in the order of their start; they stop in the reverse order.
pub(crate) const ORDER: [Role; 3] = [Role::Store, Role::Hub, Role::Gateway];

impl Roster {
    /// Makes a roster of empty slots; the first map names every hub.
    pub(crate) fn new(slots: Vec<Slot>, options: &Options) -> Self {
        let members: Vec<_> = slots
            .into_iter()
            .map(|slot| Member {
                slot,
                place: Place::new(options),
            })
            .collect();
        let map = ShardMap {
            epoch: 1,
            shards: shards(&members),
        };
        Self {
            members,
            map,
            begun: false,
        }
    }

    /// Lets [`Roster::advance`] start the slots, kind after kind.
    pub(crate) fn begin(&mut self) {
        self.begun = true;
    }

    /// Lets no further kind start; slots that were begun are still filled again.
    pub(crate) fn hold(&mut self) {
        self.begun = false;
    }

    /// Does what the time has come for, and returns what has to be done where.
    pub(crate) fn advance(&mut self, now: Duration) -> Vec<(usize, Effect)> {
        if self.begun {
            for role in ORDER {
                for place in of_mut(&mut self.members, role) {
                    place.begin(now);
                }
                if !self.of(role).all(Place::tried) {
                    break;
                }
            }
        }
        let mut effects = Vec::new();
        for (index, member) in self.members.iter_mut().enumerate() {
            effects.extend(
                member
                    .place
                    .due(now)
                    .into_iter()
                    .map(|effect| (index, effect)),
            );
        }
        effects
    }

    /// Returns the new shard map, if the hubs that can be counted on have changed.
    pub(crate) fn remap(&mut self) -> Option<&ShardMap> {
        let shards = shards(&self.members);
        if shards == self.map.shards {
            return None;
        }
        self.map = ShardMap {
            epoch: self.map.epoch + 1,
            shards,
        };
        Some(&self.map)
    }

    /// Returns when [`Roster::advance`] has something to do next.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.members
            .iter()
            .filter_map(|member| member.place.next_due())
            .min()
    }

    /// Returns whether some process of a kind serves.
    pub(crate) fn serving(&self, role: Role) -> bool {
        self.of(role).any(Place::serving)
    }

    /// Returns whether every slot serves.
    pub(crate) fn whole(&self) -> bool {
        self.members.iter().all(|member| member.place.serving())
    }

    /// Returns whether every slot was ready once, or was parked.
    pub(crate) fn settled(&self) -> bool {
        self.members.iter().all(|member| member.place.settled())
    }

    /// Returns whether no process of a kind is left, and none will come.
    pub(crate) fn gone(&self, role: Role) -> bool {
        self.of(role).all(|place| place.phase() == Phase::Gone)
    }

    /// Returns the shard map as it is.
    pub(crate) const fn map(&self) -> &ShardMap {
        &self.map
    }

    /// Returns every slot.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the place in [`Roster::members`] of a slot.
    pub(crate) fn index_of(&self, slot: &Slot) -> Option<usize> {
        self.members.iter().position(|member| member.slot == *slot)
    }

    /// Returns the slot at an index.
    pub(crate) fn member(&mut self, index: usize) -> Option<&mut Member> {
        self.members.get_mut(index)
    }

    fn of(&self, role: Role) -> impl Iterator<Item = &Place> {
        self.members
            .iter()
            .filter(move |member| member.slot.role == role)
            .map(|member| &member.place)
    }
}

// === Behind the roster ===

fn of_mut(members: &mut [Member], role: Role) -> impl Iterator<Item = &mut Place> {
    members
        .iter_mut()
        .filter(move |member| member.slot.role == role)
        .map(|member| &mut member.place)
}

fn shards(members: &[Member]) -> Vec<u16> {
    members
        .iter()
        .filter(|member| member.slot.role == Role::Hub && member.place.counted_on())
        .map(|member| member.slot.index)
        .collect()
}
