//! One raw connection that is kept alive: bytes out, an answer of known length in.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::response::{self, Head, Malformed};

/// The longest that connecting, or an answer that is not measured, may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// What a buffer starts with; the longest answer makes it grow.
const BUFFER: usize = 16 * 1024;

/// A connection to a target.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    /// The last answer.
    buffer: BytesMut,
}

/// Why a request was not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// The connection could not be made or broke.
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    /// The answer is none that is counted.
    #[error("{0}")]
    Malformed(#[from] Malformed),
    /// The connection ended instead.
    #[error("the connection was closed")]
    Closed,
    /// There was more than one answer.
    #[error("more came than the answer")]
    Surplus,
    /// It did not come in time.
    #[error("no answer in time")]
    Late,
}

impl Connection {
    /// Connects.
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, Trouble> {
        let connecting = timeout(PATIENCE, TcpStream::connect(address));
        let stream = connecting.await.map_err(|_elapsed| Trouble::Late)??;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: BytesMut::with_capacity(BUFFER),
        })
    }

    /// Sends a request and reads the whole answer to it, however long it takes.
    ///
    /// Not cancel safe: what is dropped half way leaves a connection to be closed.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<Head, Trouble> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let head = loop {
            self.read().await?;
            if let Some(head) = response::head(&self.buffer)? {
                break head;
            }
        };
        let whole = head.length + head.body;
        self.buffer.reserve(whole.saturating_sub(self.buffer.len()));
        while self.buffer.len() < whole {
            self.read().await?;
        }
        if self.buffer.len() > whole {
            return Err(Trouble::Surplus);
        }
        Ok(head)
    }

    /// The same within [`PATIENCE`].
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<Head, Trouble> {
        let exchange = timeout(PATIENCE, self.exchange(request));
        exchange.await.map_err(|_elapsed| Trouble::Late)?
    }

    /// Returns a field of the last answer's head.
    pub(crate) fn field(&self, head: Head, name: &str) -> Option<&str> {
        response::field(self.buffer.get(..head.length)?, name)
    }

    /// Returns the body of the last answer.
    pub(crate) fn body(&self, head: Head) -> &[u8] {
        self.buffer.get(head.length..).unwrap_or_default()
    }

    async fn read(&mut self) -> Result<(), Trouble> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(Trouble::Closed),
            _ => Ok(()),
        }
    }
}
