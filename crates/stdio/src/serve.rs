//! Reads lines, hands them to the gateway, and sees to the end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use conduit_protocol::{Rendered, WireError, error};
use conduit_runtime::{Accepts, Events, Gateway, Head, Pipe, Reply};
use futures_util::{FutureExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tracing::{debug, info, warn};

use crate::line::{Found, Lines};
use crate::writer::{self, ANSWERS};

/// How the pipe is served.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The longest line, in bytes.
    pub max_line: usize,
    /// How long requests that were read may take once the input has ended, and then how
    /// long the client may take to read their answers.
    pub grace: Duration,
}

/// Serves one client until its input ends, its output breaks, or `stop` is cancelled.
///
/// Returns how many requests were stopped because the grace was over.
///
/// # Errors
///
/// Fails when the input cannot be read. An output that is closed is the client's way
/// to leave, and no failure.
///
/// # Cancel safety
///
/// Dropping the future drops answers that were not written.
pub async fn serve(
    gateway: Gateway,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    options: Options,
    stop: CancellationToken,
) -> io::Result<usize> {
    let (answers, waiting) = mpsc::channel(ANSWERS);
    let served = async {
        let requests = TaskTracker::new();
        let (pipe, changes) = Pipe::new();
        let desk = Desk {
            gateway: gateway.clone(),
            pipe,
            answers,
        };
        let telling = desk.clone();
        let _telling = AbortOnDropHandle::new(TaskTracker::new().spawn(telling.tell(changes)));
        let ended = tokio::select! {
            biased;
            () = stop.cancelled() => Ok(()),
            ended = desk.read(input, options.max_line, &requests) => ended,
        };
        // Streams have no end of their own; calls have, but for what they ask.
        gateway.end_streams();
        gateway.end_questions();
        requests.close();
        if timeout(options.grace, requests.wait()).await.is_err() {
            info!(left = requests.len(), "grace is over, stopping requests");
        }
        let drained = gateway.drain(Duration::ZERO).await;
        if timeout(LAST, requests.wait()).await.is_err() {
            debug!(left = requests.len(), "requests without an answer");
        }
        ended.map(|()| drained.stopped)
    };
    let mut served = std::pin::pin!(served);
    let mut written = std::pin::pin!(writer::write(output, waiting));
    let stopped = tokio::select! {
        biased;
        stopped = served.as_mut() => stopped,
        closed = written.as_mut() => {
            debug!(?closed, "nobody reads the output any more");
            return Ok(gateway.drain(Duration::ZERO).await.stopped);
        }
    };
    if timeout(options.grace, written).await.is_err() {
        warn!("nobody reads the last answers, they are lost");
    }
    stopped
}

// === Behind the pipe ===

/// How long stopped requests may take to say so.
const LAST: Duration = Duration::from_secs(1);
/// How much is read at a time.
const CHUNK: usize = 16 * 1024;

/// What every line needs to become an answer.
#[derive(Clone)]
struct Desk {
    gateway: Gateway,
    pipe: Arc<Pipe>,
    answers: mpsc::Sender<Rendered>,
}

impl Desk {
    async fn read(
        self,
        mut input: impl AsyncRead + Unpin,
        max_line: usize,
        requests: &TaskTracker,
    ) -> io::Result<()> {
        let mut lines = Lines::new(max_line);
        loop {
            while let Some(found) = lines.next() {
                self.take(found, requests).await;
            }
            lines.buffer().reserve(CHUNK);
            if input.read_buf(lines.buffer()).await? == 0 {
                break;
            }
        }
        if let Some(found) = lines.rest() {
            self.take(found, requests).await;
        }
        debug!("the input has ended");
        Ok(())
    }

    async fn take(&self, found: Found, requests: &TaskTracker) {
        match found {
            Found::Line(line) => {
                // Handed in here and now: what is read first reaches the dispatcher first,
                // and the end of the input reaches it last.
                let mut submitted = Box::pin(self.clone().submit(line));
                if submitted.as_mut().now_or_never().is_none() {
                    requests.spawn(submitted);
                }
            }
            Found::TooLong => {
                let refused = WireError::invalid_request("the line is too long");
                self.say(error(None, &refused)).await;
            }
        }
    }

    async fn submit(self, line: Bytes) {
        let head = Head {
            accepts: Accepts {
                json: true,
                events: true,
            },
            pipe: Some(Arc::clone(&self.pipe)),
            ..Head::default()
        };
        match self.gateway.submit(head, line).await {
            Reply::Message(reply) => self.say(reply.message).await,
            Reply::Accepted => {}
            Reply::Stream(events) => self.tell(events).await,
        }
    }

    async fn tell(self, mut events: Events) {
        while let Some(event) = events.next().await {
            if let Some(message) = event.message {
                self.say(message).await;
            }
        }
    }

    async fn say(&self, message: Rendered) {
        if self.answers.send(message).await.is_err() {
            debug!("an answer came too late");
        }
    }
}
