//! The life of one slot: no clock, no process, no link, no `async`.
//!
//! Whoever calls hands in the time since a fixed moment and carries out the
//! [`Effect`]s, in their order.
//!
//! Invariant: between an [`Effect::Start`] and the exit of what it started there
//! is no other. So a hung child is killed and waited for before its successor.

#[cfg(test)]
mod tests;

use std::time::Duration;

use conduit_lifecycle::{Budget, Phase, Verdict};
use conduit_telemetry::ExitCause;
use uuid::Uuid;

use super::effect::{Effect, Exit, KillReason, LastExit, News};
use crate::Options;

/// One slot and whoever fills it.
#[derive(Debug)]
pub(crate) struct Place {
    options: Options,
    budget: Budget,
    stage: Stage,
    /// Whether the slot is to be empty for good.
    stopping: bool,
    /// How long the start waits after the last failure; none before the first start.
    delay: Option<Duration>,
    first: First,
    counted_on: bool,
    restarts: u64,
    last_exit: Option<LastExit>,
}

/// A process in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Occupant {
    /// Its process id.
    pub(crate) pid: u32,
    /// Names this life of the slot.
    pub(crate) life: Uuid,
    /// When it was started.
    pub(crate) since: Duration,
}

impl Place {
    /// Makes a slot that nobody fills yet.
    pub(crate) const fn new(options: &Options) -> Self {
        Self {
            options: *options,
            budget: Budget::new(options.restarts, options.window, options.backoff),
            stage: Stage::Idle,
            stopping: false,
            delay: None,
            first: First::Untried,
            counted_on: true,
            restarts: 0,
            last_exit: None,
        }
    }

    /// Makes a slot that nobody fills yet, in a tree that runs: nobody counts on it before
    /// it was ready.
    pub(crate) fn added(options: &Options) -> Self {
        Self {
            counted_on: false,
            ..Self::new(options)
        }
    }

    /// Says that it is the slot's turn; [`Place::due`] starts it.
    pub(crate) fn begin(&mut self, now: Duration) {
        if matches!(self.stage, Stage::Idle) {
            self.stage = Stage::Waiting { until: now };
        }
    }

    /// Does what the time has come for.
    pub(crate) fn due(&mut self, now: Duration) -> Vec<Effect> {
        if self.next_due().is_none_or(|due| due > now) {
            return Vec::new();
        }
        match self.stage {
            Stage::Waiting { .. } => vec![Effect::Start],
            Stage::Parked { .. } => {
                self.budget.refill();
                self.delay = Some(self.options.parked_retry);
                self.stage = Stage::Waiting { until: now };
                vec![Effect::Start]
            }
            Stage::Running(run) => match run.work {
                Work::Starting { .. } => self.kill_for(run, KillReason::NeverReady),
                Work::Serving => self.kill_for(run, KillReason::Unlinked),
                Work::Draining { .. } => self.kill_for(run, KillReason::Lingering),
                Work::Dying(_) => Vec::new(),
            },
            Stage::Idle | Stage::Gone => Vec::new(),
        }
    }

