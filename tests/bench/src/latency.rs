//! How long answers took: counts in buckets, each under two percent wide.

use std::time::Duration;

/// Each power of two is cut into this many buckets, as a power of two.
const CUTS: u32 = 6;
/// Every number of nanoseconds that 64 bits hold has a bucket.
const BUCKETS: usize = (64 - CUTS as usize + 1) << CUTS;

/// Counts durations; its memory does not grow.
#[derive(Clone, Debug)]
pub(crate) struct Latency {
    buckets: Vec<u64>,
    count: u64,
}

impl Latency {
    pub(crate) fn new() -> Self {
        Self {
            buckets: vec![0; BUCKETS],
            count: 0,
        }
    }

    pub(crate) fn record(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        if let Some(bucket) = self.buckets.get_mut(bucket(nanos)) {
            *bucket += 1;
            self.count += 1;
        }
    }

    /// Adds what another one counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (own, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *own += theirs;
        }
        self.count += other.count;
    }

    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Returns what so many in a thousand stayed under; nothing of nothing.
    pub(crate) fn quantile(&self, per_mille: u64) -> Option<Duration> {
        let rank = (self.count * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        self.buckets.iter().enumerate().find_map(|(index, count)| {
            seen += count;
            (seen >= rank).then(|| Duration::from_nanos(middle(index)))
        })
    }
}

// === Behind the counts ===

/// Returns the bucket of a number: below 64 its own, above one of 64 for each power of two.
fn bucket(nanos: u64) -> usize {
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(CUTS + 1);
    let within = usize::try_from(nanos >> shift).unwrap_or(usize::MAX);
    (shift as usize * (1 << CUTS)).saturating_add(within)
}

/// Returns the middle of what a bucket holds.
fn middle(index: usize) -> u64 {
    let cuts = 1 << CUTS;
    let shift = (index / cuts).saturating_sub(1);
    let within = (index - shift * cuts) as u64;
    (within << shift) + ((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_near_each_number_in_it() {
        let mut numbers: Vec<u64> = (0..1000).collect();
        numbers
            .extend((10..64).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 12_345]));
        numbers.push(u64::MAX);

        for number in numbers {
            let back = middle(bucket(number));
            let apart = back.abs_diff(number);
            assert!(apart <= number / 64, "{number} came back as {back}");
        }
    }

    #[test]
    fn the_buckets_are_in_order_and_none_is_past_the_last() {
        assert!(bucket(63) < bucket(64));
        assert!(bucket(127) < bucket(128));
        assert!(bucket(255) < bucket(256));
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_ranks_among_all_that_was_recorded() {
        let mut latency = Latency::new();
        let mut more = Latency::new();
        (1..=50).for_each(|n| latency.record(Duration::from_nanos(n)));
        (51..=60).for_each(|n| more.record(Duration::from_nanos(n)));

        latency.merge(&more);

        assert_eq!(latency.count(), 60);
        assert_eq!(latency.quantile(500), Some(Duration::from_nanos(30)));
        assert_eq!(latency.quantile(990), Some(Duration::from_nanos(60)));
        assert_eq!(latency.quantile(0), Some(Duration::from_nanos(1)));
        assert_eq!(Latency::new().quantile(500), None);
    }
}
