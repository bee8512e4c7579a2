//! Who is connected to the admin port, and who has to make room.
//!
//! The port answers health checks: whoever holds connections open without asking
//! for anything may not keep those out. So the guest that has not asked for the
//! longest time leaves when another one comes to a full house.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use tokio_util::sync::CancellationToken;

/// The guests of the admin port, for its one accept loop.
#[derive(Debug, Default)]
pub(crate) struct Lobby {
    guests: Vec<Weak<Guest>>,
    most: usize,
    clock: Arc<AtomicU64>,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Guest {
    /// Cancelled when it has to make room.
    pub(crate) leave: CancellationToken,
    clock: Arc<AtomicU64>,
    asked: AtomicU64,
}

impl Lobby {
    /// Makes room for `most` guests.
    pub(crate) fn of(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// Takes a guest in; in a full house another one leaves.
    pub(crate) fn enter(&mut self) -> Arc<Guest> {
        self.guests.retain(|guest| guest.strong_count() > 0);
        if self.guests.len() >= self.most {
            self.send_one_away();
        }
        let guest = Arc::new(Guest {
            leave: CancellationToken::new(),
            clock: Arc::clone(&self.clock),
            asked: AtomicU64::new(0),
        });
        guest.asks();
        self.guests.push(Arc::downgrade(&guest));
        guest
    }

    fn send_one_away(&mut self) {
        let asked = |guest: &Weak<Guest>| {
            let guest = guest.upgrade();
            guest.map_or(0, |guest| guest.asked.load(Ordering::Relaxed))
        };
        let quietest = (0_usize..)
            .zip(&self.guests)
            .min_by_key(|(_, guest)| asked(guest))
            .map(|(index, _)| index);
        if let Some(index) = quietest
            && let Some(guest) = self.guests.swap_remove(index).upgrade()
        {
            guest.leave.cancel();
        }
    }
}

impl Guest {
    /// Notes that it asks for something now.
    pub(crate) fn asks(&self) {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        self.asked.store(now, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(guests: &[Arc<Guest>]) -> Vec<bool> {
        guests
            .iter()
            .map(|guest| guest.leave.is_cancelled())
            .collect()
    }

    #[test]
    fn nobody_leaves_while_there_is_room() {
        let mut lobby = Lobby::of(2);
        let guests = [lobby.enter(), lobby.enter()];

        assert_eq!(gone(&guests), [false, false]);
    }

    #[test]
    fn the_one_that_has_not_asked_for_the_longest_time_leaves() {
        let mut lobby = Lobby::of(2);
        let mut guests = vec![lobby.enter(), lobby.enter()];
        guests[0].asks();

        guests.push(lobby.enter());
        assert_eq!(gone(&guests), [false, true, false]);

        guests.push(lobby.enter());
        assert_eq!(gone(&guests), [true, true, false, false]);
    }

    #[test]
    fn whoever_went_by_himself_has_made_room() {
        let mut lobby = Lobby::of(2);
        let first = lobby.enter();
        drop(lobby.enter());
        let third = lobby.enter();

        assert_eq!(gone(&[first, third]), [false, false]);
    }
}
