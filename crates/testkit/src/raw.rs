//! A bare socket, for what no decent client would do.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::PATIENCE;

/// A socket that sends what it is told, byte by byte if need be.
#[derive(Debug)]
pub struct Raw {
    stream: TcpStream,
    address: SocketAddr,
}

impl Raw {
    /// Connects, or panics.
    pub async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        Self { stream, address }
    }

    /// Returns what the `Host` header has to say.
    #[must_use]
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Writes bytes; panics when the peer is gone.
    pub async fn write(&mut self, text: impl AsRef<[u8]>) {
        self.stream
            .write_all(text.as_ref())
            .await
            .expect("the peer reads");
    }

    /// Writes bytes and returns whether the peer still took them.
    pub async fn try_write(&mut self, text: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(text.as_ref()).await.is_ok()
    }

    /// Reads until the peer closes, and returns everything as text.
    pub async fn read_to_end(&mut self, within: Duration) -> String {
        let mut all = Vec::new();
        match timeout(within, self.stream.read_to_end(&mut all)).await {
            // A reset after the answer is an end too.
            Ok(_) => String::from_utf8_lossy(&all).into_owned(),
            Err(_) => panic!(
                "open after {within:?}, with {:?}",
                String::from_utf8_lossy(&all)
            ),
        }
    }

    /// Reads until the text has `mark` in it, and returns it.
    ///
    /// Panics when the peer closes before.
    pub async fn read_until(&mut self, mark: &str) -> String {
        let mut all = Vec::new();
        let found = timeout(PATIENCE, async {
            while !String::from_utf8_lossy(&all).contains(mark) {
                if self.stream.read_buf(&mut all).await.unwrap_or(0) == 0 {
                    return false;
                }
            }
            true
        })
        .await;
        let text = String::from_utf8_lossy(&all).into_owned();
        assert_eq!(found.ok(), Some(true), "no {mark:?} in {text:?}");
        text
    }
}
