//! What a gateway has to be told about tasks. Pure.
//!
//! A set, not a queue: however long a gateway does not listen, it is told no more than
//! what it holds, and that something has changed.

use std::collections::BTreeSet;

use conduit_link::FromStore;
use uuid::Uuid;

/// The most tasks that one message names. When more have changed, any of them may have.
const NAMED: usize = 10_000;

/// What is still to be told.
#[derive(Debug, Default)]
pub(crate) struct News {
    stopped: BTreeSet<Uuid>,
    changed: BTreeSet<Uuid>,
    any_changed: bool,
    ready: bool,
    /// Somebody is telling it.
    telling: bool,
}

impl News {
    /// These tasks are over.
    pub(crate) fn stop(&mut self, ids: impl IntoIterator<Item = Uuid>) {
        self.stopped.extend(ids);
    }

    /// These tasks have changed.
    pub(crate) fn change(&mut self, ids: &[Uuid]) {
        self.changed.extend(ids);
        if self.any_changed || self.changed.len() > NAMED {
            self.change_any();
        }
    }

    /// Any task may have changed.
    pub(crate) fn change_any(&mut self) {
        self.changed.clear();
        self.any_changed = true;
    }

    /// There is work.
    pub(crate) const fn ready(&mut self) {
        self.ready = true;
    }

    /// Tells whether nobody was telling it; now somebody is, until [`News::next`] has
    /// nothing more.
    pub(crate) const fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.telling, true)
    }

    /// Returns what to tell next.
    pub(crate) fn next(&mut self) -> Option<FromStore> {
        if !self.stopped.is_empty() {
            let rest = match self.stopped.iter().nth(NAMED).copied() {
                Some(first) => self.stopped.split_off(&first),
                None => BTreeSet::new(),
            };
            let ids = std::mem::replace(&mut self.stopped, rest);
            return Some(FromStore::StopTasks {
                ids: ids.into_iter().collect(),
            });
        }
        if std::mem::take(&mut self.any_changed) {
            return Some(FromStore::TasksChanged { ids: Vec::new() });
        }
        if !self.changed.is_empty() {
            let ids = std::mem::take(&mut self.changed).into_iter().collect();
            return Some(FromStore::TasksChanged { ids });
        }
        if std::mem::take(&mut self.ready) {
            return Some(FromStore::TasksReady);
        }
        self.telling = false;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: std::ops::Range<u128>) -> Vec<Uuid> {
        numbers.map(Uuid::from_u128).collect()
    }

    #[test]
    fn news_is_told_once_and_what_stops_first() {
        let mut news = News::default();
        assert!(news.begin());
        news.ready();
        news.change(&ids(1..2));
        news.stop(ids(2..3));
        news.ready();
        assert!(!news.begin());

        assert_eq!(news.next(), Some(FromStore::StopTasks { ids: ids(2..3) }));
        let changed = FromStore::TasksChanged { ids: ids(1..2) };
        assert_eq!(news.next(), Some(changed));
        assert_eq!(news.next(), Some(FromStore::TasksReady));
        assert_eq!(news.next(), None);
        assert!(news.begin());
    }

    #[test]
    fn more_changes_than_a_message_names_are_any_change() {
        let mut news = News::default();

        news.change(&ids(0..10_001));
        news.change(&ids(0..1));

        let any = FromStore::TasksChanged { ids: Vec::new() };
        assert_eq!(news.next(), Some(any));
        assert_eq!(news.next(), None);
    }

    #[test]
    fn more_tasks_than_a_message_names_are_stopped_by_two() {
        let mut news = News::default();

        news.stop(ids(0..10_001));

        let first = ids(0..10_000);
        assert_eq!(news.next(), Some(FromStore::StopTasks { ids: first }));
        let second = ids(10_000..10_001);
        assert_eq!(news.next(), Some(FromStore::StopTasks { ids: second }));
        assert_eq!(news.next(), None);
    }
}
