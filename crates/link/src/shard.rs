//! Which shard of the hub owns a key: rendezvous hashing.

use crate::ShardMap;

/// Returns the index of the hub that owns `key`, or nothing for an empty map.
///
/// The same in every process and every build. When a shard leaves the map, only
/// its own keys move; when one joins, keys move to it alone.
#[must_use]
pub fn owner(map: &ShardMap, key: &str) -> Option<u16> {
    owner_of(map, Hash::new().add(key.as_bytes()).end())
}

/// Returns the index of the hub that owns the topic of this
/// [fingerprint](crate::Topic::fingerprint), likewise.
#[must_use]
pub fn owner_of(map: &ShardMap, fingerprint: u64) -> Option<u16> {
    map.shards
        .iter()
        .copied()
        .max_by_key(|&shard| (mix(fingerprint ^ mix(u64::from(shard) + 1)), shard))
}

// === The hash ===

/// FNV-1a with 64 bits, of bytes that come in pieces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hash(u64);

impl Hash {
    pub(crate) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn add(self, bytes: &[u8]) -> Self {
        let add = |hash: u64, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.iter().fold(self.0, add))
    }

    pub(crate) const fn end(self) -> u64 {
        self.0
    }
}

/// The finalizer of `MurmurHash3`: each bit of the input changes half of the output.
const fn mix(mut bits: u64) -> u64 {
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ (bits >> 33)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn map(shards: impl IntoIterator<Item = u16>) -> ShardMap {
        ShardMap {
            epoch: 1,
            shards: shards.into_iter().collect(),
        }
    }

    #[test]
    fn an_empty_map_owns_nothing() {
        assert_eq!(owner(&map([]), "key"), None);
    }

    #[test]
    fn the_owner_of_a_key_never_changes_between_builds() {
        let owners: Vec<_> = ["", "a", "session:1", "session:2", "principal:ann"]
            .iter()
            .map(|key| owner(&map(0..8), key).unwrap())
            .collect();

        assert_eq!(owners, [6, 7, 2, 7, 1]);
    }

    #[test]
    fn shards_share_the_keys_fairly() {
        let map = map(0..4);
        let mut counts = [0_u32; 4];
        for number in 0..10_000 {
            let shard = owner(&map, &format!("address:10.0.0.{number}")).unwrap();
            counts[usize::from(shard)] += 1;
        }

        assert!(
            counts.iter().all(|count| (2_200..2_800).contains(count)),
            "{counts:?}"
        );
    }

    proptest! {
        #[test]
        fn only_the_keys_of_a_removed_shard_move(
            key in ".*",
            shards in proptest::collection::hash_set(any::<u16>(), 2..20),
            removed in any::<prop::sample::Index>(),
        ) {
            let mut left: Vec<u16> = shards.iter().copied().collect();
            let removed = left.swap_remove(removed.index(left.len()));

            let before = owner(&map(shards), &key).unwrap();
            let after = owner(&map(left), &key).unwrap();

            prop_assert!(before == removed || after == before);
            prop_assert_ne!(after, removed);
        }
    }
}
