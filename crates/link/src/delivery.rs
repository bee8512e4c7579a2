//! What a link delivers, and how it is answered.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tracing::error;

use crate::credit::Credit;
use crate::line::Line;
use crate::outbox::Queue;
use crate::{Answer, Hello, Link, Message, Refusal};

/// Where a link delivers.
///
/// It is called on the link thread and must not block: while it runs, no link of
/// this process moves. Usually it hands the delivery to an actor.
pub type Receiver = Arc<dyn Fn(Link, Delivery) + Send + Sync>;

/// What happened on a link. Between one [`Delivery::Up`] and its
/// [`Delivery::Down`] everything comes in order.
#[derive(Debug)]
pub enum Delivery {
    /// The link is up, and this is who the peer is.
    Up(Hello),
    /// The peer tells something.
    Event(Incoming),
    /// The peer asks something.
    Call(Incoming, Answerer),
    /// The link is down. A link that we opened comes back by itself; one that we
    /// accepted does not.
    Down(DownReason),
}

/// A message of the peer.
#[derive(Debug)]
pub struct Incoming {
    /// What it says.
    pub message: Message,
    /// An event of [`Lane::Data`](crate::Lane::Data) holds its credit until it is
    /// dropped; a call's credit is with its [`Answerer`].
    pub(crate) _credit: Option<Credit>,
}

/// Why a link went down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DownReason {
    /// The peer closed it, or ended.
    Ended,
    /// The socket failed.
    Lost,
    /// The peer said nothing for too long.
    Silent,
    /// The peer said what makes no sense.
    Garbled,
    /// The peer opened another link to us.
    Replaced,
    /// We closed it.
    Closed,
}

/// The right to answer one call; dropping it answers
/// [`Refusal::NotNow`].
pub struct Answerer {
    line: Arc<Line>,
    call: Option<Asked>,
}

impl Answerer {
    /// Answers. An answer that the connection does not outlive is lost; the caller
    /// hears of that.
    pub fn answer(mut self, answer: Answer) {
        if let Some(call) = self.call.take() {
            self.line.answer(call, answer);
        }
    }

    pub(crate) const fn new(line: Arc<Line>, call: Asked) -> Self {
        Self {
            line,
            call: Some(call),
        }
    }
}

impl Drop for Answerer {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.line.answer(call, Answer::Refused(Refusal::NotNow));
        }
    }
}

impl fmt::Debug for Answerer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answerer")
            .field("peer", &self.line.peer)
            .field("call", &self.call.as_ref().map(|call| call.id))
            .finish_non_exhaustive()
    }
}

impl DownReason {
    /// Returns the word for logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Lost => "lost",
            Self::Silent => "silent",
            Self::Garbled => "garbled",
            Self::Replaced => "replaced",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for DownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === Behind the delivery ===

/// A call of the peer that waits for our answer.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) id: u64,
    /// Which connection of the line it came on.
    pub(crate) connection: u64,
    /// Where its answer goes.
    pub(crate) queue: Queue,
    pub(crate) credit: Option<Credit>,
}

/// Hands a delivery over. A receiver that panics loses it, and nothing else.
pub(crate) fn deliver(receiver: &Receiver, line: &Arc<Line>, delivery: Delivery) {
    let link = Link::new(Arc::clone(line));
    if catch_unwind(AssertUnwindSafe(|| receiver(link, delivery))).is_err() {
        error!(peer = %line.peer, "receiver of a link panicked, delivery is lost");
    }
}
