//! What crosses between a transport and the dispatcher.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use conduit_protocol::{Context as RequestContext, Rendered};
use http::HeaderMap;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::outbox::{Events, Outbox};
use crate::sessions::Session;
use crate::streams::Place;

/// What a transport knows about a message besides its bytes.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// The HTTP header fields; `None` where the transport has no headers, which
    /// also switches the header rules off.
    pub headers: Option<Arc<HeaderMap>>,
    /// Where the client is, behind trusted proxies.
    pub client: Option<IpAddr>,
    /// What the client can read.
    pub accepts: Accepts,
    /// Which of the gateway's servers is meant.
    pub server: usize,
    /// The pipe that the message came through, where it is one.
    pub pipe: Option<Arc<Pipe>>,
    /// What the message is served by, where somebody has classified it already.
    pub context: Option<Box<RequestContext>>,
    /// Whether this is no client's message but a probe, which is not counted.
    pub probe: bool,
}

/// A pair of pipes and the one client behind it: after `initialize` it is a legacy
/// session (R6).
#[derive(Debug)]
pub struct Pipe {
    session: Mutex<Option<Arc<Session>>>,
    /// What the server says by itself.
    outbox: Arc<Outbox>,
    place: Mutex<Option<Place>>,
}

impl Pipe {
    /// Makes a pipe, and what has to be written to it besides answers.
    #[must_use]
    pub fn new() -> (Arc<Self>, Events) {
        let outbox = Arc::new(Outbox::of_changes(None, None, None));
        let events = Events::of_changes(Arc::clone(&outbox), (), None, None);
        let pipe = Self {
            session: Mutex::default(),
            outbox,
            place: Mutex::default(),
        };
        (Arc::new(pipe), events)
    }

    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        self.session.lock().clone()
    }

    pub(crate) fn open(&self, session: Arc<Session>) {
        *self.session.lock() = Some(session);
    }

    pub(crate) fn outbox(&self) -> Arc<Outbox> {
        Arc::clone(&self.outbox)
    }

    /// Keeps its place on the list of streams, instead of the one that it had.
    pub(crate) fn keep(&self, place: Place) {
        *self.place.lock() = Some(place);
    }
}

/// The answers that a client can read (R24).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepts {
    /// One JSON body.
    pub json: bool,
    /// A stream of server-sent events.
    pub events: bool,
}

impl Default for Accepts {
    fn default() -> Self {
        Self {
            json: true,
            events: false,
        }
    }
}

/// What becomes of a submitted message.
#[derive(Debug)]
pub enum Reply {
    /// One JSON-RPC message.
    Message(MessageReply),
    /// Nothing to say: a notification or a response was taken (HTTP 202).
    Accepted,
    /// Notifications first, the response last.
    Stream(Events),
}

/// A whole answer.
#[derive(Debug)]
pub struct MessageReply {
    /// The HTTP status that goes with it.
    pub status: u16,
    /// The JSON-RPC message.
    pub message: Rendered,
    /// The session that this answer opens.
    pub session: Option<Uuid>,
    /// When trying again makes sense, in seconds.
    pub retry_after: Option<u32>,
}

impl MessageReply {
    /// Makes an answer without a session. One that asks for another try says when (R34).
    #[must_use]
    pub const fn new(status: u16, message: Rendered) -> Self {
        Self {
            status,
            message,
            session: None,
            retry_after: if matches!(status, 429 | 503) {
                Some(1)
            } else {
                None
            },
        }
    }
}

/// A call seen from outside: whether it was picked up, and how to stop it.
#[derive(Debug, Default)]
pub(crate) struct Submitted {
    picked: AtomicBool,
    stops_with_client: AtomicBool,
    answered: AtomicBool,
    hung_up: AtomicBool,
    silent: AtomicBool,
    token: OnceLock<CancellationToken>,
}

impl Submitted {
    /// Says that the dispatcher has taken the message out of its mailbox.
    pub(crate) fn pick(&self) {
        self.picked.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_picked(&self) -> bool {
        self.picked.load(Ordering::Relaxed)
    }

    /// Says that a client who hangs up cancels this call (modern, M-HTTP-20).
    pub(crate) fn stop_with_client(&self) {
        self.stops_with_client.store(true, Ordering::Relaxed);
    }

    pub(crate) fn answer(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Returns the token that the callback watches.
    pub(crate) fn token(&self) -> &CancellationToken {
        self.token.get_or_init(CancellationToken::new)
    }

    /// The client wants to hear nothing more of this call (M-STDIO-03).
    pub(crate) fn silence(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// The client is gone: nobody will read the answer.
    pub(crate) fn hang_up(&self) {
        if self.stops_with_client.load(Ordering::Relaxed)
            && !self.answered.load(Ordering::Relaxed)
            && let Some(token) = self.token.get()
            && !token.is_cancelled()
        {
            self.hung_up.store(true, Ordering::Relaxed);
            token.cancel();
        }
    }

    /// Whether it is the client's leaving that has cancelled the call.
    pub(crate) fn was_hung_up(&self) -> bool {
        self.hung_up.load(Ordering::Relaxed)
    }
}

/// A message on its way to the dispatcher.
#[derive(Debug)]
pub(crate) struct Dispatch {
    pub(crate) head: Head,
    pub(crate) body: Bytes,
    pub(crate) call: crate::admission::Admitted,
    pub(crate) reply: tokio::sync::oneshot::Sender<Reply>,
}
