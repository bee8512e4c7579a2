//! The list of streams: who is on it, and what each is told of.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use conduit_link::{Subject, Topic};
use tracing::debug;
use uuid::Uuid;

use super::newest::{Away, newest_of};
use super::tasks::Told;
use super::{Attached, Changed, End, Listener, Open, Place, Streams};
use crate::interest::{Full, Wanted};
use crate::outbox::{Change, Outbox};

impl Streams {
    /// Wants topics. Sessions that are parked make room for those who listen, if they can.
    pub(super) fn want(&mut self, topics: Vec<Topic>) -> Result<Arc<Wanted>, Full> {
        if self.parking.len() == 0 {
            return self.interest.want(topics).map(Arc::new);
        }
        let mut wanted = self.interest.want(topics.clone());
        if wanted.is_err() && self.can_make_room(&topics) {
            while wanted.is_err() && self.parking.len() > 0 {
                for _ in 0..self.parking.len().div_ceil(8) {
                    self.parking.forget_oldest();
                }
                wanted = self.interest.want(topics.clone());
            }
        }
        wanted.map(Arc::new)
    }

    /// Whether the sessions that are parked hold as many topics that nobody else wants as
    /// are new among these.
    fn can_make_room(&self, topics: &[Topic]) -> bool {
        let fresh = topics.iter().filter(|topic| {
            !is_list(topic) && !self.told.contains_key(*topic) && !self.parking.wants(topic)
        });
        let asked: HashSet<&Topic> = topics.iter().collect();
        self.parking.holds(fresh.count(), |topic| {
            !is_list(topic) && !self.told.contains_key(topic) && !asked.contains(topic)
        })
    }

    pub(super) fn attach(&mut self, listener: Listener) -> Result<Attached, Full> {
        let topics = self.want(listener.topics)?;
        let number = self.next;
        self.next += 1;
        self.enter(number, topics.topics());
        if listener.missed {
            for topic in topics.topics() {
                listener.outbox.change(topic);
            }
        }
        if let Some(session) = listener.session {
            let mut is_whole = listener.missed || self.is_responsible(session);
            let mut noted = HashSet::new();
            if let Some(taken) = self.parking.take(session) {
                is_whole |= !taken.is_leaving;
                for change in taken.changes {
                    noted.insert(Arc::clone(&change.topic));
                    put(&listener.outbox, change);
                }
            }
            // Held here, and perhaps told nobody: rather twice than never.
            let away = self.away.remove(&session);
            for (topic, news) in away.into_iter().flat_map(|away| away.held) {
                noted.insert(Arc::clone(&topic));
                put(&listener.outbox, Change { topic, news });
            }
            self.sessions.entry(session).or_default().push(number);
            if matches!(listener.end, End::Finish(_)) {
                self.begin_claim(session, listener.opened, is_whole, noted);
            }
        }
        let open = Open {
            outbox: listener.outbox,
            session: listener.session,
            opened: listener.opened,
            topics: Arc::clone(&topics),
            asker: listener.asker,
            end: listener.end,
        };
        self.open.insert(number, open);
        Ok(Attached {
            place: Place {
                number,
                streams: self.me.clone(),
            },
            topics,
        })
    }

    /// Keeps what changes for a session that begins.
    pub(super) fn park(&mut self, session: Uuid, topics: Vec<Topic>) -> Result<Arc<Wanted>, Full> {
        let wanted = self.want(topics)?;
        self.parking
            .park(session, Arc::clone(&wanted), Vec::new(), None);
        Ok(wanted)
    }

    pub(super) fn enter(&mut self, number: u64, topics: &[Arc<Topic>]) {
        for topic in topics {
            let told = self.told.entry(Arc::clone(topic)).or_default();
            told.push(number);
            if let Subject::Task(id) = topic.subject {
                self.tasks.entry(id).or_insert_with(|| Told {
                    topic: Arc::clone(topic),
                    version: 0,
                });
            }
        }
    }

    pub(super) fn leave(&mut self, number: u64, topics: &[Arc<Topic>]) {
        for topic in topics {
            if let Some(told) = self.told.get_mut(topic) {
                told.retain(|other| *other != number);
                if told.is_empty() {
                    self.told.remove(topic);
                    if let Subject::Task(id) = topic.subject {
                        self.tasks.remove(&id);
                    }
                }
            }
        }
    }

    pub(super) fn detach(&mut self, number: u64) {
        let Some(open) = self.open.remove(&number) else {
            return;
        };
        self.leave(number, open.topics.topics());
        let Some(session) = open.session else { return };
        let Some(streams) = self.sessions.get_mut(&session) else {
            return;
        };
        streams.retain(|other| *other != number);
        if let Some(newest) = newest_of(&self.sessions, &self.open, session) {
            // What the client has not read there it shall read here.
            for change in open.outbox.take_changes() {
                put(&newest.outbox, change);
            }
            return self.end_claim(session, open.opened);
        }
        let was_responsible = self.is_responsible(session);
        self.sessions.remove(&session);
        self.claims.remove(&session);
        let away = self.away.remove(&session);
        if matches!(open.end, End::GoOn) || (away.is_none() && !was_responsible) {
            return;
        }
        let mut unheard = open.outbox.take_changes();
        let leaving = away.as_ref().map(Away::opened);
        let held = away.into_iter().flat_map(|away| away.held);
        unheard.extend(held.map(|(topic, news)| Change { topic, news }));
        let topics = Arc::clone(&open.topics);
        self.parking.park(session, topics, unheard, leaving);
    }

