//! What a stream has to say and its client has not read yet.
//!
//! Bounded (R21): below [`EVENTS`] notifications of a call are kept in order. Above,
//! progress is reduced to its newest report and logs are dropped oldest first. Changes
//! are a set. The response always fits.
//!
//! A stream that a client may come back to (2025-11-25 sessions) numbers its events
//! and keeps the last [`EVENTS`] of them, and its response.

mod news;
mod pending;
mod queue;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use conduit_link::Topic;
use conduit_protocol::{Rendered, RequestId};
use conduit_telemetry::Held;
use futures_util::stream::Stream;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::WaitForCancellationFutureOwned;

pub(crate) use self::news::{News, Published};
pub(crate) use self::pending::{Change, Overflow, Pending, TaskNews};
pub(crate) use self::queue::Kind;
use self::queue::{Next, Queue};
use crate::admission::Admitted;
use crate::event::{Event, EventId, StreamName};
use crate::stream_limits::Berth;

/// The most notifications of a call that wait for a slow reader, or are kept for one
/// that comes back.
pub(crate) const EVENTS: usize = 64;
/// When the client of a stream that was ended in good time is to open another one.
const COME_BACK: Duration = Duration::from_millis(500);

/// The events of one stream, in order.
///
/// Dropping those of a call before the end says that the client is gone, which
/// cancels a modern call (M-HTTP-20).
#[derive(Debug)]
pub struct Events {
    source: Source,
    _held: Option<Held>,
    _berth: Option<Box<Berth>>,
}

/// Where a stream's source writes; shared with whoever reads.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    inner: Mutex<Inner>,
    /// Told of everything that is new, for readers at other gateways.
    news: Notify,
}

/// Where a reader is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    /// Whose turn it is: the newest reader gets everything.
    turn: u64,
    /// The number of the last event that was read.
    cursor: u64,
}

/// What a reader finds behind an event.
#[derive(Debug)]
pub(crate) enum Found {
    /// A message, and its number.
    Message(u64, Rendered),
    /// Nothing yet.
    Nothing,
    /// The end.
    End,
}

impl Outbox {
    /// Makes the outbox of a stream that a client may come back to.
    pub(crate) fn numbered(name: StreamName) -> Self {
        Self::of(Queue::numbered(name))
    }

    /// Makes the outbox of a stream that tells of changes; `first` is said before any
    /// of them.
    pub(crate) fn of_changes(
        name: Option<StreamName>,
        subscription: Option<RequestId>,
        first: Option<Rendered>,
    ) -> Self {
        Self::of(Queue::of_changes(name, subscription, first))
    }

    /// Adds a notification; returns how many were dropped for it.
    pub(crate) fn notify(&self, kind: Kind, message: Rendered) -> usize {
        self.write(|queue| queue.notify(kind, message))
    }

    /// Adds a change, unless it is there already; returns whether it was not. All streams
    /// that tell of it share it.
    pub(crate) fn tell(&self, news: &Arc<News>) -> bool {
        self.write(|queue| queue.pending.add(news))
    }

    /// Adds a change of which only this stream tells.
    pub(crate) fn change(&self, topic: &Arc<Topic>) {
        self.tell(&Arc::new(News::new(Arc::clone(topic), None)));
    }

    /// Adds the state of a task, in place of an older one.
    pub(crate) fn task(&self, topic: &Arc<Topic>, news: TaskNews) -> Result<(), Overflow> {
        self.write(|queue| queue.pending.add_task(topic, news))
    }

    /// Whether the states of tasks that nobody has read leave no room for more.
    pub(crate) fn is_full_of_tasks(&self) -> bool {
        self.inner.lock().queue.pending.is_full()
    }

    /// Takes the changes out that nobody has read.
    pub(crate) fn take_changes(&self) -> Vec<Change> {
        self.write(|queue| queue.pending.take_all())
    }

    /// Adds the response, if there is to be one, and ends the stream behind it.
    pub(crate) fn finish(&self, response: Option<Rendered>) {
        self.write(|queue| queue.finish(response));
    }

    /// Lets the present reader go once it has read all; it may come back after `retry`.
    /// Nothing happens to a stream that nobody can come back to.
    pub(crate) fn close(&self, retry: Duration) {
        self.write(|queue| queue.close(retry));
    }

    /// Ends the stream in good time: its client is to open another one, and hears so, or
    /// `farewell`.
    pub(crate) fn retire(&self, farewell: Option<Rendered>) {
        self.write(|queue| {
            if queue.is_numbered() {
                queue.close(COME_BACK);
            } else {
                queue.finish(farewell);
            }
        });
    }

    /// Whether nothing more will be added.
    pub(crate) fn is_finished(&self) -> bool {
        self.inner.lock().queue.is_finished()
    }

    /// Returns how many bytes are kept.
    pub(crate) fn size(&self) -> usize {
        self.inner.lock().queue.size()
    }

    /// Waits for what follows the event of number `after`, for at most `patience`. The
    /// present reader, if there is one, is left behind.
    pub(crate) async fn wait_after(&self, after: u64, patience: Duration) -> Found {
        let waiting = async {
            loop {
                let news = self.news.notified();
                let found = self.find_after(after);
                if !matches!(found, Found::Nothing) {
                    return found;
                }
                news.await;
            }
        };
        match tokio::time::timeout(patience, waiting).await {
            Ok(found) => found,
            Err(_elapsed) => Found::Nothing,
        }
    }

