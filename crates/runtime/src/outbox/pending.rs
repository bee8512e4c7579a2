//! The changes that a stream has to tell of: a set, so a slow reader costs bounded
//! memory and misses nothing (R21).
//!
//! Of a task its latest state is kept, at most [`MOST_BYTES`] of all states together: a
//! stream that falls further behind is ended, and its client asks anew (M-SUB-12).

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use conduit_link::{Subject, Topic};
use conduit_protocol::{Rendered, RequestId, TaskChange};
use uuid::Uuid;

use super::News;

/// The most that the states of tasks may have that wait for a reader, in bytes. One
/// state always fits.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// The most tasks of which it is remembered what was told.
const MOST_TASKS: usize = 4_096;
/// So many changes are looked through one after the other, and more by their hash.
const FEW: usize = 16;

/// Changes in the order in which they happened first, each once. Never more than the
/// stream's client asked to hear of.
///
/// Of a stream that has nothing to tell nothing is on the heap, but what it knows of
/// tasks: most streams wait most of the time.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    order: VecDeque<Waiting>,
    /// What is in `order`, if that is more than a few.
    #[expect(
        clippy::box_collection,
        reason = "nearly all streams have none: that shall take no room"
    )]
    known: Option<Box<HashSet<Arc<Topic>>>>,
    tasks: Option<Box<Tasks>>,
    /// The request that opened the stream; none in a legacy session.
    subscription: Option<RequestId>,
}

#[derive(Debug)]
enum Waiting {
    Change(Arc<News>),
    /// A task, whose state is among [`Tasks`].
    Task(Arc<Topic>),
}

/// The tasks that a stream has told of, or has to.
#[derive(Debug, Default)]
struct Tasks {
    known: HashMap<Uuid, Task>,
    /// What the states that wait have together.
    bytes: usize,
}

/// The state of a task, as it is told.
#[derive(Clone, Debug)]
pub(crate) struct TaskNews {
    version: u64,
    said: Said,
}

/// Something that waits to be told.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) topic: Arc<Topic>,
    /// The state, of a task.
    pub(crate) news: Option<TaskNews>,
}

/// As many states wait as may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overflow;

#[derive(Clone, Debug)]
enum Said {
    /// On a listen stream.
    Change(TaskChange),
    /// In a legacy session.
    Status(Rendered),
}

/// What is known of a task.
#[derive(Debug, Default)]
struct Task {
    /// The newest version that was ever here.
    version: u64,
    /// The state that waits.
    waits: Option<TaskNews>,
    bytes: usize,
}

impl TaskNews {
    /// What is told on listen streams.
    pub(crate) const fn change(version: u64, change: TaskChange) -> Self {
        Self {
            version,
            said: Said::Change(change),
        }
    }

    /// What is told in a legacy session.
    pub(crate) const fn status(version: u64, notification: Rendered) -> Self {
        Self {
            version,
            said: Said::Status(notification),
        }
    }

    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    fn render(&self, subscription: Option<&RequestId>) -> Option<Rendered> {
        match (&self.said, subscription) {
            (Said::Change(change), Some(id)) => Some(change.for_subscription(id)),
            (Said::Change(_), None) => None,
            (Said::Status(notification), _) => Some(notification.clone()),
        }
    }
}

impl Pending {
    pub(crate) fn of(subscription: Option<RequestId>) -> Self {
        Self {
            subscription,
            ..Self::default()
        }
    }

    /// Adds a change; returns whether it was not there already.
    pub(crate) fn add(&mut self, news: &Arc<News>) -> bool {
        let is_new = self.note(news.topic());
        if is_new {
            self.order.push_back(Waiting::Change(Arc::clone(news)));
        }
        is_new
    }

    /// Adds the state of a task, in place of an older one; what is not newer than what
    /// was told is left out.
    pub(crate) fn add_task(&mut self, topic: &Arc<Topic>, news: TaskNews) -> Result<(), Overflow> {
        let Subject::Task(id) = topic.subject else {
            return Ok(());
        };
        let tasks = self.tasks.get_or_insert_default();
        if !tasks.add(id, news, self.subscription.as_ref())? {
            return Ok(());
        }
        if self.note(topic) {
            self.order.push_back(Waiting::Task(Arc::clone(topic)));
        }
        Ok(())
    }

    /// Whether the states that wait leave no room for more.
    pub(crate) fn is_full(&self) -> bool {
        self.tasks
            .as_ref()
            .is_some_and(|tasks| tasks.bytes >= MOST_BYTES / 2)
    }

