//! Many event streams that are held at once, on the thread of the bench: they write one
//! request each, read what comes, and count the updates in it.

use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, ready};
use std::time::Duration;

use anyhow::bail;
use tokio::io::{AsyncRead as _, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::request::Request;

/// How often it is looked whether all have what they wait for.
const LOOK: Duration = Duration::from_millis(2);
/// Before a stream that was refused is asked for again.
const AGAIN: Duration = Duration::from_millis(20);
/// How many connections come from one address before the next one is used, of so many:
/// each has ports for 28,000, some of which are waiting to be free again.
const PORTS: u64 = 10_000;
const ADDRESSES: u64 = 200;
/// What is read at once.
const BUFFER: usize = 4096;
/// What an answer begins with that is a stream.
const GOOD: &[u8] = b"HTTP/1.1 200";
/// What is in each update, and in nothing else.
const UPDATE: &[u8] = b"/updated";
/// Nothing has happened yet.
const NEVER: u64 = u64::MAX;

/// The connections so far: they decide from which address the next one comes.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// What tells that a stream is open, so that everything from then on reaches it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Opening {
    /// The head of the answer.
    Head,
    /// The message that it is acknowledged.
    Acknowledged,
}

/// Streams that are open, or are being opened; dropping this cuts them all.
#[derive(Debug)]
pub(crate) struct Audience {
    board: Arc<Board>,
    streams: JoinSet<()>,
}

/// What all streams have in common.
#[derive(Debug)]
struct Board {
    address: SocketAddr,
    start: Instant,
    opening: Opening,
    /// Who may be opening one now.
    turns: Semaphore,
    ears: Vec<Ear>,
    open: AtomicUsize,
    updates: AtomicUsize,
    /// When the last stream opened, and when the last update came, in microseconds.
    opened_at: AtomicU64,
    updated_at: AtomicU64,
    /// How often a stream was refused or broke off, and why the first one did.
    broken: AtomicUsize,
    first_trouble: OnceLock<String>,
}

/// What came to one stream.
#[derive(Debug)]
struct Ear {
    updates: AtomicU32,
    /// When the first came, in microseconds.
    first: AtomicU64,
}

impl Audience {
    /// Begins to open a stream for each request, so many at once.
    pub(crate) fn open(
        address: SocketAddr,
        opening: Opening,
        requests: Vec<Request>,
        at_once: usize,
    ) -> Self {
        let ear = || Ear {
            updates: AtomicU32::new(0),
            first: AtomicU64::new(NEVER),
        };
        let board = Arc::new(Board {
            address,
            start: Instant::now(),
            opening,
            turns: Semaphore::new(at_once.max(1)),
            ears: requests.iter().map(|_| ear()).collect(),
            open: AtomicUsize::new(0),
            updates: AtomicUsize::new(0),
            opened_at: AtomicU64::new(0),
            updated_at: AtomicU64::new(0),
            broken: AtomicUsize::new(0),
            first_trouble: OnceLock::new(),
        });
        let mut streams = JoinSet::new();
        for (number, request) in requests.into_iter().enumerate() {
            let board = Arc::clone(&board);
            streams.spawn(async move { board.keep_open(number, &request).await });
        }
        Self { board, streams }
    }

    /// Waits until all are open; returns how long that took.
    pub(crate) async fn all_open(&self, patience: Duration) -> anyhow::Result<Duration> {
        let (open, all) = (|| self.board.open.load(Ordering::Relaxed), self.len());
        if !wait(patience, || open() >= all).await {
            bail!("{} of {all} streams are open after {patience:?}", open());
        }
        Ok(Duration::from_micros(
            self.board.opened_at.load(Ordering::Relaxed),
        ))
    }

    /// Waits until each has had so many updates; returns the moment of the last one.
    pub(crate) async fn all_updated(
        &self,
        times: usize,
        patience: Duration,
    ) -> anyhow::Result<Instant> {
        let all = self.len() * times;
        if !wait(patience, || self.updates() >= all).await || self.late(times) > 0 {
            bail!(
                "{} of {} streams have not had {times} updates after {patience:?}",
                self.late(times),
                self.len()
            );
        }
        Ok(self.board.at(&self.board.updated_at))
    }

    /// Waits until a stream has had an update; returns when the first one came.
    pub(crate) async fn updated(&self, number: usize, patience: Duration) -> Option<Instant> {
        let ear = self.board.ears.get(number)?;
        let came = || ear.first.load(Ordering::Relaxed) != NEVER;
        wait(patience, came)
            .await
            .then(|| self.board.at(&ear.first))
    }

    /// Returns how many updates came to all of them together.
    pub(crate) fn updates(&self) -> usize {
        self.board.updates.load(Ordering::Relaxed)
    }

    /// Returns how many updates came to one of them.
    pub(crate) fn updates_of(&self, number: usize) -> u32 {
        let ear = self.board.ears.get(number);
        ear.map_or(0, |ear| ear.updates.load(Ordering::Relaxed))
    }

    /// Returns how often a stream was refused or broke off, and was asked for again.
    pub(crate) fn broken(&self) -> usize {
        self.board.broken.load(Ordering::Relaxed)
    }

    /// Returns what was wrong with the first of those.
    pub(crate) fn first_trouble(&self) -> Option<String> {
        self.board.first_trouble.get().cloned()
    }

    /// Returns how many streams there are to be.
    pub(crate) fn len(&self) -> usize {
        self.board.ears.len()
    }

