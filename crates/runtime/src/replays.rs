//! The response streams that clients may come back to: those of 2025-11-25 sessions
//! (L-HTTP-17, R43).
//!
//! A stream is here from its first event on. Once it has ended it stays for
//! [`KEPT_FOR`], as long as no more than [`MOST`] have, and no more than
//! [`MOST_BYTES`] of them; one session may fill an eighth of that. The newest stays,
//! however large it is. Those that have not ended are bounded by the admission.

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
/// One session may keep one in so many of these, and of their bytes.
const SHARES: usize = 8;
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
    session: Uuid,
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
        let (session, bytes) = (kept.session, kept.outbox.size());
        inner.bytes += bytes;
        let at = Instant::now();
        inner.ended.push_back(Ended {
            session,
            stream,
            at,
            bytes,
        });
        inner.tidy_session(session);
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
        let Inner {
            streams,
            ended,
            bytes,
        } = &mut *inner;
        streams.retain(|_, kept| !sessions.contains(&kept.session));
        ended.retain(|ended| !sessions.contains(&ended.session));
        *bytes = ended.iter().map(|ended| ended.bytes).sum();
    }
}

impl Inner {
    /// Lets the oldest of a session leave, until it keeps no more than its share.
    fn tidy_session(&mut self, session: Uuid) {
        let mine = |ended: &&Ended| ended.session == session;
        let mut count = self.ended.iter().filter(mine).count();
        let mut bytes: usize = self
            .ended
            .iter()
            .filter(mine)
            .map(|ended| ended.bytes)
            .sum();
        while count > 1 && (count > MOST / SHARES || bytes > MOST_BYTES / SHARES) {
            let oldest = self.ended.iter().position(|ended| ended.session == session);
            let Some(oldest) = oldest.and_then(|place| self.ended.remove(place)) else {
                return;
            };
            count -= 1;
            bytes -= oldest.bytes;
            self.bytes -= oldest.bytes;
            self.streams.remove(&oldest.stream);
        }
    }

    fn tidy(&mut self, now: Instant) {
        while let Some(oldest) = self.ended.front().copied()
            && (self.ended.len() > MOST
                || (self.bytes > MOST_BYTES && self.ended.len() > 1)
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
        ended_of(replays, SESSION)
    }

    fn ended_of(replays: &Replays, session: Uuid) -> Uuid {
        let (stream, outbox) = replays.open(session);
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
        let session = |number: usize| Uuid::from_u128(number as u128);
        let streams: Vec<_> = (0..=MOST)
            .map(|number| ended_of(&replays, session(number)))
            .collect();

        assert!(replays.find(session(0), streams[0]).is_none());
        assert!(replays.find(session(1), streams[1]).is_some());
    }

    #[tokio::test]
    async fn a_session_drives_out_nobody_s_streams_but_its_own() {
        let replays = Replays::new(0);
        let other = Uuid::from_u128(2);
        let kept = ended_of(&replays, other);

        let mine: Vec<_> = (0..2 * MOST).map(|_| ended(&replays)).collect();

        assert!(replays.find(other, kept).is_some());
        let left = mine
            .iter()
            .filter(|stream| replays.find(SESSION, **stream).is_some());
        assert_eq!(left.count(), MOST / SHARES);
    }

    #[tokio::test]
    async fn a_large_answer_is_kept_for_whoever_comes_back_for_it() {
        let replays = Replays::new(0);
        let (stream, outbox) = replays.open(SESSION);
        outbox.finish(Some(bytes::Bytes::from(vec![b' '; MOST_BYTES + 1]).into()));

        replays.ended(stream);

        assert!(replays.find(SESSION, stream).is_some());
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
