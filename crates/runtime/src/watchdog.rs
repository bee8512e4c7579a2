//! Names the `inline` tool that blocks the gateway's loop.
//!
//! The loop marks which tool it is about to run; the watchdog, on a worker
//! thread, looks a few times a second whether the mark is old. Heartbeats have a
//! thread of their own, so a blocked loop does not pass for a dead gateway.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use conduit_telemetry::{Event, Pool, Telemetry};
use parking_lot::RwLock;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// How often the watchdog looks.
const LOOK: Duration = Duration::from_millis(250);
/// How long a tool may hold the loop before it is named.
const PATIENCE: Duration = Duration::from_millis(100);

/// A callback, as events name it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// The server that it belongs to.
    pub(crate) server: Arc<str>,
    /// As its author named it: a tool, a prompt, a resource's URI, a template.
    pub(crate) callback: Arc<str>,
}

impl Named {
    /// Says that a callback panicked.
    pub(crate) fn panicked(&self) -> Event {
        Event::CallbackPanicked {
            server: self.server.to_string(),
            tool: self.callback.to_string(),
        }
    }

    /// Says that a blocking callback was given up.
    pub(crate) fn abandoned(&self) -> Event {
        Event::WorkerAbandoned {
            server: self.server.to_string(),
            tool: self.callback.to_string(),
            pool: Pool::Blocking,
        }
    }
}

/// Which inline tool holds the loop, and since when.
#[derive(Debug)]
pub(crate) struct Mark {
    /// Microseconds since `born`, plus one; zero while no tool holds the loop.
    since: AtomicU64,
    born: Instant,
    named: RwLock<Option<Arc<Named>>>,
}

impl Mark {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            since: AtomicU64::new(0),
            born: Instant::now(),
            named: RwLock::default(),
        })
    }

    /// Runs `work` on the loop under the name of a tool.
    pub(crate) fn hold<T>(&self, tool: &Arc<Named>, now: Instant, work: impl FnOnce() -> T) -> T {
        *self.named.write() = Some(Arc::clone(tool));
        self.since.store(self.micros(now), Ordering::Release);
        let result = work();
        self.since.store(0, Ordering::Release);
        result
    }

    fn micros(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.born).as_micros();
        u64::try_from(since).unwrap_or(u64::MAX - 1) + 1
    }

    /// Returns the tool that holds the loop for longer than [`PATIENCE`].
    fn offender(&self, now: Instant) -> Option<(Arc<Named>, Duration, u64)> {
        let since = self.since.load(Ordering::Acquire);
        if since == 0 {
            return None;
        }
        let held = Duration::from_micros(self.micros(now).saturating_sub(since));
        let tool = self.named.read().clone()?;
        (held > PATIENCE).then_some((tool, held, since))
    }
}

/// Watches as long as the mark lives; each blocking call is named once.
pub(crate) async fn watch(mark: Weak<Mark>, telemetry: Telemetry) {
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut named = 0;
    loop {
        looks.tick().await;
        let Some(mark) = mark.upgrade() else { return };
        if let Some((tool, held, since)) = mark.offender(Instant::now())
            && since != named
        {
            named = since;
            telemetry.emit(Event::LoopStalled {
                server: tool.server.to_string(),
                tool: tool.callback.to_string(),
                took: held,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(tool: &str) -> Arc<Named> {
        Arc::new(Named {
            server: "test".into(),
            callback: tool.into(),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_tool_that_holds_the_loop_too_long_is_named() {
        let mark = Mark::new();
        let tool = named("sleepy");
        let start = Instant::now();

        let offender = mark.hold(&tool, start, || mark.offender(start + PATIENCE * 2));

        assert_eq!(offender.map(|(tool, ..)| tool), Some(tool));
        assert!(
            mark.offender(start + PATIENCE * 9).is_none(),
            "it gave the loop back"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_quick_tool_is_not_named() {
        let mark = Mark::new();
        let start = Instant::now();

        let offender = mark.hold(&named("quick"), start, || mark.offender(start + PATIENCE));

        assert!(offender.is_none());
    }
}
