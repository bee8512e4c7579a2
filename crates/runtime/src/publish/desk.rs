//! The actor that takes changes out of the set and tells the hub of them.
//!
//! Bounds: [`BATCHES`] batches on their way for each shard and kind of change.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use conduit_actor::{Actor, Failure};
use conduit_link::{Answer, Change as Wire, Subject, ToHub, Topic};
use conduit_telemetry::ChangeOutcome;
use tokio::time::{Instant, sleep_until};
use tracing::debug;

use super::Shared;
use super::pending::Taken;
use crate::mail::millis;
use crate::streams;

/// How long one attempt may take.
const DEADLINE: Duration = Duration::from_secs(2);
/// Between two attempts, at first and at most.
const AGAIN: Duration = Duration::from_millis(20);
const MOST_AGAIN: Duration = Duration::from_millis(500);
/// The most topics in one batch, and about the most bytes.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 128 * 1024;
/// The most batches on their way to one shard, of tasks and of everything else.
const BATCHES: usize = 4;

/// What the actor hears.
#[derive(Debug)]
pub(crate) enum Message {
    /// There is something to tell.
    Work,
    /// A batch was told, but for what is left of it.
    Ended { batch: Batch, left: Vec<usize> },
    /// Something was to be tried again by then.
    Alarm { due: Instant },
    /// What could not be told may be told now.
    Hurry,
}

/// Where changes of one kind go. A task is looked up before its change is noted, so tasks
/// keep nothing else waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Lane {
    shard: u16,
    is_of_tasks: bool,
}

/// Changes on their way together.
#[derive(Debug)]
pub(crate) struct Batch {
    lane: Lane,
    epoch: u64,
    taken: Vec<Taken>,
    changes: Vec<Wire>,
}

/// Tells of what is pending.
pub(crate) struct Desk {
    shared: Arc<Shared>,
    /// The map by which the lanes were filled.
    epoch: u64,
    lanes: HashMap<Lane, Queue>,
    /// What no shard owns yet.
    unowned: VecDeque<Taken>,
    /// What was not told to everybody, and when to try again.
    again: BTreeMap<Instant, Vec<Arc<Topic>>>,
    /// When a look at those is due.
    alarm: Option<Instant>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Taken>,
    on_their_way: usize,
}

