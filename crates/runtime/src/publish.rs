//! Tells the hub what has changed, until every gateway that listens knows (R41).
//!
//! A change that was not acknowledged is sent again: after a hub's death, or while a
//! gateway does not answer. Pending topics are a set: however often one changes, it is
//! on its way once and waits at most once more. Bound: [`MOST`] topics.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use conduit_actor::Seat;
use conduit_link::{Answer, Subject, ToHub, Topic};
use conduit_server::{Change, Publish, Published};
use conduit_telemetry::{ChangeOutcome, Telemetry};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error};
use uuid::Uuid;

use crate::mail::{PostOffice, millis};
use crate::streams;

/// The most topics that change at once.
const MOST: usize = 10_000;
/// How long one attempt may take.
const DEADLINE: Duration = Duration::from_secs(2);
/// Between two attempts, at first and at most.
const AGAIN: Duration = Duration::from_millis(20);
const MOST_AGAIN: Duration = Duration::from_secs(1);

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
    streams: Seat<streams::Message>,
    telemetry: Telemetry,
    tasks: TaskTracker,
    /// Where attempts run, whoever publishes.
    runtime: Handle,
    /// What is on its way, and the round that has to follow.
    pending: Mutex<HashMap<Topic, Option<Round>>>,
}

/// Everybody who waits for one attempt; cancelled when it has worked.
type Round = CancellationToken;

impl Publisher {
    /// Has to be made on the runtime on which attempts shall run.
    pub(crate) fn new(
        post: PostOffice,
        streams: Seat<streams::Message>,
        telemetry: Telemetry,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                post,
                streams,
                telemetry,
                tasks,
                runtime: Handle::current(),
                pending: Mutex::default(),
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
        let mut pending = shared.pending.lock();
        if let Some(next) = pending.get_mut(&topic) {
            // What is on its way may have been sent before this change.
            let round = next.get_or_insert_default().clone();
            return Published::from_future(async move { round.cancelled_owned().await });
        }
        if pending.len() >= MOST {
            drop(pending);
            error!(limit = MOST, "too many changes at once, one is not told");
            shared.telemetry.change_published(ChangeOutcome::Missed);
            return Published::default();
        }
        pending.insert(topic.clone(), None);
        drop(pending);
        let round = Round::new();
        let publisher = self.clone();
        let first = round.clone();
        shared.tasks.spawn_on(
            async move { publisher.carry(topic, first).await },
            &shared.runtime,
        );
        Published::from_future(async move { round.cancelled_owned().await })
    }

    /// Tells of a topic until nobody waits for another round.
    async fn carry(self, topic: Topic, mut round: Round) {
        loop {
            self.tell(&topic).await;
            round.cancel();
            let mut pending = self.shared.pending.lock();
            match pending.get_mut(&topic).and_then(Option::take) {
                Some(next) => round = next,
                None => {
                    pending.remove(&topic);
                    return;
                }
            }
        }
    }

    /// Tells of a topic until everybody who listens knows.
    async fn tell(&self, topic: &Topic) {
        let mut pause = AGAIN;
        while !self.attempt(topic).await {
            sleep(pause).await;
            pause = (pause * 2).min(MOST_AGAIN);
        }
        self.shared.telemetry.change_published(ChangeOutcome::Told);
    }

    async fn attempt(&self, topic: &Topic) -> bool {
        let Shared {
            post,
            streams,
            telemetry,
            ..
        } = &*self.shared;
        if !post.has_peers() {
            return streams
                .ask(DEADLINE, |reply| streams::Message::Changed {
                    topic: topic.clone(),
                    heard: streams::Heard::Here(reply),
                })
                .await
                .is_ok();
        }
        let question = ToHub::Publish {
            topic: topic.clone(),
            deadline_ms: millis(DEADLINE),
        };
        match post.ask_owner(&topic.key(), question, DEADLINE).await {
            Some(Answer::Receipts { missing: 0, .. }) => true,
            Some(Answer::Receipts { missing, .. }) => {
                debug!(missing, "a change is not known everywhere");
                telemetry.change_published(ChangeOutcome::Missed);
                false
            }
            other => {
                debug!(answer = ?other, "a change is not told");
                telemetry.change_published(ChangeOutcome::Retried);
                false
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
