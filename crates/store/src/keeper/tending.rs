//! What the store does about tasks by itself: ends those whose time is over, takes
//! them from the dead, and calls for takers.
//!
//! A running task is taken from its holder for nothing but the holder's death, which
//! [`is_dead`] decides, or because the holder itself does not name it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use conduit_telemetry::StoreOperation;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use uuid::Uuid;

use super::Keeper;
use super::tasks::Lost;
use crate::backend::Expired;
use crate::lives::is_dead;
use crate::task::{Holder, Loss, SLICE};
use crate::writer::Refused;

/// How often it looks for the dead without being told to, and calls for takers again.
const TICK: Duration = Duration::from_secs(1);

/// The shortest time between two looks for tasks whose time is over, unless there are
/// more than one look removes.
const PAUSE: Duration = Duration::from_millis(20);

/// The shortest time between two calls for takers: when tasks come faster than they are
/// done, each would make every gateway look in vain.
const CALL_PAUSE: Duration = Duration::from_millis(5);

/// The time after which a look that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// How often after a gateway has gone, tick by tick, the others compare the tasks that they
/// watch once more: its last words may have come in late.
const AFTERWARDS: u8 = 2;

/// What the supervisor knows of the lives of gateways.
pub(crate) type Lives = watch::Receiver<Option<Vec<Uuid>>>;

impl Keeper {
    /// Tends tasks until it is dropped.
    ///
    /// # Cancel safety
    ///
    /// Safe: whatever was begun is done by the writer or not at all, and found again.
    pub(crate) async fn tend_for_ever(&self, mut lives: Lives) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut not_before = Instant::now();
        let mut no_call_before = Instant::now();
        let mut more_lives = true;
        let mut untold = 0;
        loop {
            let next = self.plan().map(|next| next.max(not_before));
            // What is rare and short goes first.
            tokio::select! {
                biased;
                () = self.gateways.changed() => {
                    self.gateways.greet(self.writer.ready() > 0);
                    if self.gateways.has_left() {
                        untold = AFTERWARDS;
                        self.tell_what_nobody_told().await;
                    }
                    self.bury(&mut lives).await;
                }
                changed = lives.changed(), if more_lives => {
                    more_lives = changed.is_ok();
                    self.bury(&mut lives).await;
                }
                () = self.called_after(no_call_before) => {
                    self.gateways.tell_ready();
                    no_call_before = Instant::now() + CALL_PAUSE;
                }
                () = sleep_until_some(next) => {
                    let pause = self.expire().await;
                    not_before = Instant::now() + pause;
                }
                () = self.sooner.notified() => {}
                _ = ticks.tick() => {
                    if let Some(left) = u8::checked_sub(untold, 1) {
                        untold = left;
                        self.tell_what_nobody_told().await;
                    }
                    self.bury(&mut lives).await;
                    self.call_for_takers();
                }
            }
        }
    }

    /// Tells whoever is concerned of tasks that have left.
    pub(super) fn expired(&self, expired: &[Expired]) {
        if expired.is_empty() {
            return;
        }
        self.telemetry.store_tasks_expired(expired.len());
        let holders = expired.iter();
        let stopped: Vec<(Holder, Uuid)> = holders
            .filter_map(|task| task.holder.map(|holder| (holder, task.id)))
            .collect();
        self.gateways.tell_stopped(&stopped);
        let cut_short = expired.iter().filter(|task| !task.had_ended);
        let cut_short: Vec<Uuid> = cut_short.map(|task| task.id).collect();
        self.gateways.tell_changed(&cut_short);
        self.call_for_takers();
    }

    /// Forgets spent states that nobody can use any more.
    pub(super) async fn forget_spent(&self) -> Result<(), Refused> {
        let now = self.clock.moment();
        loop {
            let forgotten = self
                .writer
                .run(move |tables| tables.forget_spent(now))
                .await?;
            if forgotten < SLICE {
                return Ok(());
            }
        }
    }
}

// === Behind the loop ===

impl Keeper {
    /// Waits until somebody calls for takers, and for that moment.
    async fn called_after(&self, moment: Instant) {
        sleep_until(moment).await;
        self.ready.notified().await;
    }

    /// Returns when to look for tasks whose time is over; never, if nobody knows.
    fn plan(&self) -> Option<Instant> {
        // Whoever makes a task meanwhile asks for another plan.
        self.planned.store(i64::MAX, Ordering::Relaxed);
        let next = self.read(|reader| reader.next_expiry()).ok()??;
        self.planned.store(next.since_1970(), Ordering::Relaxed);
        Instant::now().checked_add(next.since(self.clock.moment()))
    }

    /// Removes some of the tasks whose time is over, and returns when to look again at
    /// the soonest.
    async fn expire(&self) -> Duration {
        let (start, now) = (Instant::now(), self.clock.moment());
        let expired = self.writer.run(move |tables| tables.expire(now)).await;
        let (done, pause) = match expired {
            Ok(expired) => {
                self.expired(&expired);
                let is_all = expired.len() < SLICE;
                (Ok(()), if is_all { PAUSE } else { Duration::ZERO })
            }
            Err(refused) => (Err(refused), RETRY),
        };
        self.swept(StoreOperation::SweepTasks, done, start);
        pause
    }

    /// Lets gateways compare the tasks that they watch, because a gateway has gone that may
    /// have published nothing of what it wrote last.
    async fn tell_what_nobody_told(&self) {
        // Behind whatever it has written. A failure was logged, and nothing is written then.
        if self.writer.run(|_tables| Ok(())).await.is_ok() {
            self.gateways.tell_any_changed();
        }
    }

    /// Takes tasks from those that have died.
    async fn bury(&self, lives: &mut Lives) {
        let known = lives.borrow_and_update().clone();
        // A failure was logged; the next tick tries again.
        let Ok(holders) = self.read(|reader| reader.holders()) else {
            return;
        };
        let attached = self.gateways.holders();
        let dead = |holder: &Holder| is_dead(*holder, &attached, known.as_deref());
        for holder in holders.into_iter().filter(dead) {
            let start = Instant::now();
            let done = self.lose(holder.life, Lost::All, Loss::Died).await;
            self.swept(StoreOperation::TakeOver, done, start);
        }
    }
}

async fn sleep_until_some(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