    pub(super) fn retopic(
        &mut self,
        session: Uuid,
        topics: Vec<Topic>,
        missed: bool,
    ) -> Result<Option<Arc<Wanted>>, Full> {
        let Some(numbers) = self.sessions.get(&session).cloned() else {
            if !self.parking.contains(session) {
                return Ok(None);
            }
            let wanted = self.want(topics)?;
            self.parking.retopic(session, &wanted);
            return Ok(Some(wanted));
        };
        let wanted = self.want(topics)?;
        for number in numbers {
            let Some(open) = self.open.get_mut(&number) else {
                continue;
            };
            let before = std::mem::replace(&mut open.topics, Arc::clone(&wanted));
            if missed {
                let known: HashSet<&Arc<Topic>> = before.topics().iter().collect();
                for topic in wanted
                    .topics()
                    .iter()
                    .filter(|topic| !known.contains(topic))
                {
                    open.outbox.change(topic);
                }
            }
            self.leave(number, before.topics());
            self.enter(number, wanted.topics());
        }
        Ok(Some(wanted))
    }

    /// Notes a change that is no task's.
    pub(super) fn change(&mut self, changed: &Changed) {
        self.parking.note(&changed.topic);
        let Some((topic, told)) = self.told.get_key_value(&changed.topic) else {
            return;
        };
        let news = self.propagation.news(topic, changed.published);
        let mut coalesced = 0;
        for number in told {
            let Some(open) = self.open.get(number) else {
                continue;
            };
            if let Some(session) = open.session {
                if let Some(away) = self.away.get_mut(&session) {
                    away.held.insert(Arc::clone(topic), None);
                    continue;
                }
                if let Some(claim) = self.claims.get_mut(&session) {
                    claim.noted.insert(Arc::clone(topic));
                }
            }
            if self.is_newest(*number, open) {
                coalesced += usize::from(!open.outbox.tell(&news));
            }
        }
        self.propagation.coalesced(coalesced);
    }

    /// Ends the streams that want a topic for which the hub has no room.
    pub(super) fn refuse(&mut self, topics: &[Arc<Topic>]) {
        let told = topics.iter().filter_map(|topic| self.told.get(topic));
        let numbers: BTreeSet<u64> = told.flatten().copied().collect();
        for number in numbers {
            self.detach(number);
        }
        self.parking.refuse(topics);
    }

    pub(super) fn is_newest(&self, number: u64, open: &Open) -> bool {
        let Some(session) = &open.session else {
            return true;
        };
        if self.away.contains_key(session) {
            return false;
        }
        let streams = self.sessions.get(session);
        streams.and_then(|streams| streams.last()) == Some(&number)
    }

    pub(super) fn end_sessions(&mut self, ids: &[Uuid]) {
        for id in ids {
            self.parking.forget(*id);
            self.claims.remove(id);
            self.away.remove(id);
            for number in self.sessions.remove(id).into_iter().flatten() {
                self.detach(number);
            }
        }
    }

    pub(super) fn drain(&mut self) {
        // What the streams have not said they still say. What follows is kept as long as
        // this process lives.
        for (session, streams) in std::mem::take(&mut self.sessions) {
            let newest = streams.last().and_then(|newest| self.open.get(newest));
            if let Some(newest) = newest
                && matches!(newest.end, End::Finish(_))
                && !self.away.contains_key(&session)
                && !self.claims.contains_key(&session)
            {
                let topics = Arc::clone(&newest.topics);
                self.parking.park(session, topics, Vec::new(), None);
            }
        }
        self.away.clear();
        self.claims.clear();
        self.told.clear();
        self.tasks.clear();
        self.open.clear();
    }
}

/// Whether a topic is a list of a server, which this process wants as long as it keeps
/// sessions (`sessions.rs`).
const fn is_list(topic: &Topic) -> bool {
    match topic.subject {
        Subject::Tools | Subject::Prompts | Subject::Resources => true,
        Subject::Resource(_) | Subject::Task(_) => false,
    }
}

/// Puts a change where a stream reads. Where there is no room for the state of a task, its
/// client has to ask.
pub(super) fn put(outbox: &Outbox, change: Change) {
    match change.news {
        Some(news) => {
            if outbox.task(&change.topic, news).is_err() {
                debug!("the state of a task is not told");
            }
        }
        None => outbox.change(&change.topic),
    }
}