    /// Cuts all streams at once.
    pub(crate) async fn cut(mut self) {
        self.streams.shutdown().await;
    }

    fn late(&self, times: usize) -> usize {
        let ears = self.board.ears.iter();
        ears.filter(|ear| (ear.updates.load(Ordering::Relaxed) as usize) < times)
            .count()
    }
}

// === Behind the audience ===

/// One connection, and how much of what is looked for has been seen.
struct Stream {
    socket: TcpStream,
    is_new: bool,
    acknowledged: Mark,
    update: Mark,
}

/// A text that is looked for in pieces; its first byte comes but once in it.
struct Mark {
    text: &'static [u8],
    matched: usize,
}

/// What was in a piece.
struct Heard {
    is_open: bool,
    updates: u32,
}

impl Board {
    /// Keeps one stream open until it is cut.
    async fn keep_open(&self, number: usize, request: &Request) {
        let Some(ear) = self.ears.get(number) else {
            return;
        };
        loop {
            let trouble = match self.hear(ear, request).await {
                Ok(()) => "the stream ended".to_owned(),
                Err(error) => error.to_string(),
            };
            self.broken.fetch_add(1, Ordering::Relaxed);
            self.first_trouble.get_or_init(|| trouble);
            sleep(AGAIN).await;
        }
    }

    /// Opens a stream and reads it to its end.
    async fn hear(&self, ear: &Ear, request: &Request) -> io::Result<()> {
        let mut turn = self.turns.acquire().await.ok();
        let mut stream = Stream::open(self.address, self.opening, request).await?;
        let mut is_open = false;
        let end = loop {
            let heard = match stream.read().await {
                Ok(Some(heard)) => heard,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            if heard.is_open && !is_open {
                is_open = true;
                turn = None;
                self.opened_at.fetch_max(self.now(), Ordering::Relaxed);
                self.open.fetch_add(1, Ordering::Relaxed);
            }
            if heard.updates > 0 {
                let now = self.now();
                self.updated_at.fetch_max(now, Ordering::Relaxed);
                ear.first.fetch_min(now, Ordering::Relaxed);
                ear.updates.fetch_add(heard.updates, Ordering::Relaxed);
                self.updates
                    .fetch_add(heard.updates as usize, Ordering::Relaxed);
            }
        };
        drop(turn);
        if is_open {
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
        end
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(NEVER - 1)
    }

    fn at(&self, moment: &AtomicU64) -> Instant {
        self.start + Duration::from_micros(moment.load(Ordering::Relaxed))
    }
}

impl Stream {
    async fn open(address: SocketAddr, opening: Opening, request: &Request) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        let address_of_ours = CONNECTIONS.fetch_add(1, Ordering::Relaxed) / PORTS % ADDRESSES;
        let last = u8::try_from(address_of_ours + 2).unwrap_or(2);
        socket.bind((Ipv4Addr::new(127, 0, 0, last), 0).into())?;
        let mut socket = socket.connect(address).await?;
        socket.write_all(request.bytes()).await?;
        let acknowledged = match opening {
            Opening::Head => GOOD,
            Opening::Acknowledged => b"/acknowledged",
        };
        Ok(Self {
            socket,
            is_new: true,
            acknowledged: Mark::of(acknowledged),
            update: Mark::of(UPDATE),
        })
    }

    /// Reads what there is; nothing at the end. The buffer is on the stack: who waits
    /// has none.
    async fn read(&mut self) -> io::Result<Option<Heard>> {
        poll_fn(|context| {
            let mut buffer = [0; BUFFER];
            let mut buffer = ReadBuf::new(&mut buffer);
            ready!(Pin::new(&mut self.socket).poll_read(context, &mut buffer))?;
            let bytes = buffer.filled();
            if bytes.is_empty() {
                return Poll::Ready(Ok(None));
            }
            if std::mem::take(&mut self.is_new) && !bytes.starts_with(GOOD) {
                let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or(bytes);
                let line = String::from_utf8_lossy(line).into_owned();
                return Poll::Ready(Err(io::Error::other(line)));
            }
            Poll::Ready(Ok(Some(Heard {
                is_open: self.acknowledged.count(bytes) > 0,
                updates: self.update.count(bytes),
            })))
        })
        .await
    }
}

impl Mark {
    const fn of(text: &'static [u8]) -> Self {
        Self { text, matched: 0 }
    }

    /// Returns how often the text ends in this piece.
    fn count(&mut self, piece: &[u8]) -> u32 {
        let mut found = 0;
        for byte in piece {
            if self.text.get(self.matched) == Some(byte) {
                self.matched += 1;
            } else {
                self.matched = usize::from(self.text.first() == Some(byte));
            }
            if self.matched == self.text.len() {
                self.matched = 0;
                found += 1;
            }
        }
        found
    }
}

async fn wait(patience: Duration, done: impl Fn() -> bool) -> bool {
    let until = Instant::now() + patience;
    while !done() {
        if Instant::now() >= until {
            return false;
        }
        sleep(LOOK).await;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_counts_once_however_it_was_cut() {
        let text = b"data: {\"method\":\"notifications/resources//updated\"}\n\n/updat/updated";

        let mut whole = Mark::of(UPDATE);
        let mut pieces = Mark::of(UPDATE);

        assert_eq!(whole.count(text), 2);
        assert_eq!(
            text.iter().map(|byte| pieces.count(&[*byte])).sum::<u32>(),
            2
        );
    }
}
