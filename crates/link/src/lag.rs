//! How long the process' main loop lets a task wait.
//!
//! The link thread posts a tiny task to the main loop, one at a time, and clocks
//! it. While the task is out, its age counts: a loop that is stuck shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, MissedTickBehavior, interval};

#[derive(Debug)]
pub(crate) struct Lag {
    born: Instant,
    /// When the task went out, in microseconds since birth plus one; zero while
    /// none is out.
    out: AtomicU64,
    /// What the last task took, in microseconds.
    last: AtomicU64,
}

impl Lag {
    pub(crate) fn new() -> Self {
        Self {
            born: Instant::now(),
            out: AtomicU64::new(0),
            last: AtomicU64::new(0),
        }
    }

    /// Returns the larger of the last lag and the present one.
    pub(crate) fn now(&self) -> Duration {
        let out = self.out.load(Ordering::Acquire);
        let last = self.last.load(Ordering::Acquire);
        let age = match out {
            0 => 0,
            out => (self.micros() + 1).saturating_sub(out),
        };
        Duration::from_micros(last.max(age))
    }

    /// Posts a task to `main` at every `beat`, for ever.
    pub(crate) async fn watch(self: Arc<Self>, main: Handle, beat: Duration) {
        let mut beats = interval(beat);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            if self.out.load(Ordering::Acquire) == 0 {
                self.out.store(self.micros() + 1, Ordering::Release);
                let lag = Arc::clone(&self);
                drop(main.spawn(async move { lag.ran() }));
            }
        }
    }

    fn ran(&self) {
        let out = self.out.swap(0, Ordering::AcqRel);
        let took = (self.micros() + 1).saturating_sub(out);
        self.last.store(took, Ordering::Release);
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_micros()).unwrap_or(u64::MAX - 1)
    }
}
