//! Which gateways are attached, and what they want to hear of.

use std::collections::BTreeMap;

use conduit_link::{Slot, Topic};
use uuid::Uuid;

use super::interest::Interest;

/// The gateways, each with the link (`L`) that leads to it.
///
/// One entry a slot; the links of a process are bounded, and so are their slots. What
/// a gateway registers, and that it has settled, holds for the link in its entry and
/// goes with it.
#[derive(Debug)]
pub(super) struct Book<L> {
    attached: BTreeMap<Slot, Entry<L>>,
    interest: Interest,
    /// Whether a change was ever passed on.
    told: bool,
}

/// Why a link may not register anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unregistered {
    /// As many registrations as there may be.
    Full,
    /// Another link leads to this gateway, or none.
    Detached,
}

#[derive(Debug)]
struct Entry<L> {
    life: Uuid,
    link_id: u64,
    link: L,
    settled: bool,
}

impl<L: Clone> Book<L> {
    /// Makes an empty book for at most so many registrations.
    pub(super) fn new(registrations: usize) -> Self {
        Self {
            attached: BTreeMap::new(),
            interest: Interest::new(registrations),
            told: false,
        }
    }

    /// Enters a gateway, in place of whoever had its slot; returns that one's life.
    pub(super) fn attach(&mut self, slot: Slot, life: Uuid, link_id: u64, link: L) -> Option<Uuid> {
        let entry = Entry {
            life,
            link_id,
            link,
            settled: false,
        };
        let former = self.attached.insert(slot, entry)?;
        self.interest.forget(former.link_id);
        Some(former.life)
    }

    /// Strikes a gateway out, unless it has another link by now.
    pub(super) fn detach(&mut self, slot: &Slot, link_id: u64) {
        if self.entry(slot, link_id).is_some() {
            self.attached.remove(slot);
            self.interest.forget(link_id);
        }
    }

    /// Notes what a gateway wants to hear of; all of it, or nothing.
    pub(super) fn register(
        &mut self,
        slot: &Slot,
        link_id: u64,
        topics: Vec<Topic>,
    ) -> Result<(), Unregistered> {
        if self.entry(slot, link_id).is_none() {
            return Err(Unregistered::Detached);
        }
        if self.interest.register(link_id, topics) {
            Ok(())
        } else {
            Err(Unregistered::Full)
        }
    }

    /// Notes what a gateway no longer wants to hear of.
    pub(super) fn unregister(&mut self, link_id: u64, topics: &[Topic]) {
        self.interest.unregister(link_id, topics);
    }

    /// Notes that a gateway has registered all that it wants to hear of. Returns whether
    /// it may have missed a change before; nothing if it has another link by now.
    pub(super) fn settle(&mut self, slot: &Slot, link_id: u64) -> Option<bool> {
        let told = self.told;
        let entry = self.entry(slot, link_id)?;
        let before = std::mem::replace(&mut entry.settled, true);
        // What was told before this link was up may have gone to a link that was broken
        // already. So it does not matter when that was.
        Some(told && !before)
    }

    /// Returns how many gateways have settled.
    pub(super) fn settled(&self) -> usize {
        let settled = self.attached.values().filter(|entry| entry.settled);
        settled.count()
    }

    /// Returns how many topics are registered, one for each gateway.
    pub(super) const fn registered(&self) -> usize {
        self.interest.registered()
    }

    /// Returns the link to the gateway in a slot.
    pub(super) fn one(&self, slot: &Slot) -> Option<L> {
        self.attached.get(slot).map(|entry| entry.link.clone())
    }

    /// Returns the links to all but the sender. Who is not attached has no requests and
    /// gets no mail.
    pub(super) fn others(&self, from: &Slot) -> Vec<L> {
        self.attached
            .iter()
            .filter(|&(slot, _)| slot != from)
            .map(|(_, entry)| entry.link.clone())
            .collect()
    }

    /// Returns the links to those who have registered a topic; they will be told of a
    /// change. Who registers it from now on has missed that.
    pub(super) fn tell(&mut self, topic: &Topic) -> Vec<L> {
        self.told = true;
        self.attached
            .values()
            .filter(|entry| self.interest.has(entry.link_id, topic))
            .map(|entry| entry.link.clone())
            .collect()
    }

