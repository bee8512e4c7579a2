//! The streams that clients hold open at this gateway to hear of changes: listen
//! streams (modern), and the own streams of sessions (GET, legacy) and of the pipe.
//!
//! One entry a stream; a stream is on the list until its [`Place`] is dropped, so the
//! list is never longer than the gateway's connections. Each has a set of changes to
//! tell (`outbox/pending.rs`) and never more topics than its client may ask for.
//!
//! A session may have several streams: each change goes to the newest, and the older
//! ones stay open (R25). Where the newest is at another gateway, which says so again and
//! again, changes are held for as long as that is believed (`streams/newest.rs`).
//!
//! A session without a stream is parked: what changes is kept at the gateway where it
//! began, or where its last stream was closed, until one is opened (`streams/parked.rs`).
//!
//! Of a task a stream is told what it is now, not just that it has changed. So the store
//! is asked before the change counts as noted; what may have been missed is looked up
//! (`tasks/watch.rs`).
//!
//! When the actor fails, its streams end with it and clients open them again. What was
//! kept for sessions is lost, so they hear that everything may have changed.

mod courier;
mod heard;
mod list;
mod newest;
mod parked;
mod propagation;
mod tasks;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use conduit_actor::{Actor, Failure, Reply, Seat};
use conduit_link::{Answer, Answerer, Asker, Topic};
use conduit_protocol::Rendered;
use conduit_telemetry::Telemetry;
use tracing::debug;
use uuid::Uuid;

pub(crate) use self::courier::Courier;
use self::courier::Then;
pub(crate) use self::heard::Heard;
pub(crate) use self::newest::REPEAT;
use self::newest::{Away, Claim};
use self::parked::{Moment, Parking};
use self::propagation::Propagation;
use self::tasks::Told;
use crate::interest::{Full, Interest, Wanted};
use crate::outbox::{Outbox, Published, TaskNews};
use crate::tasks::Watch;

/// A stream's place on the list, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    number: u64,
    streams: Seat<Message>,
}

/// A stream that wants to be told.
#[derive(Debug)]
pub(crate) struct Listener {
    /// Where changes are put.
    pub(crate) outbox: Arc<Outbox>,
    /// The session whose stream it is; none of a listen stream.
    pub(crate) session: Option<Uuid>,
    /// When it was opened, in microseconds since 1970.
    pub(crate) opened: u64,
    /// What it is told of, each once.
    pub(crate) topics: Vec<Topic>,
    /// On whose behalf it listens, if it is told of tasks.
    pub(crate) asker: Option<Asker>,
    /// Whether a change may have been missed before: then all of it counts as changed.
    pub(crate) missed: bool,
    /// What becomes of the outbox when the stream has left the list.
    pub(crate) end: End,
}

/// What becomes of an outbox whose stream has left the list.
#[derive(Debug)]
pub(crate) enum End {
    /// It is finished, after this, if there is something to say.
    Finish(Option<Rendered>),
    /// It goes on: it is a pipe's, which may be on the list again.
    GoOn,
}

/// A stream that is on the list.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) place: Place,
    /// Resolves when every change is heard, see [`Wanted::heard`].
    pub(crate) topics: Arc<Wanted>,
}

/// A change as it reaches this process.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) topic: Topic,
    /// When it was published, and the shard that told of it; none in a process without
    /// hubs.
    pub(crate) published: Option<Published>,
}

impl Changed {
    /// A change that no hub has told of.
    pub(crate) fn here(change: &conduit_link::Change) -> Self {
        Self {
            topic: change.topic.clone(),
            published: None,
        }
    }
}

