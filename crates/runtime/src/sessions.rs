//! What this gateway knows of legacy sessions (R12).
//!
//! The truth is in the store. Here is a bounded cache of it, which the store
//! corrects: it tells every gateway to forget a session before it answers whoever
//! changed or ended it. While the store is out of reach the cache is empty, so a
//! session that ended elsewhere is never served.
//!
//! The hot path reads the cache directly; the actor handles what the store says.
//! When it fails the cache stays, and the store asks again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use conduit_actor::{Actor, Failure};
use conduit_link::{Answer, Answerer, Refusal, SessionRecord, ToStore};
use conduit_protocol::limits::SUBSCRIPTION_ENTRIES;
use conduit_protocol::{ClientCapabilities, LogLevel, newest_legacy};
use conduit_telemetry::Gauge;
use parking_lot::RwLock;
use serde_json::value::RawValue;
use tracing::debug;
use uuid::Uuid;

use crate::interest::Wanted;
use crate::store::{Answered, StoreDoor};
use crate::{gateway, live, streams};

/// A session as requests see it; immutable but for its touch.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: Uuid,
    /// The id as authors see it.
    pub(crate) text: Arc<str>,
    pub(crate) server: Box<str>,
    pub(crate) version: &'static str,
    pub(crate) client: Option<Box<RawValue>>,
    /// What the client can be asked for.
    pub(crate) capabilities: ClientCapabilities,
    /// The resources whose changes it wants to hear of.
    pub(crate) subscriptions: Vec<String>,
    /// What it set with `logging/setLevel`; `info` until then (R7).
    pub(crate) level: LogLevel,
    touched: AtomicBool,
}

impl Session {
    /// What a client on a pipe has agreed on.
    pub(crate) fn of_pipe(
        server: &str,
        version: &'static str,
        client: Box<RawValue>,
        capabilities: ClientCapabilities,
    ) -> Self {
        let id = Uuid::new_v4();
        Self {
            id,
            text: id.to_string().into(),
            server: server.into(),
            version,
            client: Some(client),
            capabilities,
            subscriptions: Vec::new(),
            level: LogLevel::Info,
            touched: AtomicBool::new(false),
        }
    }

    /// The same session, which wants other lines from now on.
    pub(crate) fn with_level(&self, level: LogLevel) -> Self {
        Self {
            level,
            ..self.copy()
        }
    }

    /// The same session, which wants to hear of a resource, or no longer. `None` when it
    /// hears of as many as it may.
    pub(crate) fn with_subscription(&self, uri: &str, on: bool) -> Option<Self> {
        let mut copy = self.copy();
        let known = copy.subscriptions.iter().position(|known| known == uri);
        match (known, on) {
            (None, true) if copy.subscriptions.len() >= SUBSCRIPTION_ENTRIES => return None,
            (None, true) => copy.subscriptions.push(uri.to_owned()),
            (Some(place), false) => drop(copy.subscriptions.remove(place)),
            (Some(_), true) | (None, false) => {}
        }
        Some(copy)
    }

    fn copy(&self) -> Self {
        Self {
            id: self.id,
            text: Arc::clone(&self.text),
            server: self.server.clone(),
            version: self.version,
            client: self.client.clone(),
            capabilities: self.capabilities.clone(),
            subscriptions: self.subscriptions.clone(),
            level: self.level,
            touched: AtomicBool::new(false),
        }
    }

    /// Whether its clients may come back to a stream (R43).
    pub(crate) fn resumes(&self) -> bool {
        self.version == newest_legacy()
    }
}

/// Reads a session id as we write it: lower case, with dashes, and nothing else.
#[must_use]
pub fn session_id(text: &[u8]) -> Option<Uuid> {
    let id = Uuid::try_parse_ascii(text).ok()?;
    let mut canonical = Uuid::encode_buffer();
    let canonical = id.hyphenated().encode_lower(&mut canonical);
    (canonical.as_bytes() == text).then_some(id)
}

/// Reaches the sessions; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    shared: Arc<Shared>,
}

/// Why a session could not be looked up, opened or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// The store has as many sessions in use as it may keep.
    #[error("there are too many sessions")]
    Full,
    /// The store did not answer, or could not.
    #[error("the session store is not available")]
    Unavailable,
}

#[derive(Debug)]
struct Shared {
    /// A process without peers has no sessions but its pipe.
    store: StoreDoor,
    deadline: Duration,
    most: usize,
    cached: RwLock<HashMap<Uuid, Arc<Session>>>,
    /// Grows with everything that is forgotten: a look-up that saw it grow does
    /// not put its answer into the cache.
    forgotten: AtomicU64,
    gauge: Gauge,
}

