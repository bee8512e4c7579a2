//! What gateways want to hear of: no clock, no channel, no `async`.
//!
//! A registration belongs to one link and goes with it, so that the successor of a
//! gateway hears of nothing that it has not asked for itself.

use std::collections::{HashMap, HashSet};

use conduit_link::Topic;

/// The topics of each link.
///
/// Bound: so many registrations, whatever the links; a topic that two links have
/// registered counts twice.
#[derive(Debug)]
pub(super) struct Interest {
    of: HashMap<u64, HashSet<Topic>>,
    registered: usize,
    most: usize,
}

impl Interest {
    pub(super) fn new(most: usize) -> Self {
        Self {
            of: HashMap::new(),
            registered: 0,
            most,
        }
    }

    /// Registers all of these topics, or none if there is no room for all; tells which.
    /// What is registered already needs no room.
    pub(super) fn register(&mut self, link_id: u64, topics: Vec<Topic>) -> bool {
        let known = self.of.entry(link_id).or_default();
        let new: HashSet<Topic> = topics
            .into_iter()
            .filter(|topic| !known.contains(topic))
            .collect();
        let registered = self.registered.saturating_add(new.len());
        if registered > self.most {
            return false;
        }
        known.extend(new);
        self.registered = registered;
        true
    }

    /// Takes registrations back; those that are not there are no matter.
    pub(super) fn unregister(&mut self, link_id: u64, topics: &[Topic]) {
        if let Some(known) = self.of.get_mut(&link_id) {
            let gone = topics.iter().filter(|topic| known.remove(topic)).count();
            self.registered = self.registered.saturating_sub(gone);
        }
    }

    /// Takes all registrations of a link back.
    pub(super) fn forget(&mut self, link_id: u64) {
        let gone = self.of.remove(&link_id).map_or(0, |known| known.len());
        self.registered = self.registered.saturating_sub(gone);
    }

    /// Tells whether a link has registered a topic.
    pub(super) fn has(&self, link_id: u64, topic: &Topic) -> bool {
        self.of
            .get(&link_id)
            .is_some_and(|known| known.contains(topic))
    }

    /// Returns how many registrations there are.
    pub(super) const fn registered(&self) -> usize {
        self.registered
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use conduit_link::Subject;
    use proptest::prelude::*;

    use super::*;

    fn topic(number: u8) -> Topic {
        Topic {
            server: "demo".to_owned(),
            subject: Subject::Resource(format!("file:///{number}")),
        }
    }

    fn topics(numbers: &[u8]) -> Vec<Topic> {
        numbers.iter().copied().map(topic).collect()
    }

    #[test]
    fn what_does_not_fit_as_a_whole_is_not_registered_in_part() {
        let mut interest = Interest::new(2);
        assert!(interest.register(1, topics(&[0])));

        assert!(!interest.register(2, topics(&[0, 1])));

        assert!(!interest.has(2, &topic(0)));
        assert_eq!(interest.registered(), 1);
    }

    #[test]
    fn registering_again_needs_no_room() {
        let mut interest = Interest::new(2);
        assert!(interest.register(1, topics(&[0, 1, 1])));

        assert!(interest.register(1, topics(&[1, 0, 0])));

        assert_eq!(interest.registered(), 2);
    }

    #[test]
    fn what_was_taken_back_leaves_room() {
        let mut interest = Interest::new(1);
        assert!(interest.register(1, topics(&[0])));

        interest.unregister(1, &topics(&[0, 0, 7]));
        interest.unregister(2, &topics(&[0]));

        assert!(interest.register(2, topics(&[0])));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Register(u64, Vec<u8>),
        Unregister(u64, Vec<u8>),
        Forget(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let numbers = || proptest::collection::vec(0..6_u8, 0..5);
        let step = prop_oneof![
            4 => (0..3_u64, numbers()).prop_map(|(link, numbers)| Step::Register(link, numbers)),
            3 => (0..3_u64, numbers()).prop_map(|(link, numbers)| Step::Unregister(link, numbers)),
            1 => (0..3_u64).prop_map(Step::Forget),
        ];
        proptest::collection::vec(step, 0..60)
    }

    proptest! {
        #[test]
        fn whatever_happens_it_is_a_set_with_a_bound(steps in steps(), most in 0..12_usize) {
            let mut interest = Interest::new(most);
            let mut model: BTreeSet<(u64, u8)> = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Register(link, numbers) => {
                        let mut grown = model.clone();
                        grown.extend(numbers.iter().map(|&number| (link, number)));
                        let fits = grown.len() <= most;
                        prop_assert_eq!(interest.register(link, topics(&numbers)), fits);
                        if fits {
                            model = grown;
                        }
                    }
                    Step::Unregister(link, numbers) => {
                        interest.unregister(link, &topics(&numbers));
                        model.retain(|&(of, number)| of != link || !numbers.contains(&number));
                    }
                    Step::Forget(link) => {
                        interest.forget(link);
                        model.retain(|&(of, _)| of != link);
                    }
                }
                prop_assert_eq!(interest.registered(), model.len());
                for (link, number) in (0..3).flat_map(|link| (0..6).map(move |number| (link, number))) {
                    let expected = model.contains(&(link, number));
                    prop_assert_eq!(interest.has(link, &topic(number)), expected);
                }
            }
        }
    }
}
