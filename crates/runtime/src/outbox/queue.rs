//! The queue behind an outbox: what is next, and what has to leave for it.

use std::collections::VecDeque;
use std::time::Duration;

use conduit_protocol::{Rendered, RequestId};

use super::{EVENTS, Pending, id_of};
use crate::event::{Event, StreamName};

/// What a notification is, as far as a full queue cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `notifications/progress`: the newest says it all.
    Progress,
    /// `notifications/message`.
    Log,
    /// A request of ours, for whose answer a call waits; calls bound how many there are.
    Request,
}

#[derive(Debug, PartialEq)]
pub(super) enum Next {
    Event(Event),
    Wait,
    /// Nothing more for this reader, but for the next one.
    Pause,
    End,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<(Kind, Rendered)>,
    pub(super) pending: Pending,
    response: Option<Rendered>,
    finished: bool,
    closing: Closing,
    numbers: Option<Box<Numbers>>,
}

/// Whether the present reader is to leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Closing {
    #[default]
    No,
    /// Once it has read all, with this advice.
    Soon(Duration),
    /// It was told.
    Told,
}

#[derive(Debug)]
struct Numbers {
    name: StreamName,
    last: u64,
    /// What was read, for whoever comes back; nothing on a stream of changes, which
    /// are told anew then.
    sent: VecDeque<(u64, Rendered)>,
    keeps: bool,
    primed: bool,
}

impl Queue {
    pub(super) fn numbered(name: StreamName) -> Self {
        Self {
            numbers: Some(Box::new(Numbers::new(name, true))),
            ..Self::default()
        }
    }

    pub(super) fn of_changes(
        name: Option<StreamName>,
        subscription: Option<RequestId>,
        first: Option<Rendered>,
    ) -> Self {
        Self {
            waiting: first.map(|first| (Kind::Log, first)).into_iter().collect(),
            pending: Pending::of(subscription),
            numbers: name.map(|name| Box::new(Numbers::new(name, false))),
            ..Self::default()
        }
    }

    pub(super) fn notify(&mut self, kind: Kind, message: Rendered) -> usize {
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
                let oldest = |least| {
                    let kinds = &mut self.waiting.iter().map(|(kind, _)| *kind);
                    kinds.position(|kind| kind == least)
                };
                let leaves = oldest(Kind::Log).or_else(|| oldest(Kind::Progress));
                leaves.and_then(|leaves| self.waiting.remove(leaves));
            }
            dropped = before - self.waiting.len();
        }
        self.waiting.push_back((kind, message));
        dropped
    }

    pub(super) fn finish(&mut self, response: Option<Rendered>) {
        if !self.finished {
            self.finished = true;
            self.response = response;
        }
    }

    /// Whether a client may come back for the rest.
    pub(super) const fn is_numbered(&self) -> bool {
        self.numbers.is_some()
    }

    pub(super) fn close(&mut self, retry: Duration) {
        if self.numbers.is_some() && !self.finished {
            self.closing = Closing::Soon(retry);
        }
    }

    /// Another reader begins.
    pub(super) const fn reopen(&mut self) {
        self.closing = Closing::No;
    }

    pub(super) const fn is_finished(&self) -> bool {
        self.finished
    }

    pub(super) fn size(&self) -> usize {
        let sent = self.numbers.iter().flat_map(|numbers| &numbers.sent);
        let waiting = self.waiting.iter().map(|(_, message)| message);
        let kept = sent.map(|(_, message)| message).chain(waiting);
        kept.chain(&self.response).map(Rendered::size).sum()
    }

    /// Returns what follows the event that `cursor` names, and moves it on.
    pub(super) fn next(&mut self, cursor: &mut u64) -> Next {
        if let Some(event) = self.prime() {
            return Next::Event(event);
        }
        if let Some(event) = self.sent_after(cursor) {
            return Next::Event(event);
        }
        let message = self.take_waiting();
        let message = message.or_else(|| self.pending.next());
        if let Some(message) = message.or_else(|| self.response.take()) {
            return Next::Event(self.number(cursor, message));
        }
        match self.closing {
            _ if self.finished => Next::End,
            Closing::No => Next::Wait,
            Closing::Told => Next::Pause,
            Closing::Soon(retry) => {
                self.closing = Closing::Told;
                Next::Event(Event {
                    id: self.numbers.as_ref().map(|numbers| numbers.id(*cursor)),
                    retry: Some(retry),
                    message: None,
                })
            }
        }
    }

    fn take_waiting(&mut self) -> Option<Rendered> {
        let (_, message) = self.waiting.pop_front()?;
        if self.waiting.is_empty() {
            // A stream of changes never needs it again.
            self.waiting = VecDeque::new();
        }
        Some(message)
    }

    /// Tells the client at once what to name when it comes back (L-HTTP-17).
    fn prime(&mut self) -> Option<Event> {
        let numbers = self.numbers.as_mut().filter(|numbers| !numbers.primed)?;
        numbers.primed = true;
        let retry = match self.closing {
            Closing::Soon(retry) if self.waiting.is_empty() && !self.finished => {
                self.closing = Closing::Told;
                Some(retry)
            }
            Closing::Soon(_) | Closing::No | Closing::Told => None,
        };
        Some(Event {
            id: Some(numbers.id(0)),
            retry,
            message: None,
        })
    }

    fn sent_after(&self, cursor: &mut u64) -> Option<Event> {
        let numbers = self.numbers.as_ref()?;
        let (number, message) = numbers.sent.iter().find(|(number, _)| number > cursor)?;
        *cursor = *number;
        Some(Event {
            id: Some(numbers.id(*number)),
            retry: None,
            message: Some(message.clone()),
        })
    }

    fn number(&mut self, cursor: &mut u64, message: Rendered) -> Event {
        let id = self.numbers.as_mut().map(|numbers| {
            numbers.last += 1;
            *cursor = numbers.last;
            numbers.keep(&message);
            numbers.id(numbers.last)
        });
        Event {
            id,
            retry: None,
            message: Some(message),
        }
    }
}

