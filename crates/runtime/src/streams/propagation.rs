//! How long changes take from their publish to the connections of streams, and what
//! becomes of them there.

use std::collections::HashMap;
use std::sync::Arc;

use conduit_link::{Slot, Topic};
use conduit_telemetry::{StreamChange, Telemetry};
use parking_lot::RwLock;

use crate::clock;
use crate::outbox::{News, Published};

/// Counts and times the changes that streams are told of.
pub(super) struct Propagation {
    telemetry: Telemetry,
    observer: Arc<dyn Fn(Published) + Send + Sync>,
}

impl Propagation {
    pub(super) fn new(telemetry: Telemetry) -> Self {
        // Never more than there are slots for shards.
        let shards: RwLock<HashMap<u16, conduit_telemetry::Propagation>> = RwLock::default();
        let counts = telemetry.clone();
        let observer = move |published: Published| {
            counts.stream_changes(StreamChange::Delivered, 1);
            let took = clock::since(published.at_us);
            if let Some(shard) = shards.read().get(&published.shard) {
                return shard.observe(took);
            }
            let shard = counts.propagation(&Slot::hub(published.shard).to_string());
            shard.observe(took);
            shards.write().insert(published.shard, shard);
        };
        Self {
            telemetry,
            observer: Arc::new(observer),
        }
    }

    /// Makes the news of a change, which is observed at each stream that is told.
    pub(super) fn news(&self, topic: &Arc<Topic>, published: Option<Published>) -> Arc<News> {
        let news = News::new(Arc::clone(topic), published);
        Arc::new(news.observed_by(Arc::clone(&self.observer)))
    }

    /// Counts changes that waited for their clients already.
    pub(super) fn coalesced(&self, changes: usize) {
        if changes > 0 {
            self.telemetry
                .stream_changes(StreamChange::Coalesced, changes);
        }
    }
}

impl std::fmt::Debug for Propagation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Propagation").finish_non_exhaustive()
    }
}