impl Sessions {
    /// `most` bounds the cache; `deadline` how long the store may take.
    pub(crate) fn new(store: StoreDoor, deadline: Duration, most: usize, gauge: Gauge) -> Self {
        Self {
            shared: Arc::new(Shared {
                store,
                deadline,
                most,
                cached: RwLock::default(),
                forgotten: AtomicU64::new(0),
                gauge,
            }),
        }
    }

    /// Whether there can be sessions at all.
    pub(crate) fn are_kept(&self) -> bool {
        self.shared.store.is_shared()
    }

    /// Returns a session that is in the cache.
    pub(crate) fn cached(&self, id: Uuid) -> Option<Arc<Session>> {
        let session = self.shared.cached.read().get(&id).cloned()?;
        session.touched.store(true, Ordering::Relaxed);
        Some(session)
    }

    /// Returns a session, from the store if need be.
    pub(crate) async fn look(&self, id: Uuid) -> Result<Option<Arc<Session>>, Error> {
        if let Some(session) = self.cached(id) {
            return Ok(Some(session));
        }
        let before = self.shared.forgotten.load(Ordering::Acquire);
        let answer = self.ask(ToStore::LookSession { id }).await?;
        let Some(session) = session_of(answer)? else {
            return Ok(None);
        };
        session.touched.store(true, Ordering::Relaxed);
        self.keep(&session, before);
        Ok(Some(session))
    }

    /// Opens a session; it is durable when this returns.
    pub(crate) async fn open(&self, record: SessionRecord) -> Result<(), Error> {
        let answer = self.ask(ToStore::OpenSession(record)).await?;
        if answer == Answer::Done {
            return Ok(());
        }
        if answer == Answer::Refused(Refusal::Full) {
            return Err(Error::Full);
        }
        Err(unexpected(&answer))
    }

    /// Ends a session; every live gateway has forgotten it when this returns.
    /// Returns whether there was one.
    pub(crate) async fn end(&self, id: Uuid) -> Result<bool, Error> {
        let Answered { answer, again } = self.ask_again(ToStore::EndSession { id }).await?;
        // What the first question has ended, the second does not find.
        Ok(again || session_of(answer)?.is_some())
    }

    /// Changes the level from which on a session wants to hear; every other gateway has
    /// forgotten the old one when this returns. Returns whether there is such a session.
    pub(crate) async fn set_level(&self, id: Uuid, level: LogLevel) -> Result<bool, Error> {
        let before = self.shared.forgotten.load(Ordering::Acquire);
        let level = level.as_str().to_owned();
        let answer = self.ask(ToStore::SetSessionLevel { id, level }).await?;
        // The store tells the others alone.
        let Some(session) = session_of(answer)? else {
            return Ok(false);
        };
        self.replace(&session, before);
        Ok(true)
    }

    /// Lets a session hear of a resource, or no longer; every gateway that has a stream
    /// of it knows when this returns. Returns whether there is such a session.
    pub(crate) async fn subscribe(&self, id: Uuid, uri: String, on: bool) -> Result<bool, Error> {
        let answer = self.ask(ToStore::SubscribeSession { id, uri, on }).await?;
        if answer == Answer::Refused(Refusal::Full) {
            return Err(Error::Full);
        }
        Ok(session_of(answer)?.is_some())
    }

    /// Forgets everything, as when the link to the store is lost.
    pub(crate) fn forget_all(&self) {
        let mut cached = self.shared.cached.write();
        self.shared.forgotten.fetch_add(1, Ordering::Release);
        cached.clear();
        self.shared.gauge.set(0);
    }

    fn forget(&self, ids: &[Uuid]) {
        let mut cached = self.shared.cached.write();
        self.shared.forgotten.fetch_add(1, Ordering::Release);
        for id in ids {
            cached.remove(id);
        }
        self.shared.gauge.set(cached.len());
    }

    /// Puts `session` in place of what is cached, or forgets that if something was
    /// forgotten since `before`.
    fn replace(&self, session: &Arc<Session>, before: u64) {
        self.forget(&[session.id]);
        // What was forgotten just now is this one alone.
        self.keep(session, before + 1);
    }

    /// Caches `session`, unless something was forgotten since `before`.
    fn keep(&self, session: &Arc<Session>, before: u64) {
        let mut cached = self.shared.cached.write();
        if self.shared.forgotten.load(Ordering::Acquire) != before {
            return;
        }
        if cached.len() >= self.shared.most
            && let Some(any) = cached.keys().next().copied()
        {
            cached.remove(&any);
        }
        cached.insert(session.id, Arc::clone(session));
        self.shared.gauge.set(cached.len());
    }

