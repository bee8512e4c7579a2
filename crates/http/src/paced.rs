//! A connection that gives its peer up when it takes nothing for too long.
//!
//! A client that does not read its answer would else hold it in memory for ever.
//! A write that is taken at once costs nothing: the timer is made when one waits.
//!
//! The kernel has the same limit for what it has taken over and the peer does not
//! acknowledge. So a peer that has vanished without a word is noticed too: with the next
//! comment on its stream, at the latest, and this time after it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// A stream whose writes have a time limit.
pub(crate) struct Paced {
    stream: TokioIo<TcpStream>,
    patience: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    waits: bool,
}

impl Paced {
    /// Gives up when the peer takes no byte for `patience`.
    pub(crate) fn new(stream: TcpStream, patience: Duration) -> Self {
        // What is still in the kernel when we close has the same limit.
        let millis = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
        if let Err(error) = set_tcp_user_timeout(&stream, millis) {
            tracing::debug!(%error, "a connection keeps the system's time limit");
        }
        Self {
            stream: TokioIo::new(stream),
            patience,
            timer: None,
            waits: false,
        }
    }
}

impl Read for Paced {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Paced {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.pace(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.pace(context, written)
    }
}

// === Behind the stream ===

impl Paced {
    fn pace(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.waits = false;
            return written;
        }
        let patience = self.patience;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(patience)));
        if !self.waits {
            self.waits = true;
            timer.as_mut().reset(Instant::now() + patience);
        }
        ready!(timer.as_mut().poll(context));
        let late = "the peer took nothing for too long";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, late)))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use rustix::net::sockopt::tcp_user_timeout;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    async fn pair() -> (Paced, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let peer = TcpStream::connect(address).await.expect("a connection");
        let (stream, _) = listener.accept().await.expect("the other end");
        (Paced::new(stream, PATIENCE), peer)
    }

    #[tokio::test]
    async fn the_kernel_gives_up_a_peer_that_acknowledges_nothing() {
        let (paced, _peer) = pair().await;

        let limit = tcp_user_timeout(paced.stream.inner()).expect("the limit");

        assert_eq!(u128::from(limit), PATIENCE.as_millis());
    }

    /// Writes until it fails.
    async fn fill(paced: &mut Paced) -> io::ErrorKind {
        let bytes = vec![7; 64 * 1024];
        loop {
            let write = poll_fn(|context| Pin::new(&mut *paced).poll_write(context, &bytes));
            if let Err(error) = write.await {
                return error.kind();
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up() {
        let (mut paced, _peer) = pair().await;
        let start = Instant::now();

        assert_eq!(fill(&mut paced).await, io::ErrorKind::TimedOut);
        assert!(start.elapsed() >= PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn each_byte_that_is_taken_renews_the_patience() {
        let (mut paced, mut peer) = pair().await;
        let start = Instant::now();
        let slowly = async {
            let mut buffer = vec![0; 4 * 1024 * 1024];
            for _ in 0..5 {
                sleep(PATIENCE - Duration::from_secs(1)).await;
                peer.read_exact(&mut buffer).await.expect("more");
            }
        };

        let (kind, ()) = tokio::join!(fill(&mut paced), slowly);

        assert_eq!(kind, io::ErrorKind::TimedOut);
        assert!(start.elapsed() > 5 * (PATIENCE - Duration::from_secs(1)));
    }
}