    /// Returns when [`Place::due`] has something to do next.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        match self.stage {
            Stage::Waiting { until } | Stage::Parked { until } => Some(until),
            Stage::Running(run) => match (run.work, run.linked) {
                (Work::Starting { by } | Work::Draining { by }, _) => Some(by),
                (Work::Serving, Linked::No { since }) => {
                    since.map(|since| since + self.options.dead_after)
                }
                (Work::Serving, Linked::Yes) | (Work::Dying(_), _) => None,
            },
            Stage::Idle | Stage::Gone => None,
        }
    }

    /// Records that the process asked for by [`Effect::Start`] runs.
    pub(crate) fn started(&mut self, now: Duration, pid: u32, life: Uuid) -> Vec<Effect> {
        let delay = self.delay.take();
        if delay.is_some() {
            self.restarts += 1;
        }
        self.stage = Stage::Running(Run {
            occupant: Occupant {
                pid,
                life,
                since: now,
            },
            work: Work::Starting {
                by: now + self.options.ready_timeout,
            },
            linked: Linked::No { since: None },
        });
        vec![Effect::Tell(News::Started { pid, delay })]
    }

    /// Records that the process asked for by [`Effect::Start`] could not be made.
    pub(crate) fn not_started(&mut self, now: Duration, why: String) -> Vec<Effect> {
        self.ended(now, None, Exit::NotStarted(why), None)
    }

    /// Lets the process with this id and life speak for the slot, if it is the
    /// one that was started here.
    pub(crate) fn link(&mut self, pid: u32, life: Uuid) -> bool {
        let known = |run: &&mut Run| run.occupant.pid == pid && run.occupant.life == life;
        let Some(run) = self.run().filter(known) else {
            return false;
        };
        run.linked = Linked::Yes;
        true
    }

    /// Records that the control link broke; a silent one means a hung process.
    pub(crate) fn unlink(&mut self, now: Duration, silent: bool) -> Vec<Effect> {
        let Some(run) = self.run().filter(|run| !run.dying()) else {
            return Vec::new();
        };
        if matches!(run.linked, Linked::Yes) {
            run.linked = Linked::No { since: Some(now) };
        }
        if !silent {
            return Vec::new();
        }
        let run = *run;
        self.kill_for(run, KillReason::Silent)
    }

    /// Records that the process says that it is ready.
    pub(crate) fn ready(&mut self, now: Duration) -> Vec<Effect> {
        let Some(run) = self.run().filter(|run| run.starting()) else {
            return Vec::new();
        };
        run.work = Work::Serving;
        let Occupant { pid, since, .. } = run.occupant;
        self.first = First::Ready;
        self.counted_on = true;
        let took = now.saturating_sub(since);
        vec![Effect::Tell(News::Ready { pid, took })]
    }

    /// Judges how long the main loop of the process stands still.
    pub(crate) fn lag(&mut self, lag: Duration) -> Vec<Effect> {
        let limit = self.options.stall_limit;
        let stalled = |run: &&mut Run| matches!(run.work, Work::Serving) && lag > limit;
        let Some(run) = self.run().filter(stalled).copied() else {
            return Vec::new();
        };
        self.kill_for(run, KillReason::Stalled)
    }

    /// Records that the process of this life has ended and was reaped.
    pub(crate) fn exited(&mut self, now: Duration, life: Uuid, exit: Exit) -> Vec<Effect> {
        let Some(run) = self.run().filter(|run| run.occupant.life == life) else {
            return Vec::new();
        };
        let (pid, killed) = (run.occupant.pid, run.killed());
        self.ended(now, Some(pid), exit, killed)
    }

    /// Empties the slot: whoever fills it may take `grace` for what it holds.
    pub(crate) fn drain(&mut self, now: Duration, grace: Duration) -> Vec<Effect> {
        self.stopping = true;
        let by = now + grace + self.options.kill_after;
        let Some(run) = self.run() else {
            self.stage = Stage::Gone;
            return Vec::new();
        };
        match (run.work, run.linked) {
            (Work::Starting { .. } | Work::Serving, Linked::Yes) => {
                run.work = Work::Draining { by };
                vec![Effect::Drain(grace)]
            }
            (Work::Starting { .. } | Work::Serving, Linked::No { .. }) => {
                // It cannot be asked.
                let run = *run;
                self.kill_for(run, KillReason::Stopped)
            }
            (Work::Draining { .. } | Work::Dying(_), _) => Vec::new(),
        }
    }

    /// Empties a slot that is not wanted any more, as [`Place::drain`] does, while the tree
    /// goes on without it.
    pub(crate) fn retire(&mut self, now: Duration, grace: Duration) -> Vec<Effect> {
        self.counted_on = false;
        self.drain(now, grace)
    }

    /// Empties the slot at once.
    pub(crate) fn kill(&mut self) -> Vec<Effect> {
        self.stopping = true;
        match self.run() {
            None => {
                self.stage = Stage::Gone;
                Vec::new()
            }
            Some(run) if run.dying() => Vec::new(),
            Some(run) => {
                let run = *run;
                self.kill_for(run, KillReason::Stopped)
            }
        }
    }

    /// Returns what the slot is doing.
    pub(crate) const fn phase(&self) -> Phase {
        match self.stage {
            Stage::Idle | Stage::Waiting { .. } => Phase::Waiting,
            Stage::Running(run) => match run.work {
                Work::Starting { .. } => Phase::Starting,
                Work::Serving => Phase::Serving,
                Work::Draining { .. } => Phase::Draining,
                Work::Dying(_) if self.stopping => Phase::Draining,
                Work::Dying(_) => Phase::Waiting,
            },
            Stage::Parked { .. } => Phase::Parked,
            Stage::Gone => Phase::Gone,
        }
    }

    /// Returns who fills the slot, dying or not.
    pub(crate) const fn occupant(&self) -> Option<Occupant> {
        match self.stage {
            Stage::Running(run) => Some(run.occupant),
            Stage::Idle | Stage::Waiting { .. } | Stage::Parked { .. } | Stage::Gone => None,
        }
    }

    /// Returns whether the slot's process is ready and works.
    pub(crate) const fn serving(&self) -> bool {
        matches!(self.phase(), Phase::Serving)
    }

    /// Returns whether the start may go on to the next kind: the slot was ready
    /// once, or will not be at its first try.
    pub(crate) const fn tried(&self) -> bool {
        self.stopping || !matches!(self.first, First::Untried)
    }

    /// Returns whether the start is over for this slot: it was ready once, or was
    /// parked.
    pub(crate) const fn settled(&self) -> bool {
        self.stopping || matches!(self.first, First::Ready) || !self.counted_on
    }

    /// Returns whether others may count on the slot: it is not parked, and has
    /// been ready since it last was.
    pub(crate) const fn counted_on(&self) -> bool {
        self.counted_on
    }

    /// Returns how often the slot was filled again.
    pub(crate) const fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Returns how the last occupant ended.
    pub(crate) const fn last_exit(&self) -> Option<&LastExit> {
        self.last_exit.as_ref()
    }
}

