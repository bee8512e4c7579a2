//! What one gateway has to be told of what the others listen to, and what it believes.

use std::collections::HashMap;

/// The most topics that one message speaks of.
const MOST_IN_ONE: usize = 32_768;

/// What goes to a gateway next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tell {
    /// The fingerprints of topics that somebody listens to now.
    pub added: Vec<u64>,
    /// Of those that nobody listens to any more.
    pub removed: Vec<u64>,
    /// The map by which it has been told of everything, with this.
    pub complete: Option<u64>,
}

/// The news for one gateway: in order, one message at a time.
#[derive(Debug)]
pub(super) struct News {
    /// What is still to be said: whether somebody listens to it. The last word counts.
    waiting: HashMap<u64, bool>,
    /// Whether it may believe of topics that it was not told of that nobody listens.
    is_believed: bool,
    /// Whether it has been told so by the map that it follows.
    is_complete: bool,
    /// Whether something is on its way.
    is_on_its_way: bool,
    /// Up to which number it knows of everything, and will with what is on its way.
    noted: u64,
    will_note: u64,
}

impl News {
    /// Begins with a link, on which everything has to be said anew. Whether what was said
    /// on the last one may still be believed has to be known; whoever enters has forgotten
    /// it.
    pub(super) fn of_everything(topics: impl Iterator<Item = u64>, is_believed: bool) -> Self {
        Self {
            waiting: topics.map(|topic| (topic, true)).collect(),
            is_believed,
            is_complete: false,
            is_on_its_way: false,
            noted: 0,
            will_note: 0,
        }
    }

    /// It follows another map, or has another link, and no longer believes what it was told
    /// before.
    pub(super) const fn forget_complete(&mut self) {
        self.is_believed = false;
        self.is_complete = false;
    }

    /// There is no link any more on which something could be said.
    pub(super) fn discard(&mut self) {
        self.waiting = HashMap::new();
    }

    pub(super) fn begun(&mut self, topics: &[u64]) {
        self.waiting
            .extend(topics.iter().map(|&topic| (topic, true)));
    }

    pub(super) fn gone(&mut self, topics: &[u64]) {
        self.waiting
            .extend(topics.iter().map(|&topic| (topic, false)));
    }

    /// Whether it may believe that nobody listens to what it was not told of.
    pub(super) const fn is_believed(&self) -> bool {
        self.is_believed
    }

    /// Returns up to which number it knows of everything.
    pub(super) const fn noted(&self) -> u64 {
        self.noted
    }

    /// Takes out what goes next. `number` is the last that was given to a registration;
    /// `complete` the map, if everything is known by it.
    pub(super) fn next(&mut self, number: u64, complete: Option<u64>) -> Option<Tell> {
        if self.is_on_its_way {
            return None;
        }
        let completes = complete.filter(|_| !self.is_complete);
        if self.waiting.is_empty() && completes.is_none() {
            // What was noted covers what nobody has to be told of.
            self.noted = number;
            self.will_note = number;
            return None;
        }
        let some: Vec<(u64, bool)> = if self.waiting.len() <= MOST_IN_ONE {
            std::mem::take(&mut self.waiting).into_iter().collect()
        } else {
            let some = self.waiting.iter().take(MOST_IN_ONE);
            let some: Vec<(u64, bool)> = some.map(|(&topic, &on)| (topic, on)).collect();
            for (topic, _) in &some {
                self.waiting.remove(topic);
            }
            some
        };
        let is_all = self.waiting.is_empty();
        let complete = completes.filter(|_| is_all);
        if complete.is_some() {
            self.is_complete = true;
            // From when it is sent, not from when it was received.
            self.is_believed = true;
        }
        if is_all {
            self.will_note = number;
        }
        self.is_on_its_way = true;
        let of = |wanted: bool| {
            let some = some.iter().filter(move |(_, on)| *on == wanted);
            some.map(|(topic, _)| *topic).collect()
        };
        Some(Tell {
            added: of(true),
            removed: of(false),
            complete,
        })
    }

