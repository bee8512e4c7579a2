//! One event stream over a bare socket, read as fast or as slowly as its reader likes.
//!
//! The test kit's streams check every message against its schema and read as much as
//! there is: neither will do for hundreds of streams of which some are slow.

use std::io;
use std::net::SocketAddr;

use conduit_testkit::Call;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// What the kernel may hold for a reader that is not brisk, in bytes.
const SMALL: u32 = 4096;

/// An event stream that is open, or is about to be.
#[derive(Debug)]
pub(super) struct Wire {
    socket: TcpStream,
    decoder: Decoder,
    buffer: Vec<u8>,
}

impl Wire {
    /// Connects and sends a call; `is_small` leaves little room for what is not read.
    pub(super) async fn open(address: SocketAddr, call: &Call, is_small: bool) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if is_small {
            socket.set_recv_buffer_size(SMALL)?;
        }
        let mut socket = socket.connect(address).await?;
        socket.set_nodelay(true)?;
        let request = call.wire(&address.to_string());
        socket.write_all(request.as_bytes()).await?;
        Ok(Self {
            socket,
            decoder: Decoder::default(),
            buffer: vec![0; 16 * 1024],
        })
    }

    /// Reads at most so many bytes, and returns the messages that are whole by then;
    /// nothing at the end, however it came.
    ///
    /// # Errors
    ///
    /// The answer is no event stream.
    ///
    /// # Cancel safety
    ///
    /// Safe: what was read stays for the next call.
    pub(super) async fn read(&mut self, most: usize) -> Result<Option<Vec<String>>, NoStream> {
        let most = most.min(self.buffer.len());
        match self.socket.read(&mut self.buffer[..most]).await {
            Ok(0) | Err(_) => Ok(None),
            Ok(read) => self.decoder.feed(&self.buffer[..read]).map(Some),
        }
    }

    /// Returns the id of the last event that had one.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.decoder.last_id.as_deref()
    }

    /// Tells whether the server has said that this is a stream.
    pub(super) const fn is_open(&self) -> bool {
        !matches!(self.decoder.state, State::Head)
    }

    /// Tells whether the answer is over, and not broken off.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.decoder.state, State::Over)
    }
}

/// The head of an answer that is no event stream.
#[derive(Debug, PartialEq)]
pub(super) struct NoStream(pub(super) String);

// === Behind the wire ===

/// Takes an answer in chunks apart, and the events in it.
#[derive(Debug, Default)]
struct Decoder {
    state: State,
    /// What has come and is not understood yet.
    raw: Vec<u8>,
    /// The beginning of a line of the event stream.
    line: Vec<u8>,
    /// The data of the event that is not over yet, and its id.
    data: String,
    id: Option<String>,
    /// The id of the last event that is over and had one.
    last_id: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Head,
    Size,
    Chunk(usize),
    /// The end of the line after a chunk.
    After,
    Over,
}

impl Decoder {
    fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, NoStream> {
        self.raw.extend_from_slice(bytes);
        let mut messages = Vec::new();
        while let Some(taken) = self.step(&mut messages)? {
            self.raw.drain(..taken);
        }
        Ok(messages)
    }

    /// Understands a bit more, and returns how many bytes that was.
    fn step(&mut self, messages: &mut Vec<String>) -> Result<Option<usize>, NoStream> {
        let (taken, next) = match self.state {
            State::Head => {
                let Some(end) = find(&self.raw, b"\r\n\r\n") else {
                    return Ok(None);
                };
                let head = String::from_utf8_lossy(&self.raw[..end]).to_lowercase();
                let is_stream = head.starts_with("http/1.1 200")
                    && head.contains("text/event-stream")
                    && head.contains("transfer-encoding: chunked");
                if !is_stream {
                    return Err(NoStream(head));
                }
                (end + 4, State::Size)
            }
            State::Size => {
                let Some(end) = find(&self.raw, b"\r\n") else {
                    return Ok(None);
                };
                let size = String::from_utf8_lossy(&self.raw[..end]);
                let size = usize::from_str_radix(size.trim(), 16).expect("the size of a chunk");
                let next = if size == 0 {
                    State::Over
                } else {
                    State::Chunk(size)
                };
                (end + 2, next)
            }
            State::Chunk(size) => {
                let taken = size.min(self.raw.len());
                if taken == 0 {
                    return Ok(None);
                }
                for index in 0..taken {
                    self.byte(self.raw[index], messages);
                }
                let left = size - taken;
                let next = if left == 0 {
                    State::After
                } else {
                    State::Chunk(left)
                };
                (taken, next)
            }
            State::After if self.raw.len() >= 2 => (2, State::Size),
            State::After | State::Over => return Ok(None),
        };
        self.state = next;
        Ok(Some(taken))
    }

    /// Takes a byte of the event stream.
    fn byte(&mut self, byte: u8, messages: &mut Vec<String>) {
        if byte != b'\n' {
            self.line.push(byte);
            return;
        }
        let line = String::from_utf8_lossy(&self.line);
        if line.is_empty() {
            if let Some(id) = self.id.take() {
                self.last_id = Some(id);
            }
            if !self.data.is_empty() {
                messages.push(std::mem::take(&mut self.data));
            }
        } else if let Some(data) = line.strip_prefix("data:") {
            self.data.push_str(data.trim_start());
        } else if let Some(id) = line.strip_prefix("id:") {
            self.id = Some(id.trim_start().to_owned());
        }
        self.line.clear();
    }
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIRE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
        Transfer-Encoding: chunked\r\n\r\n\
        9\r\nevent: me\r\n14\r\nssage\ndata: {\"a\":1}\n\r\n3\r\n\n:\n\r\n\
        10\r\n\nid: 1/2\ndata:{}\r\n2\r\n\n\n\r\n0\r\n\r\n";

    #[test]
    fn messages_come_out_whole_however_the_bytes_were_cut() {
        let mut decoder = Decoder::default();

        let messages: Vec<String> = WIRE
            .iter()
            .flat_map(|byte| decoder.feed(&[*byte]).expect("a stream"))
            .collect();

        assert_eq!(messages, ["{\"a\":1}", "{}"]);
        assert_eq!(decoder.state, State::Over);
        assert_eq!(decoder.last_id.as_deref(), Some("1/2"));
        assert_eq!(Decoder::default().feed(WIRE).as_deref(), Ok(&*messages));
    }

    #[test]
    fn an_answer_that_is_no_stream_is_told_apart() {
        let answer = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}";

        let refused = Decoder::default().feed(answer).expect_err("no stream");

        assert!(refused.0.starts_with("http/1.1 503"), "{refused:?}");
    }
}