// === Behind the place ===

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// It is not the slot's turn yet.
    Idle,
    /// Empty until then.
    Waiting { until: Duration },
    /// Filled.
    Running(Run),
    /// Empty until then, after too many failures.
    Parked { until: Duration },
    /// Empty for good.
    Gone,
}

/// How far the first start came.
#[derive(Clone, Copy, Debug)]
enum First {
    Untried,
    Failed,
    Ready,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    occupant: Occupant,
    work: Work,
    linked: Linked,
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Starting {
        by: Duration,
    },
    Serving,
    Draining {
        by: Duration,
    },
    /// Killed, not reaped yet.
    Dying(KillReason),
}

#[derive(Clone, Copy, Debug)]
enum Linked {
    Yes,
    /// The link broke then, or has not been there yet.
    No {
        since: Option<Duration>,
    },
}

impl Run {
    const fn starting(&self) -> bool {
        matches!(self.work, Work::Starting { .. })
    }

    const fn dying(&self) -> bool {
        self.killed().is_some()
    }

    const fn killed(&self) -> Option<KillReason> {
        match self.work {
            Work::Dying(reason) => Some(reason),
            Work::Starting { .. } | Work::Serving | Work::Draining { .. } => None,
        }
    }
}

impl Place {
    const fn run(&mut self) -> Option<&mut Run> {
        match &mut self.stage {
            Stage::Running(run) => Some(run),
            Stage::Idle | Stage::Waiting { .. } | Stage::Parked { .. } | Stage::Gone => None,
        }
    }

    fn kill_for(&mut self, run: Run, reason: KillReason) -> Vec<Effect> {
        self.stage = Stage::Running(Run {
            work: Work::Dying(reason),
            ..run
        });
        let pid = run.occupant.pid;
        vec![Effect::Kill, Effect::Tell(News::Killed { pid, reason })]
    }

    /// The slot is empty: what next?
    fn ended(
        &mut self,
        now: Duration,
        pid: Option<u32>,
        exit: Exit,
        killed: Option<KillReason>,
    ) -> Vec<Effect> {
        let cause = self.cause(&exit, killed);
        self.last_exit = Some(LastExit {
            cause,
            exit: exit.clone(),
            killed,
        });
        let mut effects = vec![Effect::Tell(News::Exited { pid, cause, exit })];
        if self.stopping {
            self.stage = Stage::Gone;
            return effects;
        }
        if matches!(self.first, First::Untried) {
            self.first = First::Failed;
        }
        match self.budget.failed(now) {
            Verdict::Again(delay) => {
                self.delay = Some(delay);
                self.stage = Stage::Waiting { until: now + delay };
            }
            Verdict::Park => {
                let pause = self.options.parked_retry;
                self.counted_on = false;
                self.stage = Stage::Parked { until: now + pause };
                effects.push(Effect::Tell(News::Parked { pause }));
            }
        }
        effects
    }

    const fn cause(&self, exit: &Exit, killed: Option<KillReason>) -> ExitCause {
        match (killed, exit) {
            (Some(KillReason::NeverReady), _) => ExitCause::NeverReady,
            (Some(KillReason::Stopped), _) => ExitCause::Asked,
            (
                Some(
                    KillReason::Silent
                    | KillReason::Unlinked
                    | KillReason::Stalled
                    | KillReason::Lingering,
                ),
                _,
            ) => ExitCause::Hung,
            (None, Exit::Status(0)) if self.stopping => ExitCause::Asked,
            (None, Exit::Status(0)) => ExitCause::Left,
            (None, Exit::Signal(_)) => ExitCause::Signal,
            (None, Exit::Status(_) | Exit::NotStarted(_) | Exit::NotWaited(_)) => ExitCause::Failed,
        }
    }
}