    /// It has answered for what was on its way.
    pub(super) fn noted_last(&mut self) {
        self.is_on_its_way = false;
        self.noted = self.will_note;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn news(topics: &[u64]) -> News {
        News::of_everything(topics.iter().copied(), false)
    }

    #[test]
    fn it_is_told_everything_and_that_this_is_all() {
        let mut news = news(&[7]);

        let tell = news.next(3, Some(1)).expect("news");

        assert_eq!((tell.added, tell.removed), (vec![7], vec![]));
        assert_eq!(tell.complete, Some(1));
        assert!(news.is_believed(), "it may be there already");
        assert_eq!(news.noted(), 0, "it may not be there yet");
        news.noted_last();
        assert_eq!(news.noted(), 3);
        assert_eq!(news.next(3, Some(1)), None);
    }

    #[test]
    fn one_message_is_on_its_way_at_a_time_and_the_last_word_counts() {
        let mut news = news(&[]);
        news.next(0, Some(1)).expect("that it is complete");

        news.begun(&[7, 8]);
        news.gone(&[7]);
        assert_eq!(news.next(2, Some(1)), None);
        news.noted_last();

        let tell = news.next(2, Some(1)).expect("news");
        assert_eq!((tell.added, tell.removed), (vec![8], vec![7]));
    }

    #[test]
    fn what_does_not_go_into_one_message_is_complete_with_the_last() {
        let many: Vec<u64> = (0..=u64::try_from(MOST_IN_ONE).expect("small")).collect();
        let mut news = news(&many);

        let first = news.next(1, Some(1)).expect("most");
        assert_eq!((first.added.len(), first.complete), (MOST_IN_ONE, None));
        assert!(!news.is_believed());
        news.noted_last();
        assert_eq!(news.noted(), 0);

        let last = news.next(1, Some(1)).expect("the rest");
        assert_eq!((last.added.len(), last.complete), (1, Some(1)));
        news.noted_last();
        assert_eq!(news.noted(), 1);
    }

    #[test]
    fn by_another_map_it_is_told_again_that_this_is_all_and_nothing_else() {
        let mut news = news(&[7]);
        news.next(0, Some(1)).expect("news");
        news.noted_last();

        news.forget_complete();

        assert!(!news.is_believed());
        assert_eq!(news.next(0, None), None);
        let tell = news.next(0, Some(2)).expect("that it is complete");
        assert_eq!((tell.added.len(), tell.complete), (0, Some(2)));
    }

    proptest! {
        /// Whoever has noted everything up to a number knows what was there by then.
        #[test]
        fn who_has_noted_a_number_knows_of_it(
            steps in proptest::collection::vec((0..4_u8, 0..5_u64), 0..60),
        ) {
            let mut news = news(&[]);
            let (mut there, mut heard) = (HashSet::new(), HashSet::new());
            let mut begun = Vec::new();
            let mut on_its_way: Option<Tell> = None;
            for (kind, topic) in steps {
                match kind {
                    0 if there.insert(topic) => {
                        begun.push(topic);
                        news.begun(&[topic]);
                    }
                    1 if there.remove(&topic) => news.gone(&[topic]),
                    2 => {
                        let number = u64::try_from(begun.len()).expect("small");
                        on_its_way = news.next(number, Some(1)).or(on_its_way);
                    }
                    _ => if let Some(tell) = on_its_way.take() {
                        heard.retain(|topic| !tell.removed.contains(topic));
                        heard.extend(tell.added);
                        news.noted_last();
                    }
                }
                let noted = usize::try_from(news.noted()).expect("small");
                let known = begun[..noted].iter().filter(|topic| {
                    // Those that began again later are another matter.
                    there.contains(*topic) && !begun[noted..].contains(topic)
                });
                for topic in known {
                    prop_assert!(heard.contains(topic));
                }
            }
        }
    }
}
