//! The changes that a stream has to tell of: a set, so a slow reader costs bounded
//! memory and misses nothing (R21).
//!
//! Of a task its latest state is kept, at most [`MOST_BYTES`] of all states together: a
//! stream that falls further behind is ended, and its client asks anew (M-SUB-12).

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use conduit_link::{Subject, Topic};
use conduit_protocol::{ListKind, Rendered, RequestId, TaskChange, list_changed, resource_updated};
use uuid::Uuid;

/// The most that the states of tasks may have that wait for a reader, in bytes. One
/// state always fits.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// The most tasks of which it is remembered what was told.
const MOST_TASKS: usize = 4_096;

/// Changes in the order in which they happened first, each once. Never more than the
/// stream's client asked to hear of.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    order: VecDeque<Arc<Topic>>,
    known: HashSet<Arc<Topic>>,
    tasks: HashMap<Uuid, Task>,
    /// What the states that wait have together.
    bytes: usize,
    /// The request that opened the stream; none in a legacy session.
    subscription: Option<RequestId>,
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

    pub(crate) fn add(&mut self, topic: &Arc<Topic>) {
        if self.known.insert(Arc::clone(topic)) {
            self.order.push_back(Arc::clone(topic));
        }
    }

    /// Adds the state of a task, in place of an older one; what is not newer than what
    /// was told is left out.
    pub(crate) fn add_task(&mut self, topic: &Arc<Topic>, news: TaskNews) -> Result<(), Overflow> {
        let Subject::Task(id) = topic.subject else {
            return Ok(());
        };
        self.forget_some();
        let known = self.tasks.get(&id);
        if known.is_some_and(|known| known.version >= news.version) {
            return Ok(());
        }
        let bytes = news.render(self.subscription.as_ref());
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
        self.tasks.insert(id, task);
        self.add(topic);
        Ok(())
    }

    /// Whether the states that wait leave no room for more.
    pub(crate) const fn is_full(&self) -> bool {
        self.bytes >= MOST_BYTES / 2
    }

    /// Takes the oldest change out, as the client is told of it.
    pub(crate) fn next(&mut self) -> Option<Rendered> {
        loop {
            let topic = self.order.pop_front()?;
            self.known.remove(&topic);
            let subscription = self.subscription.as_ref();
            let message = match &topic.subject {
                Subject::Tools => list_changed(ListKind::Tools, subscription),
                Subject::Prompts => list_changed(ListKind::Prompts, subscription),
                Subject::Resources => list_changed(ListKind::Resources, subscription),
                Subject::Resource(uri) => resource_updated(uri, subscription),
                Subject::Task(id) => {
                    let news = self.take_task(*id);
                    let told = news.and_then(|news| news.render(self.subscription.as_ref()));
                    if told.is_some() {
                        return told;
                    }
                    continue;
                }
            };
            return Some(message.into());
        }
    }

    /// Takes all out that waits.
    pub(crate) fn take_all(&mut self) -> Vec<Change> {
        self.known.clear();
        let order = std::mem::take(&mut self.order);
        let taken = order.into_iter().map(|topic| Change {
            news: match topic.subject {
                Subject::Task(id) => self.take_task(id),
                Subject::Tools | Subject::Prompts | Subject::Resources | Subject::Resource(_) => {
                    None
                }
            },
            topic,
        });
        taken.collect()
    }

    fn take_task(&mut self, id: Uuid) -> Option<TaskNews> {
        let task = self.tasks.get_mut(&id)?;
        self.bytes -= std::mem::take(&mut task.bytes);
        task.waits.take()
    }

    /// A session may see any number of tasks in its life.
    fn forget_some(&mut self) {
        if self.tasks.len() >= MOST_TASKS {
            self.tasks.retain(|_, task| task.waits.is_some());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(uri: &str) -> Arc<Topic> {
        Arc::new(Topic {
            server: "test".to_owned(),
            subject: Subject::Resource(uri.to_owned()),
        })
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

        for topic in [&a, &b, &a, &a, &b] {
            pending.add(topic);
        }

        let told = drain(&mut pending);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("x://a") && told[1].contains("x://b"));
    }

    #[test]
    fn what_changes_after_it_was_told_is_told_again() {
        let mut pending = Pending::of(Some(RequestId::from(7)));
        let a = topic("x://a");
        pending.add(&a);
        drain(&mut pending);

        pending.add(&a);

        let told = drain(&mut pending);
        assert!(told[0].contains(r#"subscriptionId":7"#), "{told:?}");
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
        assert_eq!(pending.bytes, 0);
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

        assert!(pending.tasks.len() <= MOST_TASKS);
    }

    #[test]
    fn what_is_taken_over_keeps_its_states() {
        let (mut one, mut other) = (Pending::default(), Pending::default());
        one.add(&topic("x://a"));
        assert_eq!(one.add_task(&task(1), status(1, "a1")), Ok(()));

        for change in one.take_all() {
            match change.news {
                Some(news) => assert_eq!(other.add_task(&change.topic, news), Ok(())),
                None => other.add(&change.topic),
            }
        }

        assert!(drain(&mut one).is_empty());
        assert_eq!(drain(&mut other).len(), 2);
    }
}
