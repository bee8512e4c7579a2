//! What a call has said and its client has not read yet.
//!
//! Bounded (R21): below [`EVENTS`] entries everything is kept in order. Above,
//! progress is reduced to its newest report and logs are dropped oldest first.
//! The response always fits.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use conduit_protocol::Rendered;
use conduit_telemetry::Held;
use futures_util::stream::Stream;
use parking_lot::Mutex;

use crate::admission::Admitted;

/// The most notifications that wait for a slow reader.
pub(crate) const EVENTS: usize = 64;

/// The messages of one response stream, in order; the response is the last.
///
/// Dropping it before the end says that the client is gone, which cancels a
/// modern call (M-HTTP-20).
#[derive(Debug)]
pub struct Events {
    outbox: Arc<Outbox>,
    call: Admitted,
    _held: Held,
}

/// Where the call writes; shared with the stream that reads.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    queue: Queue,
    reader: Option<Waker>,
}

impl Outbox {
    /// Adds a notification; returns how many were dropped for it.
    pub(crate) fn notify(&self, kind: Kind, message: Rendered) -> usize {
        let (dropped, reader) = {
            let mut inner = self.inner.lock();
            (inner.queue.notify(kind, message), inner.reader.take())
        };
        wake(reader);
        dropped
    }

    /// Adds the response, if there is to be one, and ends the stream behind it.
    pub(crate) fn finish(&self, response: Option<Rendered>) {
        let reader = {
            let mut inner = self.inner.lock();
            inner.queue.finish(response);
            inner.reader.take()
        };
        wake(reader);
    }
}

impl Events {
    pub(crate) fn new(outbox: Arc<Outbox>, call: Admitted) -> Self {
        Self {
            outbox,
            _held: call.hold_stream(),
            call,
        }
    }
}

impl Stream for Events {
    type Item = Rendered;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Rendered>> {
        let mut inner = self.outbox.inner.lock();
        match inner.queue.next() {
            Next::Message(message) => Poll::Ready(Some(message)),
            Next::End => {
                self.call.answer();
                Poll::Ready(None)
            }
            Next::Wait => {
                inner.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.call.hang_up();
    }
}

// === The queue ===

/// What a notification is, as far as a full queue cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `notifications/progress`: the newest says it all.
    Progress,
    /// `notifications/message`.
    Log,
}

#[derive(Debug, PartialEq)]
enum Next {
    Message(Rendered),
    Wait,
    End,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<(Kind, Rendered)>,
    response: Option<Rendered>,
    finished: bool,
}

impl Queue {
    fn notify(&mut self, kind: Kind, message: Rendered) -> usize {
        if self.finished {
            return 1;
        }
        let mut dropped = 0;
        if self.waiting.len() >= EVENTS {
            let before = self.waiting.len();
            if kind == Kind::Progress {
                self.waiting.retain(|(kind, _)| *kind != Kind::Progress);
            }
            if self.waiting.len() >= EVENTS {
                let oldest_log = self.waiting.iter().position(|(kind, _)| *kind == Kind::Log);
                self.waiting.remove(oldest_log.unwrap_or(0));
            }
            dropped = before - self.waiting.len();
        }
        self.waiting.push_back((kind, message));
        dropped
    }

    fn finish(&mut self, response: Option<Rendered>) {
        if !self.finished {
            self.finished = true;
            self.response = response;
        }
    }

    fn next(&mut self) -> Next {
        if let Some((_, message)) = self.waiting.pop_front() {
            return Next::Message(message);
        }
        match self.response.take() {
            Some(response) => Next::Message(response),
            None if self.finished => Next::End,
            None => Next::Wait,
        }
    }
}

fn wake(reader: Option<Waker>) {
    if let Some(reader) = reader {
        reader.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Rendered {
        bytes::Bytes::from(text.to_owned()).into()
    }

    fn drain(queue: &mut Queue) -> Vec<String> {
        let mut read = Vec::new();
        while let Next::Message(message) = queue.next() {
            read.push(String::from_utf8(message.into_bytes().to_vec()).expect("text"));
        }
        read
    }

    #[test]
    fn a_reader_that_keeps_up_gets_everything_in_order() {
        let mut queue = Queue::default();
        queue.notify(Kind::Progress, message("p1"));
        queue.notify(Kind::Log, message("l1"));
        queue.notify(Kind::Progress, message("p2"));

        queue.finish(Some(message("response")));

        assert_eq!(drain(&mut queue), ["p1", "l1", "p2", "response"]);
        assert_eq!(queue.next(), Next::End);
    }

    #[test]
    fn a_full_queue_keeps_only_the_newest_progress() {
        let mut queue = Queue::default();
        for number in 0..1_000 {
            queue.notify(Kind::Progress, message(&format!("p{number}")));
            assert!(queue.waiting.len() <= EVENTS);
        }

        queue.finish(Some(message("response")));

        let read = drain(&mut queue);
        assert_eq!(read.last().map(String::as_str), Some("response"));
        assert_eq!(read[read.len() - 2], "p999");
    }

    #[test]
    fn a_full_queue_drops_the_oldest_log_and_counts_it() {
        let mut queue = Queue::default();
        queue.notify(Kind::Progress, message("p"));
        let dropped: usize = (0..100)
            .map(|number| queue.notify(Kind::Log, message(&format!("l{number}"))))
            .sum();

        let read = drain(&mut queue);

        assert_eq!(dropped, 101 - EVENTS);
        assert_eq!(read[0], "p", "progress is not dropped for a log");
        assert_eq!(read.last().map(String::as_str), Some("l99"));
    }

    #[test]
    fn nothing_follows_the_response() {
        let mut queue = Queue::default();
        queue.finish(Some(message("response")));

        queue.notify(Kind::Log, message("late"));
        queue.finish(Some(message("second")));

        assert_eq!(drain(&mut queue), ["response"]);
    }
}
