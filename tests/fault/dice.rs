//! Chance that can be had again.

/// A small generator whose numbers depend on its seed alone.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns dice of their own for one of many throwers.
    pub(crate) const fn of(seed: u64, thrower: u64) -> Self {
        let apart = 0x9e37_79b9_7f4a_7c15;
        Self(seed.wrapping_add(thrower.wrapping_mul(apart)))
    }

    /// Returns a number from 0 on, below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}
