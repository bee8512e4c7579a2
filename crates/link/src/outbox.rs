//! What waits to be written on a link, and what goes first.
//!
//! Control goes before answers, answers before data; each of them in order. Data
//! needs credit of the peer, the others need none: control is little, and an
//! answer was asked for.
//!
//! The outbox has no bound of its own: whoever pushes has paid for a place, see
//! `places.rs`, and an answer is paid for by its call.

use std::collections::VecDeque;

use crate::Lane;

/// The three queues of an outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    Control,
    Answers,
    Data,
}

/// Finds an item again, for as long as it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    queue: Queue,
    number: u64,
}

#[derive(Debug)]
pub(crate) struct Outbox<T> {
    next: u64,
    control: VecDeque<(u64, T)>,
    answers: VecDeque<(u64, T)>,
    data: VecDeque<(u64, T)>,
    credit: u32,
}

impl Queue {
    /// Returns where the events and calls of a lane wait.
    pub(crate) const fn of(lane: Lane) -> Self {
        match lane {
            Lane::Control => Self::Control,
            Lane::Data => Self::Data,
        }
    }

    /// Returns where the answers to calls of a lane wait.
    pub(crate) const fn of_answers_in(lane: Lane) -> Self {
        match lane {
            Lane::Control => Self::Control,
            Lane::Data => Self::Answers,
        }
    }
}

impl<T> Outbox<T> {
    pub(crate) const fn new() -> Self {
        Self {
            next: 0,
            control: VecDeque::new(),
            answers: VecDeque::new(),
            data: VecDeque::new(),
            credit: 0,
        }
    }

    pub(crate) fn push(&mut self, queue: Queue, item: T) -> Ticket {
        let number = self.next;
        self.next += 1;
        self.queue(queue).push_back((number, item));
        Ticket { queue, number }
    }

    /// Takes what goes next, and the credit that it needs.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let first = self
            .control
            .pop_front()
            .or_else(|| self.answers.pop_front());
        if let Some((_, item)) = first {
            return Some(item);
        }
        let left = self.credit.checked_sub(1)?;
        let (_, item) = self.data.pop_front()?;
        self.credit = left;
        Some(item)
    }

    /// Takes an item back, unless it has gone.
    pub(crate) fn withdraw(&mut self, ticket: Ticket) -> Option<T> {
        let queue = self.queue(ticket.queue);
        let at = queue
            .binary_search_by_key(&ticket.number, |&(number, _)| number)
            .ok()?;
        queue.remove(at).map(|(_, item)| item)
    }

    /// Allows `frames` more data frames.
    pub(crate) const fn grant(&mut self, frames: u32) {
        self.credit = self.credit.saturating_add(frames);
    }

    /// Starts anew for another connection, without credit; returns what does not
    /// outlive the old one.
    pub(crate) fn restart(&mut self, outlives: impl Fn(&T) -> bool) -> Vec<T> {
        self.credit = 0;
        let mut dropped = Vec::new();
        for queue in [&mut self.control, &mut self.answers, &mut self.data] {
            for (number, item) in std::mem::take(queue) {
                if outlives(&item) {
                    queue.push_back((number, item));
                } else {
                    dropped.push(item);
                }
            }
        }
        dropped
    }

    /// Returns how many items wait in one queue.
    pub(crate) fn waiting(&self, queue: Queue) -> usize {
        match queue {
            Queue::Control => self.control.len(),
            Queue::Answers => self.answers.len(),
            Queue::Data => self.data.len(),
        }
    }

    /// Returns how many items wait.
    pub(crate) fn len(&self) -> usize {
        self.control.len() + self.answers.len() + self.data.len()
    }

    const fn queue(&mut self, queue: Queue) -> &mut VecDeque<(u64, T)> {
        match queue {
            Queue::Control => &mut self.control,
            Queue::Answers => &mut self.answers,
            Queue::Data => &mut self.data,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn everything<T>(outbox: &mut Outbox<T>) -> Vec<T> {
        std::iter::from_fn(|| outbox.pop()).collect()
    }

    #[test]
    fn control_goes_before_answers_and_answers_before_data() {
        let mut outbox = Outbox::new();
        outbox.grant(9);
        outbox.push(Queue::Data, "data");
        outbox.push(Queue::Answers, "answer");
        outbox.push(Queue::Control, "first");
        outbox.push(Queue::Control, "second");

        assert_eq!(
            everything(&mut outbox),
            ["first", "second", "answer", "data"]
        );
    }

    #[test]
    fn data_waits_for_credit_and_control_does_not() {
        let mut outbox = Outbox::new();
        outbox.push(Queue::Data, 1);
        outbox.push(Queue::Data, 2);
        outbox.push(Queue::Control, 3);

        assert_eq!(everything(&mut outbox), [3]);
        outbox.grant(1);
        assert_eq!(everything(&mut outbox), [1]);
        outbox.grant(1);
        assert_eq!(everything(&mut outbox), [2]);
    }

    #[test]
    fn credit_is_not_spent_on_nothing() {
        let mut outbox = Outbox::new();
        outbox.grant(1);

        assert_eq!(outbox.pop(), None);
        outbox.push(Queue::Data, 1);

        assert_eq!(outbox.pop(), Some(1));
    }

    #[test]
    fn a_new_connection_begins_without_credit_and_with_what_outlives_the_old_one() {
        let mut outbox = Outbox::new();
        outbox.grant(9);
        for number in 0..4 {
            outbox.push(Queue::Data, number);
        }

        let dropped = outbox.restart(|number| number % 2 == 0);

        assert_eq!(dropped, [1, 3]);
        assert_eq!(outbox.pop(), None);
        outbox.grant(9);
        assert_eq!(everything(&mut outbox), [0, 2]);
    }

    proptest! {
        #[test]
        fn what_is_withdrawn_is_not_sent_and_all_else_is_in_order(
            kept in proptest::collection::vec(any::<bool>(), 0..60),
            sent_before in 0..10_u32,
        ) {
            let mut outbox = Outbox::new();
            outbox.grant(sent_before);
            let tickets: Vec<_> = (0..kept.len())
                .map(|number| outbox.push(Queue::Data, number))
                .collect();
            let mut sent = everything(&mut outbox);
            let gone = sent.len();

            for (number, ticket) in tickets.into_iter().enumerate() {
                if !kept[number] {
                    let withdrawn = outbox.withdraw(ticket);
                    prop_assert_eq!(withdrawn, (number >= gone).then_some(number));
                }
            }
            outbox.grant(u32::MAX);
            sent.extend(everything(&mut outbox));

            let expected: Vec<_> = (0..kept.len())
                .filter(|&number| number < gone || kept[number])
                .collect();
            prop_assert_eq!(sent, expected);
        }
    }
}
