//! What streams are told of tasks: not that one has changed, but what it is now.
//!
//! So the store is asked, beside this actor (`tasks/watch.rs`), before a change counts as
//! noted. What may have changed unheard is looked up, a batch at a time.

use std::sync::Arc;

use conduit_link::{Subject, Topic};
use tracing::debug;
use uuid::Uuid;

use super::list::put;
use super::newest::{Away, newest_of};
use super::{Changed, Heard, Streams};
use crate::outbox::{Change, TaskNews};
use crate::tasks::Watched;

/// The most changes that are held for a session whose newest stream is elsewhere, beyond
/// what it has asked to hear of: states of its tasks.
const MOST_HELD: usize = 1_024;
/// The most tasks that are looked up at once.
const CHECKED: usize = 1_000;

/// A task that streams are told of.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) topic: Arc<Topic>,
    /// The newest version that they were told of.
    pub(super) version: u64,
}

impl Streams {
    /// Notes a change, and tells whoever waits for that.
    pub(super) fn changed(&mut self, changed: &Changed, heard: Heard) {
        if let Subject::Task(id) = changed.topic.subject {
            self.watch.waiting.wake(id);
            match self.watched(id) {
                Some(watched) => self.watch.fetch(self.me.clone(), watched, heard),
                None => heard.tell(),
            }
        } else {
            self.change(changed);
            heard.tell();
        }
    }

    /// Returns what is needed to look up a task that streams are told of.
    fn watched(&self, id: Uuid) -> Option<Watched> {
        let Told { topic, version } = self.tasks.get(&id)?;
        let told = self.told.get(topic)?.iter();
        let mut open = told.filter_map(|number| self.open.get(number));
        Some(Watched {
            topic: Arc::clone(topic),
            asker: open.find_map(|open| open.asker.clone())?,
            version: *version,
        })
    }

    /// Tells the streams what a task is now. One that is too far behind ends.
    pub(super) fn task_is(&mut self, topic: &Arc<Topic>, news: &TaskNews) {
        let Subject::Task(id) = topic.subject else {
            return;
        };
        if let Some(told) = self.tasks.get_mut(&id) {
            told.version = told.version.max(news.version());
        }
        let told = self.told.get(topic).into_iter().flatten();
        let behind: Vec<u64> = told
            .filter(|number| {
                let open = self.open.get(number);
                open.is_some_and(|open| open.outbox.task(topic, news.clone()).is_err())
            })
            .copied()
            .collect();
        for number in behind {
            debug!("a stream is too far behind the tasks that it is told of, it ends");
            self.detach(number);
        }
    }

    /// Looks up what may have changed unheard; all tasks if none is named.
    pub(super) fn moved(&mut self, ids: &[Uuid]) {
        if ids.is_empty() {
            self.watch.waiting.wake_all();
            self.stale.extend(self.tasks.keys());
        } else {
            for id in ids {
                self.watch.waiting.wake(*id);
            }
            let told = ids.iter().filter(|id| self.tasks.contains_key(id));
            self.stale.extend(told);
        }
        self.check();
    }

    fn check(&mut self) {
        if self.checks || self.stale.is_empty() {
            return;
        }
        let batch: Vec<Uuid> = self.stale.iter().copied().take(CHECKED).collect();
        for id in &batch {
            self.stale.remove(id);
        }
        let watched: Vec<Watched> = batch.iter().filter_map(|id| self.watched(*id)).collect();
        if watched.is_empty() {
            return self.check();
        }
        self.checks = true;
        self.watch.check(self.me.clone(), watched);
    }

    pub(super) fn checked(&mut self, left: &[Uuid]) {
        self.checks = false;
        let told = left.iter().filter(|id| self.tasks.contains_key(id));
        self.stale.extend(told);
        self.check();
    }

    /// Tells a session what one of its tasks is now; returns whether it has a stream
    /// here, or is parked here.
    pub(super) fn task_status(&mut self, session: Uuid, task: Uuid, news: TaskNews) -> bool {
        let topic = Arc::new(Topic {
            server: String::new(),
            subject: Subject::Task(task),
        });
        let Some(newest) = newest_of(&self.sessions, &self.open, session) else {
            let news = Some(news);
            return self.parking.hold_task(session, Change { topic, news });
        };
        match self.away.get_mut(&session) {
            Some(away) => away.hold_task(topic, news),
            None => put(
                &newest.outbox,
                Change {
                    topic,
                    news: Some(news),
                },
            ),
        }
        true
    }
}

impl Away {
    /// Keeps the newest state of a task, unless there are as many as may be: then the
    /// session can still ask.
    fn hold_task(&mut self, topic: Arc<Topic>, news: TaskNews) {
        let held = self.held.get(&topic).and_then(Option::as_ref);
        let is_newer = held.is_none_or(|held| held.version() < news.version());
        if is_newer && (held.is_some() || self.held.len() < MOST_HELD) {
            self.held.insert(topic, Some(news));
        }
    }
}
