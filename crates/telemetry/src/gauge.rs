//! Levels that go up and down, without a name of the library below.

use prometheus::IntGauge;

/// A level; cheap to clone, lock-free.
#[derive(Clone, Debug)]
pub struct Gauge(IntGauge);

/// One unit of a [`Gauge`]; dropping it gives the unit back.
#[derive(Debug)]
#[must_use = "the level falls again when this is dropped"]
pub struct Held(IntGauge);

impl Gauge {
    pub(crate) const fn new(inner: IntGauge) -> Self {
        Self(inner)
    }

    /// Raises the level by one until the guard is dropped.
    pub fn hold(&self) -> Held {
        self.0.inc();
        Held(self.0.clone())
    }

    /// Raises the level by one.
    pub fn inc(&self) {
        self.0.inc();
    }

    /// Lowers the level by one.
    pub fn dec(&self) {
        self.0.dec();
    }

    /// Sets the level.
    pub fn set(&self, level: usize) {
        self.0.set(i64::try_from(level).unwrap_or(i64::MAX));
    }

    /// Returns the level.
    #[must_use]
    pub fn level(&self) -> i64 {
        self.0.get()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_unit_is_given_back_when_its_holder_unwinds() {
        let gauge = Gauge::new(IntGauge::new("level", "a level").unwrap());

        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = gauge.hold();
            assert_eq!(gauge.level(), 1);
            panic!("on purpose");
        }));

        assert!(unwound.is_err());
        assert_eq!(gauge.level(), 0);
    }
}
