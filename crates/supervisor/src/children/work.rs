//! What the actor does about a message, under the lock of the table.
//!
//! The decisions are in [`place`](super::place) and [`roster`](super::roster).

use std::sync::Arc;
use std::time::Duration;

use conduit_actor::Reply;
use conduit_errors::chain;
use conduit_link::{
    DownReason, Hello, Lane, Link, Message as Body, Role, Roll, SendError, ShardMap, Slot, ToChild,
    ToSupervisor,
};
use conduit_telemetry::Event;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};
use uuid::Uuid;

use super::Message;
use super::effect::{Effect, Exit, News};
use super::keeper::{Kept, keep};
use super::place::Place;
use super::report::report;
use super::roster::ORDER;
use crate::house::House;
use crate::table::{Grip, Table};
use crate::{operations, prober};

/// One message's work.
pub(super) struct Work<'a> {
    house: &'a Arc<House>,
    table: &'a mut Table,
    now: Duration,
}

impl<'a> Work<'a> {
    /// Begins the work of a message that came now.
    pub(super) fn new(house: &'a Arc<House>, table: &'a mut Table) -> Self {
        let now = house.now();
        Self { house, table, now }
    }

    /// Takes a message in; returns who waits for that.
    pub(super) fn take(&mut self, message: Message) -> Option<Reply<()>> {
        match message {
            Message::Begin { reply } => {
                self.table.roster.begin();
                return Some(reply);
            }
            Message::Linked { link, hello } => self.linked(&link, &hello),
            Message::Unlinked { link, reason } => self.unlinked(&link, reason),
            Message::Heard { link, incoming } => self.heard(&link, &incoming.message),
            Message::Exited {
                index,
                life,
                exit,
                reply,
            } => {
                self.exited(index, life, exit);
                return Some(reply);
            }
            Message::Scale { role, count, reply } => {
                self.table.scale(role, count, self.now);
                return Some(reply);
            }
            Message::Asked {
                operation,
                answerer,
            } => operations::begin(self.house, operation, answerer),
            Message::Tick { reply } => {
                if let Err(error) = self.house.launcher.restore_run_dir() {
                    debug!(%error, "the next child will not start");
                }
                return Some(reply);
            }
            Message::Drain { role, grace, reply } => {
                let now = self.now;
                self.table.stopping = true;
                self.table.roster.end();
                // Before any gateway lets go of it, so that whoever comes now is
                // refused, and does not wait for nobody.
                self.house.launcher.close_door();
                for index in self.indices(role) {
                    self.change(index, |place| place.drain(now, grace));
                }
                return Some(reply);
            }
            Message::Kill => {
                self.table.stopping = true;
                self.table.roster.end();
                self.house.launcher.close_door();
                for index in 0..self.table.roster.members().len() {
                    self.change(index, Place::kill);
                }
            }
        }
        None
    }

    /// Looks whether the links are there, and how the loops at their ends do.
    pub(super) fn look_at_links(&mut self) {
        let now = self.now;
        for index in 0..self.table.roster.members().len() {
            let Some(link) = self.table.grip(index).and_then(|grip| grip.link.clone()) else {
                continue;
            };
            if link.is_up() {
                self.change(index, |place| place.lag(link.peer_lag()));
            } else {
                self.change(index, |place| place.unlink(now, false));
            }
        }
    }

    /// Does what the time has come for.
    pub(super) fn advance(&mut self) {
        for (index, effect) in self.table.roster.advance(self.now) {
            self.carry_out(index, effect);
        }
        let Some(map) = self.table.roster.remap().cloned() else {
            return;
        };
        info!(epoch = map.epoch, shards = ?map.shards, "shard map changed");
        self.house.links.set_epoch(map.epoch);
        // A hub knows whom it waits for before any gateway comes to it with the new map.
        self.call_roll();
        for link in self.table.links(Role::Gateway) {
            send_map(&link, &map);
        }
    }

