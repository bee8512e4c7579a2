//! Which changes are published when. Pure: it is told what time it is.
//!
//! Some resources change all the while, until each has changed for the last time at some
//! moment of its own. The others change just once, so that nothing told before or after
//! can pass for that.

use std::time::Duration;

use crate::audience::LISTS;
use crate::dice::Dice;

/// How many resources there are, of each kind.
pub(super) const RESOURCES: usize = 1_000;

/// The most resources that one call publishes.
const BATCH: usize = 24;
/// One call of so many publishes that a list has changed.
const LIST: usize = 12;

/// What is still to be published.
#[derive(Debug)]
pub(super) struct Agenda {
    /// What changes all the while, and until when.
    often: Vec<(String, Duration)>,
    /// What changes once, and from when on; whoever is last is next.
    once: Vec<(String, Duration)>,
}

/// What one call publishes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Batch {
    /// That a list has changed.
    List(&'static str),
    /// That resources have.
    Resources(Vec<String>),
}

/// Returns the URI of a resource: the even ones change all the while.
pub(super) fn uri(number: usize) -> String {
    if number.is_multiple_of(2) {
        format!("mem://often/{}", number / 2)
    } else {
        format!("mem://once/{}", number / 2)
    }
}

impl Agenda {
    /// Makes the agenda of a time.
    pub(super) fn new(seed: u64, long: Duration) -> Self {
        let mut dice = Dice::of(seed, 500);
        let mut moment = |from: u32| {
            let part = u32::try_from(dice.below(1_000)).expect("a small number");
            long * from / 10 + long * (10 - from) / 10 * part / 1_000
        };
        let often = (0..RESOURCES).map(|number| (uri(2 * number), moment(2)));
        let often = often.collect();
        let once = (0..RESOURCES).map(|number| (uri(2 * number + 1), moment(0)));
        let mut once: Vec<(String, Duration)> = once.collect();
        once.sort_by_key(|(_, when)| std::cmp::Reverse(*when));
        Self { often, once }
    }

    /// Returns what to publish next; nothing if there is nothing at that time.
    pub(super) fn next(&mut self, now: Duration, dice: &mut Dice) -> Option<Batch> {
        if dice.below(LIST) == 0 {
            return Some(Batch::List(LISTS[dice.below(LISTS.len())]));
        }
        self.often.retain(|(_, until)| *until > now);
        let size = 1 + dice.below(BATCH);
        let mut uris = Vec::with_capacity(size);
        while uris.len() < size
            && let Some((uri, _)) = self.once.pop_if(|(_, from)| *from <= now)
        {
            uris.push(uri);
        }
        while uris.len() < size && !self.often.is_empty() {
            uris.push(self.often[dice.below(self.often.len())].0.clone());
        }
        uris.sort_unstable();
        uris.dedup();
        (!uris.is_empty()).then_some(Batch::Resources(uris))
    }

    /// Takes back what may not have been published: it is tried again.
    pub(super) fn take_back(&mut self, batch: &Batch) {
        if let Batch::Resources(uris) = batch {
            let once = uris.iter().filter(|uri| uri.starts_with("mem://once/"));
            self.once
                .extend(once.cloned().map(|uri| (uri, Duration::ZERO)));
        }
    }

    /// Tells whether each resource has changed for the last time.
    pub(super) fn is_done(&self, now: Duration) -> bool {
        self.once.is_empty() && self.often.iter().all(|(_, until)| *until <= now)
    }
}

impl Batch {
    /// Returns the topics that change.
    pub(super) fn topics(&self) -> Vec<String> {
        match self {
            Self::List(list) => vec![(*list).to_owned()],
            Self::Resources(uris) => uris.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const LONG: Duration = Duration::from_secs(8);

    #[test]
    fn whatever_changes_once_does_so_once_unless_it_is_taken_back() {
        let mut agenda = Agenda::new(1, LONG);
        let mut dice = Dice::new(1);
        let mut count = HashMap::<String, usize>::new();
        let mut is_first = true;

        while let Some(batch) = agenda.next(LONG, &mut dice) {
            if std::mem::take(&mut is_first) {
                agenda.take_back(&batch);
                continue;
            }
            for topic in batch.topics() {
                *count.entry(topic).or_default() += 1;
            }
            if agenda.is_done(LONG) {
                break;
            }
        }

        let once = count.iter().filter(|(topic, _)| topic.contains("once"));
        assert_eq!(once.clone().count(), RESOURCES);
        assert!(once.into_iter().all(|(_, count)| *count == 1), "{count:?}");
    }

    #[test]
    fn last_changes_are_spread_over_the_time() {
        let mut agenda = Agenda::new(1, LONG);
        let mut dice = Dice::new(1);
        let mut last = HashMap::<String, Duration>::new();
        for step in 0..2_000 {
            let now = LONG * step / 2_000;
            if let Some(batch) = agenda.next(now, &mut dice) {
                last.extend(batch.topics().into_iter().map(|topic| (topic, now)));
            }
        }

        for quarter in 0..4 {
            let within = (LONG * quarter / 4)..(LONG * (quarter + 1) / 4);
            let count = last.values().filter(|at| within.contains(at)).count();
            assert!(count > RESOURCES / 10, "{count} in quarter {quarter}");
        }
    }
}
