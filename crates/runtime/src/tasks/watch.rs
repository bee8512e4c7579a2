//! How streams, and requests that wait, follow what becomes of tasks.
//!
//! Whoever hears that a task has changed asks the store what it is now. What is shown is
//! never older than what was shown before: tasks have versions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use conduit_actor::Seat;
use conduit_link::{Asker, Subject, TaskAnswer, TaskQuestion, TaskRecord, Topic};
use conduit_protocol::TaskChange;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;
use tracing::debug;
use uuid::Uuid;

use super::{Shown, look};
use crate::outbox::TaskNews;
use crate::store::{Error, StoreDoor};
use crate::streams::{Heard, Message};

/// Between two looks of which the first did not work.
const AGAIN: Duration = Duration::from_secs(1);

/// Looks tasks up for those who follow them; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) store: StoreDoor,
    /// The longest that the store may take.
    pub(crate) patience: Duration,
    pub(crate) tracker: TaskTracker,
    pub(crate) waiting: Waiting,
}

/// A task that streams here are told of.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) topic: Arc<Topic>,
    /// On whose behalf one of them listens.
    pub(crate) asker: Asker,
    /// The newest version that they were told of.
    pub(crate) version: u64,
}

impl Watch {
    /// Looks a task up that has changed; the answer goes to the streams, and then to
    /// whoever waits to know that it has arrived. If the store does not answer, nobody
    /// hears anything, and whoever told of the change tells again.
    pub(crate) fn fetch(&self, streams: Seat<Message>, watched: Watched, heard: Heard) {
        let watch = self.clone();
        self.tracker.spawn(async move {
            match watch.news_of(&watched).await {
                Ok(news) => cast(
                    &streams,
                    Message::TaskIs {
                        topic: watched.topic,
                        news,
                        heard: Some(heard),
                    },
                ),
                Err(error) => debug!(%error, "nobody hears what became of a task"),
            }
        });
    }

    /// Looks for tasks that have changed since they were told of; never more than the
    /// store lets in at once. What could not be looked at goes back to the streams.
    pub(crate) fn check(&self, streams: Seat<Message>, watched: Vec<Watched>) {
        let watch = self.clone();
        self.tracker.spawn(async move {
            let left = watch.check_now(&streams, watched).await;
            if !left.is_empty() {
                sleep(AGAIN).await;
            }
            cast(&streams, Message::TasksChecked { left });
        });
    }

    /// Returns those that could not be looked at.
    async fn check_now(&self, streams: &Seat<Message>, watched: Vec<Watched>) -> Vec<Uuid> {
        let id_of = |watched: &Watched| task_of(&watched.topic);
        let ids: Vec<Uuid> = watched.iter().filter_map(id_of).collect();
        let question = TaskQuestion::Versions { ids: ids.clone() };
        let answer = self.store.ask_of_tasks(question, self.patience).await;
        let Ok(Ok(TaskAnswer::Versions(versions))) = answer else {
            return ids;
        };
        let versions: HashMap<Uuid, u64> = versions.into_iter().collect();
        let mut left = Vec::new();
        for watched in watched {
            let Some(id) = id_of(&watched) else { continue };
            if versions.get(&id).is_none_or(|now| *now <= watched.version) {
                continue;
            }
            match self.news_of(&watched).await {
                Ok(news) => {
                    let topic = watched.topic;
                    let heard = None;
                    cast(streams, Message::TaskIs { topic, news, heard });
                }
                Err(_unanswered) => left.push(id),
            }
        }
        left
    }

    /// Returns what is to be told of a task; nothing if it is no more.
    pub(crate) async fn news_of(&self, watched: &Watched) -> Result<Option<TaskNews>, Error> {
        let Some(id) = task_of(&watched.topic) else {
            return Ok(None);
        };
        let asker = watched.asker.clone();
        let record = look(&self.store, self.patience, id, asker).await?;
        Ok(record.map(news))
    }
}

/// Returns what a listen stream is told of a task.
pub(crate) fn news(record: TaskRecord) -> TaskNews {
    let version = record.version;
    TaskNews::change(version, TaskChange::render(&Shown::of(record).view()))
}

/// Returns which task a topic is about.
pub(crate) fn task_of(topic: &Topic) -> Option<Uuid> {
    match topic.subject {
        Subject::Task(id) => Some(id),
        Subject::Tools | Subject::Prompts | Subject::Resources | Subject::Resource(_) => None,
    }
}

fn cast(streams: &Seat<Message>, message: Message) {
    if streams.cast(message).is_err() {
        debug!("the streams that follow tasks are gone");
    }
}

// === Requests that wait ===

/// The requests that wait for a task to change; cheap to clone. There are never more
/// than the admission lets in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    inner: Arc<Mutex<HashMap<Uuid, Vec<Arc<Notify>>>>>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Waiter {
    task: Uuid,
    news: Arc<Notify>,
    waiting: Waiting,
}

impl Waiting {
    pub(crate) fn wait(&self, task: Uuid) -> Waiter {
        let news = Arc::new(Notify::new());
        let mut inner = self.inner.lock();
        inner.entry(task).or_default().push(Arc::clone(&news));
        Waiter {
            task,
            news,
            waiting: self.clone(),
        }
    }

    /// Wakes whoever waits for a task; returns whether anybody did.
    pub(crate) fn wake(&self, task: Uuid) -> bool {
        let inner = self.inner.lock();
        let waiting = inner.get(&task);
        for news in waiting.into_iter().flatten() {
            news.notify_one();
        }
        waiting.is_some()
    }

    /// Wakes everybody.
    pub(crate) fn wake_all(&self) {
        for news in self.inner.lock().values().flatten() {
            news.notify_one();
        }
    }
}

impl Waiter {
    /// Waits until the task may have changed since this was asked last.
    ///
    /// Cancel safe.
    pub(crate) async fn changed(&self) {
        self.news.notified().await;
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut inner = self.waiting.inner.lock();
        if let Some(waiting) = inner.get_mut(&self.task) {
            waiting.retain(|news| !Arc::ptr_eq(news, &self.news));
            if waiting.is_empty() {
                inner.remove(&self.task);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_waits_for_a_task_hears_of_it_alone() {
        let waiting = Waiting::default();
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let waiter = waiting.wait(one);

        assert!(!waiting.wake(other));
        assert!(waiting.wake(one), "a change before the wait counts");

        waiter.changed().await;
        drop(waiter);
        assert!(!waiting.wake(one));
        assert!(waiting.inner.lock().is_empty());
    }
}
