//! What both sides of a link share: callers on the main loop, sockets on the
//! link thread.
//!
//! A line outlives its connections. It is *waiting* for one, *up* on one, or
//! *gone* for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

use crate::calls::Calls;
use crate::delivery::Asked;
use crate::frame::Frame;
use crate::outbox::{Outbox, Queue};
use crate::places::Places;
use crate::queued::Queued;
use crate::view::{Counters, PeerView};
use crate::{Answer, CallError, Lane, Message, Refusal, SendError, Slot};

/// The most answers that wait on one link. A peer that leaves more of them lying
/// loses them.
const ANSWERS: usize = 8192;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) peer: Slot,
    pub(crate) id: u64,
    pub(crate) counters: Arc<Counters>,
    /// Wakes the writer.
    pub(crate) work: Arc<Notify>,
    /// Asks the line to end for ever.
    pub(crate) closing: CancellationToken,
    /// Asks an accepted line to make room for another of its slot.
    pub(crate) replaced: CancellationToken,
    /// The line has ended, and its receiver has heard so.
    pub(crate) gone: CancellationToken,
    max_frame: usize,
    places: Places,
    /// Wakes those who wait for the outbox to be empty.
    idle: Notify,
    beat: AtomicBool,
    born: Instant,
    /// When the peer was last heard, in milliseconds since birth.
    heard: AtomicU64,
    peer_lag: AtomicU64,
    next_call: AtomicU64,
    state: Mutex<State>,
}

/// Ends its line when it is dropped, so that no caller waits for a dead task.
#[derive(Debug)]
pub(crate) struct EndOfLine(pub(crate) Arc<Line>);

impl Line {
    pub(crate) fn new(peer: Slot, max_frame: usize, counters: Arc<Counters>) -> Arc<Self> {
        Arc::new(Self {
            peer,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            counters,
            work: Arc::default(),
            closing: CancellationToken::new(),
            replaced: CancellationToken::new(),
            gone: CancellationToken::new(),
            max_frame,
            places: Places::new(max_frame.saturating_mul(4)),
            idle: Notify::new(),
            beat: AtomicBool::new(false),
            born: Instant::now(),
            heard: AtomicU64::new(0),
            peer_lag: AtomicU64::new(0),
            next_call: AtomicU64::new(1),
            state: Mutex::new(State {
                phase: Phase::Waiting,
                connection: 0,
                writing: false,
                outbox: Outbox::new(),
                calls: Calls::default(),
            }),
        })
    }

    pub(crate) fn is_up(&self) -> bool {
        self.state.lock().phase == Phase::Up
    }

    pub(crate) fn peer_lag(&self) -> Duration {
        Duration::from_millis(self.peer_lag.load(Ordering::Relaxed))
    }

    pub(crate) fn close(&self) {
        self.closing.cancel();
    }

    pub(crate) fn send(&self, lane: Lane, message: Message) -> Result<(), SendError> {
        if !self.is_up() {
            return Err(SendError::Down);
        }
        let bytes = self
            .encode(&Frame::Event { lane, message })
            .ok_or(SendError::TooLarge)?;
        let place = self
            .places
            .try_take(lane, bytes.len())
            .ok_or(SendError::Full)?;
        {
            let mut state = self.state.lock();
            if state.phase != Phase::Up {
                return Err(SendError::Down);
            }
            state
                .outbox
                .push(Queue::of(lane), Queued::event(bytes, place));
        }
        self.work.notify_one();
        Ok(())
    }

    pub(crate) async fn call(&self, lane: Lane, message: Message) -> Result<Answer, CallError> {
        let id = self.next_call.fetch_add(1, Ordering::Relaxed);
        let bytes = self
            .encode(&Frame::Call { lane, id, message })
            .ok_or(CallError::TooLarge)?;
        let (Ok(open), Ok(place)) = (
            self.places.open().await,
            self.places.take(lane, bytes.len()).await,
        ) else {
            return Err(CallError::Down);
        };
        let (reply, answer) = oneshot::channel();
        {
            let mut state = self.state.lock();
            if state.phase == Phase::Gone {
                return Err(CallError::Down);
            }
            let waits = state
                .outbox
                .push(Queue::of(lane), Queued::call(id, bytes, place));
            state.calls.open(id, waits, reply, open);
        }
        let _left = Caller { line: self, id };
        self.work.notify_one();
        answer.await.unwrap_or(Err(CallError::Down))
    }

    pub(crate) fn answer(&self, call: Asked, answer: Answer) {
        let id = call.id;
        let frame = Frame::Answer { id, answer };
        let bytes = self.encode(&frame).or_else(|| {
            self.encode(&Frame::Answer {
                id,
                answer: Answer::Refused(Refusal::Full),
            })
        });
        let Some(bytes) = bytes else { return };
        {
            let mut state = self.state.lock();
            if state.phase != Phase::Up || state.connection != call.connection {
                debug!(peer = %self.peer, "caller is gone, answer is dropped");
                return;
            }
            if state.outbox.waiting(call.queue) >= ANSWERS {
                warn!(peer = %self.peer, "peer takes no answers, one is dropped");
                return;
            }
            let answer = Queued::answer(bytes, call.credit);
            state.outbox.push(call.queue, answer);
        }
        self.work.notify_one();
    }

