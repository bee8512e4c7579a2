//! Which gateway tells a session of changes: the one where its newest stream is (R25), or
//! where the session is parked.
//!
//! One gateway is *responsible* for a session: nothing has changed of which the session
//! was not told and which is not kept there. A stream that is opened takes the session
//! over: its gateway hears of changes first, and then asks all others. Whoever is
//! responsible hands over what the session has not heard of and no longer is; nobody else
//! does. So if nobody is found, what there was is lost, and everything counts as changed.
//!
//! The claim is repeated. What came late to the former gateway, from before its successor
//! listened, is handed over then; what the new one has noted by itself since is told once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use conduit_link::{Answer, Answerer, Subject, Topic};
use tokio::time::Instant;
use tracing::debug;
use uuid::Uuid;

use super::courier::{Parcel, Then, To};
use super::list::put;
use super::parked::Moment;
use super::{Moved, Open, Streams};
use crate::outbox::{Change, TaskNews};

/// How often a gateway says that it has the newest stream, and how long it is believed.
pub(crate) const REPEAT: Duration = Duration::from_secs(5);
const BELIEVED: Duration = Duration::from_secs(15);

/// A session whose newest stream is elsewhere, and that has one here too.
#[derive(Debug)]
pub(super) struct Away {
    /// When the newest was opened.
    opened: u64,
    /// Whether that was said once only.
    is_late: bool,
    /// Until when that is believed.
    until: Instant,
    /// What has changed since it was last heard; of tasks, what they are.
    pub(super) held: HashMap<Arc<Topic>, Option<TaskNews>>,
}

/// A session whose newest stream is here, until no other gateway has anything of it.
#[derive(Debug)]
pub(super) struct Claim {
    /// When that stream was opened.
    opened: u64,
    /// Whether this gateway is responsible.
    is_whole: bool,
    /// What was noted here since, and since another gateway last said that it has a newer
    /// stream: whatever of it comes late is told already.
    pub(super) noted: HashSet<Arc<Topic>>,
}

impl Streams {
    /// Whether nothing has changed of which a session was not told and which is not kept
    /// with its streams here.
    pub(super) fn is_responsible(&self, session: Uuid) -> bool {
        let claim = self.claims.get(&session);
        self.sessions.contains_key(&session)
            && !self.away.contains_key(&session)
            && claim.is_none_or(|claim| claim.is_whole)
    }

    /// Begins to claim a session for the stream that was opened here.
    pub(super) fn begin_claim(
        &mut self,
        session: Uuid,
        opened: u64,
        is_whole: bool,
        noted: HashSet<Arc<Topic>>,
    ) {
        let claim = Claim {
            opened,
            is_whole,
            noted,
        };
        self.claims.insert(session, claim);
    }

    /// Every other gateway was asked, or cannot be. If nobody was responsible, everything
    /// counts as changed.
    pub(super) fn claimed(&mut self, session: Uuid, opened: u64, is_settled: bool) {
        let Some(claim) = self.claims.get_mut(&session) else {
            return;
        };
        if claim.opened != opened {
            return;
        }
        if !std::mem::replace(&mut claim.is_whole, true) {
            debug!("what a session has not heard of is lost, everything counts as changed");
            self.miss(session);
        }
        if is_settled {
            self.claims.remove(&session);
        }
    }

    /// The stream that was opened here then is closed, and the newest here is an older one.
    /// What follows comes to that even if it was noted before.
    pub(super) fn end_claim(&mut self, session: Uuid, opened: u64) {
        let claim = self.claims.get(&session);
        let Some(claim) = claim.filter(|claim| claim.opened == opened) else {
            return;
        };
        if !claim.is_whole && !self.away.contains_key(&session) {
            debug!("a stream is closed before anybody handed over to it, all counts as changed");
            self.miss(session);
        }
        self.claims.remove(&session);
    }

    /// What was noted here until now may change again without being noted: forgets it.
    fn begin_noting(&mut self, session: Uuid) {
        if let Some(claim) = self.claims.get_mut(&session) {
            claim.noted.clear();
        }
    }