    fn find_after(&self, after: u64) -> Found {
        let mut inner = self.inner.lock();
        inner.turn += 1;
        wake(inner.reader.take());
        inner.queue.reopen();
        let mut cursor = after;
        match inner.queue.next(&mut cursor) {
            Next::Event(Event {
                message: Some(message),
                ..
            }) => Found::Message(cursor, message),
            Next::Event(_) | Next::Wait => Found::Nothing,
            Next::Pause | Next::End => Found::End,
        }
    }

    fn of(queue: Queue) -> Self {
        Self {
            inner: Mutex::new(Inner {
                queue,
                ..Inner::default()
            }),
            news: Notify::new(),
        }
    }

    fn write<T>(&self, change: impl FnOnce(&mut Queue) -> T) -> T {
        let (changed, reader) = {
            let mut inner = self.inner.lock();
            (change(&mut inner.queue), inner.reader.take())
        };
        wake(reader);
        self.news.notify_waiters();
        changed
    }

    /// Begins to read behind an event, in place of whoever reads now.
    fn read_after(&self, cursor: u64) -> Position {
        let mut inner = self.inner.lock();
        inner.turn += 1;
        inner.queue.reopen();
        wake(inner.reader.take());
        Position {
            turn: inner.turn,
            cursor,
        }
    }

    fn poll(&self, position: &mut Position, context: &Context<'_>) -> Next {
        let mut inner = self.inner.lock();
        if inner.turn != position.turn {
            return Next::Pause;
        }
        let next = inner.queue.next(&mut position.cursor);
        if matches!(next, Next::Wait) {
            inner.reader = Some(context.waker().clone());
        }
        next
    }
}

impl Events {
    /// Reads what a call says.
    pub(crate) fn of_call(outbox: Arc<Outbox>, call: Admitted) -> Self {
        let held = call.hold_stream();
        Self::read(outbox, 0, Owner::Call(call), Some(held))
    }

    /// Reads what changes, until `stop`.
    pub(crate) fn of_changes(
        outbox: Arc<Outbox>,
        place: impl Send + Sync + 'static,
        stop: Option<WaitForCancellationFutureOwned>,
        held: Option<Held>,
    ) -> Self {
        let owner = Owner::Changes {
            stop: stop.map(Box::pin),
            _place: Box::new(place),
        };
        Self::read(outbox, 0, owner, held)
    }

    /// Reads on behind the event of number `after`.
    pub(crate) fn again(outbox: Arc<Outbox>, after: u64) -> Self {
        Self::read(outbox, after, Owner::Nobody, None)
    }

    /// Reads what another gateway sends.
    pub(crate) const fn remote(events: mpsc::Receiver<Event>) -> Self {
        Self {
            source: Source::Remote(events),
            _held: None,
            _berth: None,
        }
    }

    /// Keeps a berth for as long as it is read, and ends with it when its time has come,
    /// if it tells of changes.
    #[must_use]
    pub(crate) fn within(mut self, mut berth: Berth, farewell: Option<Rendered>) -> Self {
        if let Source::Local {
            outbox,
            owner: Owner::Changes { .. },
            ..
        } = &self.source
        {
            berth.end_in_time(outbox, farewell);
        }
        self._berth = Some(Box::new(berth));
        self
    }

    fn read(outbox: Arc<Outbox>, after: u64, owner: Owner, held: Option<Held>) -> Self {
        let position = outbox.read_after(after);
        Self {
            source: Source::Local {
                outbox,
                position,
                owner,
            },
            _held: held,
            _berth: None,
        }
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let (outbox, position, owner) = match &mut self.source {
            Source::Remote(events) => return events.poll_recv(context),
            Source::Local {
                outbox,
                position,
                owner,
            } => (outbox, position, owner),
        };
        match outbox.poll(position, context) {
            Next::Event(event) => Poll::Ready(Some(event)),
            Next::Pause => Poll::Ready(None),
            Next::End => {
                owner.answered();
                Poll::Ready(None)
            }
            Next::Wait => owner.poll_stop(context),
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if let Source::Local {
            owner: Owner::Call(call),
            ..
        } = &self.source
        {
            call.hang_up();
        }
    }
}

// === Behind the stream ===

#[derive(Debug)]
enum Source {
    Local {
        outbox: Arc<Outbox>,
        position: Position,
        owner: Owner,
    },
    Remote(mpsc::Receiver<Event>),
}

/// Who has to hear that nobody reads any more.
enum Owner {
    Call(Admitted),
    Changes {
        /// The client's wish that the stream end without a word.
        stop: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
        /// Dropped with the stream.
        _place: Box<dyn Send + Sync>,
    },
    Nobody,
}

impl Owner {
    fn answered(&self) {
        if let Self::Call(call) = self {
            call.answer();
        }
    }

    fn poll_stop(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        match self {
            Self::Changes {
                stop: Some(stop), ..
            } => stop.as_mut().poll(context).map(|()| None),
            Self::Changes { stop: None, .. } | Self::Call(_) | Self::Nobody => Poll::Pending,
        }
    }
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Call(_) => "Call",
            Self::Changes { .. } => "Changes",
            Self::Nobody => "Nobody",
        })
    }
}

#[derive(Debug, Default)]
struct Inner {
    queue: Queue,
    reader: Option<Waker>,
    turn: u64,
}

fn wake(reader: Option<Waker>) {
    if let Some(reader) = reader {
        reader.wake();
    }
}

/// The id of the event of this number on a stream of this name.
pub(crate) fn id_of(name: &StreamName, number: u64) -> String {
    EventId {
        stream: name.clone(),
        number,
    }
    .to_string()
}
