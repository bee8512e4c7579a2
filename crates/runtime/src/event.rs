//! The events of a stream, and the ids with which clients come back for the rest.
//!
//! An id names its stream (L-HTTP-17): `0-018f…-7` is the seventh event of a call at
//! gateway 0, `live-018f…-7` one of a session's own stream.

use std::fmt;
use std::time::Duration;

use conduit_protocol::Rendered;
use uuid::Uuid;

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What the client names when it comes back for what follows; only where it can
    /// (R43).
    pub id: Option<String>,
    /// How long the client should wait before it comes back.
    pub retry: Option<Duration>,
    /// The message; an event without one carries only an id.
    pub message: Option<Rendered>,
}

/// An event, as a client names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventId {
    pub(crate) stream: StreamName,
    /// The number of the event on its stream; zero before the first message.
    pub(crate) number: u64,
}

/// A stream that a client may come back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamName {
    /// The response stream of a call.
    Call {
        /// The gateway that holds the call.
        gateway: u16,
        /// Which of its streams.
        stream: Uuid,
    },
    /// A session's own stream.
    Live(Uuid),
}

impl Event {
    /// Makes an event that is nothing but a message.
    #[must_use]
    pub const fn message(message: Rendered) -> Self {
        Self {
            id: None,
            retry: None,
            message: Some(message),
        }
    }
}

impl EventId {
    /// Reads an id that we wrote; `None` for anything else.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (kind, rest) = text.split_once('-')?;
        let (stream, number) = rest.rsplit_once('-')?;
        let stream = Uuid::try_parse(stream).ok()?;
        let stream = match kind {
            "live" => StreamName::Live(stream),
            gateway => StreamName::Call {
                gateway: gateway.parse().ok()?,
                stream,
            },
        };
        let id = Self {
            stream,
            number: number.parse().ok()?,
        };
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match &self.stream {
            StreamName::Call { gateway, stream } => {
                write!(f, "{gateway}-{}-{number}", stream.simple())
            }
            StreamName::Live(stream) => write!(f, "live-{}-{number}", stream.simple()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_it_was_written() {
        for stream in [
            StreamName::Call {
                gateway: 12,
                stream: Uuid::from_u128(7),
            },
            StreamName::Live(Uuid::from_u128(7)),
        ] {
            let id = EventId { stream, number: 42 };

            assert_eq!(EventId::parse(id.to_string().as_bytes()), Some(id));
        }
    }

    #[test]
    fn what_we_did_not_write_is_no_id() {
        let uuid = Uuid::from_u128(7);
        for text in [
            "",
            "-",
            "live",
            "live--1",
            "1-2-3",
            &format!("live-{uuid}-1"),
            &format!("x-{}-1", uuid.simple()),
            &format!("01-{}-1", uuid.simple()),
            &format!("1-{}-+1", uuid.simple()),
            &format!("70000-{}-1", uuid.simple()),
            &format!("live-{}-", uuid.simple()),
        ] {
            assert_eq!(EventId::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(EventId::parse(b"live-\xff-1"), None);
    }
}