    /// Tells a session that everything may have changed, but for what it is told already
    /// while it is claimed.
    fn miss(&mut self, session: Uuid) {
        let Some(newest) = newest_of(&self.sessions, &self.open, session) else {
            return;
        };
        let mut claim = self.claims.get_mut(&session);
        for topic in newest.topics.topics() {
            let is_new = claim
                .as_mut()
                .is_none_or(|claim| claim.noted.insert(Arc::clone(topic)));
            if is_new {
                newest.outbox.change(topic);
            }
        }
    }

    /// Another gateway says that it has a newer stream of a session; the answer says
    /// whether anything of the session is here.
    pub(super) fn elsewhere(
        &mut self,
        session: Uuid,
        opened: u64,
        gateway: u16,
        answerer: Answerer,
    ) {
        match self.leave_to(session, opened, gateway) {
            Left::Nothing => answerer.answer(Answer::Receipt { taken: false }),
            Left::Known => answerer.answer(Answer::Receipt { taken: true }),
            Left::HandOver(parcel) => self.carry(parcel, Some(answerer)),
        }
    }

    /// Believes another gateway that it has a newer stream of a session.
    pub(super) fn leave_to(&mut self, session: Uuid, opened: u64, gateway: u16) -> Left {
        if !self.sessions.contains_key(&session) {
            return self.let_go(session, opened, gateway);
        }
        let newest = newest_of(&self.sessions, &self.open, session);
        if newest.is_none_or(|newest| newest.opened > opened) {
            return Left::Nothing;
        }
        let is_whole = self.is_responsible(session);
        self.begin_noting(session);
        let before = self.away.remove(&session);
        let before = before.filter(|before| before.opened == opened);
        let away = Away {
            opened,
            is_late: before.is_none(),
            until: Instant::now() + BELIEVED,
            held: HashMap::new(),
        };
        self.away.insert(session, away);
        // What came late, from before the newest stream was there, it was not told of. What
        // its client has not read here it can still read here.
        let late = before.filter(|before| before.is_late);
        let late = late.into_iter().flat_map(|before| before.held);
        let changes: Vec<Change> = late.map(|(topic, news)| Change { topic, news }).collect();
        if !is_whole && changes.is_empty() {
            return Left::Known;
        }
        Left::HandOver(Parcel {
            session,
            to: To::One(gateway),
            changes,
            is_whole,
            packed: Moment::default(),
            then: Then::Stay,
        })
    }

    /// Lets a session go that is parked here.
    fn let_go(&mut self, session: Uuid, opened: u64, gateway: u16) -> Left {
        let leaving = self.parking.leaving(session);
        let Some((changes, packed)) = self.parking.changes(session) else {
            return Left::Nothing;
        };
        let then = match leaving {
            // A newer one has it.
            Some(newer) if newer > opened => return Left::Nothing,
            Some(same) if same == opened => Then::Forget,
            Some(_) | None => Then::Leave { opened },
        };
        let is_whole = leaving.is_none();
        if !is_whole && changes.is_empty() {
            self.moved_on(Moved {
                session,
                packed,
                then,
            });
            return Left::Known;
        }
        Left::HandOver(Parcel {
            session,
            to: To::One(gateway),
            changes,
            is_whole,
            packed,
            then,
        })
    }

    /// Another gateway has closed its stream; the answer says whether an older one is here.
    pub(super) fn not_elsewhere(
        &mut self,
        session: Uuid,
        opened: u64,
        gateway: u16,
        answerer: Answerer,
    ) {
        if self.sessions.contains_key(&session) {
            let taken = self.take_back(session, opened);
            return answerer.answer(Answer::Receipt { taken });
        }
        // It is parked there, or nowhere; what is late has to go there too.
        if self.parking.leaving(session) == Some(opened)
            && let Left::HandOver(parcel) = self.let_go(session, opened, gateway)
        {
            self.carry(parcel, None);
        }
        answerer.answer(Answer::Receipt { taken: false });
    }

