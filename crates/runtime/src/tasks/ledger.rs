//! What this gateway runs on behalf of tasks: no clock, no channel, no `async`.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use conduit_link::Holding;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The most tasks of which it is remembered that they are over, in case that their work
/// is only about to begin here.
const REMEMBERED: usize = 1_024;

/// Why the work of a task stops before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The task is over: it was cancelled, or its time is.
    Over,
    /// Somebody else has it by now, or may have.
    Lost,
    /// This process ends.
    Ending,
}

/// The work that is done here.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    runs: HashMap<Holding, Run>,
    /// Since when the store knows of a complete list of them.
    renewed: Option<Instant>,
    /// Tasks that are over, the oldest first.
    over: VecDeque<Uuid>,
}

#[derive(Debug)]
struct Run {
    token: CancellationToken,
    /// When the store was asked for it, at the latest.
    since: Instant,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Its callback runs, or is about to.
    Running,
    /// What came of it is on its way to the store.
    Writing,
    Stopped(Stop),
}

impl Ledger {
    /// Enters work that was asked for at a time.
    pub(super) fn enter(&mut self, holding: Holding, since: Instant) -> CancellationToken {
        let token = CancellationToken::new();
        let phase = if self.over.contains(&holding.id) {
            token.cancel();
            Phase::Stopped(Stop::Over)
        } else {
            Phase::Running
        };
        let run = Run {
            token: token.clone(),
            since,
            phase,
        };
        self.runs.insert(holding, run);
        token
    }

