//! The response streams that clients may come back to: those of 2025-11-25 sessions
//! (L-HTTP-17, R43).
//!
//! A stream is here from its first event on. Once it has ended it stays for
//! [`KEPT_FOR`], as long as no more than [`MOST`] have, and no more than
//! [`MOST_BYTES`] of them. Those that have not ended are bounded by the admission.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

use crate::event::StreamName;
use crate::outbox::Outbox;

/// How long a client may take to come back for the end of a stream.
const KEPT_FOR: Duration = Duration::from_mins(2);
/// The most streams that are kept for that.
const MOST: usize = 256;
/// The most that these keep together, in bytes.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// Reaches the streams; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Replays {
    gateway: u16,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    streams: HashMap<Uuid, Kept>,
    /// Those that have ended, oldest first.
    ended: VecDeque<Ended>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    session: Uuid,
    outbox: Arc<Outbox>,
}

#[derive(Clone, Copy, Debug)]
struct Ended {
    stream: Uuid,
    at: Instant,
    bytes: usize,
}

impl Replays {
    /// `gateway` says which one this is.
    pub(crate) fn new(gateway: u16) -> Self {
        Self {
            gateway,
            inner: Arc::default(),
        }
    }

    /// Returns which gateway this is.
    pub(crate) const fn gateway(&self) -> u16 {
        self.gateway
    }

    /// Opens a stream to which the session's client may come back.
    pub(crate) fn open(&self, session: Uuid) -> (Uuid, Arc<Outbox>) {
        let stream = Uuid::new_v4();
        let name = StreamName::Call {
            gateway: self.gateway,
            stream,
        };
        let outbox = Arc::new(Outbox::numbered(name));
        let kept = Kept {
            session,
            outbox: Arc::clone(&outbox),
        };
        self.inner.lock().streams.insert(stream, kept);
        (stream, outbox)
    }

    /// Notes that a stream has ended.
    pub(crate) fn ended(&self, stream: Uuid) {
        let mut inner = self.inner.lock();
        let Some(kept) = inner.streams.get(&stream) else {
            return;
        };
        let bytes = kept.outbox.size();
        inner.bytes += bytes;
        let at = Instant::now();
        inner.ended.push_back(Ended { stream, at, bytes });
        inner.tidy(at);
    }

    /// Forgets what nobody will come back for.
    pub(crate) fn tidy(&self) {
        self.inner.lock().tidy(Instant::now());
    }

    /// Finds a stream of a session.
    pub(crate) fn find(&self, session: Uuid, stream: Uuid) -> Option<Arc<Outbox>> {
        let inner = self.inner.lock();
        let kept = inner.streams.get(&stream)?;
        (kept.session == session).then(|| Arc::clone(&kept.outbox))
    }

    /// Forgets the streams of sessions that have ended.
    pub(crate) fn forget(&self, sessions: &[Uuid]) {
        let mut inner = self.inner.lock();
        inner
            .streams
            .retain(|_, kept| !sessions.contains(&kept.session));
    }
}

impl Inner {
    fn tidy(&mut self, now: Instant) {
        while let Some(oldest) = self.ended.front().copied()
            && (self.ended.len() > MOST
                || self.bytes > MOST_BYTES
                || now.saturating_duration_since(oldest.at) > KEPT_FOR)
        {
            self.ended.pop_front();
            self.bytes -= oldest.bytes;
            self.streams.remove(&oldest.stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: Uuid = Uuid::from_u128(1);

    fn ended(replays: &Replays) -> Uuid {
        let (stream, outbox) = replays.open(SESSION);
        outbox.finish(Some(bytes::Bytes::from_static(b"{}").into()));
        replays.ended(stream);
        stream
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_has_ended_is_kept_for_a_while() {
        let replays = Replays::new(0);
        let stream = ended(&replays);

        assert!(replays.find(SESSION, stream).is_some());
        tokio::time::advance(KEPT_FOR + Duration::from_secs(1)).await;
        replays.tidy();
        assert!(replays.find(SESSION, stream).is_none());
    }

    #[tokio::test]
    async fn only_so_many_are_kept_and_the_oldest_leave_first() {
        let replays = Replays::new(0);
        let streams: Vec<_> = (0..=MOST).map(|_| ended(&replays)).collect();

        assert!(replays.find(SESSION, streams[0]).is_none());
        assert!(replays.find(SESSION, streams[1]).is_some());
    }

    #[tokio::test]
    async fn a_stream_is_found_by_its_own_session_alone() {
        let replays = Replays::new(0);
        let (stream, _outbox) = replays.open(SESSION);

        assert!(replays.find(SESSION, stream).is_some());
        assert!(replays.find(Uuid::from_u128(2), stream).is_none());
        replays.forget(&[SESSION]);
        assert!(replays.find(SESSION, stream).is_none());
    }
}
