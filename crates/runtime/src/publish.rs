//! Tells the hub what has changed, until every gateway that listens knows (R41).
//!
//! A change that nobody listens to is told nobody ([`Interest::is_unheard`]). The others
//! wait in a set: however often a topic changes, it is on its way once and waits at most
//! once more. One task takes them out, in batches for each shard, and sends again what was
//! not told to everybody: after a hub's death, by a new map, or while a gateway is away.
//!
//! Bounds: [`MOST`] topics, [`BATCHES`] batches on their way for each shard and kind.

mod pending;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use conduit_actor::Seat;
use conduit_link::{Answer, Change as Wire, Subject, ToHub, Topic};
use conduit_server::{Change, Publish, Published};
use conduit_telemetry::{ChangeOutcome, Telemetry};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, error};
use uuid::Uuid;

use self::pending::{Added, Pending};
use crate::clock;
use crate::interest::Interest;
use crate::mail::{PostOffice, millis};
use crate::streams;

/// The most topics that change at once.
const MOST: usize = 100_000;
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

/// Publishes the changes of all servers of this process; cheap to clone.
#[derive(Clone)]
pub(crate) struct Publisher {
    shared: Arc<Shared>,
}

/// Publishes the changes of one server.
pub(crate) struct ServerPublisher {
    publisher: Publisher,
    server: Arc<str>,
}

struct Shared {
    post: PostOffice,
    interest: Interest,
    streams: Seat<streams::Message>,
    telemetry: Telemetry,
    pending: Mutex<Pending>,
    /// There is something to tell.
    work: Notify,
    /// There is room for another topic.
    room: Notify,
}

impl Publisher {
    pub(crate) fn new(
        post: PostOffice,
        interest: Interest,
        streams: Seat<streams::Message>,
        telemetry: Telemetry,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                post,
                interest,
                streams,
                telemetry,
                pending: Mutex::new(Pending::new(MOST)),
                work: Notify::new(),
                room: Notify::new(),
            }),
        }
    }

    /// Publishes for a server.
    pub(crate) fn of_server(&self, server: Arc<str>) -> ServerPublisher {
        ServerPublisher {
            publisher: self.clone(),
            server,
        }
    }

    /// Publishes that a task of a server has changed.
    pub(crate) fn publish_task(&self, server: &str, task: Uuid) -> Published {
        self.publish(Topic {
            server: server.to_owned(),
            subject: Subject::Task(task),
        })
    }

    fn publish(&self, topic: Topic) -> Published {
        let shared = &self.shared;
        if shared.interest.is_unheard(&topic) {
            shared.telemetry.change_published(ChangeOutcome::Unheard);
            return Published::default();
        }
        let added = shared.pending.lock().add(topic, clock::now_us());
        match added {
            Added::First(waiter) => {
                shared.work.notify_one();
                Published::from_future(waiter.told())
            }
            Added::Again(waiter) => {
                shared.telemetry.change_published(ChangeOutcome::Coalesced);
                Published::from_future(waiter.told())
            }
            Added::Full(topic) => {
                let waiting = Waiting {
                    publisher: self.clone(),
                    topic: Some(topic),
                };
                Published::from_future(waiting.publish())
            }
        }
    }

    /// Tells of what is pending, for ever.
    pub(crate) async fn run(self) {
        let mut desk = Desk::default();
        let mut attempts = FuturesUnordered::new();
        loop {
            desk.sort(&self.shared);
            while let Some(batch) = desk.next() {
                attempts.push(self.attempt(batch));
            }
            let due = desk.due();
            tokio::select! {
                Some((batch, left)) = attempts.next(), if !attempts.is_empty() => {
                    desk.ended(&self.shared, batch, &left);
                }
                () = self.shared.work.notified() => {}
                () = self.shared.interest.moved() => desk.hurry(),
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
        }
    }

    /// Tries to tell of a batch; returns which of it is left.
    async fn attempt(&self, batch: Batch) -> (Batch, Vec<usize>) {
        let left = if self.shared.post.has_peers() {
            self.tell_hub(&batch).await
        } else {
            self.tell_here(&batch).await
        };
        (batch, left)
    }

    async fn tell_here(&self, batch: &Batch) -> Vec<usize> {
        let told = self
            .shared
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
        match self
            .shared
            .post
            .ask(batch.lane.shard, question, DEADLINE)
            .await
        {
            Some(Answer::Told { left }) => {
                let left = left.into_iter().filter_map(|at| usize::try_from(at).ok());
                left.collect()
            }
            other => {
                debug!(answer = ?other, shard = batch.lane.shard, "changes are not told");
                (0..batch.changes.len()).collect()
            }
        }
    }
}

