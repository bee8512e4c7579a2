//! When a peer that says nothing is dead.
//!
//! A process that was itself stopped, or had no processor, must not blame its
//! peers for what it did not hear. So a watch that comes too late begins anew,
//! and nobody is declared dead while unread bytes wait.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug)]
pub(crate) struct Silence {
    /// How often [`Silence::look`] should come.
    beat: Duration,
    dead_after: Duration,
    looked: Instant,
    /// Silence before this moment does not count.
    pardoned: Instant,
}

impl Silence {
    pub(crate) const fn new(beat: Duration, dead_after: Duration, now: Instant) -> Self {
        Self {
            beat,
            dead_after,
            looked: now,
            pardoned: now,
        }
    }

    /// Returns whether the peer, last `heard` then, is dead; `unread` says whether
    /// its bytes wait in the socket.
    pub(crate) fn look(
        &mut self,
        now: Instant,
        heard: Instant,
        unread: impl FnOnce() -> bool,
    ) -> bool {
        if now.duration_since(self.looked) >= self.beat * 2 {
            self.pardoned = now;
        }
        self.looked = now;
        let silent = now.duration_since(heard.max(self.pardoned));
        silent >= self.dead_after && !unread()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEAT: Duration = Duration::from_secs(1);
    const DEAD_AFTER: Duration = Duration::from_secs(3);

    /// Looks at these seconds; returns the first at which the peer is dead.
    fn dead_at(looks: &[u64], heard: u64, unread: bool) -> Option<u64> {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut silence = Silence::new(BEAT, DEAD_AFTER, start);
        looks
            .iter()
            .copied()
            .find(|&second| silence.look(at(second), at(heard.min(second)), || unread))
    }

    #[test]
    fn a_peer_that_says_nothing_is_dead_after_its_time() {
        assert_eq!(dead_at(&[1, 2, 3, 4], 0, false), Some(3));
        assert_eq!(dead_at(&[1, 2, 3, 4, 5], 2, false), Some(5));
    }

    #[test]
    fn whoever_was_stopped_gives_its_peers_the_time_again() {
        assert_eq!(dead_at(&[1, 60, 61, 62, 63, 64], 0, false), Some(63));
    }

    #[test]
    fn a_peer_whose_bytes_wait_is_alive() {
        assert_eq!(dead_at(&[1, 2, 3, 4, 5, 6], 0, true), None);
    }
}
