//! The streams that clients hold open at this gateway to hear of changes: listen
//! streams (modern), and the own streams of sessions (GET, legacy) and of the pipe.
//!
//! One entry a stream; a stream is on the list until its [`Place`] is dropped, so the
//! list is never longer than the gateway's connections. Each has a set of changes to
//! tell (`outbox/pending.rs`) and never more topics than its client may ask for.
//!
//! A session may have several streams: each change goes to the newest, and the older
//! ones stay open (R25). Where the newest is at another gateway, which says so again and
//! again, changes are held for as long as that is believed: should that gateway die, the
//! newest stream here gets them.
//!
//! Of a task a stream is told what it is now, not just that it has changed. So the store
//! is asked before the change counts as noted; what may have been missed is looked up
//! (`tasks/watch.rs`).
//!
//! When the actor fails, its streams end with it and clients open them again.

mod tasks;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use conduit_actor::{Actor, Failure, Reply, Seat};
use conduit_link::{Answer, Answerer, Asker, Subject, Topic};
use conduit_protocol::Rendered;
use tokio::time::Instant;
use tracing::debug;
use uuid::Uuid;

use self::tasks::Told;
use crate::interest::{Full, Interest, Wanted};
use crate::outbox::{Change, Outbox, TaskNews};
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

/// Who waits to know that a change was noted.
#[derive(Debug)]
pub(crate) enum Heard {
    /// The hub.
    Hub(Answerer),
    /// Somebody here.
    Here(Reply<()>),
}

/// What the actor hears.
#[derive(Debug)]
pub(crate) enum Message {
    /// A client opens a stream.
    Attach {
        listener: Listener,
        reply: Reply<Result<Attached, Full>>,
    },
    /// A stream is closed. Sent once for each [`Place`].
    Detach { number: u64 },
    /// A session's client wants to hear of other topics than before.
    Retopic {
        session: Uuid,
        topics: Vec<Topic>,
        /// What has to be heard; none when the session has no stream here.
        reply: Reply<Result<Option<Arc<Wanted>>, Full>>,
    },
    /// Of these sessions, which have a stream here?
    WhichSessions {
        ids: Vec<Uuid>,
        reply: Reply<Vec<Uuid>>,
    },
    /// Something has changed.
    Changed { topic: Topic, heard: Heard },
    /// Anything may have changed.
    Missed,
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
        answerer: Answerer,
    },
    /// A session has that stream no longer.
    NotElsewhere { session: Uuid, answerer: Answerer },
    /// Look for streams elsewhere that were not heard of for too long.
    Sweep,
    /// These sessions have ended.
    EndSessions { ids: Vec<Uuid> },
    /// The gateway is draining: end all of them.
    Drain,
}

impl Drop for Place {
    fn drop(&mut self) {
        let number = self.number;
        if self.streams.cast(Message::Detach { number }).is_err() {
            debug!("streams are gone, nothing to detach");
        }
    }
}

