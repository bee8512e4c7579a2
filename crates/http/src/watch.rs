//! Descriptors that the event loop watches.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Watches a descriptor for something to read.
#[expect(
    unsafe_code,
    reason = "a socket can be watched before it is accepted from in no other way"
)]
pub(crate) fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` owns its descriptor: it is open, and the same, for as
    // long as the value lives.
    unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }
        .map_err(|refused| refused.into_parts().1)
}

/// Sleeps for less than a millisecond, which tokio's timers cannot.
#[derive(Debug)]
pub(crate) struct Nap(AsyncFd<OwnedFd>);

impl Nap {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        watched(timerfd_create(TimerfdClockId::Monotonic, flags)?).map(Self)
    }

    /// Sleeps for `time`, which is less than a second.
    pub(crate) async fn sleep(&self, time: Duration) -> io::Result<()> {
        let none = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let once = Itimerspec {
            it_interval: none,
            it_value: Timespec {
                tv_nsec: time.subsec_nanos().into(),
                ..none
            },
        };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        loop {
            let mut ready = self.0.readable().await?;
            let rung = ready.try_io(|timer| {
                let mut times = [0; 8];
                Ok(rustix::io::read(timer.get_ref(), &mut times)?)
            });
            if let Ok(rung) = rung {
                return rung.map(|_length| ());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn a_nap_can_be_taken_again_and_again() {
        let (nap, start) = (Nap::new().expect("a timer"), Instant::now());
        let time = Duration::from_micros(100);

        for _ in 0..3 {
            nap.sleep(time).await.expect("a nap");
        }

        assert!(start.elapsed() >= 3 * time);
    }
}
