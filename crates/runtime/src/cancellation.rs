//! Knows every call in flight and can stop any of them.
//!
//! The hot path (track, untrack, poll) goes straight to a sharded map; the actor
//! owns what is slow or rare: cancels that other gateways ask for, and the sweep
//! that answers for calls whose worker never came back.
//!
//! Invariant: a call occupies one entry from [`Registry::track`] until its
//! [`Tracked`] is dropped, whoever drops it. So the map is never larger than the
//! admission limit.
//!
//! When the actor fails it is restarted over the same map; nothing is lost.

mod ledger;
mod scope;

use std::sync::Arc;

use conduit_actor::{Actor, Failure};
use conduit_link::{Answer, Answerer};
use conduit_protocol::{Code, RequestId, WireError};
use tokio::time::Instant;
use tracing::{debug, warn};

pub use self::ledger::AddressScope;
use self::ledger::Ledger;
pub(crate) use self::ledger::{Cancelled, Entry};
pub(crate) use self::scope::Scope;

/// Reaches the registry; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    ledger: Arc<Ledger>,
}

/// The entry of one call; dropping it takes the call out.
#[derive(Debug)]
pub(crate) struct Tracked {
    ledger: Arc<Ledger>,
    place: ledger::Place,
}

impl Registry {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            ledger: Arc::new(Ledger::new(options.address_scope, options.per_scope)),
        }
    }

    /// Enters a call under the name that its client gave it.
    pub(crate) fn track(&self, scope: Scope, id: RequestId, entry: Entry) -> Tracked {
        Tracked {
            place: self.ledger.enter(scope, id, entry),
            ledger: Arc::clone(&self.ledger),
        }
    }

    /// Stops what `scope` calls `id`, if it is in flight here.
    pub(crate) fn cancel(&self, scope: &Scope, id: &RequestId, reason: Option<&str>) -> Cancelled {
        let outcome = self.ledger.cancel(scope, id);
        if outcome == Cancelled::Stopped {
            debug!(
                target: "conduit_mcp.request.cancelled",
                request_id = id.as_json(), %scope, reason, "request cancelled"
            );
        }
        outcome
    }

    /// Stops every call, as at the end of the process; returns how many.
    pub(crate) fn cancel_all(&self) -> usize {
        self.ledger.cancel_all()
    }

    #[cfg(test)]
    pub(crate) fn first_token(&self) -> Option<tokio_util::sync::CancellationToken> {
        let entries = self.ledger.entries();
        entries
            .first()
            .map(|(_, entry)| entry.responder.call().token().clone())
    }

    /// Answers every call that is still in flight; returns how many.
    pub(crate) fn answer_all(&self, error: &WireError) -> usize {
        let entries = self.ledger.entries();
        let answer = |(id, entry): &(RequestId, Entry)| entry.responder.refuse(id, error);
        entries.iter().filter(|&entry| answer(entry)).count()
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.ledger.leave(&self.place);
    }
}

/// What the registry is started with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// What a cancel without session and principal may reach (R4).
    pub(crate) address_scope: AddressScope,
    /// The most cancelled calls of one scope that have not ended yet (AT-110).
    pub(crate) per_scope: usize,
}

// === Behind the registry ===

/// What the actor hears.
#[derive(Debug)]
pub(crate) enum Message {
    /// Another gateway looks for a call of one of its clients.
    RemoteCancel {
        scope: String,
        request_id: String,
        reason: Option<String>,
        /// Holds the link's credit until the answer is given.
        answerer: Answerer,
    },
    /// Look for calls that should have ended long ago.
    Sweep,
}

#[derive(Debug)]
pub(crate) struct Sweeper {
    registry: Registry,
}

impl Sweeper {
    pub(crate) const fn new(registry: Registry) -> Self {
        Self { registry }
    }
}

impl Actor for Sweeper {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::RemoteCancel {
                scope,
                request_id,
                reason,
                answerer,
            } => {
                let taken = match (Scope::parse(&scope), RequestId::from_json(&request_id)) {
                    (Some(scope), Ok(id)) => {
                        self.registry.cancel(&scope, &id, reason.as_deref()) != Cancelled::Unknown
                    }
                    (None, _) | (_, Err(_)) => false,
                };
                answerer.answer(Answer::Receipt { taken });
            }
            Message::Sweep => {
                let late = WireError::new(
                    Code::INTERNAL_ERROR,
                    "the tool did not finish within its time limit",
                );
                for (id, entry) in self.registry.ledger.overdue(Instant::now()) {
                    if entry.responder.refuse(&id, &late) {
                        warn!(tool = &*entry.tool, "call overdue, answered for it");
                    }
                }
            }
        }
        Ok(())
    }
}
