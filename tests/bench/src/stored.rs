//! The names of tasks that a store was filled with: known without being kept.

use uuid::{Builder, Uuid};

/// The text of a task's name.
pub(crate) type TaskName = [u8; 36];

/// Tasks that were stored, in an order by chance.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    count: u64,
    chance: u64,
}

impl Stored {
    /// So many of them, for one of several lanes.
    pub(crate) const fn among(count: u64, lane: u32) -> Self {
        Self {
            count,
            chance: mixed(lane as u64),
        }
    }

    /// Returns any of them.
    pub(crate) fn any(&mut self) -> TaskName {
        self.chance = mixed(self.chance);
        name(self.chance % self.count.max(1))
    }
}

/// Returns a task's id: as random as any, and always the same.
pub(crate) fn id(number: u64) -> Uuid {
    let halves = [mixed(2 * number), mixed(2 * number + 1)];
    let bytes = u128::from(halves[0]) << 64 | u128::from(halves[1]);
    Builder::from_random_bytes(bytes.to_be_bytes()).into_uuid()
}

/// Returns the text of the id.
pub(crate) fn name(number: u64) -> TaskName {
    let mut name = [0; 36];
    id(number).as_hyphenated().encode_lower(&mut name);
    name
}

// === Behind the names ===

/// The mixer of splitmix64: neighbours have nothing in common.
const fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_task_has_a_name_of_its_own() {
        let names: HashSet<TaskName> = (0..10_000).map(name).collect();

        assert_eq!(names.len(), 10_000);
        assert!(names.iter().all(|name| name[14] == b'4'), "version 4");
    }

    #[test]
    fn any_of_them_is_one_of_them_and_not_always_the_same() {
        let all: HashSet<TaskName> = (0..10).map(name).collect();
        let mut stored = Stored::among(10, 3);

        let seen: HashSet<TaskName> = (0..1_000).map(|_| stored.any()).collect();

        assert_eq!(seen, all);
    }
}
