//! What the supervisor knows of its children.
//!
//! It is not the state of an actor: processes go on when the actor that watches
//! them fails, so what is known of them has to go on too. The actor changes it,
//! [`Board`](crate::Board) and the prober read it.

use std::time::Duration;

use conduit_link::{Link, Role};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::children::{Member, Roster};
use crate::plan::Plan;
use crate::tree_phase::{Serving, Signs};

/// Every slot with what reaches its process.
#[derive(Debug)]
pub(crate) struct Table {
    /// The slots, and what they do.
    pub(crate) roster: Roster,
    /// What reaches the process of each slot, in the order of the roster.
    grips: Vec<Grip>,
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
    pub(crate) fn new(plan: &Plan) -> Self {
        let slots = plan.slots();
        Self {
            grips: slots.iter().map(|_| Grip::default()).collect(),
            roster: Roster::new(slots, &plan.options),
            stopping: false,
        }
    }

    /// Returns what reaches the process of the slot at an index.
    pub(crate) fn grip(&mut self, index: usize) -> Option<&mut Grip> {
        self.grips.get_mut(index)
    }

    /// Returns every slot and what reaches its process.
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
        }
    }

    /// Kills every process there is, whatever the roster says.
    pub(crate) fn kill_all(&self) {
        for grip in &self.grips {
            grip.kill.cancel();
        }
    }
}