    pub(super) fn leave(&mut self, holding: &Holding) {
        self.runs.remove(holding);
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Returns what is to be told to the store as held.
    pub(super) fn held(&self) -> Vec<Holding> {
        let gone = |run: &Run| matches!(run.phase, Phase::Stopped(Stop::Over | Stop::Lost));
        let held = self.runs.iter().filter(|(_, run)| !gone(run));
        held.map(|(holding, _)| *holding).collect()
    }

    /// Notes that a callback has ended and that what came of it is to be written, unless
    /// its work was stopped before.
    pub(super) fn begin_writing(&mut self, holding: &Holding) -> Result<(), Stop> {
        let Some(run) = self.runs.get_mut(holding) else {
            return Err(Stop::Lost);
        };
        match run.phase {
            Phase::Stopped(stop) => Err(stop),
            Phase::Running | Phase::Writing => {
                run.phase = Phase::Writing;
                Ok(())
            }
        }
    }

    /// Returns why work was stopped, if it was.
    pub(super) fn stopped(&self, holding: &Holding) -> Option<Stop> {
        match self.runs.get(holding).map(|run| run.phase) {
            Some(Phase::Stopped(stop)) => Some(stop),
            Some(Phase::Running | Phase::Writing) => None,
            None => Some(Stop::Lost),
        }
    }

    /// Stops the work of tasks that are over; returns how much that was.
    pub(super) fn end(&mut self, ids: &[Uuid]) -> usize {
        for id in ids {
            if self.over.len() == REMEMBERED {
                self.over.pop_front();
            }
            self.over.push_back(*id);
        }
        let runs = self.runs.iter_mut();
        let concerned = runs.filter(|(holding, _)| ids.contains(&holding.id));
        concerned.map(|(_, run)| run.stop(Stop::Over)).count()
    }

    /// Stops one piece of work.
    pub(super) fn stop(&mut self, holding: &Holding, stop: Stop) {
        if let Some(run) = self.runs.get_mut(holding) {
            run.stop(stop);
        }
    }

    /// Takes the answer to a complete list of holdings that was sent at a time: these
    /// tasks are not held.
    pub(super) fn renewed(&mut self, at: Instant, sent: &[Holding], lost: &[Uuid]) -> usize {
        self.renewed = self.renewed.max(Some(at));
        let lost = sent.iter().filter(|holding| lost.contains(&holding.id));
        let mut count = 0;
        for holding in lost {
            if let Some(run) = self.runs.get_mut(holding) {
                run.stop(Stop::Lost);
                count += 1;
            }
        }
        count
    }

    /// Stops the work that the store may have given to somebody else, because it has
    /// heard nothing of it for a whole lease. What is only to be written may be tried:
    /// whoever is late is refused. Returns how much was stopped.
    pub(super) fn expire(&mut self, now: Instant, lease: Duration) -> usize {
        let renewed = self.renewed;
        let mut count = 0;
        for run in self.runs.values_mut() {
            let known = renewed.map_or(run.since, |renewed| renewed.max(run.since));
            if run.phase == Phase::Running && now.saturating_duration_since(known) >= lease {
                run.stop(Stop::Lost);
                count += 1;
            }
        }
        count
    }

    /// Stops all work because the process ends; returns what was not stopped before.
    pub(super) fn stop_all(&mut self) -> Vec<Holding> {
        let running = self.runs.iter_mut();
        let running = running.filter(|(_, run)| run.phase == Phase::Running);
        running
            .map(|(holding, run)| {
                run.stop(Stop::Ending);
                *holding
            })
            .collect()
    }

    /// Returns the work that has not ended although the process does.
    pub(super) fn left(&self) -> Vec<Holding> {
        let left = self
            .runs
            .iter()
            .filter(|(_, run)| run.phase == Phase::Stopped(Stop::Ending));
        left.map(|(holding, _)| *holding).collect()
    }
}

impl Run {
    fn stop(&mut self, stop: Stop) {
        // Nothing outweighs that it is over, or lost.
        if !matches!(self.phase, Phase::Stopped(Stop::Over | Stop::Lost)) {
            self.phase = Phase::Stopped(stop);
        }
        self.token.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(30);

    fn holding(id: u128) -> Holding {
        Holding {
            id: Uuid::from_u128(id),
            fence: 1,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_the_store_has_lost_is_stopped_and_no_longer_held() {
        let mut ledger = Ledger::default();
        let now = Instant::now();
        let lost = ledger.enter(holding(1), now);
        let kept = ledger.enter(holding(2), now);
        let sent = ledger.held();

        let count = ledger.renewed(now, &sent, &[holding(1).id]);

        assert_eq!(count, 1);
        assert!(lost.is_cancelled() && !kept.is_cancelled());
        assert_eq!(ledger.held(), [holding(2)]);
        assert_eq!(ledger.begin_writing(&holding(1)), Err(Stop::Lost));
        assert_eq!(ledger.len(), 2, "it takes room until it has ended");
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_came_back_is_not_lost_with_its_old_holding() {
        let mut ledger = Ledger::default();
        let now = Instant::now();
        ledger.enter(holding(1), now);
        let sent = ledger.held();
        ledger.leave(&holding(1));
        let again = Holding {
            fence: 2,
            ..holding(1)
        };
        let token = ledger.enter(again, now);

        ledger.renewed(now, &sent, &[again.id]);

        assert!(!token.is_cancelled());
        assert_eq!(ledger.held(), [again]);
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_stopped_once_nothing_was_renewed_for_a_whole_lease() {
        let mut ledger = Ledger::default();
        let begun = Instant::now();
        let old = ledger.enter(holding(1), begun);
        ledger.renewed(begun + LEASE / 2, &[holding(1)], &[]);
        let fresh = ledger.enter(holding(2), begun + LEASE);

        assert_eq!(ledger.expire(begun + LEASE, LEASE), 0);
        assert_eq!(ledger.expire(begun + LEASE * 3 / 2, LEASE), 1);

        assert!(old.is_cancelled() && !fresh.is_cancelled());
        assert_eq!(ledger.held(), [holding(2)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_result_may_be_written_after_the_lease() {
        let mut ledger = Ledger::default();
        let begun = Instant::now();
        ledger.enter(holding(1), begun);
        assert_eq!(ledger.begin_writing(&holding(1)), Ok(()));

        assert_eq!(ledger.expire(begun + 2 * LEASE, LEASE), 0);

        assert_eq!(ledger.stopped(&holding(1)), None);
        assert_eq!(ledger.held(), [holding(1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_is_over_before_its_work_begins_is_stopped_at_once() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.end(&[holding(1).id]), 0);

        let token = ledger.enter(holding(1), Instant::now());

        assert!(token.is_cancelled());
        assert_eq!(ledger.stopped(&holding(1)), Some(Stop::Over));
        assert!(ledger.held().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_to_be_over_is_bounded() {
        let mut ledger = Ledger::default();
        for id in 0..3 * REMEMBERED as u128 {
            ledger.end(&[Uuid::from_u128(id)]);
        }

        assert_eq!(ledger.over.len(), REMEMBERED);
    }

    #[tokio::test(start_paused = true)]
    async fn at_the_end_of_the_process_only_what_runs_is_given_back() {
        let mut ledger = Ledger::default();
        let now = Instant::now();
        for id in 1..=3 {
            ledger.enter(holding(id), now);
        }
        ledger.end(&[holding(1).id]);
        assert_eq!(ledger.begin_writing(&holding(2)), Ok(()));

        assert_eq!(ledger.stop_all(), [holding(3)]);

        assert_eq!(ledger.left(), [holding(3)]);
        assert_eq!(ledger.stopped(&holding(1)), Some(Stop::Over));
    }
}
