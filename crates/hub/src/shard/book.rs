//! Which gateways are attached.

use std::collections::BTreeMap;

use conduit_link::{Recipients, Slot};
use uuid::Uuid;

/// The gateways, each with the link (`L`) that leads to it.
///
/// One entry a slot; the links of a process are bounded, and so are their slots.
#[derive(Debug)]
pub(super) struct Book<L> {
    attached: BTreeMap<Slot, Entry<L>>,
}

#[derive(Debug)]
struct Entry<L> {
    life: Uuid,
    link_id: u64,
    link: L,
}

impl<L: Clone> Book<L> {
    /// Enters a gateway, in place of whoever had its slot; returns that one's life.
    pub(super) fn attach(&mut self, slot: Slot, life: Uuid, link_id: u64, link: L) -> Option<Uuid> {
        let entry = Entry {
            life,
            link_id,
            link,
        };
        self.attached.insert(slot, entry).map(|former| former.life)
    }

    /// Strikes a gateway out, unless it has another link by now.
    pub(super) fn detach(&mut self, slot: &Slot, link_id: u64) {
        if self
            .attached
            .get(slot)
            .is_some_and(|entry| entry.link_id == link_id)
        {
            self.attached.remove(slot);
        }
    }

    /// Returns how many gateways are attached.
    pub(super) fn attached(&self) -> usize {
        self.attached.len()
    }

    /// Returns the links to those who get a mail. Who is not attached has no
    /// requests and gets none.
    pub(super) fn recipients(&self, to: &Recipients, from: &Slot) -> Vec<L> {
        match to {
            Recipients::One(slot) => self
                .attached
                .get(slot)
                .map(|entry| entry.link.clone())
                .into_iter()
                .collect(),
            Recipients::Others => self
                .attached
                .iter()
                .filter(|&(slot, _)| slot != from)
                .map(|(_, entry)| entry.link.clone())
                .collect(),
        }
    }
}

impl<L> Default for Book<L> {
    fn default() -> Self {
        Self {
            attached: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    const LIFE: Uuid = Uuid::nil();

    fn book(slots: impl IntoIterator<Item = u16>) -> Book<u16> {
        let mut book = Book::default();
        for index in slots {
            book.attach(Slot::gateway(index), LIFE, u64::from(index), index);
        }
        book
    }

    #[test]
    fn the_others_are_all_but_the_sender() {
        let to = book(0..4).recipients(&Recipients::Others, &Slot::gateway(2));

        assert_eq!(to, [0, 1, 3]);
    }

    #[test]
    fn one_is_the_gateway_in_that_slot() {
        let book = book(0..4);
        let to = |index| book.recipients(&Recipients::One(Slot::gateway(index)), &Slot::gateway(0));

        assert_eq!(to(3), [3]);
        assert!(to(4).is_empty(), "nobody is there");
    }

    #[test]
    fn a_new_life_takes_the_place_of_the_old_one() {
        let mut book = book([0]);
        let (second, slot) = (Uuid::from_u128(2), Slot::gateway(0));

        let former = book.attach(slot.clone(), second, 10, 10);

        assert_eq!(former, Some(LIFE));
        assert_eq!(book.recipients(&Recipients::One(slot.clone()), &slot), [10]);
    }

    proptest! {
        #[test]
        fn a_late_end_never_strikes_out_a_successor(
            events in proptest::collection::vec((0..3_u16, any::<bool>()), 0..50),
            order in any::<prop::sample::Index>(),
        ) {
            let mut book = Book::default();
            let mut newest: HashMap<Slot, u64> = HashMap::new();
            let mut ended = Vec::new();
            for (link, (index, late)) in (0_u64..).zip(events) {
                let slot = Slot::gateway(index);
                book.attach(slot.clone(), LIFE, link, link);
                if let Some(former) = newest.insert(slot.clone(), link) {
                    ended.push((slot, former));
                }
                if late && !ended.is_empty() {
                    let (slot, link) = ended.swap_remove(order.index(ended.len()));
                    book.detach(&slot, link);
                }
            }

            for (slot, link) in newest {
                prop_assert_eq!(book.recipients(&Recipients::One(slot.clone()), &slot), [link]);
                book.detach(&slot, link);
                prop_assert!(book.recipients(&Recipients::One(slot.clone()), &slot).is_empty());
            }
        }
    }
}
