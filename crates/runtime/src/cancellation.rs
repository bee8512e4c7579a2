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
use std::sync::atomic::{AtomicBool, Ordering};

use conduit_actor::{Actor, Failure};
use conduit_link::{Answer, Answerer};
use conduit_protocol::{Code, RequestId, WireError};
use conduit_telemetry::{CancelledBy, Event, Telemetry};
use tokio::time::Instant;
use tracing::warn;

pub use self::ledger::AddressScope;
use self::ledger::Ledger;
pub(crate) use self::ledger::{Cancelled, Entry};
pub(crate) use self::scope::Scope;

/// Reaches the registry; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    ledger: Arc<Ledger>,
    /// Whether the process is ending, which is why calls are stopped.
    ending: Arc<AtomicBool>,
    telemetry: Telemetry,
}

/// The entry of one call; dropping it takes the call out.
#[derive(Debug)]
pub(crate) struct Tracked {
    ledger: Arc<Ledger>,
    place: ledger::Place,
}

impl Registry {
    pub(crate) fn new(options: Options, telemetry: Telemetry) -> Self {
        Self {
            telemetry,
            ending: Arc::default(),
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
    pub(crate) fn cancel(
        &self,
        scope: &Scope,
        id: &RequestId,
        reason: Option<&str>,
        by: CancelledBy,
    ) -> Cancelled {
        let outcome = self.ledger.cancel(scope, id);
        if outcome == Cancelled::Stopped {
            self.cancelled(scope, id, reason, by);
        }
        outcome
    }

    /// Whether a cancel in this scope may reach a call only if no other gateway has
    /// one of the same id.
    pub(crate) fn must_be_sole(&self, scope: &Scope) -> bool {
        self.ledger.must_be_sole(scope)
    }

    /// Whether a call of this id is in flight here.
    pub(crate) fn holds(&self, scope: &Scope, id: &RequestId) -> bool {
        self.ledger.holds(scope, id)
    }

    /// Lets it be known that a call was told to stop.
    pub(crate) fn cancelled(
        &self,
        scope: &Scope,
        id: &RequestId,
        reason: Option<&str>,
        by: CancelledBy,
    ) {
        self.telemetry.emit(Event::RequestCancelled {
            request_id: id.as_json().to_owned(),
            scope: scope.to_string(),
            reason: reason.map(str::to_owned),
            by,
        });
    }

    /// Stops every call, as at the end of the process; returns how many.
    pub(crate) fn cancel_all(&self) -> usize {
        self.ending.store(true, Ordering::Relaxed);
        let entries = self.ledger.entries();
        for (scope, id, entry) in &entries {
            entry.responder.call().token().cancel();
            self.cancelled(scope, id, None, CancelledBy::Drain);
        }
        entries.len()
    }

    #[cfg(test)]
    pub(crate) fn first_token(&self) -> Option<tokio_util::sync::CancellationToken> {
        let entries = self.ledger.entries();
        entries
            .first()
            .map(|(_, _, entry)| entry.responder.call().token().clone())
    }

    /// Whether calls are stopped because the process is ending.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// Answers every call that is still in flight; returns how many.
    pub(crate) fn answer_all(&self, error: &WireError) -> usize {
        let entries = self.ledger.entries();
        let answered = entries
            .iter()
            .filter(|(_, id, entry)| entry.responder.refuse(id, error));
        answered.count()
    }
}

impl Tracked {
    /// Says when somebody else has to answer for the call, from now on.
    pub(crate) fn extend(&self, overdue_at: Instant) {
        self.ledger.extend(&self.place, overdue_at);
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
    /// Another gateway asks whether a call of one of its clients is here.
    RemoteFind {
        scope: String,
        request_id: String,
        /// Holds the link's credit until the answer is given.
        answerer: Answerer,
    },
    /// Another gateway looks for a call of one of its clients, to stop it.
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
                        let reason = reason.as_deref();
                        self.registry
                            .cancel(&scope, &id, reason, CancelledBy::Mail)
                            .found()
                    }
                    (None, _) | (_, Err(_)) => false,
                };
                answerer.answer(Answer::Receipt { taken });
            }
            Message::RemoteFind {
                scope,
                request_id,
                answerer,
            } => {
                let taken = match (Scope::parse(&scope), RequestId::from_json(&request_id)) {
                    (Some(scope), Ok(id)) => self.registry.holds(&scope, &id),
                    (None, _) | (_, Err(_)) => false,
                };
                answerer.answer(Answer::Receipt { taken });
            }
            Message::Sweep => {
                let late = WireError::new(
                    Code::INTERNAL_ERROR,
                    "the tool did not finish within its time limit",
                );
                for (_, id, entry) in self.registry.ledger.overdue(Instant::now()) {
                    if entry.responder.refuse(&id, &late) {
                        warn!(callback = &*entry.callback, "call overdue, answered for it");
                    }
                }
            }
        }
        Ok(())
    }
}