    /// Waits until everything that may be written is written, or the link is down.
    pub(crate) async fn flushed(&self) {
        loop {
            let idle = self.idle.notified();
            {
                let state = self.state.lock();
                if state.phase != Phase::Up || (!state.writing && state.outbox.len() == 0) {
                    return;
                }
            }
            idle.await;
        }
    }

    pub(crate) fn view(&self) -> PeerView {
        let mut view = PeerView {
            slot: self.peer.clone(),
            up: false,
            frames_in: 0,
            frames_out: 0,
            reconnects: 0,
            refused: 0,
            queued: 0,
            silent: None,
        };
        self.counters.show(&mut view);
        let state = self.state.lock();
        view.queued = state.outbox.len();
        if state.phase == Phase::Up {
            view.up = true;
            view.silent = Some(self.heard().elapsed());
        }
        view
    }
}

impl Drop for EndOfLine {
    fn drop(&mut self) {
        self.0.end();
    }
}

// === For the link thread ===

impl Line {
    /// Goes up; returns the number of the connection.
    pub(crate) fn up(&self) -> u64 {
        self.counters.came_up();
        self.hear();
        let mut state = self.state.lock();
        state.connection += 1;
        state.phase = Phase::Up;
        state.connection
    }

    /// Goes down: drops what does not outlive a connection, fails the calls that
    /// the peer may have seen.
    pub(crate) fn down(&self) {
        let dropped = {
            let mut state = self.state.lock();
            state.phase = Phase::Waiting;
            state.writing = false;
            state.calls.broken();
            state.outbox.restart(|queued| queued.call.is_some())
        };
        if !dropped.is_empty() {
            debug!(peer = %self.peer, frames = dropped.len(), "link is down, queued frames are lost");
        }
        self.idle.notify_waiters();
    }

    /// Ends for ever.
    pub(crate) fn end(&self) {
        self.places.close();
        let dropped = {
            let mut state = self.state.lock();
            state.phase = Phase::Gone;
            state.calls.gone();
            state.outbox.restart(|_| false)
        };
        drop(dropped);
        self.idle.notify_waiters();
        self.gone.cancel();
    }

    /// Takes the next frame that may be written.
    pub(crate) fn next(&self) -> Option<Bytes> {
        let mut state = self.state.lock();
        let queued = state.outbox.pop()?;
        if let Some(id) = queued.call {
            state.calls.written(id);
        }
        state.writing = true;
        Some(queued.bytes)
    }

    /// Everything that was taken is in the socket.
    pub(crate) fn wrote(&self) {
        self.state.lock().writing = false;
        self.idle.notify_waiters();
    }

    pub(crate) fn grant(&self, frames: u32) {
        self.state.lock().outbox.grant(frames);
        self.work.notify_one();
    }

    pub(crate) fn answered(&self, id: u64, answer: Answer) {
        self.state.lock().calls.answered(id, answer);
    }

    /// Asks the writer for a heartbeat.
    pub(crate) fn beat(&self) {
        self.beat.store(true, Ordering::Release);
        self.work.notify_one();
    }

    /// Returns whether a heartbeat was asked for, once.
    pub(crate) fn take_beat(&self) -> bool {
        self.beat.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn hear(&self) {
        let now = u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.heard.store(now, Ordering::Relaxed);
    }

    pub(crate) fn heard(&self) -> Instant {
        self.born + Duration::from_millis(self.heard.load(Ordering::Relaxed))
    }

    pub(crate) fn hear_lag(&self, lag_ms: u64) {
        self.peer_lag.store(lag_ms, Ordering::Relaxed);
    }

    pub(crate) fn encode(&self, frame: &Frame) -> Option<Bytes> {
        match frame.encode(self.max_frame) {
            Ok(bytes) => Some(bytes),
            Err(reason) => {
                error!(peer = %self.peer, %reason, "message cannot be sent");
                None
            }
        }
    }
}

// === Behind the line ===

#[derive(Debug)]
struct State {
    phase: Phase,
    /// The number of the present or last connection.
    connection: u64,
    /// Whether a frame is between the outbox and the socket.
    writing: bool,
    outbox: Outbox<Queued>,
    calls: Calls,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Up,
    Gone,
}

/// Takes its call back when the caller leaves; an answered call is gone already.
struct Caller<'a> {
    line: &'a Line,
    id: u64,
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        let mut state = self.line.state.lock();
        let withdrawn = match state.calls.left(self.id) {
            Some(waits) => state.outbox.withdraw(waits),
            None => None,
        };
        drop(state);
        drop(withdrawn);
    }
}