    /// Takes the oldest change out, as the client is told of it.
    pub(crate) fn next(&mut self) -> Option<Rendered> {
        loop {
            let waiting = self.order.pop_front()?;
            self.forget(waiting.topic());
            let subscription = self.subscription.as_ref();
            let told = match &waiting {
                Waiting::Change(news) => news.tell(subscription).map(Rendered::from),
                Waiting::Task(topic) => {
                    let news = self.tasks.as_mut().and_then(|tasks| tasks.take(topic));
                    news.and_then(|news| news.render(subscription))
                }
            };
            if told.is_some() {
                return told;
            }
        }
    }

    /// Takes all out that waits.
    pub(crate) fn take_all(&mut self) -> Vec<Change> {
        self.known = None;
        let order = std::mem::take(&mut self.order);
        let taken = order.into_iter().map(|waiting| match waiting {
            Waiting::Change(news) => Change {
                topic: Arc::clone(news.topic()),
                news: None,
            },
            Waiting::Task(topic) => Change {
                news: self.tasks.as_mut().and_then(|tasks| tasks.take(&topic)),
                topic,
            },
        });
        taken.collect()
    }

    /// Notes that something waits; returns whether it did not yet.
    fn note(&mut self, topic: &Arc<Topic>) -> bool {
        if let Some(known) = &mut self.known {
            return known.insert(Arc::clone(topic));
        }
        let mut waiting = self.order.iter().map(Waiting::topic);
        if waiting.any(|known| Arc::ptr_eq(known, topic) || known == topic) {
            return false;
        }
        if self.order.len() >= FEW {
            let all = self.order.iter().map(Waiting::topic).chain([topic]);
            self.known = Some(Box::new(all.map(Arc::clone).collect()));
        }
        true
    }

    /// Notes that something waits no more, and gives back what it took.
    fn forget(&mut self, topic: &Arc<Topic>) {
        if self.order.is_empty() {
            self.order = VecDeque::new();
            self.known = None;
        } else if let Some(known) = &mut self.known {
            known.remove(topic);
        }
    }
}

impl Waiting {
    fn topic(&self) -> &Arc<Topic> {
        match self {
            Self::Change(news) => news.topic(),
            Self::Task(topic) => topic,
        }
    }
}

impl Tasks {
    /// Returns whether the state is newer than all before.
    fn add(
        &mut self,
        id: Uuid,
        news: TaskNews,
        subscription: Option<&RequestId>,
    ) -> Result<bool, Overflow> {
        self.forget_some();
        let known = self.known.get(&id);
        if known.is_some_and(|known| known.version >= news.version) {
            return Ok(false);
        }
        let bytes = news.render(subscription);
        let bytes = bytes.as_ref().map_or(0, Rendered::size);
        let others = self.bytes - known.map_or(0, |known| known.bytes);
        if others > 0 && others + bytes > MOST_BYTES {
            return Err(Overflow);
        }
        self.bytes = others + bytes;
        let task = Task {
            version: news.version,
            waits: Some(news),
            bytes,
        };
        self.known.insert(id, task);
        Ok(true)
    }

    fn take(&mut self, topic: &Topic) -> Option<TaskNews> {
        let Subject::Task(id) = topic.subject else {
            return None;
        };
        let task = self.known.get_mut(&id)?;
        self.bytes -= std::mem::take(&mut task.bytes);
        task.waits.take()
    }