    /// Returns when to look again: when something is due, and at each heartbeat
    /// to read the lags that children report.
    pub(super) fn next_look(&self) -> Option<Instant> {
        if ORDER.into_iter().all(|role| self.table.roster.gone(role)) {
            return None;
        }
        let heartbeat = self.now + self.house.options.heartbeat;
        let due = self
            .table
            .roster
            .next_due()
            .map_or(heartbeat, |due| due.min(heartbeat));
        Some(self.house.born + due)
    }
}

// === Behind the work ===

impl Work<'_> {
    fn linked(&mut self, link: &Link, hello: &Hello) {
        if hello.slot.role == Role::Operator {
            debug!(pid = hello.pid, "an operator is here");
            return;
        }
        let index = self.table.roster.index_of(&hello.slot);
        let known = index.is_some_and(|index| {
            self.table
                .roster
                .member(index)
                .is_some_and(|member| member.place.link(hello.pid, hello.life))
        });
        let Some(grip) = index
            .filter(|_| known)
            .and_then(|index| self.table.grip(index))
        else {
            warn!(slot = %hello.slot, pid = hello.pid, "process we did not start refused");
            link.close();
            return;
        };
        grip.link = Some(link.clone());
        let peer = hello.slot.to_string();
        self.house.telemetry.emit(Event::LinkUp { peer });
        match hello.slot.role {
            Role::Gateway => {
                grip.told = true;
                send_map(link, self.table.roster.map());
            }
            Role::Store => send_lives(link, self.table.lives(Role::Gateway)),
            Role::Hub => send_roll(link, self.table.roll()),
            Role::Supervisor | Role::Operator => {}
        }
    }

    fn exited(&mut self, index: usize, life: Uuid, exit: Exit) {
        let now = self.now;
        // It is told again until it is heard, so it may have been heard before.
        let members = self.table.roster.members();
        let member = members.get(index).filter(|member| {
            let occupant = member.place.occupant();
            occupant.is_some_and(|occupant| occupant.life == life)
        });
        let buried = member.is_some_and(|member| member.slot.role == Role::Gateway);
        self.change(index, |place| place.exited(now, life, exit));
        if buried {
            self.table.bury(life);
            self.call_roll();
        }
    }

    /// Tells every hub whom it has to wait for.
    fn call_roll(&self) {
        for link in self.table.links(Role::Hub) {
            send_roll(&link, self.table.roll());
        }
    }

    fn unlinked(&mut self, link: &Link, reason: DownReason) {
        let now = self.now;
        if let Some(index) = self.speaker(link) {
            if !self.table.stopping {
                let (peer, reason) = (link.slot().to_string(), reason.as_str());
                self.house.telemetry.emit(Event::LinkDown { peer, reason });
            }
            self.change(index, |place| {
                place.unlink(now, reason == DownReason::Silent)
            });
        }
    }

    fn heard(&mut self, link: &Link, message: &Body) {
        let Some(index) = self.speaker(link) else {
            return;
        };
        let Body::ToSupervisor(message) = message else {
            warn!(slot = %link.slot(), "child said what is not for us");
            return;
        };
        match message {
            ToSupervisor::Ready { addresses } => {
                debug!(slot = %link.slot(), ?addresses, "child says that it is ready");
                let now = self.now;
                self.change(index, |place| place.ready(now));
            }
            ToSupervisor::Drained { stopped } => {
                info!(slot = %link.slot(), stopped, "child drained");
            }
        }
    }

    /// Returns the slot that a link speaks for; links that were refused, and those
    /// of earlier lives, speak for none.
    fn speaker(&mut self, link: &Link) -> Option<usize> {
        let index = self.table.roster.index_of(&link.slot())?;
        let grip = self.table.grip(index)?;
        (grip.link.as_ref() == Some(link)).then_some(index)
    }

    /// Changes the life of a slot and carries out what follows.
    fn change(&mut self, index: usize, change: impl FnOnce(&mut Place) -> Vec<Effect>) {
        let Some(member) = self.table.roster.member(index) else {
            return;
        };
        for effect in change(&mut member.place) {
            self.carry_out(index, effect);
        }
    }

    fn carry_out(&mut self, index: usize, effect: Effect) {
        match effect {
            Effect::Start => self.start(index),
            Effect::Kill => {
                if let Some(grip) = self.table.grip(index) {
                    grip.kill.cancel();
                }
            }
            Effect::Drain(grace) => {
                if let Some(link) = self.table.grip(index).and_then(|grip| grip.link.as_ref()) {
                    send_drain(link, grace);
                }
            }
            Effect::Tell(news) => self.tell(index, &news),
        }
    }

    fn start(&mut self, index: usize) {
        let Some(slot) = self.slot(index) else { return };
        let (now, life) = (self.now, Uuid::new_v4());
        match self.house.launcher.launch(&slot, life) {
            Ok(launched) => {
                let kill = CancellationToken::new();
                let grip = Grip {
                    kill: kill.clone(),
                    ..Grip::default()
                };
                if let Some(old) = self.table.grip(index) {
                    *old = grip;
                }
                let pid = launched.pid;
                let house = Arc::clone(self.house);
                self.house.tasks.spawn(keep(
                    house,
                    Kept {
                        index,
                        life,
                        launched,
                        kill,
                    },
                ));
                self.change(index, |place| place.started(now, pid, life));
            }
            Err(error) => {
                let why = chain(&error).to_string();
                self.change(index, |place| place.not_started(now, why));
            }
        }
    }

    fn tell(&mut self, index: usize, news: &News) {
        let Some(slot) = self.slot(index) else { return };
        report(&self.house.telemetry, &slot, news);
        if slot.role != Role::Gateway {
            return;
        }
        if matches!(news, News::Started { .. } | News::Exited { .. }) {
            self.tell_store();
        }
        let balance = self.house.launcher.balance();
        let entered = match news {
            News::Ready { .. } => {
                if self
                    .house
                    .prober
                    .cast(prober::Message::Greet { index })
                    .is_err()
                {
                    debug!("prober is not there, the gateway waits for its next round");
                }
                balance.fill(slot.index)
            }
            News::Exited { .. } => balance.clear(slot.index),
            News::Started { .. } | News::Killed { .. } | News::Parked { .. } => Ok(()),
        };
        if let Err(error) = entered {
            warn!(%slot, %error, "cannot write the balance of connections");
        }
    }

    /// Says which gateways may be running: the others have been reaped.
    fn tell_store(&self) {
        let stores = self.table.slots();
        let stores = stores.filter(|(member, _)| member.slot.role == Role::Store);
        for link in stores.filter_map(|(_, grip)| grip.link.as_ref()) {
            send_lives(link, self.table.lives(Role::Gateway));
        }
    }

    fn slot(&self, index: usize) -> Option<Slot> {
        let member = self.table.roster.members().get(index)?;
        Some(member.slot.clone())
    }

    fn indices(&self, role: Role) -> Vec<usize> {
        let members = self.table.roster.members().iter().enumerate();
        members
            .filter(|(_, member)| member.slot.role == role)
            .map(|(index, _)| index)
            .collect()
    }
}

fn send_map(link: &Link, map: &ShardMap) {
    send_newest(link, ToChild::ShardMap(map.clone()), "shard map");
}

fn send_roll(link: &Link, roll: Roll) {
    send_newest(link, ToChild::Roll(roll), "roll");
}

fn send_lives(link: &Link, lives: Vec<Uuid>) {
    send_newest(link, ToChild::Gateways { lives }, "lives of gateways");
}

/// Sends what replaces what was said before. A child that was not told is told the newest
/// when it connects again, so a link that is up but takes nothing is closed.
fn send_newest(link: &Link, news: ToChild, what: &'static str) {
    let Err(error) = link.send(Lane::Control, Body::ToChild(news)) else {
        return;
    };
    warn!(slot = %link.slot(), %error, what, "child not told the newest");
    match error {
        SendError::Full => link.close(),
        // It connects again by itself, or would be told as little by the next link.
        SendError::Down | SendError::TooLarge => {}
    }
}

fn send_drain(link: &Link, grace: Duration) {
    let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
    if let Err(error) = link.send(Lane::Control, Body::ToChild(ToChild::Drain { grace_ms })) {
        // It notices that its link is gone and drains by itself, or is killed.
        warn!(slot = %link.slot(), %error, "child not asked to drain");
    }
}
