//! What the supervisor knows of its children.
//!
//! It is not the state of an actor: processes go on when the actor that watches
//! them fails, so what is known of them has to go on too. The actor changes it,
//! [`Board`](crate::Board) and the prober read it.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use conduit_link::{Link, Role, Roll, Slot};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::children::{Member, ORDER, Roster};
use crate::plan::Options;
use crate::tree_phase::{Serving, Signs};

/// Every slot with what reaches its process.
#[derive(Debug)]
pub(crate) struct Table {
    /// The slots, and what they do.
    pub(crate) roster: Roster,
    /// What reaches the process of each slot, in the order of the roster.
    grips: Vec<Grip>,
    /// The gateways that were reaped last, the newest at the end.
    reaped: VecDeque<Uuid>,
    /// Whether we are asked to end.
    pub(crate) stopping: bool,
}

/// What reaches the process of a slot.
#[derive(Debug, Default)]
pub(crate) struct Grip {
    /// Kills it.
    pub(crate) kill: CancellationToken,
    /// Its control link, once it has said hello.
    pub(crate) link: Option<Link>,
    /// Whether it was sent a shard map.
    pub(crate) told: bool,
    /// Its last answer to a probe.
    pub(crate) answer: Option<ProbeAnswer>,
}

/// That a gateway answered a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeAnswer {
    /// When.
    pub(crate) at: Duration,
    /// How long it took.
    pub(crate) took: Duration,
}

/// A process that can be asked.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Its index in the roster.
    pub(crate) index: usize,
    /// Names the life of the process.
    pub(crate) life: Uuid,
    /// Its control link.
    pub(crate) link: Link,
}

impl Table {
    /// Makes a table of empty slots.
    pub(crate) fn new(slots: Vec<Slot>, options: &Options) -> Self {
        Self {
            grips: slots.iter().map(|_| Grip::default()).collect(),
            roster: Roster::new(slots, options),
            reaped: VecDeque::new(),
            stopping: false,
        }
    }

    /// Returns what reaches the process of the slot at an index.
    pub(crate) fn grip(&mut self, index: usize) -> Option<&mut Grip> {
        self.grips.get_mut(index)
    }

    /// Wants so many processes of a kind from now on.
    pub(crate) fn scale(&mut self, role: Role, count: u16, now: Duration) {
        self.roster.scale(role, count, now);
        let slots = self.roster.members().len();
        self.grips.resize_with(slots, Grip::default);
    }

    /// Returns every slot that is there and what reaches its process, kind after kind.
    pub(crate) fn shown(&self) -> Vec<(&Member, &Grip)> {
        let mut shown: Vec<_> = self.slots().collect();
        shown.retain(|(member, _)| !member.has_left());
        let kind = |role| ORDER.iter().position(|kind| *kind == role);
        shown.sort_by_key(|(member, _)| (kind(member.slot.role), member.slot.index));
        shown
    }

    /// Returns every slot, those that have left too, and what reaches its process.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (&Member, &Grip)> {
        self.roster.members().iter().zip(&self.grips)
    }

    /// Returns the serving processes that can be asked, of one kind or of all.
    pub(crate) fn targets(&self, role: Option<Role>) -> Vec<Target> {
        self.slots()
            .enumerate()
            .filter(|(_, (member, _))| {
                member.place.serving() && role.is_none_or(|role| member.slot.role == role)
            })
            .filter_map(|(index, (member, grip))| {
                Some(Target {
                    index,
                    life: member.place.occupant()?.life,
                    link: grip.link.clone()?,
                })
            })
            .collect()
    }

    /// Returns the lives of every process of a kind that was started and not reaped.
    pub(crate) fn lives(&self, role: Role) -> Vec<Uuid> {
        let members = self.roster.members().iter();
        members
            .filter(|member| member.slot.role == role)
            .filter_map(|member| Some(member.place.occupant()?.life))
            .collect()
    }

    /// Records that a gateway was reaped.
    pub(crate) fn bury(&mut self, life: Uuid) {
        if self.reaped.len() >= MOST_REAPED {
            self.reaped.pop_front();
        }
        self.reaped.push_back(life);
    }

    /// Returns the newest map, and whom a hub has to wait for.
    pub(crate) fn roll(&self) -> Roll {
        let gateways = self.slots();
        let told = gateways.filter(|(member, grip)| member.slot.role == Role::Gateway && grip.told);
        Roll {
            map: self.roster.map().clone(),
            told: told
                .filter_map(|(member, _)| Some(member.place.occupant()?.life))
                .collect(),
            reaped: self.reaped.iter().copied().collect(),
        }
    }

    /// Returns the links to the processes of a kind, ready or not.
    pub(crate) fn links(&self, role: Role) -> Vec<Link> {
        self.slots()
            .filter(|(member, _)| member.slot.role == role && member.place.occupant().is_some())
            .filter_map(|(_, grip)| grip.link.clone())
            .collect()
    }

    /// Returns whether some gateway serves.
    pub(crate) fn is_open(&self) -> bool {
        self.roster.serving(Role::Gateway)
    }

    /// Returns what the phase of the whole tree depends on.
    pub(crate) fn signs(&self) -> Signs {
        Signs {
            stopping: self.stopping,
            settled: self.roster.settled(),
            serving: if self.roster.whole() {
                Serving::All
            } else if self.is_open() {
                Serving::Some
            } else {
                Serving::None
            },
        }
    }

    /// Records that a process answered a probe, if it still fills its slot.
    pub(crate) fn answered(&mut self, index: usize, life: Uuid, answer: ProbeAnswer) {
        let current = self
            .roster
            .members()
            .get(index)
            .and_then(|member| member.place.occupant());
        if current.is_some_and(|occupant| occupant.life == life)
            && let Some(grip) = self.grips.get_mut(index)
        {
            grip.answer = Some(answer);
            if let Some(member) = self.roster.member(index) {
                member.join();
            }
        }
    }

    /// Kills every process there is, whatever the roster says.
    pub(crate) fn kill_all(&self) {
        for grip in &self.grips {
            grip.kill.cancel();
        }
    }
}

// === Behind the table ===

/// How many gateways that were reaped are remembered.
const MOST_REAPED: usize = 1024;
