//! All slots together: who starts when, how many there are to be, and which hubs the
//! others know. Pure, like [`place`](super::place).

#[cfg(test)]
mod tests;

use std::time::Duration;

use conduit_lifecycle::Phase;
use conduit_link::{Role, ShardMap, Slot};

use super::effect::Effect;
use super::place::Place;
use crate::Options;

/// Every slot of the tree. An index into it means the same slot for ever: slots are
/// added at the end, and one that has left is kept for the day that it is wanted again.
#[derive(Debug)]
pub(crate) struct Roster {
    members: Vec<Member>,
    options: Options,
    map: ShardMap,
    course: Course,
}

/// A slot and its life.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its name.
    pub(crate) slot: Slot,
    /// Its life.
    pub(crate) place: Place,
    want: Want,
    /// Whether it was added to a tree that runs, and has not done its part yet.
    fresh: bool,
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
                want: Want::Filled,
                fresh: false,
            })
            .collect();
        let map = ShardMap {
            epoch: 1,
            shards: shards(&members),
        };
        Self {
            members,
            options: *options,
            map,
            course: Course::New,
        }
    }

    /// Lets [`Roster::advance`] start the slots, kind after kind, unless the end has begun.
    pub(crate) fn begin(&mut self) {
        if self.course == Course::New {
            self.course = Course::Begun;
        }
    }

    /// Lets no further kind start, and no more or fewer slots be wanted, for good. Slots
    /// that were begun are still filled again.
    pub(crate) fn end(&mut self) {
        self.course = Course::Ending;
    }

    /// Wants so many slots of a kind from now on, whatever was wanted before. At the end
    /// that changes nothing: who waits until a kind is gone must not wait for new slots.
    ///
    /// The lowest indices stay. [`Roster::advance`] starts what is missing and drains what
    /// is too much: a hub that owns topics only after [`Options::handover`], while
    /// [`Roster::remap`] leaves it out at once.
    pub(crate) fn scale(&mut self, role: Role, count: u16, now: Duration) {
        if self.course == Course::Ending {
            return;
        }
        for member in of_mut(&mut self.members, role) {
            let owns = role == Role::Hub && self.map.shards.contains(&member.slot.index);
            let handover = if owns {
                self.options.handover
            } else {
                Duration::ZERO
            };
            member.want = match member.want {
                Want::Filled | Want::Leaving { .. } if member.slot.index < count => Want::Filled,
                Want::Filled => Want::Leaving { at: now + handover },
                // It drains, and is filled again after that.
                Want::Left if member.slot.index < count => {
                    member.fresh = true;
                    Want::Filled
                }
                // It drains because it was not wanted before it was wanted again.
                Want::Leaving { .. } | Want::Left => member.want,
            };
        }
        let known = self
            .members
            .iter()
            .filter(|member| member.slot.role == role);
        let known = u16::try_from(known.count()).unwrap_or(u16::MAX);
        for index in known..count {
            self.members.push(Member {
                slot: Slot { role, index },
                place: Place::added(&self.options),
                want: Want::Filled,
                fresh: true,
            });
        }
    }

    /// Does what the time has come for, and returns what has to be done where.
    pub(crate) fn advance(&mut self, now: Duration) -> Vec<(usize, Effect)> {
        if self.course == Course::Begun {
            self.begin_wanted(now);
        }
        let mut effects = Vec::new();
        for (index, member) in self.members.iter_mut().enumerate() {
            let mut todo = member.leave(now, &self.options);
            todo.extend(member.place.due(now));
            effects.extend(todo.into_iter().map(|effect| (index, effect)));
            if member.shows_what_it_is() {
                member.fresh = false;
            }
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
            .flat_map(|member| [member.place.next_due(), member.leaves_at()])
            .flatten()
            .min()
    }

    /// Returns how many slots of a kind there are to be.
    pub(crate) fn wanted(&self, role: Role) -> u16 {
        let wanted = self.of(role).filter(|member| member.want == Want::Filled);
        u16::try_from(wanted.count()).unwrap_or(u16::MAX)
    }

    /// Returns whether some process of a kind serves.
    pub(crate) fn serving(&self, role: Role) -> bool {
        self.of(role).any(|member| member.place.serving())
    }

    /// Returns whether every slot that counts serves.
    pub(crate) fn whole(&self) -> bool {
        self.counting().all(|member| member.place.serving())
    }

    /// Returns whether every slot that counts was ready once, or was parked.
    pub(crate) fn settled(&self) -> bool {
        self.counting().all(|member| member.place.settled())
    }

    /// Returns whether no process of a kind is left, and none will come.
    pub(crate) fn gone(&self, role: Role) -> bool {
        self.of(role)
            .all(|member| member.place.phase() == Phase::Gone)
    }

    /// Returns the shard map as it is.
    pub(crate) const fn map(&self) -> &ShardMap {
        &self.map
    }

    /// Returns every slot, those that have left too.
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
}

