//! Shared counters by which gateways spread connections among themselves.
//!
//! All gateways accept from one socket, and the kernel wakes the same one again
//! and again. So each gateway publishes how many connections it holds, in a small
//! file of shared memory that the supervisor made, and one that holds clearly more
//! than the average lets the others go first for a moment. The margin keeps those
//! that are as good as equal from waiting for each other.
//!
//! Entry *i* belongs to gateway slot *i*: 16 bytes, two native-endian `u64`: open
//! connections, and whether a process fills the slot. The supervisor sets the
//! second and clears both when it has reaped a process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const ENTRY: u64 = 16;

/// The counters of all gateway slots, and which of them is ours.
#[derive(Debug)]
pub struct Balance {
    file: File,
    slot: u64,
    slots: usize,
}

impl Balance {
    /// Opens the counters as gateway `slot`.
    ///
    /// # Errors
    ///
    /// Fails when the file cannot be read or has no entry for the slot.
    pub fn open(file: File, slot: u16) -> io::Result<Self> {
        let slots = usize::try_from(file.metadata()?.len() / ENTRY).unwrap_or(usize::MAX);
        if slots <= usize::from(slot) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Self {
            file,
            slot: slot.into(),
            slots,
        })
    }

    /// Publishes how many connections this gateway holds.
    pub(crate) fn publish(&self, open: usize) {
        let bytes = u64::try_from(open).unwrap_or(u64::MAX).to_ne_bytes();
        if let Err(error) = self.file.write_all_at(&bytes, self.slot * ENTRY) {
            tracing::debug!(%error, "connection count not published");
        }
    }

    /// Whether this gateway, holding `open`, should let the others go first.
    pub(crate) fn should_wait(&self, open: usize) -> bool {
        if self.slots < 2 {
            return false;
        }
        let mut bytes = vec![0; self.slots * 16];
        match self.file.read_exact_at(&mut bytes, 0) {
            Ok(()) => far_above_average(open, self.slot, entries(&bytes)),
            Err(_unreadable) => false,
        }
    }
}

fn entries(bytes: &[u8]) -> impl Iterator<Item = (u64, bool)> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    bytes.chunks_exact(16).map(move |entry| {
        let (open, live) = entry.split_at(8);
        (number(open), number(live) != 0)
    })
}

/// The least that counts as more than the average.
const MARGIN: u64 = 2;
/// The part of the average, if that is more.
const PART: u64 = 8;

/// Whether `open` connections of slot `mine` are more than the average of all live
/// slots by more than the margin.
fn far_above_average(open: usize, mine: u64, entries: impl Iterator<Item = (u64, bool)>) -> bool {
    let open = u64::try_from(open).unwrap_or(u64::MAX);
    let (mut sum, mut live) = (open, 1_u64);
    for (slot, (theirs, alive)) in (0_u64..).zip(entries) {
        if alive && slot != mine {
            sum = sum.saturating_add(theirs);
            live += 1;
        }
    }
    let margin = live.saturating_mul(MARGIN).max(sum / PART);
    open.saturating_mul(live) > sum.saturating_add(margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(open: usize, mine: u64, others: &[(u64, bool)], expected: bool) {
        assert_eq!(
            far_above_average(open, mine, others.iter().copied()),
            expected
        );
    }

    #[test]
    fn a_gateway_alone_never_waits() {
        check(9, 0, &[(9, true)], false);
        check(9, 0, &[(9, true), (0, false)], false);
    }

    #[test]
    fn the_fuller_one_waits() {
        check(7, 0, &[(7, true), (2, true)], true);
        check(2, 1, &[(7, true), (2, true)], false);
    }

    #[test]
    fn equals_do_not_wait_for_each_other() {
        check(2, 0, &[(2, true), (2, true)], false);
    }

    #[test]
    fn a_few_more_are_as_good_as_equal() {
        check(1, 0, &[(1, true), (0, true)], false);
        check(6, 0, &[(6, true), (2, true)], false);
        check(550, 0, &[(550, true), (450, true)], false);
    }

    #[test]
    fn an_eighth_more_than_the_average_is_too_many() {
        check(563, 0, &[(563, true), (437, true)], true);
    }
}
