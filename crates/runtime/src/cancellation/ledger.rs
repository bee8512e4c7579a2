//! The map of calls in flight: no channel and no `async`.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use conduit_protocol::RequestId;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::Scope;
use crate::responder::Responder;

/// What a cancel reaches when only the client's address is known (R4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressScope {
    /// A legacy call without session, and only if it is the one that bears the id.
    Strict,
    /// Every call of that address that bears the id.
    Seeds,
    /// Nothing.
    Off,
}

/// One call in flight.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Answers the call.
    pub(crate) responder: Arc<Responder>,
    /// As its author named it.
    pub(crate) callback: Arc<str>,
    /// Whether it is a legacy request without a session.
    pub(crate) loose: bool,
    /// When somebody else has to answer for it; never for a stream that has no end of
    /// its own.
    pub(crate) overdue_at: Option<Instant>,
}

/// What became of a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// The call, or calls, have been told to stop.
    Stopped,
    /// They had been told before.
    Again,
    /// No such call here, or none that this scope may stop.
    Unknown,
    /// The scope has as many cancelled calls as it may have.
    Full,
}

impl Cancelled {
    /// Whether the call was here, and has been told to stop.
    pub(crate) const fn found(self) -> bool {
        matches!(self, Self::Stopped | Self::Again)
    }
}

/// Where an entry is.
#[derive(Clone, Debug)]
pub(super) struct Place {
    key: Key,
    number: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    scope: Scope,
    id: RequestId,
}

#[derive(Debug)]
struct Row {
    number: u64,
    cancelled: bool,
    entry: Entry,
}

const SHARDS: usize = 16;

/// All rows, in [`SHARDS`] parts so that workers and loop seldom meet.
#[derive(Debug)]
pub(super) struct Ledger {
    hasher: RandomState,
    shards: [Mutex<HashMap<Key, Vec<Row>>>; SHARDS],
    next: AtomicU64,
    count: AtomicUsize,
    address_scope: AddressScope,
    per_scope: usize,
    /// Cancelled calls that have not ended, by scope; at most one entry a call.
    cancelled: Mutex<HashMap<Scope, usize>>,
}

impl Ledger {
    pub(super) fn new(address_scope: AddressScope, per_scope: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            shards: Default::default(),
            next: AtomicU64::new(1),
            count: AtomicUsize::new(0),
            address_scope,
            per_scope,
            cancelled: Mutex::default(),
        }
    }

    pub(super) fn enter(&self, scope: Scope, id: RequestId, entry: Entry) -> Place {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let key = Key { scope, id };
        let row = Row {
            number,
            cancelled: false,
            entry,
        };
        self.shard(&key)
            .lock()
            .entry(key.clone())
            .or_insert_with(|| Vec::with_capacity(1))
            .push(row);
        self.count.fetch_add(1, Ordering::Relaxed);
        Place { key, number }
    }

    pub(super) fn extend(&self, place: &Place, overdue_at: Instant) {
        let mut shard = self.shard(&place.key).lock();
        let rows = shard.get_mut(&place.key).into_iter().flatten();
        for row in rows.filter(|row| row.number == place.number) {
            row.entry.overdue_at = Some(overdue_at);
        }
    }

    pub(super) fn leave(&self, place: &Place) {
        let mut shard = self.shard(&place.key).lock();
        let Some(rows) = shard.get_mut(&place.key) else {
            return;
        };
        let Some(index) = rows.iter().position(|row| row.number == place.number) else {
            return;
        };
        let row = rows.swap_remove(index);
        if rows.is_empty() {
            shard.remove(&place.key);
        }
        drop(shard);
        self.count.fetch_sub(1, Ordering::Relaxed);
        if row.cancelled {
            self.release(&place.key.scope);
        }
    }

    pub(super) fn cancel(&self, scope: &Scope, id: &RequestId) -> Cancelled {
        let key = Key {
            scope: scope.clone(),
            id: id.clone(),
        };
        let mut shard = self.shard(&key).lock();
        let Some(rows) = shard.get_mut(&key) else {
            return Cancelled::Unknown;
        };
        if matches!(scope, Scope::Address(..)) && !self.may_reach(rows) {
            return Cancelled::Unknown;
        }
        let mut outcome = Cancelled::Unknown;
        for row in rows {
            if row.cancelled {
                if outcome == Cancelled::Unknown {
                    outcome = Cancelled::Again;
                }
            } else if self.record(scope) {
                row.cancelled = true;
                let call = row.entry.responder.call();
                if *scope == Scope::Pipe {
                    call.silence();
                }
                call.token().cancel();
                outcome = Cancelled::Stopped;
            } else {
                return Cancelled::Full;
            }
        }
        outcome
    }

    pub(super) fn must_be_sole(&self, scope: &Scope) -> bool {
        matches!(scope, Scope::Address(..)) && self.address_scope == AddressScope::Strict
    }

    pub(super) fn holds(&self, scope: &Scope, id: &RequestId) -> bool {
        let key = Key {
            scope: scope.clone(),
            id: id.clone(),
        };
        self.shard(&key).lock().contains_key(&key)
    }

    /// Returns every call with its scope and the id that its client gave it.
    pub(super) fn entries(&self) -> Vec<(Scope, RequestId, Entry)> {
        let mut entries = Vec::with_capacity(self.len());
        for shard in &self.shards {
            for (key, rows) in &*shard.lock() {
                let named = |row: &Row| (key.scope.clone(), key.id.clone(), row.entry.clone());
                entries.extend(rows.iter().map(named));
            }
        }
        entries
    }

    pub(super) fn overdue(&self, now: Instant) -> Vec<(Scope, RequestId, Entry)> {
        if self.len() == 0 {
            return Vec::new();
        }
        let mut entries = self.entries();
        entries.retain(|(_, _, entry)| entry.overdue_at.is_some_and(|at| at <= now));
        entries
    }

    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn may_reach(&self, rows: &[Row]) -> bool {
        match self.address_scope {
            AddressScope::Strict => matches!(rows, [row] if row.entry.loose),
            AddressScope::Seeds => true,
            AddressScope::Off => false,
        }
    }

    fn record(&self, scope: &Scope) -> bool {
        let mut cancelled = self.cancelled.lock();
        let count = cancelled.entry(scope.clone()).or_insert(0);
        if *count >= self.per_scope {
            return false;
        }
        *count += 1;
        true
    }

    fn release(&self, scope: &Scope) {
        let mut cancelled = self.cancelled.lock();
        if let Some(count) = cancelled.get_mut(scope) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                cancelled.remove(scope);
            }
        }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "the index is taken modulo the length"
    )]
    fn shard(&self, key: &Key) -> &Mutex<HashMap<Key, Vec<Row>>> {
        let index = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or(0);
        &self.shards[index]
    }
}

#[cfg(test)]
mod tests;