    /// Tells the store which sessions were used since the last time.
    ///
    /// Touches are hints: what the store does not take is left out, and the next use
    /// of a session touches it again.
    pub(crate) async fn flush(&self) {
        const BATCH: usize = 1_000;
        for ids in self.touched().chunks(BATCH) {
            let ids = ids.to_vec();
            if let Err(error) = self.ask(ToStore::TouchSessions { ids }).await {
                debug!(%error, "touches not taken");
                return;
            }
        }
    }

    fn touched(&self) -> Vec<Uuid> {
        let cached = self.shared.cached.read();
        cached
            .values()
            .filter(|session| session.touched.swap(false, Ordering::Relaxed))
            .map(|session| session.id)
            .collect()
    }

    async fn ask(&self, question: ToStore) -> Result<Answer, Error> {
        let answered = self.ask_again(question).await?;
        Ok(answered.answer)
    }

    /// Asks until there is an answer or the time is up, and says whether it had to ask
    /// again.
    async fn ask_again(&self, question: ToStore) -> Result<Answered, Error> {
        let Shared {
            store, deadline, ..
        } = &*self.shared;
        if !store.is_shared() {
            return Err(Error::Unavailable);
        }
        let answered = store.ask_again(question, *deadline).await;
        answered.map_err(|_unanswered| Error::Unavailable)
    }
}

fn session_of(answer: Answer) -> Result<Option<Arc<Session>>, Error> {
    let Answer::Session(record) = answer else {
        return Err(unexpected(&answer));
    };
    record
        .map(|record| Session::try_from(record).map(Arc::new))
        .transpose()
}

fn unexpected(answer: &Answer) -> Error {
    debug!(?answer, "the store refused");
    Error::Unavailable
}

impl TryFrom<SessionRecord> for Session {
    type Error = Error;

    fn try_from(record: SessionRecord) -> Result<Self, Error> {
        let version = conduit_protocol::LEGACY_VERSIONS
            .iter()
            .find(|version| **version == record.version)
            .ok_or(Error::Unavailable)?;
        Ok(Self {
            id: record.id,
            text: record.id.to_string().into(),
            server: record.server.into(),
            version,
            client: raw(&record.client),
            capabilities: std::str::from_utf8(&record.capabilities)
                .ok()
                .and_then(ClientCapabilities::from_json)
                .unwrap_or_default(),
            subscriptions: record.subscriptions,
            level: record
                .level
                .and_then(|level| LogLevel::parse(&level))
                .unwrap_or(LogLevel::Info),
            touched: AtomicBool::new(true),
        })
    }
}

fn raw(json: &[u8]) -> Option<Box<RawValue>> {
    serde_json::from_slice(json).ok()
}

// === Behind the handle ===

/// What the actor hears.
#[derive(Debug)]
pub(crate) enum Message {
    /// The store says that these sessions changed or ended.
    Forget {
        ids: Vec<Uuid>,
        ended: bool,
        answerer: Answerer,
    },
    /// The link to the store is lost.
    StoreLost,
}

#[derive(Debug)]
pub(crate) struct Keeper {
    shared: Arc<gateway::Shared>,
    /// What every session is told of: whoever opens one does not wait for the hub.
    _lists: Vec<Wanted>,
}

impl Keeper {
    pub(crate) fn new(shared: Arc<gateway::Shared>) -> Self {
        // A former life of this actor may have said so already.
        let hosted = shared.hosted.iter().filter(|_| shared.sessions.are_kept());
        let lists = hosted.filter_map(|hosted| {
            let lists = shared.interest.want(hosted.session_topics(&[]));
            lists.ok()
        });
        Self {
            _lists: lists.collect(),
            shared,
        }
    }

    fn forget(&self, ids: Vec<Uuid>, ended: bool, answerer: Answerer) {
        let shared = &self.shared;
        shared.sessions.forget(&ids);
        if !ended {
            let follow = live::follow(Arc::clone(shared), ids, answerer);
            // The store has one such question at a time for each change.
            shared.tasks.spawn(follow);
            return;
        }
        shared.replays.forget(&ids);
        shared.bridge.end(&ids);
        let end = streams::Message::EndSessions { ids };
        if shared.streams.cast(end).is_err() {
            debug!("no streams to end");
        }
        answerer.answer(Answer::Done);
    }
}

impl Actor for Keeper {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Forget {
                ids,
                ended,
                answerer,
            } => self.forget(ids, ended, answerer),
            Message::StoreLost => self.shared.sessions.forget_all(),
        }
        Ok(())
    }
}
