//! What came back.

use std::collections::VecDeque;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

use crate::{Broken, Conn, Version, schema};

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as it came.
    pub body: Bytes,
    messages: Vec<Value>,
}

/// An answer that is still coming, event by event.
#[derive(Debug)]
pub struct Events {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    check: Check,
    parser: Parser,
    /// The connection, where nobody else holds it.
    _conn: Option<Conn>,
}

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// Its id, if it has one.
    pub id: Option<String>,
    /// After how many milliseconds a client should come back, if it says so.
    pub retry: Option<u64>,
    /// Its message; none in an event that only carries an id.
    pub message: Option<Value>,
}

/// What a message is checked against.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) version: Version,
    pub(crate) method: Option<String>,
    pub(crate) is_rpc: bool,
}

impl Reply {
    /// Returns the one JSON-RPC response, whether it came as JSON or as the last event.
    #[must_use]
    pub fn message(&self) -> &Value {
        self.messages
            .last()
            .unwrap_or_else(|| panic!("no JSON-RPC message in {self}"))
    }

    /// Returns everything that came before the response: progress, log lines.
    #[must_use]
    pub fn notifications(&self) -> &[Value] {
        self.messages.split_last().map_or(&[], |(_, before)| before)
    }

    /// Returns the result; anything else is a panic.
    #[must_use]
    pub fn result(&self) -> &Value {
        self.message()
            .get("result")
            .unwrap_or_else(|| panic!("no result in {self}"))
    }

    /// Returns the code of the error; anything else is a panic.
    #[must_use]
    pub fn code(&self) -> i64 {
        self.message()["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("no error in {self}"))
    }

    /// Returns the text of the first content block of a tool's result.
    #[must_use]
    pub fn text(&self) -> &str {
        self.result()["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("no text in {self}"))
    }

    /// Returns a header's value, or nothing.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns whether the answer is a stream of events.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        is(&self.headers, "text/event-stream")
    }
}

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {:?} {}",
            self.status,
            self.headers,
            String::from_utf8_lossy(&self.body)
        )
    }
}

impl Events {
    /// Returns the next message, or nothing at the end of the stream.
    ///
    /// # Errors
    ///
    /// The connection broke.
    ///
    /// # Cancel safety
    ///
    /// Safe: what has arrived stays for the next call.
    pub async fn next(&mut self) -> Result<Option<Value>, Broken> {
        loop {
            match self.next_event().await? {
                Some(Event {
                    message: Some(message),
                    ..
                }) => return Ok(Some(message)),
                Some(_empty) => {}
                None => return Ok(None),
            }
        }
    }

    /// Returns the next event, or nothing at the end of the stream.
    ///
    /// # Errors
    ///
    /// The connection broke.
    ///
    /// # Cancel safety
    ///
    /// Safe: what has arrived stays for the next call.
    pub async fn next_event(&mut self) -> Result<Option<Event>, Broken> {
        loop {
            if let Some(Parsed { id, retry, data }) = self.parser.events.pop_front() {
                let has_data = !data.is_empty();
                return Ok(Some(Event {
                    id,
                    retry,
                    message: has_data.then(|| self.check.message(&data)),
                }));
            }
            match self.body.frame().await {
                Some(frame) => {
                    if let Ok(data) = frame.map_err(Broken::from)?.into_data() {
                        self.parser.feed(&data);
                    }
                }
                None => return Ok(None),
            }
        }
    }

    /// Returns how many comments have come so far.
    #[must_use]
    pub const fn comments(&self) -> usize {
        self.parser.comments
    }
}

// === Behind the answers ===

impl Reply {
    pub(crate) fn new(head: response::Parts, body: Bytes, check: &Check) -> Self {
        let messages = if !check.is_rpc {
            Vec::new()
        } else if is(&head.headers, "text/event-stream") {
            let mut parser = Parser::default();
            parser.feed(&body);
            parser
                .events
                .iter()
                .filter(|event| !event.data.is_empty())
                .map(|event| check.message(&event.data))
                .collect()
        } else if is(&head.headers, "application/json") {
            vec![check.message(std::str::from_utf8(&body).expect("JSON is UTF-8"))]
        } else {
            Vec::new()
        };
        Self {
            status: head.status,
            headers: head.headers,
            body,
            messages,
        }
    }
}

impl Events {
    pub(crate) fn new(head: response::Parts, body: Incoming, check: Check) -> Self {
        Self {
            status: head.status,
            headers: head.headers,
            body,
            check,
            parser: Parser::default(),
            _conn: None,
        }
    }

    /// Holds the connection for as long as the stream.
    pub(crate) fn holding(self, conn: Conn) -> Self {
        Self {
            _conn: Some(conn),
            ..self
        }
    }
}

impl Check {
    fn message(&self, text: &str) -> Value {
        let message =
            serde_json::from_str(text).unwrap_or_else(|problem| panic!("{problem} in {text}"));
        schema::check(&message, self.version, self.method.as_deref());
        message
    }
}

/// Takes events apart as a browser does, as far as our streams need it.
#[derive(Debug, Default)]
struct Parser {
    pending: Vec<u8>,
    id: Option<String>,
    retry: Option<u64>,
    data: Vec<String>,
    events: VecDeque<Parsed>,
    comments: usize,
}

/// An event whose data nobody has looked at.
#[derive(Debug, PartialEq)]
struct Parsed {
    id: Option<String>,
    retry: Option<u64>,
    data: String,
}

impl Parser {
    fn feed(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            let line = String::from_utf8(line).expect("events are UTF-8");
            self.line(line.trim_end_matches(['\r', '\n']));
        }
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            if !self.data.is_empty() {
                self.events.push_back(Parsed {
                    id: self.id.take(),
                    retry: self.retry.take(),
                    data: self.data.join("\n"),
                });
                self.data.clear();
            }
        } else if let Some(id) = line.strip_prefix("id:") {
            self.id = Some(id.trim_start().to_owned());
        } else if let Some(retry) = line.strip_prefix("retry:") {
            self.retry = retry.trim().parse().ok();
        } else if line.starts_with(':') {
            self.comments += 1;
        } else if let Some(data) = line.strip_prefix("data:") {
            self.data
                .push(data.strip_prefix(' ').unwrap_or(data).to_owned());
        }
    }
}

fn is(headers: &HeaderMap, media_type: &str) -> bool {
    headers
        .get("content-type")
        .is_some_and(|value| value.as_bytes().starts_with(media_type.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::Parser;

    #[test]
    fn events_come_out_whole_however_the_bytes_were_cut() {
        let wire =
            b": hello\n\nevent: message\nid: 7\ndata: {\"a\":1}\n\ndata:{\"b\":\r\ndata: 2}\r\n\r\n";
        let mut parser = Parser::default();

        for byte in wire {
            parser.feed(&[*byte]);
        }

        let data: Vec<_> = parser.events.iter().map(|event| &*event.data).collect();
        assert_eq!(data, ["{\"a\":1}", "{\"b\":\n2}"]);
        assert_eq!(parser.events[0].id.as_deref(), Some("7"));
        assert_eq!(parser.comments, 1);
    }
}
