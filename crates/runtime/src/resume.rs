//! Clients that come back for the rest of a response stream, at any gateway.
//!
//! The gateway that holds the call is asked for one event after the other, by mail
//! (architecture, section 1); a large one comes in parts. Nothing is kept here, so a
//! client may come back again, and elsewhere.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use conduit_link::{Answer, Answerer, Mail, Replay, Slot};
use serde_bytes::ByteBuf;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;
use tracing::debug;
use uuid::Uuid;

use crate::event::{Event, EventId, StreamName};
use crate::gateway::Shared;
use crate::mail::{PostOffice, millis};
use crate::outbox::{Events, Found};
use crate::replays::Replays;

/// How long the other gateway may wait for an event before it says that there is none.
const PATIENCE: Duration = Duration::from_secs(5);
/// How much longer its answer may take.
const TRAVEL: Duration = Duration::from_secs(2);
/// The most of a message that goes into one frame, in bytes.
const PART: usize = 512 * 1024;
/// Events that wait for a slow client; more stay where they are.
const WAITING: usize = 4;
/// How often the other gateway may fail to answer in a row, as while a hub restarts.
const ATTEMPTS: u32 = 10;
/// Between two attempts.
const AGAIN: Duration = Duration::from_millis(100);

/// Goes on with a stream of a session behind an event; `None` when there is no such
/// stream, or no more.
pub(crate) async fn open(shared: &Arc<Shared>, session: Uuid, after: EventId) -> Option<Events> {
    let StreamName::Call { gateway, stream } = after.stream else {
        return None;
    };
    if gateway == shared.replays.gateway() {
        let outbox = shared.replays.find(session, stream)?;
        return Some(Events::again(outbox, after.number));
    }
    let source = Source {
        post: shared.post.clone(),
        gateway,
        session,
        stream,
        after: after.number,
        message: BytesMut::new(),
    };
    let first = source.begin().await?;
    if first == Replay::Unknown {
        return None;
    }
    let (events, waiting) = mpsc::channel(WAITING);
    shared.tasks.spawn(source.forward(first, events));
    Some(Events::remote(waiting))
}

/// Answers gateways at which a client of a stream here has come back.
#[derive(Clone, Debug)]
pub(crate) struct Holder {
    replays: Replays,
    tasks: TaskTracker,
    /// Where the waiting is done: whoever asks is on the link thread.
    runtime: Handle,
}

impl Holder {
    /// Has to be made on the gateway's runtime.
    pub(crate) fn new(replays: Replays, tasks: TaskTracker) -> Self {
        Self {
            replays,
            tasks,
            runtime: Handle::current(),
        }
    }

    /// Answers a [`Mail::Resume`]. As many of these wait as the link has credit.
    pub(crate) fn answer(&self, wish: Wish, answerer: Answerer) {
        let replays = self.replays.clone();
        let answering = async move {
            let replay = wish.fulfil(&replays).await;
            answerer.answer(Answer::Replay(replay));
        };
        self.tasks.spawn_on(answering, &self.runtime);
    }
}

/// What another gateway wants of a stream here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) session: Uuid,
    pub(crate) stream: Uuid,
    pub(crate) after: u64,
    pub(crate) offset: u64,
    pub(crate) patience: Duration,
}

impl Wish {
    async fn fulfil(self, replays: &Replays) -> Replay {
        let Some(outbox) = replays.find(self.session, self.stream) else {
            return Replay::Unknown;
        };
        match outbox.wait_after(self.after, self.patience).await {
            Found::Nothing => Replay::Wait,
            Found::End => Replay::End,
            Found::Message(number, message) => {
                let bytes = message.into_bytes();
                let (part, more) = part_of(&bytes, self.offset);
                Replay::Event { number, part, more }
            }
        }
    }
}

/// Cuts the part out that begins at an offset; says whether more follows.
fn part_of(message: &Bytes, offset: u64) -> (ByteBuf, bool) {
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let start = offset.min(message.len());
    let end = start.saturating_add(PART).min(message.len());
    let part = message.slice(start..end);
    (ByteBuf::from(part.to_vec()), end < message.len())
}

// === The one who asks ===

/// A stream that is held elsewhere, as far as it was read.
#[derive(Debug)]
struct Source {
    post: PostOffice,
    gateway: u16,
    session: Uuid,
    stream: Uuid,
    after: u64,
    /// What has come of the next message.
    message: BytesMut,
}

impl Source {
    async fn begin(&self) -> Option<Replay> {
        for _ in 0..ATTEMPTS {
            if let Some(first) = self.ask(Duration::ZERO).await {
                return Some(first);
            }
            sleep(AGAIN).await;
        }
        None
    }

    /// Forwards events until the end, or until nobody reads any more.
    async fn forward(mut self, first: Replay, events: mpsc::Sender<Event>) {
        let mut next = Some(first);
        let mut failures = 0;
        loop {
            match next {
                Some(Replay::Event { number, part, more }) => {
                    failures = 0;
                    self.message.extend_from_slice(&part);
                    if !more && events.send(self.complete(number)).await.is_err() {
                        return;
                    }
                }
                Some(Replay::Wait) => failures = 0,
                Some(Replay::End | Replay::Unknown) => return,
                None => {
                    failures += 1;
                    sleep(AGAIN).await;
                }
            }
            if failures == ATTEMPTS {
                debug!(
                    gateway = self.gateway,
                    "the gateway that holds a stream is gone"
                );
                return;
            }
            next = tokio::select! {
                biased;
                () = events.closed() => return,
                next = self.ask(PATIENCE) => next,
            };
        }
    }

    fn complete(&mut self, number: u64) -> Event {
        self.after = number;
        let id = EventId {
            stream: StreamName::Call {
                gateway: self.gateway,
                stream: self.stream,
            },
            number,
        };
        Event {
            id: Some(id.to_string()),
            retry: None,
            message: Some(self.message.split().freeze().into()),
        }
    }

    async fn ask(&self, patience: Duration) -> Option<Replay> {
        let mail = Mail::Resume {
            session: self.session.to_string(),
            stream: self.stream,
            after: self.after,
            offset: u64::try_from(self.message.len()).unwrap_or(u64::MAX),
            patience_ms: millis(patience),
        };
        let slot = Slot::gateway(self.gateway);
        let answer = self.post.send_to(slot, mail, patience + TRAVEL).await?;
        if let Answer::Replay(replay) = answer {
            return Some(replay);
        }
        debug!(?answer, "no part of the stream");
        None
    }
}