    /// Lets the newest stream of a session here have what was held while another gateway
    /// had one; returns whether there is one, and none that is newer elsewhere.
    pub(super) fn take_back(&mut self, session: Uuid, opened: u64) -> bool {
        match self.away.get(&session) {
            Some(away) if away.opened != opened => return false,
            Some(_) | None => {}
        }
        let Some(newest) = newest_of(&self.sessions, &self.open, session) else {
            return false;
        };
        let away = self.away.remove(&session);
        for (topic, news) in away.into_iter().flat_map(|away| away.held) {
            put(&newest.outbox, Change { topic, news });
        }
        self.begin_noting(session);
        true
    }

    /// An older stream at another gateway counts again: it gets what its session was not
    /// told of here.
    pub(super) fn taken_back(&mut self, session: Uuid) {
        if self.parking.leaving(session).is_some() {
            return;
        }
        let Some((changes, packed)) = self.parking.changes(session) else {
            return;
        };
        if changes.is_empty() {
            return self.parking.forget(session);
        }
        let parcel = Parcel {
            session,
            to: To::Others,
            changes,
            is_whole: true,
            packed,
            then: Then::Forget,
        };
        self.carry(parcel, None);
    }

    /// Another gateway has what a session had not heard of here.
    pub(super) fn moved_on(&mut self, moved: Moved) {
        let Moved {
            session,
            packed,
            then,
        } = moved;
        match then {
            Then::Leave { opened } => self.parking.leave_to(session, opened, packed),
            Then::Forget => self.parking.forget(session),
            Then::Stay => {}
        }
    }

    /// Takes what another gateway has held for a session; returns whether anything of the
    /// session is here.
    pub(super) fn unheard(&mut self, session: Uuid, topics: Vec<Topic>, is_whole: bool) -> bool {
        let Some(newest) = newest_of(&self.sessions, &self.open, session) else {
            let unheard = topics.into_iter().map(|topic| Change {
                topic: Arc::new(topic),
                news: None,
            });
            return self.parking.add(session, unheard.collect());
        };
        let mut claim = self.claims.get_mut(&session);
        let wanted = newest.topics.topics().iter().map(|topic| (&**topic, topic));
        let wanted: HashMap<&Topic, &Arc<Topic>> = wanted.collect();
        for topic in topics {
            let Some(topic) = wanted.get(&topic).copied() else {
                continue;
            };
            let is_new = claim
                .as_mut()
                .is_none_or(|claim| claim.noted.insert(Arc::clone(topic)));
            if is_new {
                newest.outbox.change(topic);
            }
        }
        if let Some(claim) = claim {
            claim.is_whole |= is_whole;
        }
        true
    }

    /// Looks for streams elsewhere that were not heard of for too long. Nobody knows what
    /// they have told.
    pub(super) fn sweep(&mut self) {
        let now = Instant::now();
        let over = self.away.iter().filter(|(_, away)| away.until <= now);
        let over: Vec<Uuid> = over.map(|(session, _)| *session).collect();
        for session in over {
            let Some(away) = self.away.remove(&session) else {
                continue;
            };
            // What was noted here may have been told elsewhere.
            self.claims.remove(&session);
            self.miss(session);
            let Some(newest) = newest_of(&self.sessions, &self.open, session) else {
                continue;
            };
            for (topic, news) in away.held {
                put(&newest.outbox, Change { topic, news });
            }
        }
    }

    fn carry(&self, parcel: Parcel, answerer: Option<Answerer>) {
        self.courier.carry(parcel, self.me.clone(), answerer);
    }
}

/// What becomes of a session that another gateway claims.
#[derive(Debug)]
pub(super) enum Left {
    /// Nothing of it is here, or something newer.
    Nothing,
    /// It has an older stream here, which is told of nothing from now on.
    Known,
    /// It was told of changes here.
    HandOver(Parcel),
}

impl Away {
    /// When the newest stream was opened.
    pub(super) const fn opened(&self) -> u64 {
        self.opened
    }
}

/// Finds the stream of a session that was opened here last.
pub(super) fn newest_of<'a>(
    sessions: &HashMap<Uuid, Vec<u64>>,
    open: &'a BTreeMap<u64, Open>,
    session: Uuid,
) -> Option<&'a Open> {
    open.get(sessions.get(&session)?.last()?)
}

/// Whether a topic is a task's.
pub(super) const fn is_task(topic: &Topic) -> bool {
    matches!(topic.subject, Subject::Task(_))
}
