//! Comments on quiet event streams, from one clock for all of them.
//!
//! No stream has a timer: a task goes round, a slice of the streams at each tick, so
//! that they are not all woken at once. A stream gets its comment early rather than
//! late, and none if it has written something meanwhile. Without streams the clock
//! stands still.
//!
//! Bound: the streams on the list are those that are open.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::task::TaskTracker;

/// Into how many slices the streams are cut; the clock goes round twice in an interval.
const SLICES: u32 = 16;

/// The clock; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct KeepAlive {
    shared: Arc<Shared>,
}

/// A stream's seat at the clock, from its first wait until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    clock: KeepAlive,
    number: Option<usize>,
}

impl KeepAlive {
    /// Makes a clock: no stream shall be silent for longer than `every`.
    pub(crate) fn new(every: Duration) -> Self {
        Self {
            shared: Arc::new(Shared {
                tick: every / (2 * SLICES),
                wheel: Mutex::default(),
                turning: TaskTracker::new(),
            }),
        }
    }

    /// Returns a seat for a stream that has just begun.
    pub(crate) fn seat(&self) -> Seat {
        Seat {
            clock: self.clone(),
            number: None,
        }
    }
}

impl Seat {
    /// Notes that the stream is not silent.
    pub(crate) fn spoke(&self) {
        if let Some(number) = self.number {
            self.clock.shared.wheel.lock().spoke(number);
        }
    }

    /// Whether the stream has been silent for so long that it has to say something; else
    /// it is woken when it has. Has to run inside a runtime.
    pub(crate) fn is_due(&mut self, waker: &Waker) -> bool {
        let shared = &self.clock.shared;
        let mut wheel = shared.wheel.lock();
        let Some(number) = self.number else {
            self.number = Some(wheel.enter(waker));
            if !std::mem::replace(&mut wheel.turns, true) {
                shared.turning.spawn(turn(Arc::clone(shared)));
            }
            return false;
        };
        wheel.take_due(number, waker)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let left = self.clock.shared.wheel.lock().leave(number);
            drop(left);
        }
    }
}

// === Behind the seat ===

#[derive(Debug)]
struct Shared {
    tick: Duration,
    wheel: Mutex<Wheel>,
    /// The one task that turns the wheel, while anybody waits.
    turning: TaskTracker,
}

/// Who waits, and for how long; counts in ticks.
#[derive(Debug, Default)]
struct Wheel {
    now: u32,
    /// Whether the task runs that calls [`turn`](Self::turn).
    turns: bool,
    waiting: Vec<Option<Waiting>>,
    /// The empty places of `waiting`.
    free: Vec<usize>,
}

#[derive(Debug)]
struct Waiting {
    /// When it last said something.
    spoke: u32,
    is_due: bool,
    waker: Option<Waker>,
}

async fn turn(shared: Arc<Shared>) {
    let mut ticks = interval_at(Instant::now() + shared.tick, shared.tick);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let turned = shared.wheel.lock().turn();
        match turned {
            Some(due) => due.into_iter().for_each(Waker::wake),
            None => return,
        }
    }
}

impl Wheel {
    fn enter(&mut self, waker: &Waker) -> usize {
        let waiting = Some(Waiting {
            spoke: self.now,
            is_due: false,
            waker: Some(waker.clone()),
        });
        if let Some(number) = self.free.pop()
            && let Some(place) = self.waiting.get_mut(number)
        {
            *place = waiting;
            return number;
        }
        self.waiting.push(waiting);
        self.waiting.len() - 1
    }

    fn leave(&mut self, number: usize) -> Option<Waiting> {
        let left = self.waiting.get_mut(number).and_then(Option::take);
        if left.is_some() {
            self.free.push(number);
        }
        left
    }

    fn at(&mut self, number: usize) -> Option<&mut Waiting> {
        self.waiting.get_mut(number).and_then(Option::as_mut)
    }

    fn spoke(&mut self, number: usize) {
        let now = self.now;
        if let Some(waiting) = self.at(number) {
            waiting.spoke = now;
            waiting.is_due = false;
        }
    }

    fn take_due(&mut self, number: usize, waker: &Waker) -> bool {
        let now = self.now;
        let Some(waiting) = self.at(number) else {
            return false;
        };
        if waiting.is_due {
            waiting.is_due = false;
            waiting.spoke = now;
            return true;
        }
        match &mut waiting.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        false
    }

    /// Moves on by one tick; returns whom to wake. `None` when nobody waits any more:
    /// the clock stands still then.
    fn turn(&mut self) -> Option<Vec<Waker>> {
        if self.free.len() == self.waiting.len() {
            *self = Self {
                now: self.now,
                ..Self::default()
            };
            return None;
        }
        self.now = self.now.wrapping_add(1);
        let (now, slices) = (self.now, usize::try_from(SLICES).unwrap_or(1));
        let slice = usize::try_from(now % SLICES).unwrap_or(0);
        let seats = self.waiting.iter_mut().skip(slice).step_by(slices);
        let due = seats.flatten().filter_map(|waiting| {
            // At the next visit it would be too late.
            waiting.is_due |= now.wrapping_sub(waiting.spoke) > SLICES;
            waiting.waker.take_if(|_| waiting.is_due)
        });
        Some(due.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    const EVERY: Duration = Duration::from_secs(15);

    async fn due(seat: &mut Seat) -> Duration {
        let start = Instant::now();
        poll_fn(|context| {
            if seat.is_due(context.waker()) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_is_due_once_in_each_interval() {
        let clock = KeepAlive::new(EVERY);
        let mut seats: Vec<_> = std::iter::repeat_with(|| clock.seat()).take(40).collect();

        let dues = seats.iter_mut().map(async |seat| {
            let first = due(seat).await;
            assert!(first > EVERY / 3 && first <= EVERY, "{first:?}");
            for _ in 0..3 {
                assert_eq!(due(seat).await, EVERY);
            }
            first
        });
        let firsts: std::collections::HashSet<_> = futures_util::future::join_all(dues)
            .await
            .into_iter()
            .collect();

        assert!(firsts.len() > 10, "they are spread over the interval");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_speaks_is_not_due_and_never_silent_for_too_long() {
        let clock = KeepAlive::new(EVERY);
        let mut seat = clock.seat();
        for pause in [100, 4_000, 7_000, 1, 5_000] {
            let pause = Duration::from_millis(pause);
            let early = tokio::time::timeout(pause, due(&mut seat)).await;
            assert!(early.is_err(), "it spoke a moment ago");
            seat.spoke();
        }

        let silent = due(&mut seat).await;

        assert!(silent > EVERY / 3 && silent <= EVERY, "{silent:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_stands_still_and_forgets_when_all_have_left() {
        let clock = KeepAlive::new(EVERY);
        for _ in 0..2 {
            let mut seats: Vec<_> = std::iter::repeat_with(|| clock.seat()).take(9).collect();
            for seat in &mut seats {
                assert!(!seat.is_due(Waker::noop()));
            }
            drop(seats.pop());
            assert_eq!(clock.shared.wheel.lock().free.len(), 1);
            drop(seats);

            tokio::time::sleep(EVERY).await;

            let wheel = clock.shared.wheel.lock();
            assert_eq!((wheel.turns, wheel.waiting.capacity()), (false, 0));
        }
    }
}