    /// A session may see any number of tasks in its life.
    fn forget_some(&mut self) {
        if self.known.len() >= MOST_TASKS {
            self.known.retain(|_, task| task.waits.is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::Published;

    fn topic(uri: &str) -> Arc<Topic> {
        Arc::new(Topic {
            server: "test".to_owned(),
            subject: Subject::Resource(uri.to_owned()),
        })
    }

    fn news(uri: &str) -> Arc<News> {
        Arc::new(News::new(topic(uri), None))
    }

    fn task(id: u128) -> Arc<Topic> {
        Arc::new(Topic {
            server: "test".to_owned(),
            subject: Subject::Task(Uuid::from_u128(id)),
        })
    }

    fn status(version: u64, text: &str) -> TaskNews {
        TaskNews::status(version, bytes::Bytes::from(text.to_owned()).into())
    }

    fn drain(pending: &mut Pending) -> Vec<String> {
        std::iter::from_fn(|| pending.next())
            .map(|message| String::from_utf8(message.into_bytes().to_vec()).expect("text"))
            .collect()
    }

    #[test]
    fn what_changes_often_is_told_once_in_the_order_of_its_first_change() {
        let mut pending = Pending::default();
        let (a, b) = (topic("x://a"), topic("x://b"));

        let added = [&a, &b, &a, &a, &b]
            .map(|topic| pending.add(&Arc::new(News::new(Arc::clone(topic), None))));

        assert_eq!(added, [true, true, false, false, false]);
        let told = drain(&mut pending);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("x://a") && told[1].contains("x://b"));
    }

    #[test]
    fn what_changes_after_it_was_told_is_told_again() {
        let mut pending = Pending::of(Some(RequestId::from(7)));
        let a = news("x://a");
        pending.add(&a);
        drain(&mut pending);

        pending.add(&a);

        let told = drain(&mut pending);
        assert!(told[0].contains(r#"subscriptionId":7"#), "{told:?}");
    }

    #[test]
    fn many_changes_are_told_once_each_and_in_order_too() {
        let mut pending = Pending::default();
        let all: Vec<_> = (0..5 * FEW).map(|n| news(&format!("x://{n:03}"))).collect();

        for round in 0..3 {
            for news in &all {
                assert_eq!(pending.add(news), round == 0);
            }
        }
        assert_eq!(pending.next().is_some(), pending.add(&all[0]));

        let told = drain(&mut pending);
        assert_eq!(told.len(), all.len());
        assert!(told[0].contains("x://001") && told[all.len() - 1].contains("x://000"));
        assert!(pending.known.is_none(), "and nothing is left");
        assert_eq!(pending.order.capacity(), 0);
    }

    #[test]
    fn whoever_measures_hears_of_each_stream_that_was_told() {
        let (send, heard) = std::sync::mpsc::channel();
        let published = Published { at_us: 7, shard: 3 };
        let news = News::new(topic("x://a"), Some(published));
        let news = Arc::new(news.observed_by(Arc::new(move |published| {
            send.send(published).expect("an ear");
        })));
        let mut streams = [Pending::default(), Pending::of(Some(RequestId::from(7)))];
        for stream in &mut streams {
            stream.add(&news);
            stream.add(&news);
        }
        assert!(heard.try_recv().is_err(), "nobody was told yet");

        let [one, other] = streams.each_mut().map(drain);

        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [published; 2]);
        assert!(!one[0].contains("subscriptionId") && other[0].contains("subscriptionId"));
    }

    #[test]
    fn of_a_task_the_latest_state_is_told_and_never_an_older_one() {
        let mut pending = Pending::default();
        let (a, b) = (task(1), task(2));
        for (topic, version, text) in [
            (&a, 1, "a1"),
            (&b, 5, "b5"),
            (&a, 3, "a3"),
            (&a, 2, "a2"),
            (&b, 5, "b5"),
        ] {
            assert_eq!(pending.add_task(topic, status(version, text)), Ok(()));
        }

        assert_eq!(drain(&mut pending), ["a3", "b5"]);
        assert_eq!(pending.add_task(&a, status(3, "again")), Ok(()));
        assert_eq!(pending.add_task(&a, status(2, "older")), Ok(()));
        assert!(drain(&mut pending).is_empty());
        assert_eq!(pending.tasks.expect("tasks").bytes, 0);
    }

    #[test]
    fn a_reader_that_falls_too_far_behind_is_found_out() {
        let mut pending = Pending::default();
        let large = "x".repeat(MOST_BYTES);
        assert_eq!(pending.add_task(&task(1), status(1, &large)), Ok(()));

        assert_eq!(pending.add_task(&task(1), status(2, &large)), Ok(()));
        assert_eq!(pending.add_task(&task(2), status(1, "x")), Err(Overflow));

        assert!(pending.is_full());
        assert_eq!(drain(&mut pending).len(), 1);
        assert_eq!(pending.add_task(&task(2), status(1, &large)), Ok(()));
    }

    #[test]
    fn what_was_told_of_many_tasks_is_not_remembered_for_ever() {
        let mut pending = Pending::default();
        for id in 0..3 * MOST_TASKS as u128 {
            assert_eq!(pending.add_task(&task(id), status(1, "x")), Ok(()));
            drain(&mut pending);
        }

        assert!(pending.tasks.expect("tasks").known.len() <= MOST_TASKS);
    }

    #[test]
    fn what_is_taken_over_keeps_its_states() {
        let (mut one, mut other) = (Pending::default(), Pending::default());
        one.add(&news("x://a"));
        assert_eq!(one.add_task(&task(1), status(1, "a1")), Ok(()));

        for change in one.take_all() {
            match change.news {
                Some(news) => assert_eq!(other.add_task(&change.topic, news), Ok(())),
                None => assert!(other.add(&Arc::new(News::new(change.topic, None)))),
            }
        }

        assert!(drain(&mut one).is_empty());
        assert_eq!(drain(&mut other).len(), 2);
    }
}