impl Member {
    /// Returns whether the tree is incomplete without it: it is wanted, and has been a
    /// part of it, or should have been from the start.
    pub(crate) fn counts(&self) -> bool {
        self.want == Want::Filled && !self.fresh
    }

    /// Returns whether it was scaled away and its last process is reaped.
    pub(crate) fn has_left(&self) -> bool {
        self.want == Want::Left && self.place.phase() == Phase::Gone
    }

    /// Lets the tree count on a gateway from now on: its pipeline has answered.
    pub(crate) fn join(&mut self) {
        if self.slot.role == Role::Gateway {
            self.fresh = false;
        }
    }
}

// === Behind the roster ===

/// How far the tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// Nothing may start yet.
    New,
    /// Kinds may start.
    Begun,
    /// Slots empty, and none is added.
    Ending,
}

/// What the tree wants of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// A process in it.
    Filled,
    /// Nothing, and its process is asked to drain then.
    Leaving { at: Duration },
    /// Nothing, and its process was asked to drain.
    Left,
}

impl Roster {
    /// Begins the slots that are wanted and empty, as far as the order of kinds allows.
    fn begin_wanted(&mut self, now: Duration) {
        for role in ORDER {
            let wanted = of_mut(&mut self.members, role);
            for member in wanted.filter(|member| member.want == Want::Filled) {
                if member.place.phase() == Phase::Gone {
                    member.place = Place::added(&self.options);
                }
                member.place.begin(now);
            }
            let mut wanted = self.of(role).filter(|member| member.want == Want::Filled);
            if !wanted.all(|member| member.place.tried()) {
                break;
            }
        }
    }

    fn of(&self, role: Role) -> impl Iterator<Item = &Member> {
        self.members
            .iter()
            .filter(move |member| member.slot.role == role)
    }

    fn counting(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.counts())
    }
}

impl Member {
    /// Drains it if the time for that has come. An empty slot has nothing to hand over.
    fn leave(&mut self, now: Duration, options: &Options) -> Vec<Effect> {
        let due = |at| at <= now || self.place.occupant().is_none();
        if !self.leaves_at().is_some_and(due) {
            return Vec::new();
        }
        self.want = Want::Left;
        self.place.retire(now, options.grace(self.slot.role))
    }

    const fn leaves_at(&self) -> Option<Duration> {
        match self.want {
            Want::Leaving { at } => Some(at),
            Want::Filled | Want::Left => None,
        }
    }

    /// Returns whether a fresh slot has shown what is to be expected of it: a hub serves,
    /// or anything is parked. A gateway shows it by its first answer to a probe.
    fn shows_what_it_is(&self) -> bool {
        match self.place.phase() {
            Phase::Parked => true,
            Phase::Serving => self.slot.role != Role::Gateway,
            Phase::Starting | Phase::Draining | Phase::Waiting | Phase::Gone => false,
        }
    }
}

fn of_mut(members: &mut [Member], role: Role) -> impl Iterator<Item = &mut Member> {
    members
        .iter_mut()
        .filter(move |member| member.slot.role == role)
}

fn shards(members: &[Member]) -> Vec<u16> {
    members
        .iter()
        .filter(|member| member.slot.role == Role::Hub && member.want == Want::Filled)
        .filter(|member| member.place.counted_on())
        .map(|member| member.slot.index)
        .collect()
}