impl Publish for ServerPublisher {
    fn publish(&self, change: Change) -> Published {
        let subject = match change {
            Change::Tools => Subject::Tools,
            Change::Resources => Subject::Resources,
            Change::Prompts => Subject::Prompts,
            Change::Resource { uri } => Subject::Resource(uri),
            // What this runtime does not know, nobody can listen to.
            _ => return Published::default(),
        };
        self.publisher.publish(Topic {
            server: self.server.to_string(),
            subject,
        })
    }
}

impl std::fmt::Debug for Publisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Publisher")
            .field("pending", &self.shared.pending.lock().len())
            .finish_non_exhaustive()
    }
}

// === Behind the publisher ===

/// A change for which there was no room. It is told as long as somebody waits for that.
struct Waiting {
    publisher: Publisher,
    topic: Option<Topic>,
}

impl Waiting {
    async fn publish(mut self) {
        while let Some(topic) = self.topic.take() {
            let shared = Arc::clone(&self.publisher.shared);
            let room = shared.room.notified();
            let added = shared.pending.lock().add(topic, clock::now_us());
            let waiter = match added {
                Added::First(waiter) | Added::Again(waiter) => waiter,
                Added::Full(topic) => {
                    self.topic = Some(topic);
                    room.await;
                    continue;
                }
            };
            shared.work.notify_one();
            waiter.told().await;
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.topic.is_some() {
            error!(limit = MOST, "too many changes at once, one is not told");
            let telemetry = &self.publisher.shared.telemetry;
            telemetry.change_published(ChangeOutcome::Dropped);
        }
    }
}

/// Where changes of one kind go. A task is looked up before its change is noted, so tasks
/// keep nothing else waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Lane {
    shard: u16,
    is_of_tasks: bool,
}

/// Changes on their way together.
struct Batch {
    lane: Lane,
    epoch: u64,
    topics: Vec<Arc<Topic>>,
    changes: Vec<Wire>,
}

/// What the task of the publisher knows.
#[derive(Default)]
struct Desk {
    /// The map by which the lanes were filled.
    epoch: u64,
    lanes: HashMap<Lane, Queue>,
    /// What no shard owns yet.
    unowned: VecDeque<(Arc<Topic>, u64)>,
    /// What was not told to everybody, and when to try again.
    again: Vec<(Instant, Arc<Topic>)>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<(Arc<Topic>, u64)>,
    on_their_way: usize,
}

impl Desk {
    /// Sorts what is new, and what is to be tried again.
    fn sort(&mut self, shared: &Shared) {
        let now = Instant::now();
        let mut work = std::mem::take(&mut self.unowned);
        {
            let mut pending = shared.pending.lock();
            self.again.retain(|(due, topic)| {
                if *due <= now {
                    pending.requeue(topic);
                }
                *due > now
            });
            work.extend(pending.take());
        }
        while let Some((topic, at_us)) = work.pop_front() {
            let (shard, epoch) = match shared.interest.route(&topic) {
                Some(route) => route,
                None if shared.post.has_peers() => {
                    self.unowned.push_back((topic, at_us));
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
                is_of_tasks: matches!(topic.subject, Subject::Task(_)),
            };
            let queue = self.lanes.entry(lane).or_default();
            queue.waiting.push_back((topic, at_us));
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
            topics: Vec::new(),
            changes: Vec::new(),
        };
        let mut bytes = 0;
        while let Some((topic, at_us)) = queue.waiting.pop_front() {
            bytes += topic.size();
            batch.changes.push(Wire {
                topic: Topic::clone(&topic),
                at_us,
            });
            batch.topics.push(topic);
            if batch.topics.len() >= BATCH || bytes >= BATCH_BYTES {
                break;
            }
        }
        Some(batch)
    }

    /// Notes what became of a batch.
    fn ended(&mut self, shared: &Shared, batch: Batch, left: &[usize]) {
        if let Some(queue) = self.lanes.get_mut(&batch.lane) {
            queue.on_their_way -= 1;
        }
        let now = Instant::now();
        let mut pending = shared.pending.lock();
        for (at, topic) in batch.topics.into_iter().enumerate() {
            if left.contains(&at) {
                let attempts = pending.failed(&topic);
                let pause = AGAIN * 2_u32.saturating_pow(attempts.min(8));
                self.again.push((now + pause.min(MOST_AGAIN), topic));
                shared.telemetry.change_published(ChangeOutcome::Retried);
            } else {
                pending.told(&topic);
                shared.telemetry.change_published(ChangeOutcome::Told);
            }
        }
        drop(pending);
        shared.room.notify_waiters();
    }

    /// Lets everything be tried again now.
    fn hurry(&mut self) {
        let now = Instant::now();
        for (due, _) in &mut self.again {
            *due = now;
        }
    }

    /// Returns when there is something to try again.
    fn due(&self) -> Option<Instant> {
        self.again.iter().map(|(due, _)| *due).min()
    }
}
