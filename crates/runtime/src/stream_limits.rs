//! How many streams of changes may be open at once, and for how long.
//!
//! Whoever opens one takes a berth first, before anything is registered for it, and
//! keeps it until the stream is dropped. Where streams have an age, each is ended when
//! it has it, less a part by chance: its client opens another one, perhaps at another
//! gateway, and a drain looks like any other day.
//!
//! Bound: there is an entry here for each berth, and no more berths than may be.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use conduit_protocol::Rendered;
use parking_lot::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

use crate::outbox::Outbox;

/// What holds for listen streams and the streams of sessions.
#[derive(Clone, Copy, Debug)]
pub struct StreamOptions {
    /// The most of them at once; one more is refused with 503.
    pub most: usize,
    /// The most of one principal or session at once; one more is refused with 429.
    pub per_owner: usize,
    /// The most resources, and the most tasks, of one listen stream.
    pub topics: usize,
    /// How long one lasts at most; without an age it lasts as long as its client likes.
    pub age: Option<Duration>,
}

/// The streams that are open; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct OpenStreams {
    shared: Arc<Shared>,
}

/// The right of one stream to be open, until it is dropped.
#[derive(Debug)]
pub(crate) struct Berth {
    streams: OpenStreams,
    owner: Option<Uuid>,
    /// Under which it is to be ended.
    due: Option<Due>,
}

/// Why a stream may not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// As many are open as may be.
    #[error("as many streams are open as may be")]
    Full,
    /// Its owner has as many as one may have.
    #[error("this client has as many streams open as one may have")]
    OwnerFull,
}

impl OpenStreams {
    pub(crate) fn new(options: StreamOptions) -> Self {
        Self {
            shared: Arc::new(Shared {
                options,
                inner: Mutex::default(),
            }),
        }
    }

    /// Lets a stream be opened: a session's, or one of a client that nobody knows, which
    /// is counted with all others only.
    pub(crate) fn enter(&self, owner: Option<Uuid>) -> Result<Berth, Refused> {
        let options = &self.shared.options;
        let mut inner = self.shared.inner.lock();
        if inner.open >= options.most {
            return Err(Refused::Full);
        }
        if let Some(owner) = owner {
            let count = inner.owners.entry(owner).or_default();
            if *count >= options.per_owner {
                return Err(Refused::OwnerFull);
            }
            *count += 1;
        }
        inner.open += 1;
        Ok(Berth {
            streams: self.clone(),
            owner,
            due: None,
        })
    }

    /// Ends the streams that have their age.
    pub(crate) fn end_overdue(&self) {
        let now = Instant::now();
        let overdue = {
            let mut inner = self.shared.inner.lock();
            let Inner { ages, .. } = &mut *inner;
            let later = ages.split_off(&Due { at: now, number: 0 });
            std::mem::replace(ages, later)
        };
        for Ending { outbox, farewell } in overdue.into_values() {
            outbox.retire(farewell);
        }
    }
}

impl Berth {
    /// Lets the stream be ended when it has its age: after `farewell`, if there is
    /// something to say.
    pub(crate) fn end_in_time(&mut self, outbox: &Arc<Outbox>, farewell: Option<Rendered>) {
        let shared = &self.streams.shared;
        let Some(age) = shared.options.age else {
            return;
        };
        let mut inner = shared.inner.lock();
        inner.next += 1;
        let due = Due {
            at: Instant::now() + some_of(age),
            number: inner.next,
        };
        let outbox = Arc::clone(outbox);
        inner.ages.insert(due, Ending { outbox, farewell });
        self.due = Some(due);
    }
}

impl Drop for Berth {
    fn drop(&mut self) {
        let mut inner = self.streams.shared.inner.lock();
        inner.open -= 1;
        if let Some(owner) = self.owner
            && let Some(count) = inner.owners.get_mut(&owner)
        {
            *count -= 1;
            if *count == 0 {
                inner.owners.remove(&owner);
            }
        }
        let ending = self.due.and_then(|due| inner.ages.remove(&due));
        drop(inner);
        drop(ending);
    }
}

// === Behind the berth ===

#[derive(Debug)]
struct Shared {
    options: StreamOptions,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    open: usize,
    /// How many each owner has; nobody has none.
    owners: HashMap<Uuid, usize>,
    /// What is to be ended, the next one first.
    ages: BTreeMap<Due, Ending>,
    next: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Instant,
    number: u64,
}

#[derive(Debug)]
struct Ending {
    outbox: Arc<Outbox>,
    farewell: Option<Rendered>,
}

/// Returns between four fifths of it and all of it.
fn some_of(age: Duration) -> Duration {
    /// Into how many parts a fifth is cut.
    const PARTS: u32 = 1 << 16;
    let [low, high, ..] = *Uuid::new_v4().as_bytes();
    let part = u32::from(u16::from_le_bytes([low, high]));
    age - (age / (5 * PARTS)) * part
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: StreamOptions = StreamOptions {
        most: 4,
        per_owner: 2,
        topics: 10,
        age: None,
    };
    const AGE: Duration = Duration::from_secs(1_000);

    #[test]
    fn one_stream_past_the_limit_is_refused_until_another_ends() {
        let streams = OpenStreams::new(OPTIONS);
        let open: Vec<_> = (0..4).map(|_| streams.enter(None).expect("room")).collect();

        assert_eq!(streams.enter(None).map(drop), Err(Refused::Full));

        drop(open);
        assert!(streams.enter(None).is_ok());
    }

    #[test]
    fn one_owner_does_not_take_the_room_of_the_others() {
        let streams = OpenStreams::new(OPTIONS);
        let (one, other) = (Some(Uuid::from_u128(1)), Some(Uuid::from_u128(2)));
        let first = streams.enter(one).expect("room");
        let _second = streams.enter(one).expect("room");

        assert_eq!(streams.enter(one).map(drop), Err(Refused::OwnerFull));
        assert!(streams.enter(other).is_ok());

        drop(first);
        assert!(streams.enter(one).is_ok());
    }

    #[test]
    fn nothing_is_left_of_streams_that_have_ended() {
        let options = StreamOptions {
            age: Some(AGE),
            ..OPTIONS
        };
        let streams = OpenStreams::new(options);
        for owner in 0..100 {
            let owner = Some(Uuid::from_u128(owner));
            let mut berth = streams.enter(owner).expect("room");
            berth.end_in_time(&Arc::default(), None);
        }

        let inner = streams.shared.inner.lock();
        assert_eq!(inner.open, 0);
        assert!(inner.owners.is_empty() && inner.ages.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn streams_end_with_their_age_and_not_all_at_once() {
        let options = StreamOptions {
            most: 100,
            age: Some(AGE),
            ..OPTIONS
        };
        let streams = OpenStreams::new(options);
        let outboxes: Vec<Arc<Outbox>> = (0..100).map(|_| Arc::default()).collect();
        let _berths: Vec<_> = outboxes
            .iter()
            .map(|outbox| {
                let mut berth = streams.enter(None).expect("room");
                berth.end_in_time(outbox, None);
                berth
            })
            .collect();
        let ended = || {
            streams.end_overdue();
            let ended = outboxes.iter().filter(|outbox| outbox.is_finished());
            ended.count()
        };

        tokio::time::advance(AGE * 4 / 5 - Duration::from_millis(1)).await;
        assert_eq!(ended(), 0);
        tokio::time::advance(AGE / 10).await;
        let some = ended();
        assert!((20..80).contains(&some), "{some}");
        tokio::time::advance(AGE / 10 + Duration::from_millis(2)).await;
        assert_eq!(ended(), 100);
    }
}