/// What the actor hears.
#[derive(Debug)]
pub(crate) enum Message {
    /// A client opens a stream.
    Attach {
        listener: Listener,
        reply: Reply<Result<Attached, Full>>,
    },
    /// A session begins, without a stream. Has to be heard of before its client knows it.
    Park {
        session: Uuid,
        topics: Vec<Topic>,
        reply: Reply<Result<Arc<Wanted>, Full>>,
    },
    /// What is kept for a session is not all that it wants to hear of.
    Unpark { session: Uuid },
    /// A stream is closed. Sent once for each [`Place`].
    Detach { number: u64 },
    /// A session's client wants to hear of other topics than before.
    Retopic {
        session: Uuid,
        topics: Vec<Topic>,
        /// Whether those that are new to it may have changed already.
        missed: bool,
        /// What has to be heard; none when the session is not told of changes here.
        reply: Reply<Result<Option<Arc<Wanted>>, Full>>,
    },
    /// Of these sessions, which have a stream here, or are parked here?
    WhichSessions {
        ids: Vec<Uuid>,
        reply: Reply<Vec<Uuid>>,
    },
    /// These have changed.
    Changed { changes: Vec<Changed>, heard: Heard },
    /// The hub has no room for these topics: streams that want one of them end.
    Refused { topics: Vec<Arc<Topic>> },
    /// What a task is now, for the streams that are told of it; nothing if it is no more.
    TaskIs {
        topic: Arc<Topic>,
        news: Option<TaskNews>,
        heard: Option<Heard>,
    },
    /// These tasks may have changed; all of them if none is named.
    TasksMoved { ids: Vec<Uuid> },
    /// What may have changed was looked up, but for these.
    TasksChecked { left: Vec<Uuid> },
    /// What a task of a session is now.
    TaskStatus {
        session: Uuid,
        task: Uuid,
        news: TaskNews,
        /// The gateway that says so, if it is another.
        answerer: Option<Answerer>,
    },
    /// A session has a stream at another gateway, opened then.
    Elsewhere {
        session: Uuid,
        opened: u64,
        gateway: u16,
        answerer: Answerer,
    },
    /// A session has that stream no longer.
    NotElsewhere {
        session: Uuid,
        opened: u64,
        gateway: u16,
        answerer: Answerer,
    },
    /// Another gateway had this to tell a session.
    Unheard {
        session: Uuid,
        topics: Vec<Topic>,
        is_whole: bool,
        answerer: Answerer,
    },
    /// All other gateways were told of the stream of a session that was opened here then.
    Claimed {
        session: Uuid,
        opened: u64,
        /// Whether none of them has anything of it.
        is_settled: bool,
    },
    /// The last stream of a session is closed here, and there is an older one elsewhere.
    TakenBack { session: Uuid },
    /// What a session was not told of here has arrived at another gateway.
    Moved(Moved),
    /// Look for streams elsewhere that were not heard of for too long.
    Sweep,
    /// These sessions have ended.
    EndSessions { ids: Vec<Uuid> },
    /// The gateway is draining: end all of them.
    Drain,
}

/// What was handed over to another gateway.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    session: Uuid,
    /// When it was packed.
    packed: Moment,
    then: Then,
}

impl Drop for Place {
    fn drop(&mut self) {
        let number = self.number;
        if self.streams.cast(Message::Detach { number }).is_err() {
            debug!("streams are gone, nothing to detach");
        }
    }
}

// === Behind the seat ===

#[derive(Debug)]
pub(crate) struct Streams {
    me: Seat<Message>,
    interest: Interest,
    next: u64,
    /// By number, so the newest is the last.
    open: BTreeMap<u64, Open>,
    /// The streams of each session, the newest last.
    sessions: HashMap<Uuid, Vec<u64>>,
    /// Who is told of what.
    told: HashMap<Arc<Topic>, Vec<u64>>,
    /// Sessions whose newest stream is at another gateway; each has one here too.
    away: HashMap<Uuid, Away>,
    /// Sessions whose newest stream is here, and of which others may have something.
    claims: HashMap<Uuid, Claim>,
    parking: Parking,
    courier: Courier,
    watch: Watch,
    propagation: Propagation,
    /// The tasks that streams are told of.
    tasks: HashMap<Uuid, Told>,
    /// Those that may have changed without anybody having said so.
    stale: BTreeSet<Uuid>,
    /// Whether some of those are being looked up.
    checks: bool,
}