impl Numbers {
    const fn new(name: StreamName, keeps: bool) -> Self {
        Self {
            name,
            last: 0,
            sent: VecDeque::new(),
            keeps,
            primed: false,
        }
    }

    fn id(&self, number: u64) -> String {
        id_of(&self.name, number)
    }

    fn keep(&mut self, message: &Rendered) {
        if !self.keeps {
            return;
        }
        if self.sent.len() > EVENTS {
            self.sent.pop_front();
        }
        self.sent.push_back((self.last, message.clone()));
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn message(text: &str) -> Rendered {
        bytes::Bytes::from(text.to_owned()).into()
    }

    fn text(message: Rendered) -> String {
        String::from_utf8(message.into_bytes().to_vec()).expect("text")
    }

    fn name() -> StreamName {
        StreamName::Call {
            gateway: 3,
            stream: Uuid::from_u128(1),
        }
    }

    /// Reads everything behind an event.
    fn drain_after(queue: &mut Queue, mut cursor: u64) -> Vec<String> {
        let mut read = Vec::new();
        while let Next::Event(event) = queue.next(&mut cursor) {
            read.extend(event.message.map(text));
        }
        read
    }

    fn drain(queue: &mut Queue) -> Vec<String> {
        drain_after(queue, 0)
    }

    #[test]
    fn a_reader_that_keeps_up_gets_everything_in_order() {
        let mut queue = Queue::default();
        queue.notify(Kind::Progress, message("p1"));
        queue.notify(Kind::Log, message("l1"));
        queue.notify(Kind::Progress, message("p2"));

        queue.finish(Some(message("response")));

        assert_eq!(drain(&mut queue), ["p1", "l1", "p2", "response"]);
        assert_eq!(queue.next(&mut 0), Next::End);
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
    fn a_request_of_ours_is_never_dropped() {
        let mut queue = Queue::default();
        queue.notify(Kind::Request, message("request"));

        for _ in 0..2 * EVENTS {
            queue.notify(Kind::Log, message("l"));
        }
        queue.notify(Kind::Progress, message("p"));

        let read = drain(&mut queue);
        assert_eq!(read[0], "request");
        assert_eq!(read.len(), EVENTS);
    }

    #[test]
    fn nothing_follows_the_response() {
        let mut queue = Queue::default();
        queue.finish(Some(message("response")));

        queue.notify(Kind::Log, message("late"));
        queue.finish(Some(message("second")));

        assert_eq!(drain(&mut queue), ["response"]);
    }

    #[test]
    fn a_stream_to_come_back_to_begins_with_an_id_and_nothing_else() {
        let mut queue = Queue::numbered(name());
        queue.notify(Kind::Log, message("l"));
        let (mut cursor, mut events) = (0, Vec::new());
        queue.finish(None);

        while let Next::Event(event) = queue.next(&mut cursor) {
            events.push((event.id.expect("an id"), event.message.map(text)));
        }

        let id = |number| id_of(&name(), number);
        assert_eq!(
            events,
            [(id(0), None), (id(1), Some("l".to_owned()))],
            "the numbers follow each other"
        );
    }

    #[test]
    fn whoever_comes_back_gets_what_follows_the_event_that_it_has() {
        let mut queue = Queue::numbered(name());
        for text in ["one", "two", "three"] {
            queue.notify(Kind::Log, message(text));
        }
        assert_eq!(drain(&mut queue), ["one", "two", "three"]);

        queue.finish(Some(message("response")));

        assert_eq!(drain_after(&mut queue, 2), ["three", "response"]);
        assert_eq!(
            drain_after(&mut queue, 3),
            ["response"],
            "and may come again"
        );
    }

    #[test]
    fn a_reader_is_let_go_once_it_has_read_all_and_told_when_to_come_back() {
        let mut queue = Queue::numbered(name());
        queue.notify(Kind::Log, message("l"));
        let retry = Duration::from_millis(50);
        queue.close(retry);
        let mut cursor = 0;

        let events: Vec<_> = std::iter::from_fn(|| match queue.next(&mut cursor) {
            Next::Event(event) => Some((event.retry, event.message.map(text))),
            Next::Wait | Next::Pause | Next::End => None,
        })
        .collect();

        assert_eq!(
            events,
            [
                (None, None),
                (None, Some("l".to_owned())),
                (Some(retry), None)
            ]
        );
        assert_eq!(queue.next(&mut cursor), Next::Pause);
        queue.reopen();
        assert_eq!(queue.next(&mut cursor), Next::Wait);
    }

    #[test]
    fn a_stream_that_nobody_can_come_back_to_is_not_closed_early() {
        let mut queue = Queue::default();

        queue.close(Duration::ZERO);

        assert_eq!(queue.next(&mut 0), Next::Wait);
    }

    #[test]
    fn what_is_kept_for_whoever_comes_back_is_bounded() {
        let mut queue = Queue::numbered(name());
        for number in 0..10 * EVENTS {
            queue.notify(Kind::Log, message(&number.to_string()));
            drain(&mut queue);
        }

        assert!(queue.size() <= (EVENTS + 1) * 4, "{}", queue.size());
    }
}