impl Heard {
    /// Says that it was noted, and whether anybody listens to it. Dropping it says
    /// that it was not.
    fn tell(self, taken: bool) {
        match self {
            Self::Hub(answerer) => answerer.answer(Answer::Receipt { taken }),
            Self::Here(reply) => drop(reply.send(())),
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
    watch: Watch,
    /// The tasks that streams are told of.
    tasks: HashMap<Uuid, Told>,
    /// Those that may have changed without anybody having said so.
    stale: BTreeSet<Uuid>,
    /// Whether some of those are being looked up.
    checks: bool,
}

/// A session whose newest stream is elsewhere.
#[derive(Debug)]
struct Away {
    /// Until when that is believed.
    until: Instant,
    /// What has changed since it was last heard; of tasks, what they are.
    held: HashMap<Arc<Topic>, Option<TaskNews>>,
}

/// How often a gateway says that it has the newest stream, and how long it is believed.
pub(crate) const REPEAT: Duration = Duration::from_secs(5);
const BELIEVED: Duration = Duration::from_secs(15);

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
    pub(crate) fn new(me: Seat<Message>, interest: Interest, watch: Watch) -> Self {
        Self {
            me,
            interest,
            next: 1,
            open: BTreeMap::new(),
            sessions: HashMap::new(),
            told: HashMap::new(),
            away: HashMap::new(),
            watch,
            tasks: HashMap::new(),
            stale: BTreeSet::new(),
            checks: false,
        }
    }

    fn attach(&mut self, listener: Listener) -> Result<Attached, Full> {
        let topics = Arc::new(self.interest.want(listener.topics)?);
        let number = self.next;
        self.next += 1;
        self.enter(number, topics.topics());
        if listener.missed {
            for topic in topics.topics() {
                listener.outbox.change(topic);
            }
        }
        if let Some(session) = listener.session {
            self.away.remove(&session);
            self.sessions.entry(session).or_default().push(number);
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

    fn enter(&mut self, number: u64, topics: &[Arc<Topic>]) {
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

    fn leave(&mut self, number: u64, topics: &[Arc<Topic>]) {
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

    fn detach(&mut self, number: u64) {
        let Some(open) = self.open.remove(&number) else {
            return;
        };
        self.leave(number, open.topics.topics());
        let Some(session) = open.session else { return };
        let Some(streams) = self.sessions.get_mut(&session) else {
            return;
        };
        streams.retain(|other| *other != number);
        match streams.last().and_then(|newest| self.open.get(newest)) {
            // What the client has not read there it shall read here.
            Some(newest) => {
                for change in open.outbox.take_changes() {
                    put(&newest.outbox, change);
                }
            }
            None => {
                self.sessions.remove(&session);
                self.away.remove(&session);
            }
        }
    }

    fn retopic(&mut self, session: Uuid, topics: Vec<Topic>) -> Result<Option<Arc<Wanted>>, Full> {
        let Some(numbers) = self.sessions.get(&session).cloned() else {
            return Ok(None);
        };
        let wanted = Arc::new(self.interest.want(topics)?);
        for number in numbers {
            let Some(open) = self.open.get_mut(&number) else {
                continue;
            };
            let before = std::mem::replace(&mut open.topics, Arc::clone(&wanted));
            self.leave(number, before.topics());
            self.enter(number, wanted.topics());
        }
        Ok(Some(wanted))
    }

    /// Notes a change that is no task's; returns whether anybody listens to it.
    fn change(&mut self, topic: &Topic) -> bool {
        let Some((topic, told)) = self.told.get_key_value(topic) else {
            return false;
        };
        for number in told {
            let Some(open) = self.open.get(number) else {
                continue;
            };
            let away = open.session.and_then(|session| self.away.get_mut(&session));
            if let Some(away) = away {
                away.held.insert(Arc::clone(topic), None);
            } else if self.is_newest(*number, open) {
                open.outbox.change(topic);
            }
        }
        true
    }

    /// Believes another gateway that it has a newer stream of a session; returns whether
    /// there is an older one here.
    fn leave_to(&mut self, session: Uuid, opened: u64) -> bool {
        let newest = self.sessions.get(&session).and_then(|open| open.last());
        let newest = newest.and_then(|newest| self.open.get(newest));
        if newest.is_none_or(|newest| newest.opened > opened) {
            return false;
        }
        let away = Away {
            until: Instant::now() + BELIEVED,
            held: HashMap::new(),
        };
        self.away.insert(session, away);
        true
    }

    /// Lets the newest stream of a session here have what was held; returns whether there
    /// is one.
    fn take_back(&mut self, session: Uuid) -> bool {
        let Some(away) = self.away.remove(&session) else {
            return false;
        };
        let newest = self.sessions.get(&session).and_then(|open| open.last());
        let Some(newest) = newest.and_then(|newest| self.open.get(newest)) else {
            return false;
        };
        for (topic, news) in away.held {
            put(&newest.outbox, Change { topic, news });
        }
        true
    }

    fn sweep(&mut self) {
        let now = Instant::now();
        let over = self.away.iter().filter(|(_, away)| away.until <= now);
        let over: Vec<Uuid> = over.map(|(session, _)| *session).collect();
        for session in over {
            self.take_back(session);
        }
    }

    fn missed(&mut self) {
        for (number, open) in &self.open {
            if self.is_newest(*number, open) {
                let topics = open.topics.topics().iter();
                for topic in topics.filter(|topic| !matches!(topic.subject, Subject::Task(_))) {
                    open.outbox.change(topic);
                }
            }
        }
        self.moved(&[]);
    }

    fn is_newest(&self, number: u64, open: &Open) -> bool {
        let Some(session) = &open.session else {
            return true;
        };
        if self.away.contains_key(session) {
            return false;
        }
        let streams = self.sessions.get(session);
        streams.and_then(|streams| streams.last()) == Some(&number)
    }

    fn end_sessions(&mut self, ids: &[Uuid]) {
        for id in ids {
            for number in self.sessions.remove(id).into_iter().flatten() {
                self.detach(number);
            }
        }
    }

    fn drain(&mut self) {
        self.sessions.clear();
        self.away.clear();
        self.told.clear();
        self.tasks.clear();
        self.open.clear();
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
            Message::Detach { number } => self.detach(number),
            Message::Retopic {
                session,
                topics,
                reply,
            } => {
                let wanted = self.retopic(session, topics);
                if let Err(unwanted) = reply.send(wanted) {
                    drop(unwanted);
                }
            }
            Message::WhichSessions { mut ids, reply } => {
                ids.retain(|id| self.sessions.contains_key(id));
                if let Err(unwanted) = reply.send(ids) {
                    drop(unwanted);
                }
            }
            Message::Changed { topic, heard } => self.changed(&topic, heard),
            Message::Missed => self.missed(),
            Message::TaskIs { topic, news, heard } => {
                if let Some(news) = news {
                    self.task_is(&topic, &news);
                }
                if let Some(heard) = heard {
                    heard.tell(true);
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
                answerer,
            } => {
                let taken = self.leave_to(session, opened);
                answerer.answer(Answer::Receipt { taken });
            }
            Message::NotElsewhere { session, answerer } => {
                let taken = self.take_back(session);
                answerer.answer(Answer::Receipt { taken });
            }
            Message::Sweep => self.sweep(),
            Message::EndSessions { ids } => self.end_sessions(&ids),
            Message::Drain => self.drain(),
        }
        Ok(())
    }
}

/// Puts a change where a stream reads. Where there is no room for the state of a task, its
/// client has to ask.
fn put(outbox: &Outbox, change: Change) {
    match change.news {
        Some(news) => {
            if outbox.task(&change.topic, news).is_err() {
                debug!("the state of a task is not told");
            }
        }
        None => outbox.change(&change.topic),
    }
}
