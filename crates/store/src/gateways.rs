//! The gateways that are attached now, and what they are told.
//!
//! A gateway is attached from the moment its link is up until it is down. So one
//! that asked for a session before it ended is among those that are told.
//!
//! Forgetting goes on [`Lane::Data`], which answers overtake and nothing else: a
//! gateway hears what a session was always before it hears to forget it. News of tasks
//! goes the same way, and nobody waits for it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conduit_link::{Answer, CallError, FromStore, Lane, Link, Message, Slot};
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};
use uuid::Uuid;

use crate::news::News;
use crate::task::Holder;

/// Tells gateways what to forget, and what has become of tasks.
#[derive(Debug)]
pub(crate) struct Gateways {
    /// Shared with the link thread, which attaches and detaches: no more than there
    /// are links.
    attached: Mutex<Vec<Arc<Gateway>>>,
    changed: Notify,
    /// One has gone.
    left: AtomicBool,
    deadline: Duration,
    tasks: TaskTracker,
}

/// One gateway, as long as it is attached.
#[derive(Debug)]
pub(crate) struct Gateway {
    line: Line,
    holder: Holder,
    news: Mutex<News>,
    greeted: AtomicBool,
}

/// How a gateway is reached.
pub(crate) enum Line {
    /// In a process of its own.
    Link(Link),
    /// In this one.
    Local(Tell),
}

/// Hears what the store tells. Must not block.
pub(crate) type Tell = Box<dyn Fn(FromStore) + Send + Sync>;

/// Who has to forget.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Audience<'a> {
    /// Every gateway.
    All,
    /// Every gateway but this one.
    AllBut(&'a Gateway),
}

/// Why gateways forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The sessions are no more.
    Ended,
    /// The sessions are not what they were.
    Changed,
}

impl Gateways {
    /// A gateway that has not answered after `deadline` counts as gone: the
    /// heartbeats of its link decide about it. Telling the news becomes a task of
    /// `tasks`, at most one for each gateway.
    pub(crate) fn new(deadline: Duration, tasks: TaskTracker) -> Self {
        Self {
            attached: Mutex::new(Vec::new()),
            changed: Notify::new(),
            left: AtomicBool::new(false),
            deadline,
            tasks,
        }
    }

    pub(crate) fn attach(&self, line: Line, holder: Holder) -> Arc<Gateway> {
        let gateway = Arc::new(Gateway {
            line,
            holder,
            news: Mutex::default(),
            greeted: AtomicBool::new(false),
        });
        self.attached.lock().push(Arc::clone(&gateway));
        self.changed.notify_one();
        gateway
    }

    pub(crate) fn detach(&self, link: &Link) {
        let has_left = {
            let mut attached = self.attached.lock();
            let before = attached.len();
            attached.retain(|gateway| !gateway.is(link));
            attached.len() < before
        };
        if has_left {
            self.left.store(true, Ordering::Release);
        }
        self.changed.notify_one();
    }

    /// Returns the gateway behind a link, if it is attached.
    pub(crate) fn behind(&self, link: &Link) -> Option<Arc<Gateway>> {
        let attached = self.attached.lock();
        attached.iter().find(|gateway| gateway.is(link)).cloned()
    }

    /// Waits until gateways have come or gone.
    ///
    /// # Cancel safety
    ///
    /// Safe: the next call hears of it.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Whether a gateway has gone since the last time; it may have told nobody what it has
    /// written.
    pub(crate) fn has_left(&self) -> bool {
        self.left.swap(false, Ordering::AcqRel)
    }

    /// Tells every gateway that any task may have changed.
    pub(crate) fn tell_any_changed(&self) {
        for gateway in self.all() {
            self.add(&gateway, News::change_any);
        }
    }

    /// Returns whoever is attached.
    pub(crate) fn holders(&self) -> Vec<Holder> {
        self.all().iter().map(|gateway| gateway.holder).collect()
    }

    /// Returns once every gateway of the audience has forgotten the sessions or
    /// counts as gone.
    pub(crate) async fn forget(&self, ids: &[Uuid], reason: Reason, audience: Audience<'_>) {
        if ids.is_empty() {
            return;
        }
        let told = self.all();
        let told = told.iter().filter(|gateway| match audience {
            Audience::All => true,
            Audience::AllBut(asker) => !std::ptr::eq(&raw const ***gateway, asker),
        });
        let message = FromStore::ForgetSessions {
            ids: ids.to_vec(),
            ended: reason == Reason::Ended,
        };
        join_all(told.map(|gateway| gateway.tell(message.clone(), self.deadline))).await;
    }

    /// Tells those that have come since the last time that tasks may have changed
    /// while they were not attached.
    pub(crate) fn greet(&self, is_ready: bool) {
        for gateway in self.all() {
            if gateway.greeted.swap(true, Ordering::Relaxed) {
                continue;
            }
            self.add(&gateway, |news| {
                news.change_any();
                if is_ready {
                    news.ready();
                }
            });
        }
    }

    /// Tells every gateway that there is work.
    pub(crate) fn tell_ready(&self) {
        for gateway in self.all() {
            self.add(&gateway, News::ready);
        }
    }

    /// Tells every gateway that tasks have changed.
    pub(crate) fn tell_changed(&self, ids: &[Uuid]) {
        if ids.is_empty() {
            return;
        }
        for gateway in self.all() {
            self.add(&gateway, |news| news.change(ids));
        }
    }

    /// Tells the holders of tasks, if they are attached, that these are over.
    pub(crate) fn tell_stopped(&self, stopped: &[(Holder, Uuid)]) {
        for gateway in self.all() {
            let life = gateway.holder.life;
            let held = stopped.iter().filter(|(holder, _)| holder.life == life);
            let mut held = held.map(|(_, id)| *id).peekable();
            if held.peek().is_some() {
                self.add(&gateway, |news| news.stop(held));
            }
        }
    }

    fn all(&self) -> Vec<Arc<Gateway>> {
        self.attached.lock().clone()
    }

    fn add(&self, gateway: &Arc<Gateway>, add: impl FnOnce(&mut News)) {
        let begins = {
            let mut news = gateway.news.lock();
            add(&mut news);
            news.begin()
        };
        if begins {
            let (gateway, deadline) = (Arc::clone(gateway), self.deadline);
            self.tasks.spawn(async move {
                while let Some(message) = gateway.next() {
                    gateway.tell(message, deadline).await;
                }
            });
        }
    }
}

impl Gateway {
    /// Returns it as a holder of tasks.
    pub(crate) const fn holder(&self) -> Holder {
        self.holder
    }

    fn is(&self, link: &Link) -> bool {
        matches!(&self.line, Line::Link(own) if own == link)
    }

    fn next(&self) -> Option<FromStore> {
        self.news.lock().next()
    }

    async fn tell(&self, message: FromStore, deadline: Duration) {
        let link = match &self.line {
            Line::Link(link) => link,
            Line::Local(tell) => return tell(message),
        };
        let gateway = Slot::gateway(self.holder.slot);
        let message = Message::FromStore(message);
        match link.call(Lane::Data, message, deadline).await {
            Ok(Answer::Done) => {}
            Ok(_refusal) => warn!(%gateway, "gateway refuses the news"),
            Err(error @ (CallError::Late | CallError::TooLarge)) => {
                warn!(%gateway, %error, "gateway did not take the news, going on without it");
            }
            Err(error @ (CallError::Broken | CallError::Down)) => {
                debug!(%gateway, %error, "gateway is gone, and its view with it");
            }
        }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(link) => link.fmt(f),
            Self::Local(_) => f.write_str("Local"),
        }
    }
}
