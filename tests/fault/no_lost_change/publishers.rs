//! Clients that publish changes at full speed: each has a call under way all the while.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use conduit_testkit::{Call, Conn, Era};
use http::StatusCode;
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::agenda::{Agenda, Batch};
use crate::audience::Published;
use crate::dice::Dice;

/// How many there are.
const PUBLISHERS: u64 = 6;
/// Before a connection that broke is made again, or while there is nothing to publish.
const AGAIN: Duration = Duration::from_millis(10);

/// Publishers at work; they stop when this is dropped.
#[derive(Debug)]
pub(super) struct Publishers {
    shared: Arc<Shared>,
    publishers: JoinSet<Result<(), String>>,
}

#[derive(Debug)]
struct Shared {
    endpoint: SocketAddr,
    start: Instant,
    /// When the agenda began.
    since: Duration,
    agenda: Mutex<Agenda>,
    published: Arc<Mutex<Published>>,
    /// How many changes were acknowledged.
    changes: AtomicU64,
}

impl Publishers {
    /// Starts them on an agenda that begins now.
    pub(super) fn start(
        endpoint: SocketAddr,
        start: Instant,
        agenda: Agenda,
        published: Arc<Mutex<Published>>,
        seed: u64,
    ) -> Self {
        let shared = Arc::new(Shared {
            endpoint,
            start,
            since: start.elapsed(),
            agenda: Mutex::new(agenda),
            published,
            changes: AtomicU64::new(0),
        });
        let publishers = (0..PUBLISHERS).map(|name| {
            let (shared, dice) = (Arc::clone(&shared), Dice::of(seed, name));
            async move { shared.run(dice).await }
        });
        Self {
            publishers: publishers.collect(),
            shared,
        }
    }

    /// Waits until everything on the agenda is published, and returns how many changes
    /// were acknowledged.
    ///
    /// # Errors
    ///
    /// A publisher was told something that it should not have been.
    pub(super) async fn done(mut self) -> Result<u64, String> {
        while let Some(ended) = self.publishers.join_next().await {
            ended.map_err(|broken| broken.to_string())??;
        }
        Ok(self.shared.changes.load(Ordering::Relaxed))
    }
}

/// Publishes once, surely.
///
/// # Errors
///
/// It is refused.
pub(super) async fn publish(
    conn: &mut Conn,
    start: Instant,
    batch: &Batch,
    published: &Mutex<Published>,
) -> Result<(), String> {
    let sent = start.elapsed();
    published.lock().sent(&batch.topics(), sent);
    match conn.try_send(&call(batch)).await {
        Ok(reply) if reply.status == StatusCode::OK && reply.text() == "told" => {
            published.lock().answered(&batch.topics(), sent);
            Ok(())
        }
        Ok(reply) => Err(format!("a publisher is told {reply}")),
        Err(broken) => Err(format!("a publisher's connection broke: {broken}")),
    }
}

// === Behind the publishers ===

impl Shared {
    /// Publishes until the agenda is done.
    async fn run(&self, mut dice: Dice) -> Result<(), String> {
        let mut conn = None;
        loop {
            let now = self.start.elapsed() - self.since;
            let next = {
                let mut agenda = self.agenda.lock();
                if agenda.is_done(now) {
                    return Ok(());
                }
                agenda.next(now, &mut dice)
            };
            let Some(batch) = next else {
                sleep(AGAIN).await;
                continue;
            };
            if self.publish(&batch, &mut conn).await? {
                let count = batch.topics().len() as u64;
                self.changes.fetch_add(count, Ordering::Relaxed);
            } else {
                self.agenda.lock().take_back(&batch);
                sleep(AGAIN).await;
            }
        }
    }

    /// Returns whether the call was answered: all of it has happened then.
    async fn publish(&self, batch: &Batch, conn: &mut Option<Conn>) -> Result<bool, String> {
        let mut ours = match conn.take() {
            Some(ours) => ours,
            None => match Conn::try_open(self.endpoint).await {
                Ok(ours) => ours,
                Err(_) => return Ok(false),
            },
        };
        let (topics, sent) = (batch.topics(), self.start.elapsed());
        self.published.lock().sent(&topics, sent);
        let Ok(reply) = ours.try_send(&call(batch)).await else {
            return Ok(false);
        };
        *conn = Some(ours).filter(|ours| !ours.is_closed());
        if reply.status == StatusCode::SERVICE_UNAVAILABLE {
            return Ok(false);
        }
        if reply.status != StatusCode::OK || reply.text() != "told" {
            return Err(format!("a publisher is told {reply}"));
        }
        self.published.lock().answered(&topics, sent);
        Ok(true)
    }
}

fn call(batch: &Batch) -> Call {
    match batch {
        Batch::List(list) => Era::Modern.tool("announce_change", json!({ "list": list })),
        Batch::Resources(uris) => Era::Modern.tool("touch_many", json!({ "uris": uris })),
    }
}
