//! The shared counters by which gateways balance connections.
//!
//! One file in memory, inherited by every gateway. Each gateway slot has an
//! entry of 16 bytes: two `u64` in the machine's order of bytes, first the
//! number of open connections, which the gateway counts itself, then whether a
//! process fills the slot, 1 or 0. Here the file is only made, and an entry set
//! when its process comes or goes; reading and counting are the gateway's.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::MemfdFlags;

use crate::plan::MOST_GATEWAYS;

/// The counters of all gateways.
#[derive(Debug)]
pub(crate) struct Balance {
    file: File,
}

impl Balance {
    /// Makes the file with an entry for each gateway that there may ever be, all zero: it
    /// never grows, so that gateways that run know of those that are added.
    pub(crate) fn create() -> io::Result<Self> {
        let file = File::from(rustix::fs::memfd_create(
            "conduit-balance",
            MemfdFlags::CLOEXEC,
        )?);
        file.set_len(at(MOST_GATEWAYS))?;
        Ok(Self { file })
    }

    /// Says that a process fills the slot of gateway `index` and takes connections.
    pub(crate) fn fill(&self, index: u16) -> io::Result<()> {
        self.file
            .write_all_at(&1_u64.to_ne_bytes(), at(index) + FILLED)
    }

    /// Clears the entry of gateway `index`, whose process is gone for certain.
    pub(crate) fn clear(&self, index: u16) -> io::Result<()> {
        self.file.write_all_at(&[0; ENTRY], at(index))
    }

    /// Returns a descriptor of the file to be inherited.
    pub(crate) fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.file.try_clone()?.into())
    }
}

// === Behind the file ===

/// The bytes of one slot's entry.
const ENTRY: usize = 16;

/// Where in its entry a slot is filled or not.
const FILLED: u64 = 8;

/// Returns where the entry of a gateway begins.
fn at(index: u16) -> u64 {
    u64::from(index) * ENTRY as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(balance: &Balance, index: u16) -> [u64; 2] {
        let mut bytes = [0; ENTRY];
        balance.file.read_exact_at(&mut bytes, at(index)).unwrap();
        let (open, live) = bytes.split_at(8);
        [open, live].map(|half| u64::from_ne_bytes(half.try_into().unwrap()))
    }

    #[test]
    fn filling_one_slot_leaves_its_count_and_its_neighbour_alone() {
        let balance = Balance::create().unwrap();
        balance
            .file
            .write_all_at(&7_u64.to_ne_bytes(), at(1))
            .unwrap();

        balance.fill(1).unwrap();

        assert_eq!(entry(&balance, 0), [0, 0]);
        assert_eq!(entry(&balance, 1), [7, 1]);
    }

    #[test]
    fn clearing_forgets_the_connections_of_the_dead() {
        let balance = Balance::create().unwrap();
        balance
            .file
            .write_all_at(&7_u64.to_ne_bytes(), at(0))
            .unwrap();
        balance.fill(0).unwrap();

        balance.clear(0).unwrap();

        assert_eq!(entry(&balance, 0), [0, 0]);
    }
}
