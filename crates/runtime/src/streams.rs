//! The session streams (GET, legacy) that clients hold open at this gateway.
//!
//! One entry a stream; a stream is on the list until its [`SessionStream`] is
//! dropped, so the list is never longer than the gateway's connections. Nothing
//! is said on them yet but their end: when the session ends (R12) and when the
//! gateway drains.
//!
//! When the actor fails, its streams end with it and clients open them again.

use std::collections::HashMap;
use std::pin::Pin;
use std::task::{Context, Poll};

use conduit_actor::{Actor, Failure, Reply, Seat};
use conduit_protocol::Rendered;
use conduit_telemetry::Gauge;
use futures_util::stream::Stream;
use tokio::sync::oneshot;
use tracing::debug;
use uuid::Uuid;

/// One open session stream; it ends with its session.
#[derive(Debug)]
pub struct SessionStream {
    ended: oneshot::Receiver<()>,
    place: Place,
}

#[derive(Debug)]
struct Place {
    session: Uuid,
    number: u64,
    streams: Seat<Message>,
}

impl Stream for SessionStream {
    type Item = Rendered;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Rendered>> {
        Pin::new(&mut self.ended).poll(context).map(|_ended| None)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (session, number) = (self.session, self.number);
        if self
            .streams
            .cast(Message::Detach { session, number })
            .is_err()
        {
            debug!("streams are gone, nothing to detach");
        }
    }
}

/// What the actor hears.
#[derive(Debug)]
pub(crate) enum Message {
    /// A client opens a stream for its session.
    Attach {
        session: Uuid,
        reply: Reply<SessionStream>,
    },
    /// A stream is closed. Sent once for each [`SessionStream`].
    Detach { session: Uuid, number: u64 },
    /// These sessions have ended.
    EndSessions { ids: Vec<Uuid> },
    /// The gateway is draining: end all of them.
    Drain,
}

#[derive(Debug)]
pub(crate) struct Streams {
    me: Seat<Message>,
    next: u64,
    open: HashMap<Uuid, Vec<(u64, oneshot::Sender<()>)>>,
    gauge: Gauge,
}

impl Streams {
    pub(crate) fn new(me: Seat<Message>, gauge: Gauge) -> Self {
        gauge.set(0);
        Self {
            me,
            next: 1,
            open: HashMap::new(),
            gauge,
        }
    }

    fn attach(&mut self, session: Uuid) -> SessionStream {
        let number = self.next;
        self.next += 1;
        let (end, ended) = oneshot::channel();
        self.open.entry(session).or_default().push((number, end));
        self.gauge.inc();
        SessionStream {
            ended,
            place: Place {
                session,
                number,
                streams: self.me.clone(),
            },
        }
    }

    fn detach(&mut self, session: Uuid, number: u64) {
        let Some(streams) = self.open.get_mut(&session) else {
            return;
        };
        let before = streams.len();
        streams.retain(|(other, _)| *other != number);
        if streams.len() < before {
            self.gauge.dec();
        }
        if streams.is_empty() {
            self.open.remove(&session);
        }
    }

    fn end(&mut self, session: Uuid) {
        for (_, end) in self.open.remove(&session).into_iter().flatten() {
            self.gauge.dec();
            // The client may have closed it in this moment.
            if end.send(()).is_err() {
                debug!("a stream closed as it was ended");
            }
        }
    }
}

impl Actor for Streams {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Attach { session, reply } => {
                if let Err(unwanted) = reply.send(self.attach(session)) {
                    drop(unwanted);
                }
            }
            Message::Detach { session, number } => self.detach(session, number),
            Message::EndSessions { ids } => ids.into_iter().for_each(|id| self.end(id)),
            Message::Drain => {
                let sessions: Vec<Uuid> = self.open.keys().copied().collect();
                sessions.into_iter().for_each(|id| self.end(id));
            }
        }
        Ok(())
    }
}

impl SessionStream {
    /// Returns the session whose stream this is.
    #[must_use]
    pub const fn session(&self) -> Uuid {
        self.place.session
    }
}