/// One open stream; it ends with its entry, unless it is a pipe's.
#[derive(Debug)]
struct Open {
    outbox: Arc<Outbox>,
    session: Option<Uuid>,
    opened: u64,
    topics: Arc<Wanted>,
    asker: Option<Asker>,
    end: End,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let End::Finish(farewell) = &mut self.end {
            self.outbox.finish(farewell.take());
        }
    }
}

impl Streams {
    pub(crate) fn new(
        me: Seat<Message>,
        interest: Interest,
        watch: Watch,
        courier: Courier,
        telemetry: &Telemetry,
    ) -> Self {
        Self {
            propagation: Propagation::new(telemetry.clone()),
            me,
            interest,
            next: 1,
            open: BTreeMap::new(),
            sessions: HashMap::new(),
            told: HashMap::new(),
            away: HashMap::new(),
            claims: HashMap::new(),
            parking: Parking::default(),
            courier,
            watch,
            tasks: HashMap::new(),
            stale: BTreeSet::new(),
            checks: false,
        }
    }
}

impl Actor for Streams {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Attach { listener, reply } => {
                let attached = self.attach(listener);
                if let Err(unwanted) = reply.send(attached) {
                    drop(unwanted);
                }
            }
            Message::Park {
                session,
                topics,
                reply,
            } => {
                if let Err(unwanted) = reply.send(self.park(session, topics)) {
                    drop(unwanted);
                }
            }
            Message::Unpark { session } => self.parking.forget(session),
            Message::Detach { number } => self.detach(number),
            Message::Retopic {
                session,
                topics,
                missed,
                reply,
            } => {
                let wanted = self.retopic(session, topics, missed);
                if let Err(unwanted) = reply.send(wanted) {
                    drop(unwanted);
                }
            }
            Message::WhichSessions { mut ids, reply } => {
                ids.retain(|id| self.sessions.contains_key(id) || self.parking.contains(*id));
                if let Err(unwanted) = reply.send(ids) {
                    drop(unwanted);
                }
            }
            Message::Changed { changes, heard } => {
                for change in changes {
                    self.changed(&change, heard.part());
                }
                heard.tell();
            }
            Message::Refused { topics } => self.refuse(&topics),
            Message::TaskIs { topic, news, heard } => {
                if let Some(news) = news {
                    self.task_is(&topic, &news);
                }
                if let Some(heard) = heard {
                    heard.tell();
                }
            }
            Message::TasksMoved { ids } => self.moved(&ids),
            Message::TasksChecked { left } => self.checked(&left),
            Message::TaskStatus {
                session,
                task,
                news,
                answerer,
            } => {
                let taken = self.task_status(session, task, news);
                if let Some(answerer) = answerer {
                    answerer.answer(Answer::Receipt { taken });
                }
            }
            Message::Elsewhere {
                session,
                opened,
                gateway,
                answerer,
            } => self.elsewhere(session, opened, gateway, answerer),
            Message::NotElsewhere {
                session,
                opened,
                gateway,
                answerer,
            } => self.not_elsewhere(session, opened, gateway, answerer),
            Message::Unheard {
                session,
                topics,
                is_whole,
                answerer,
            } => {
                let taken = self.unheard(session, topics, is_whole);
                answerer.answer(Answer::Receipt { taken });
            }
            Message::Claimed {
                session,
                opened,
                is_settled,
            } => self.claimed(session, opened, is_settled),
            Message::TakenBack { session } => self.taken_back(session),
            Message::Moved(moved) => self.moved_on(moved),
            Message::Sweep => self.sweep(),
            Message::EndSessions { ids } => self.end_sessions(&ids),
            Message::Drain => self.drain(),
        }
        Ok(())
    }
}
