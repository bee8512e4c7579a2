//! The sessions of which no stream is open here, and whose changes this gateway keeps
//! until one is opened, here or at another gateway.
//!
//! What has changed is not kept for each session: each topic knows when it changed last,
//! and each session since when it has heard of nothing. So a change costs one look-up,
//! however many sessions are parked.
//!
//! Bounds: [`MOST`] sessions, of which the oldest goes first; [`MOST_STATES`] states of
//! tasks, and [`STATES`] of one session. Whatever goes is missed by nobody: its client
//! hears that everything may have changed.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use conduit_link::Topic;
use uuid::Uuid;

use super::newest::is_task;
use crate::interest::Wanted;
use crate::outbox::{Change, TaskNews};

/// The most sessions that are parked at one gateway.
pub(super) const MOST: usize = 20_000;
/// The most states of tasks that are kept for one of them, and for all of them. Of the
/// others a session can still ask.
const STATES: usize = 16;
const MOST_STATES: usize = 16_384;

/// The sessions that are parked here.
#[derive(Debug, Default)]
pub(super) struct Parking {
    sessions: HashMap<Uuid, Parked>,
    /// Them by their numbers, so the oldest is the first.
    order: BTreeMap<u64, Uuid>,
    /// What they want to hear of.
    topics: HashMap<Arc<Topic>, Noted>,
    now: Moment,
    /// States of tasks that are kept.
    states: usize,
}

/// What happens here is counted; this is where the count was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(u64);

/// What is known of a session that was parked.
#[derive(Debug)]
pub(super) struct Taken {
    /// What has changed, in the order in which it did.
    pub(super) changes: Vec<Change>,
    /// Whether another gateway has taken the session over since.
    pub(super) is_leaving: bool,
}

/// A topic that parked sessions want to hear of.
#[derive(Debug, Default)]
struct Noted {
    /// How many of them.
    wanted: usize,
    /// When it changed last.
    changed: Moment,
}

#[derive(Debug)]
struct Parked {
    number: u64,
    topics: Arc<Wanted>,
    /// Of changes since then its client has not heard.
    since: Moment,
    /// Of these neither, and when each happened.
    held: Vec<(Moment, Change)>,
    /// When the stream was opened elsewhere that is told of changes in its place. What is
    /// late is still noted here.
    leaving: Option<u64>,
}

impl Parking {
    /// Parks a session that has not heard of some changes yet. `leaving` says when its
    /// newest stream was opened, if that is at another gateway.
    pub(super) fn park(
        &mut self,
        session: Uuid,
        topics: Arc<Wanted>,
        unheard: Vec<Change>,
        leaving: Option<u64>,
    ) {
        self.forget(session);
        while self.sessions.len() >= MOST && self.forget_oldest() {}
        self.enter(&topics);
        let since = self.tick();
        let parked = Parked {
            number: since.0,
            topics,
            since,
            held: Vec::new(),
            leaving,
        };
        self.order.insert(parked.number, session);
        self.sessions.insert(session, parked);
        self.add(session, unheard);
    }

    /// Takes a session out.
    pub(super) fn take(&mut self, session: Uuid) -> Option<Taken> {
        let (changes, _) = self.changes(session)?;
        let parked = self.remove(session)?;
        Some(Taken {
            changes,
            is_leaving: parked.leaving.is_some(),
        })
    }

    pub(super) fn forget(&mut self, session: Uuid) {
        self.remove(session);
    }