    /// Returns the entry of a gateway, if this link leads to it.
    fn entry(&mut self, slot: &Slot, link_id: u64) -> Option<&mut Entry<L>> {
        self.attached
            .get_mut(slot)
            .filter(|entry| entry.link_id == link_id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use conduit_link::Subject;
    use proptest::prelude::*;

    use super::*;

    const LIFE: Uuid = Uuid::nil();

    fn book(slots: impl IntoIterator<Item = u16>) -> Book<u64> {
        let mut book = Book::new(100);
        for index in slots {
            let link = u64::from(index);
            book.attach(Slot::gateway(index), LIFE, link, link);
        }
        book
    }

    fn tools() -> Topic {
        Topic {
            server: "demo".to_owned(),
            subject: Subject::Tools,
        }
    }

    #[test]
    fn the_others_are_all_but_the_sender() {
        let to = book(0..4).others(&Slot::gateway(2));

        assert_eq!(to, [0, 1, 3]);
    }

    #[test]
    fn one_is_the_gateway_in_that_slot() {
        let book = book(0..4);

        assert_eq!(book.one(&Slot::gateway(3)), Some(3));
        assert_eq!(book.one(&Slot::gateway(4)), None, "nobody is there");
    }

    #[test]
    fn a_new_life_takes_the_place_of_the_old_one() {
        let mut book = book([0]);
        let (second, slot) = (Uuid::from_u128(2), Slot::gateway(0));

        let former = book.attach(slot.clone(), second, 10, 10);

        assert_eq!(former, Some(LIFE));
        assert_eq!(book.one(&slot), Some(10));
    }

    #[test]
    fn those_who_registered_are_told() {
        let mut book = book(0..3);

        for index in [0, 2] {
            let link = u64::from(index);
            assert_eq!(
                book.register(&Slot::gateway(index), link, vec![tools()]),
                Ok(())
            );
        }
        book.unregister(2, &[tools()]);

        assert_eq!(book.tell(&tools()), [0]);
    }

    #[test]
    fn a_registration_goes_with_its_link() {
        let mut book = book(0..2);
        for index in 0..2 {
            let link = u64::from(index);
            assert_eq!(
                book.register(&Slot::gateway(index), link, vec![tools()]),
                Ok(())
            );
        }

        book.detach(&Slot::gateway(0), 0);
        book.attach(Slot::gateway(1), LIFE, 10, 10);

        assert_eq!(book.registered(), 0);
        assert!(book.tell(&tools()).is_empty());
    }

    #[test]
    fn a_link_that_was_replaced_registers_nothing() {
        let mut book = book([0]);
        let slot = Slot::gateway(0);
        book.attach(slot.clone(), LIFE, 10, 10);

        let late = book.register(&slot, 0, vec![tools()]);

        assert_eq!(late, Err(Unregistered::Detached));
        assert_eq!(book.settle(&slot, 0), None);
        assert_eq!((book.registered(), book.settled()), (0, 0));
    }

    #[test]
    fn who_settles_before_any_change_has_missed_none() {
        let mut book = book(0..2);

        assert_eq!(book.settle(&Slot::gateway(0), 0), Some(false));
        assert_eq!(book.settle(&Slot::gateway(1), 1), Some(false));

        assert_eq!(book.settled(), 2);
    }

    #[test]
    fn who_settles_after_a_change_may_have_missed_it() {
        let mut book = book(0..2);
        book.settle(&Slot::gateway(0), 0);
        book.tell(&tools());

        assert_eq!(book.settle(&Slot::gateway(1), 1), Some(true));
        book.attach(Slot::gateway(0), LIFE, 10, 10);

        assert_eq!(book.settled(), 1, "it is not settled on its new link");
        assert_eq!(book.settle(&Slot::gateway(0), 10), Some(true));
    }

    #[test]
    fn who_settles_again_has_missed_nothing_since() {
        let mut book = book([0]);
        book.settle(&Slot::gateway(0), 0);
        book.tell(&tools());

        assert_eq!(book.settle(&Slot::gateway(0), 0), Some(false));
    }

    proptest! {
        #[test]
        fn a_late_end_never_strikes_out_a_successor(
            events in proptest::collection::vec((0..3_u16, any::<bool>()), 0..50),
            order in any::<prop::sample::Index>(),
        ) {
            let mut book = Book::new(100);
            let mut newest: HashMap<Slot, u64> = HashMap::new();
            let mut ended = Vec::new();
            for (link, (index, late)) in (0_u64..).zip(events) {
                let slot = Slot::gateway(index);
                book.attach(slot.clone(), LIFE, link, link);
                prop_assert_eq!(book.register(&slot, link, vec![tools()]), Ok(()));
                if let Some(former) = newest.insert(slot.clone(), link) {
                    ended.push((slot, former));
                }
                if late && !ended.is_empty() {
                    let (slot, link) = ended.swap_remove(order.index(ended.len()));
                    book.detach(&slot, link);
                }
            }

            prop_assert_eq!(book.registered(), newest.len());
            for (slot, link) in newest {
                prop_assert_eq!(book.one(&slot), Some(link));
                prop_assert!(book.tell(&tools()).contains(&link));
                book.detach(&slot, link);
                prop_assert_eq!(book.one(&slot), None);
            }
            prop_assert_eq!(book.registered(), 0);
        }
    }
}
