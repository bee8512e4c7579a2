//! The set of topics that have changed and were not told yet. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use conduit_link::{Subject, Topic};
use tokio::sync::watch;

/// Topics, each with who waits for it. Bound: so many topics as it was made for, and the
/// tasks beyond, of which there are as many as the store keeps.
#[derive(Debug)]
pub(super) struct Pending {
    most: usize,
    topics: HashMap<Arc<Topic>, Entry>,
    /// Those that nobody has taken out yet, in order.
    new: Vec<Arc<Topic>>,
}

/// A topic that was taken out to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) topic: Arc<Topic>,
    /// Since when it waits, see [`clock`](crate::clock).
    pub(super) at_us: u64,
    version: u64,
}

/// What became of a change that was added.
#[derive(Debug)]
pub(super) enum Added {
    /// It is to be told.
    First(Waiter),
    /// The same change waits to be told already.
    Again(Waiter),
    /// There is no room.
    Full(Topic),
}

/// Waits until a change was told.
#[derive(Debug)]
pub(super) struct Waiter {
    told: watch::Receiver<u64>,
    version: u64,
}

#[derive(Debug)]
struct Entry {
    /// Since when it waits, see [`clock`](crate::clock).
    at_us: u64,
    /// Grows with each change that came too late for the one on its way.
    version: u64,
    /// What is on its way.
    taken: Option<u64>,
    told: watch::Sender<u64>,
    /// How often it could not be told.
    failures: u32,
}

impl Waiter {
    /// Resolves when the change was told.
    pub(super) async fn told(mut self) {
        let version = self.version;
        // Who has gone has told everything.
        drop(self.told.wait_for(|told| *told >= version).await);
    }
}

impl Pending {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            topics: HashMap::new(),
            new: Vec::new(),
        }
    }

    /// Adds a change.
    pub(super) fn add(&mut self, topic: Topic, at_us: u64) -> Added {
        if let Some(entry) = self.topics.get_mut(&topic) {
            // What is on its way may have been sent before this change.
            if entry.taken == Some(entry.version) {
                entry.version += 1;
                entry.at_us = at_us;
                return Added::First(entry.waiter());
            }
            return Added::Again(entry.waiter());
        }
        // Nobody would tell the state of a task anew.
        let is_task = matches!(topic.subject, Subject::Task(_));
        if self.topics.len() >= self.most && !is_task {
            return Added::Full(topic);
        }
        let topic = Arc::new(topic);
        self.new.push(Arc::clone(&topic));
        let entry = Entry {
            at_us,
            version: 1,
            taken: None,
            told: watch::Sender::new(0),
            failures: 0,
        };
        let waiter = entry.waiter();
        self.topics.insert(topic, entry);
        Added::First(waiter)
    }

    /// Takes out everything that is new. A change of one of them is another one from now
    /// on.
    pub(super) fn take(&mut self) -> Vec<Taken> {
        let new = std::mem::take(&mut self.new);
        let taken = new.into_iter().filter_map(|topic| {
            let entry = self.topics.get_mut(&topic)?;
            entry.taken = Some(entry.version);
            Some(Taken {
                at_us: entry.at_us,
                version: entry.version,
                topic,
            })
        });
        taken.collect()
    }

    /// Whoever takes them out begins anew: everything is to be told.
    pub(super) fn begin_anew(&mut self) {
        for entry in self.topics.values_mut() {
            // What comes of an earlier attempt says nothing of what happens from now on.
            if entry.taken.take().is_some() {
                entry.version += 1;
            }
        }
        self.new = self.topics.keys().cloned().collect();
    }

    /// A topic was told to everybody.
    pub(super) fn told(&mut self, taken: &Taken) {
        let Some(entry) = self.on_its_way(taken) else {
            return;
        };
        entry.taken = None;
        entry.told.send_replace(taken.version);
        if entry.version > taken.version {
            entry.failures = 0;
            self.new.push(Arc::clone(&taken.topic));
        } else {
            self.topics.remove(&taken.topic);
            self.tighten();
        }
    }

    /// A topic was not told to everybody: a change from now on is the same one. Returns
    /// how often that has happened before; nothing if it is on its way anew.
    pub(super) fn failed(&mut self, taken: &Taken) -> Option<u32> {
        let entry = self.on_its_way(taken)?;
        entry.taken = None;
        let failures = entry.failures;
        entry.failures = failures.saturating_add(1);
        Some(failures)
    }

    /// A topic that was not told is to be told again.
    pub(super) fn requeue(&mut self, topic: &Arc<Topic>) {
        let entry = self.topics.get(topic);
        if entry.is_some_and(|entry| entry.taken.is_none()) {
            self.new.push(Arc::clone(topic));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.topics.len()
    }

    /// Finds what this attempt was for, unless another one has begun.
    fn on_its_way(&mut self, taken: &Taken) -> Option<&mut Entry> {
        let entry = self.topics.get_mut(&taken.topic)?;
        (entry.taken == Some(taken.version)).then_some(entry)
    }

    /// A crowd that has left leaves no memory behind.
    fn tighten(&mut self) {
        const SPARE: usize = 1_024;
        if self.topics.capacity() > SPARE && self.topics.capacity() / 8 > self.topics.len() {
            self.topics.shrink_to(self.topics.len() * 2);
        }
    }
}