    /// Makes room; returns whether there was anything to forget.
    pub(super) fn forget_oldest(&mut self) -> bool {
        let Some((_, session)) = self.order.pop_first() else {
            return false;
        };
        self.forget(session);
        true
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn contains(&self, session: Uuid) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Lets a session hear of other topics; returns whether it is parked here.
    pub(super) fn retopic(&mut self, session: Uuid, topics: &Arc<Wanted>) -> bool {
        self.settle(session);
        let Some(parked) = self.sessions.get_mut(&session) else {
            return false;
        };
        let wanted: HashSet<&Topic> = topics.topics().iter().map(|topic| &**topic).collect();
        parked
            .held
            .retain(|(_, change)| is_task(&change.topic) || wanted.contains(&*change.topic));
        let before = std::mem::replace(&mut parked.topics, Arc::clone(topics));
        self.enter(topics);
        self.leave(&before);
        true
    }

    /// Whether a session that is parked here wants to hear of a topic.
    pub(super) fn wants(&self, topic: &Topic) -> bool {
        self.topics.contains_key(topic)
    }

    /// Whether there are so many topics of that kind which parked sessions want to hear of.
    pub(super) fn holds(&self, count: usize, kind: impl Fn(&Topic) -> bool) -> bool {
        let topics = self.topics.keys().filter(|topic| kind(topic));
        topics.take(count).count() == count
    }

    /// Notes a change.
    pub(super) fn note(&mut self, topic: &Topic) {
        let now = self.tick();
        if let Some(noted) = self.topics.get_mut(topic) {
            noted.changed = now;
        }
    }

    /// Forgets the sessions that want one of these topics: nobody tells of those.
    pub(super) fn refuse(&mut self, topics: &[Arc<Topic>]) {
        let refused: HashSet<&Arc<Topic>> = topics.iter().collect();
        let wants = |parked: &Parked| {
            let mut wanted = parked.topics.topics().iter();
            wanted.any(|topic| refused.contains(topic))
        };
        let sessions = self.sessions.iter();
        let gone: Vec<Uuid> = sessions
            .filter(|(_, parked)| wants(parked))
            .map(|(session, _)| *session)
            .collect();
        for session in gone {
            self.forget(session);
        }
    }

    /// Notes what a task of a session is now; returns whether the session is parked here
    /// and nowhere else.
    pub(super) fn hold_task(&mut self, session: Uuid, change: Change) -> bool {
        let Some(parked) = self.sessions.get(&session) else {
            return false;
        };
        if parked.leaving.is_some() {
            return false;
        }
        self.add(session, vec![change]);
        true
    }

    /// Adds what a session has not heard of; returns whether it is parked here.
    pub(super) fn add(&mut self, session: Uuid, unheard: Vec<Change>) -> bool {
        if unheard.is_empty() {
            return self.contains(session);
        }
        let now = self.tick();
        let Some(parked) = self.sessions.get_mut(&session) else {
            return false;
        };
        let mut known = places(&parked.held);
        let topics = parked.topics.topics().iter();
        let wanted: HashSet<&Topic> = topics.map(|topic| &**topic).collect();
        let mut states = parked.states();
        for change in unheard {
            let place = known.get(&change.topic).copied();
            let held = place.and_then(|place| parked.held.get_mut(place));
            match (held, version(&change)) {
                (Some((when, held)), newer) => {
                    if version(held) < newer {
                        *held = change;
                        *when = now;
                    } else if newer.is_none() {
                        *when = now;
                    }
                    continue;
                }
                (None, Some(_)) if states >= STATES || self.states >= MOST_STATES => continue,
                (None, Some(_)) => {
                    states += 1;
                    self.states += 1;
                }
                (None, None) if !wanted.contains(&*change.topic) => continue,
                (None, None) => {}
            }
            known.insert(Arc::clone(&change.topic), parked.held.len());
            parked.held.push((now, change));
        }
        true
    }

    /// Returns what a session has not heard of, and the moment at which that is so.
    pub(super) fn changes(&mut self, session: Uuid) -> Option<(Vec<Change>, Moment)> {
        self.settle(session);
        let parked = self.sessions.get(&session)?;
        let changes = parked.held.iter().map(|(_, change)| change.clone());
        Some((changes.collect(), parked.since))
    }

    /// When the stream was opened that is told of changes in place of a session here.
    pub(super) fn leaving(&self, session: Uuid) -> Option<u64> {
        self.sessions.get(&session)?.leaving
    }

    /// The session's stream that was opened elsewhere has what changed until then, and
    /// is told of what follows.
    pub(super) fn leave_to(&mut self, session: Uuid, opened: u64, heard: Moment) {
        let Some(parked) = self.sessions.get_mut(&session) else {
            return;
        };
        let before = parked.states();
        parked.held.retain(|(when, _)| *when > heard);
        parked.since = parked.since.max(heard);
        parked.leaving = Some(opened);
        self.states -= before - parked.states();
    }

    /// Looks up what has changed since, so that it is held.
    fn settle(&mut self, session: Uuid) {
        let now = self.tick();
        let Some(parked) = self.sessions.get_mut(&session) else {
            return;
        };
        let mut known = places(&parked.held);
        for topic in parked.topics.topics() {
            let when = self.topics.get(topic).map(|noted| noted.changed);
            let when = when.unwrap_or_default();
            if when <= parked.since {
                continue;
            }
            match known
                .remove(topic)
                .and_then(|place| parked.held.get_mut(place))
            {
                Some((moment, _)) => *moment = when,
                None => parked.held.push((when, change(topic))),
            }
        }
        parked.since = now;
        parked.held.sort_by_key(|(when, _)| *when);
    }

    fn enter(&mut self, topics: &Wanted) {
        for topic in topics.topics() {
            self.topics.entry(Arc::clone(topic)).or_default().wanted += 1;
        }
    }

    fn leave(&mut self, topics: &Wanted) {
        for topic in topics.topics() {
            if let Some(noted) = self.topics.get_mut(topic) {
                noted.wanted -= 1;
                if noted.wanted == 0 {
                    self.topics.remove(topic);
                }
            }
        }
    }

    fn remove(&mut self, session: Uuid) -> Option<Parked> {
        let parked = self.sessions.remove(&session)?;
        self.order.remove(&parked.number);
        self.states -= parked.states();
        self.leave(&parked.topics);
        Some(parked)
    }

    fn tick(&mut self) -> Moment {
        self.now.0 += 1;
        self.now
    }
}

impl Parked {
    fn states(&self) -> usize {
        let tasks = self.held.iter().filter(|(_, change)| change.news.is_some());
        tasks.count()
    }
}

fn version(change: &Change) -> Option<u64> {
    change.news.as_ref().map(TaskNews::version)
}

/// Says where each topic is.
fn places(held: &[(Moment, Change)]) -> HashMap<Arc<Topic>, usize> {
    let held = held.iter().enumerate();
    held.map(|(place, (_, change))| (Arc::clone(&change.topic), place))
        .collect()
}

fn change(topic: &Arc<Topic>) -> Change {
    Change {
        topic: Arc::clone(topic),
        news: None,
    }
}