impl Desk {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        shared.pending.lock().begin_anew();
        shared.is_stirred.store(false, Ordering::Release);
        Self {
            shared,
            epoch: 0,
            lanes: HashMap::new(),
            unowned: VecDeque::new(),
            again: BTreeMap::new(),
            alarm: None,
        }
    }

    /// Sends what may be sent.
    fn work(&mut self) {
        self.sort();
        while let Some(batch) = self.next() {
            let shared = Arc::clone(&self.shared);
            self.shared.tasks.spawn(async move {
                let left = shared.attempt(&batch).await;
                if shared.desk.cast(Message::Ended { batch, left }).is_err() {
                    debug!("the publisher is restarting, it tells everything anew");
                }
            });
        }
        self.set_alarm();
    }

    /// Sees to it that what waits is tried again in time.
    fn set_alarm(&mut self) {
        let Some(due) = self.again.keys().next().copied() else {
            return;
        };
        if self.alarm.is_some_and(|alarm| alarm <= due) {
            return;
        }
        self.alarm = Some(due);
        let desk = self.shared.desk.clone();
        self.shared.tasks.spawn(async move {
            sleep_until(due).await;
            if desk.cast(Message::Alarm { due }).is_err() {
                debug!("the publisher is restarting, it begins with everything");
            }
        });
    }

    /// Sorts what is new, and what is to be tried again.
    fn sort(&mut self) {
        let shared = Arc::clone(&self.shared);
        let now = Instant::now();
        let mut work = std::mem::take(&mut self.unowned);
        {
            let mut pending = shared.pending.lock();
            while let Some(first) = self.again.first_entry()
                && *first.key() <= now
            {
                for topic in first.remove() {
                    pending.requeue(&topic);
                }
            }
            work.extend(pending.take());
        }
        while let Some(taken) = work.pop_front() {
            let (shard, epoch) = match shared.interest.route(&taken.topic) {
                Some(route) => route,
                None if shared.post.has_peers() => {
                    self.unowned.push_back(taken);
                    continue;
                }
                None => (0, 0),
            };
            if epoch > self.epoch {
                // What waits may belong to other shards.
                self.epoch = epoch;
                for queue in self.lanes.values_mut() {
                    work.extend(queue.waiting.drain(..));
                }
                self.lanes.retain(|_, queue| queue.on_their_way > 0);
            }
            let lane = Lane {
                shard,
                is_of_tasks: matches!(taken.topic.subject, Subject::Task(_)),
            };
            let queue = self.lanes.entry(lane).or_default();
            queue.waiting.push_back(taken);
        }
    }

    /// Takes out the next batch that may go.
    fn next(&mut self) -> Option<Batch> {
        let epoch = self.epoch;
        let (lane, queue) = self
            .lanes
            .iter_mut()
            .find(|(_, queue)| queue.on_their_way < BATCHES && !queue.waiting.is_empty())?;
        queue.on_their_way += 1;
        let mut batch = Batch {
            lane: *lane,
            epoch,
            taken: Vec::new(),
            changes: Vec::new(),
        };
        let mut bytes = 0;
        while let Some(taken) = queue.waiting.pop_front() {
            bytes += taken.topic.size();
            batch.changes.push(Wire {
                topic: Topic::clone(&taken.topic),
                at_us: taken.at_us,
            });
            batch.taken.push(taken);
            if batch.taken.len() >= BATCH || bytes >= BATCH_BYTES {
                break;
            }
        }
        Some(batch)
    }

    /// Notes what became of a batch.
    fn ended(&mut self, batch: Batch, left: &[usize]) {
        if let Some(queue) = self.lanes.get_mut(&batch.lane) {
            queue.on_their_way = queue.on_their_way.saturating_sub(1);
        }
        let now = Instant::now();
        let shared = &self.shared;
        let mut pending = shared.pending.lock();
        for (at, taken) in batch.taken.into_iter().enumerate() {
            if left.contains(&at) {
                let Some(failures) = pending.failed(&taken) else {
                    continue;
                };
                let pause = AGAIN * 2_u32.saturating_pow(failures.min(8));
                let due = now + pause.min(MOST_AGAIN);
                self.again.entry(due).or_default().push(taken.topic);
                shared.telemetry.change_published(ChangeOutcome::Retried);
            } else {
                pending.told(&taken);
                shared.telemetry.change_published(ChangeOutcome::Told);
            }
        }
        drop(pending);
        shared.room.notify_waiters();
    }

    /// Lets everything be tried again now.
    fn hurry(&mut self) {
        let all = std::mem::take(&mut self.again).into_values().flatten();
        let all: Vec<_> = all.collect();
        if !all.is_empty() {
            self.again.insert(Instant::now(), all);
        }
    }
}

impl Actor for Desk {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            // Before the look, so that what comes behind it makes another one.
            Message::Work => self.shared.is_stirred.store(false, Ordering::Release),
            Message::Ended { batch, left } => self.ended(batch, &left),
            // One that was set before an earlier one is of no use any more.
            Message::Alarm { due } if self.alarm != Some(due) => return Ok(()),
            Message::Alarm { .. } => self.alarm = None,
            Message::Hurry => self.hurry(),
        }
        self.work();
        Ok(())
    }
}

impl Shared {
    /// Tries to tell of a batch; returns which of it is left.
    async fn attempt(&self, batch: &Batch) -> Vec<usize> {
        if self.post.has_peers() {
            self.tell_hub(batch).await
        } else {
            self.tell_here(batch).await
        }
    }

    async fn tell_here(&self, batch: &Batch) -> Vec<usize> {
        let told = self
            .streams
            .ask(DEADLINE, |reply| streams::Message::Changed {
                changes: batch.changes.iter().map(streams::Changed::here).collect(),
                heard: streams::Heard::here(reply),
            });
        match told.await {
            Ok(()) => Vec::new(),
            Err(_no_answer) => (0..batch.changes.len()).collect(),
        }
    }

    async fn tell_hub(&self, batch: &Batch) -> Vec<usize> {
        let question = ToHub::Publish {
            epoch: batch.epoch,
            changes: batch.changes.clone(),
            deadline_ms: millis(DEADLINE),
        };
        let shard = batch.lane.shard;
        match self.post.ask(shard, question, DEADLINE).await {
            Some(Answer::Told { left }) => {
                let left = left.into_iter().filter_map(|at| usize::try_from(at).ok());
                left.collect()
            }
            other => {
                debug!(answer = ?other, shard, "changes are not told");
                (0..batch.changes.len()).collect()
            }
        }
    }
}
