//! Tells the hub what has changed, until every gateway that listens knows (R41).
//!
//! A change that nobody listens to is told nobody ([`Interest::is_unheard`]). The others
//! wait in a set: however often a topic changes, it is on its way once and waits at most
//! once more. An actor takes them out (`publish/desk.rs`), in batches for each shard, and
//! sends again what was not told to everybody: after a hub's death, by a new map, or while
//! a gateway is away.
//!
//! When the actor fails, everything that is pending is told anew, within a second.
//!
//! Bounds: [`MOST`] topics and the tasks beyond, and so many batches on their way as `desk.rs` says.

mod desk;
mod pending;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use conduit_actor::Seat;
use conduit_link::{Subject, Topic};
use conduit_server::{Change, Publish, Published};
use conduit_telemetry::{ChangeOutcome, Telemetry};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;
use tracing::{debug, error};
use uuid::Uuid;

pub(crate) use self::desk::{Desk, Message};
use self::pending::{Added, Pending};
use crate::clock;
use crate::interest::Interest;
use crate::mail::PostOffice;
use crate::streams;

/// The most topics that change at once.
const MOST: usize = 100_000;

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
    tasks: TaskTracker,
    desk: Seat<Message>,
    pending: Mutex<Pending>,
    /// Whether the actor knows that there is something to tell.
    is_stirred: AtomicBool,
    /// There is room for another topic.
    room: Notify,
}

impl Publisher {
    pub(crate) fn new(
        post: PostOffice,
        interest: Interest,
        streams: Seat<streams::Message>,
        telemetry: Telemetry,
        tasks: TaskTracker,
        desk: Seat<Message>,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                post,
                interest,
                streams,
                telemetry,
                tasks,
                desk,
                pending: Mutex::new(Pending::new(MOST)),
                is_stirred: AtomicBool::new(false),
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
                self.stir();
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

    /// Returns the actor that tells of what is pending.
    pub(crate) fn desk(&self) -> Desk {
        Desk::new(Arc::clone(&self.shared))
    }

    /// Lets the actor look whether there is something to tell.
    pub(crate) fn stir(&self) {
        let shared = &self.shared;
        if shared.is_stirred.swap(true, Ordering::AcqRel) {
            return;
        }
        if shared.desk.cast(Message::Work).is_err() {
            shared.is_stirred.store(false, Ordering::Release);
            debug!("the publisher is restarting, it begins with everything");
        }
    }

    /// Lets it try at once what could not be told.
    pub(crate) fn hurry(&self) {
        if self.shared.desk.cast(Message::Hurry).is_err() {
            debug!("the publisher is restarting, it begins with everything");
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
            self.publisher.stir();
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