// === Behind the set ===

impl Entry {
    fn waiter(&self) -> Waiter {
        Waiter {
            told: self.told.subscribe(),
            version: self.version,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn topic(uri: &str) -> Topic {
        Topic {
            server: "test".to_owned(),
            subject: Subject::Resource(uri.to_owned()),
        }
    }

    #[track_caller]
    fn first(added: Added) -> Waiter {
        let Added::First(waiter) = added else {
            panic!("not the first: {added:?}");
        };
        waiter
    }

    #[track_caller]
    fn again(added: Added) -> Waiter {
        let Added::Again(waiter) = added else {
            panic!("not the same: {added:?}");
        };
        waiter
    }

    fn is_told(waiter: Waiter) -> bool {
        waiter.told().now_or_never().is_some()
    }

    /// Takes the only topic out that is new.
    #[track_caller]
    fn take(pending: &mut Pending) -> Taken {
        let mut taken = pending.take();
        assert_eq!(taken.len(), 1, "{taken:?}");
        taken.remove(0)
    }

    #[test]
    fn what_waits_is_told_once_however_often_it_changes() {
        let mut pending = Pending::new(9);
        let one = first(pending.add(topic("a"), 1));
        let other = again(pending.add(topic("a"), 2));

        let taken = take(&mut pending);
        assert_eq!(taken.at_us, 1, "it waits since the first");
        pending.told(&taken);

        assert!(is_told(one) && is_told(other));
        assert_eq!((pending.take().len(), pending.len()), (0, 0));
    }

    #[test]
    fn what_changes_on_its_way_is_told_again() {
        let mut pending = Pending::new(9);
        let early = first(pending.add(topic("a"), 1));
        let taken = take(&mut pending);
        let late = first(pending.add(topic("a"), 5));
        let later = again(pending.add(topic("a"), 6));

        pending.told(&taken);

        assert!(is_told(early));
        assert!(!is_told(later));
        let taken = take(&mut pending);
        assert_eq!(taken.at_us, 5);
        pending.told(&taken);
        assert!(is_told(late));
        assert_eq!(pending.len(), 0);
    }

    #[test]
    fn what_could_not_be_told_takes_later_changes_along() {
        let mut pending = Pending::new(9);
        let early = first(pending.add(topic("a"), 1));
        let taken = take(&mut pending);
        let late = first(pending.add(topic("a"), 5));

        assert_eq!(pending.failed(&taken), Some(0));
        let later = again(pending.add(topic("a"), 6));
        pending.requeue(&taken.topic);
        let taken = take(&mut pending);
        pending.told(&taken);

        assert!(is_told(early) && is_told(late) && is_told(later));
        assert_eq!(pending.len(), 0);
    }

    #[test]
    fn an_attempt_from_before_the_beginning_tells_of_nothing_newer() {
        let mut pending = Pending::new(9);
        let early = first(pending.add(topic("a"), 1));
        let before = take(&mut pending);
        let late = first(pending.add(topic("a"), 5));

        pending.begin_anew();
        let later = again(pending.add(topic("a"), 6));
        let now = take(&mut pending);
        pending.told(&before);
        assert_eq!(pending.failed(&before), None);
        assert_eq!(pending.len(), 1, "it is still on its way");
        pending.told(&now);

        assert!(is_told(early) && is_told(late) && is_told(later));
    }

    #[test]
    fn there_are_no_more_topics_than_may_be_but_for_tasks() {
        let mut pending = Pending::new(1);
        drop(first(pending.add(topic("a"), 1)));
        let task = Topic {
            server: "test".to_owned(),
            subject: Subject::Task(uuid::Uuid::nil()),
        };

        drop(first(pending.add(task, 1)));

        assert!(matches!(pending.add(topic("b"), 1), Added::Full(_)));
        drop(again(pending.add(topic("a"), 1)));
    }
}
