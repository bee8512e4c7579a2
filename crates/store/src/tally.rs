//! Counts tasks, so that nobody has to count them anew. Pure.
//!
//! It follows a transaction step by step and takes every step back when that fails.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use conduit_link::TaskStatus;
use uuid::Uuid;

use crate::task::Load;

/// What one task counts as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) status: TaskStatus,
    /// Its server.
    pub(crate) server: String,
    /// The number of its owner, if it has one.
    pub(crate) owner: Option<i64>,
    /// The life that holds it.
    pub(crate) holder: Option<Uuid>,
}

/// How many tasks there are, and of which kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    /// Their work goes on, or is about to.
    pub(crate) working: u64,
    /// They wait for their client.
    pub(crate) input_required: u64,
    /// They have a result.
    pub(crate) completed: u64,
    /// They have an error.
    pub(crate) failed: u64,
    /// They were cancelled.
    pub(crate) cancelled: u64,
    /// Of those that work: somebody holds them; the others are ready.
    pub(crate) held: u64,
}

/// All counts.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    census: Census,
    /// Held tasks of a server, by the life that holds them: no entry is zero.
    running: HashMap<(Uuid, String), u64>,
    /// Those of them that belong to one owner.
    running_of: HashMap<(Uuid, String, i64), u64>,
    /// What the transaction has done so far.
    steps: Vec<Step>,
}

/// A task went from one standing to another; it came, or it left.
type Step = (Option<Standing>, Option<Standing>);

impl Census {
    /// Returns how many tasks there are.
    pub(crate) const fn all(&self) -> u64 {
        self.working + self.input_required + self.completed + self.failed + self.cancelled
    }

    /// Returns how many of them wait for somebody to do their work.
    pub(crate) const fn ready(&self) -> u64 {
        self.working.saturating_sub(self.held)
    }

    const fn of(&mut self, status: TaskStatus) -> &mut u64 {
        match status {
            TaskStatus::Working => &mut self.working,
            TaskStatus::InputRequired => &mut self.input_required,
            TaskStatus::Completed => &mut self.completed,
            TaskStatus::Failed => &mut self.failed,
            TaskStatus::Cancelled => &mut self.cancelled,
        }
    }
}

impl Tally {
    /// Begins with what is in the database: how many have which status, and who is
    /// held.
    pub(crate) fn begin(
        statuses: impl IntoIterator<Item = (TaskStatus, u64)>,
        held: impl IntoIterator<Item = Standing>,
    ) -> Self {
        let mut tally = Self::default();
        for (status, count) in statuses {
            *tally.census.of(status) += count;
        }
        for standing in held {
            tally.hold(&standing, true);
        }
        tally
    }

    pub(crate) const fn census(&self) -> Census {
        self.census
    }

    /// Returns how many tasks of a server a life holds, and how many of an owner's.
    pub(crate) fn held(&self, life: Uuid, server: &str, owner: Option<i64>) -> Load {
        let key = (life, server.to_owned());
        let all = self.running.get(&key).copied().unwrap_or_default();
        let (life, server) = key;
        let of_owner = owner.map(|owner| {
            let key = (life, server, owner);
            self.running_of.get(&key).copied().unwrap_or_default()
        });
        Load { all, of_owner }
    }

    /// Counts a step of the transaction.
    pub(crate) fn step(&mut self, from: Option<Standing>, to: Option<Standing>) {
        self.apply(from.as_ref(), to.as_ref());
        self.steps.push((from, to));
    }

    /// The transaction is durable.
    pub(crate) fn commit(&mut self) {
        self.steps.clear();
    }

    /// The transaction was undone, and so is every step of it.
    pub(crate) fn undo(&mut self) {
        while let Some((from, to)) = self.steps.pop() {
            self.apply(to.as_ref(), from.as_ref());
        }
    }

    fn apply(&mut self, from: Option<&Standing>, to: Option<&Standing>) {
        for (standing, comes) in [(from, false), (to, true)] {
            let Some(standing) = standing else {
                continue;
            };
            count(self.census.of(standing.status), comes);
            self.hold(standing, comes);
        }
    }

    fn hold(&mut self, standing: &Standing, comes: bool) {
        let Some(life) = standing.holder else {
            return;
        };
        count(&mut self.census.held, comes);
        let server = || standing.server.clone();
        count_in(&mut self.running, (life, server()), comes);
        if let Some(owner) = standing.owner {
            count_in(&mut self.running_of, (life, server(), owner), comes);
        }
    }
}

const fn count(number: &mut u64, comes: bool) {
    *number = if comes {
        number.saturating_add(1)
    } else {
        number.saturating_sub(1)
    };
}

fn count_in<K: Hash + Eq>(numbers: &mut HashMap<K, u64>, key: K, comes: bool) {
    match numbers.entry(key) {
        Entry::Occupied(mut entry) => {
            count(entry.get_mut(), comes);
            if *entry.get() == 0 {
                entry.remove();
            }
        }
        Entry::Vacant(entry) if comes => {
            entry.insert(1);
        }
        Entry::Vacant(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Uuid = Uuid::from_u128(1);

    fn standing(status: TaskStatus, holder: Option<Uuid>) -> Standing {
        Standing {
            status,
            server: "demo".to_owned(),
            owner: Some(7),
            holder,
        }
    }

    fn held() -> Standing {
        standing(TaskStatus::Working, Some(LIFE))
    }

    #[test]
    fn whatever_comes_moves_and_leaves_is_counted() {
        let mut tally = Tally::default();

        tally.step(None, Some(standing(TaskStatus::Working, None)));
        tally.step(None, Some(held()));
        assert_eq!(tally.census().ready(), 1);
        assert_eq!(tally.census().all(), 2);
        assert_eq!(tally.held(LIFE, "demo", Some(7)).of_owner, Some(1));
        tally.step(Some(held()), Some(standing(TaskStatus::Completed, None)));
        tally.step(Some(standing(TaskStatus::Working, None)), None);

        let expected = Census {
            completed: 1,
            ..Census::default()
        };
        assert_eq!(tally.census(), expected);
        assert_eq!(tally.held(LIFE, "demo", None), Load::default());
        assert!(tally.running.is_empty() && tally.running_of.is_empty());
    }

    #[test]
    fn a_transaction_that_fails_takes_its_steps_back() {
        let mut tally = Tally::default();
        tally.step(None, Some(held()));
        tally.commit();
        let before = tally.census();

        tally.step(Some(held()), Some(standing(TaskStatus::Failed, None)));
        tally.step(None, Some(held()));
        tally.step(Some(standing(TaskStatus::Failed, None)), None);
        tally.undo();

        assert_eq!(tally.census(), before);
        assert_eq!(tally.held(LIFE, "demo", Some(7)).all, 1);
        tally.undo();
        assert_eq!(tally.census(), before, "what is durable stays");
    }

    #[test]
    fn gateways_servers_and_owners_are_told_apart() {
        let statuses = [(TaskStatus::Working, 3), (TaskStatus::Completed, 5)];
        let tally = Tally::begin(statuses, [held()]);

        assert_eq!((tally.census().ready(), tally.census().all()), (2, 8));
        let load = |life, server, owner| {
            let load = tally.held(Uuid::from_u128(life), server, Some(owner));
            (load.all, load.of_owner)
        };
        assert_eq!(load(1, "demo", 7), (1, Some(1)));
        assert_eq!(load(1, "demo", 8), (1, Some(0)));
        assert_eq!(load(1, "other", 7), (0, Some(0)));
        assert_eq!(load(2, "demo", 7), (0, Some(0)));
    }
}
