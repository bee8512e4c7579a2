//! Who has registered which topic.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use conduit_link::Topic;

/// Topics with their holders: never one without.
#[derive(Debug, Default)]
pub(super) struct Topics {
    of: HashMap<Topic, Vec<Holder>>,
    /// How many topics have each fingerprint. Whoever likes can make a URI with that of
    /// another, and only when the last of them is gone may anybody believe so.
    fingerprints: HashMap<u64, u32>,
    registrations: usize,
}

/// A gateway that listens to a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    /// Which gateway, in all its life.
    pub(super) seat: u64,
    /// On which of its links it has registered the topic.
    pub(super) link_id: u64,
}

impl Topics {
    /// Adds a holder, or lets it hold on another link; returns the topic's fingerprint if it
    /// is the first of any topic with it.
    pub(super) fn add(&mut self, topic: Topic, seat: u64, link_id: u64) -> Option<u64> {
        let holder = Holder { seat, link_id };
        match self.of.entry(topic) {
            Entry::Vacant(vacant) => {
                let fingerprint = vacant.key().fingerprint();
                vacant.insert(vec![holder]);
                self.registrations += 1;
                let alike = self.fingerprints.entry(fingerprint).or_default();
                *alike += 1;
                (*alike == 1).then_some(fingerprint)
            }
            Entry::Occupied(mut known) => {
                let holders = known.get_mut();
                match holders.iter_mut().find(|holder| holder.seat == seat) {
                    Some(known) => *known = holder,
                    None => {
                        holders.push(holder);
                        self.registrations += 1;
                    }
                }
                None
            }
        }
    }

    /// Takes a holder away; returns the topic's fingerprint if it was the last of any topic
    /// with it.
    pub(super) fn remove(&mut self, topic: &Topic, seat: u64) -> Option<u64> {
        let holders = self.of.get_mut(topic)?;
        let at = holders.iter().position(|holder| holder.seat == seat)?;
        holders.swap_remove(at);
        self.registrations -= 1;
        if !holders.is_empty() {
            return None;
        }
        self.of.remove(topic);
        let is_gone = forget(&mut self.fingerprints, topic.fingerprint());
        self.tighten();
        is_gone.then(|| topic.fingerprint())
    }

    /// Keeps these holders; returns the fingerprints of which no topic is left.
    pub(super) fn retain(&mut self, keep: impl Fn(&Holder) -> bool) -> Vec<u64> {
        let mut gone = Vec::new();
        let (registrations, fingerprints) = (&mut self.registrations, &mut self.fingerprints);
        self.of.retain(|topic, holders| {
            let before = holders.len();
            holders.retain(&keep);
            *registrations -= before - holders.len();
            if !holders.is_empty() {
                return true;
            }
            let fingerprint = topic.fingerprint();
            if forget(fingerprints, fingerprint) {
                gone.push(fingerprint);
            }
            false
        });
        self.tighten();
        gone
    }

    pub(super) fn has(&self, topic: &Topic, seat: u64) -> bool {
        self.holders(topic).iter().any(|holder| holder.seat == seat)
    }

    pub(super) fn holders(&self, topic: &Topic) -> &[Holder] {
        self.of.get(topic).map_or(&[], Vec::as_slice)
    }

    pub(super) fn fingerprints(&self) -> impl Iterator<Item = u64> {
        self.fingerprints.keys().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.of.len()
    }

    pub(super) const fn registrations(&self) -> usize {
        self.registrations
    }

    /// Gives memory back that a crowd has left.
    fn tighten(&mut self) {
        const SPARE: usize = 1_024;
        if self.of.capacity() > SPARE && self.of.capacity() / 8 > self.of.len() {
            self.of.shrink_to(self.of.len() * 2);
            self.fingerprints.shrink_to(self.of.len() * 2);
        }
    }
}

/// One topic less has a fingerprint; returns whether it was the last.
fn forget(fingerprints: &mut HashMap<u64, u32>, fingerprint: u64) -> bool {
    let Some(alike) = fingerprints.get_mut(&fingerprint) else {
        return false;
    };
    *alike -= 1;
    let is_last = *alike == 0;
    if is_last {
        fingerprints.remove(&fingerprint);
    }
    is_last
}

#[cfg(test)]
mod tests {
    use conduit_link::Subject;

    use super::*;

    fn topic(name: &str) -> Topic {
        Topic {
            server: "test".to_owned(),
            subject: Subject::Resource(name.to_owned()),
        }
    }

    /// Two topics with one fingerprint: their words are divided in different places.
    fn alike() -> [Topic; 2] {
        let named = |server: &str, uri: &str| Topic {
            server: server.to_owned(),
            subject: Subject::Resource(uri.to_owned()),
        };
        [named("a", "b resource c"), named("a resource b", "c")]
    }

    #[test]
    fn only_the_first_and_the_last_holder_make_a_difference() {
        let mut topics = Topics::default();
        let fingerprint = topic("a").fingerprint();

        assert_eq!(topics.add(topic("a"), 1, 1), Some(fingerprint));
        assert_eq!(topics.add(topic("a"), 2, 2), None);
        assert_eq!(topics.remove(&topic("a"), 1), None);
        assert_eq!(topics.remove(&topic("a"), 1), None, "it holds nothing");
        assert_eq!(topics.remove(&topic("a"), 2), Some(fingerprint));
        assert_eq!((topics.len(), topics.registrations()), (0, 0));
    }

    #[test]
    fn a_holder_on_another_link_is_the_same_one() {
        let mut topics = Topics::default();
        topics.add(topic("a"), 1, 1);

        assert_eq!(topics.add(topic("a"), 1, 10), None);

        let holder = Holder {
            seat: 1,
            link_id: 10,
        };
        assert_eq!(topics.holders(&topic("a")), [holder]);
        assert_eq!(topics.registrations(), 1);
    }

    #[test]
    fn a_fingerprint_is_gone_with_the_last_topic_that_has_it() {
        let [one, other] = alike();
        let fingerprint = one.fingerprint();
        assert_eq!(fingerprint, other.fingerprint());
        let mut topics = Topics::default();

        assert_eq!(topics.add(one.clone(), 1, 1), Some(fingerprint));
        assert_eq!(topics.add(other, 2, 2), None);
        assert_eq!(topics.remove(&one, 1), None);
        assert_eq!(topics.fingerprints().collect::<Vec<_>>(), [fingerprint]);
        assert_eq!(topics.retain(|_| false), [fingerprint]);
        assert_eq!(topics.fingerprints().count(), 0);
    }

    #[test]
    fn a_crowd_that_has_left_leaves_no_memory_behind() {
        let mut topics = Topics::default();
        for number in 0..20_000 {
            topics.add(topic(&number.to_string()), 1, 1);
        }

        topics.retain(|_| false);

        assert!(topics.of.capacity() < 1_024);
        assert!(topics.fingerprints.capacity() < 1_024);
    }
}
