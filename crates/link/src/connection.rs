//! One connection of a line, from hello to its end.
//!
//! Reader and writer are two loops of one task. The reader never waits for
//! anything but the socket: data frames are limited by credit, so whatever comes
//! has room.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};
use tracing::{debug, warn};

use crate::Lane;
use crate::credit::{Account, Credit};
use crate::delivery::{Answerer, Asked, Delivery, DownReason, Incoming, Receiver, deliver};
use crate::frame::{self, Frame, Reader, Writer};
use crate::hello::Meeting;
use crate::line::Line;
use crate::outbox::Queue;
use crate::process::Process;
use crate::silence::Silence;

/// Serves the line on a connection until one side ends it.
pub(crate) async fn run(
    process: &Process,
    line: &Arc<Line>,
    meeting: Meeting,
    receiver: &Receiver,
) -> DownReason {
    let Meeting {
        peer,
        reader,
        writer,
    } = meeting;
    let account = Account::new(process.options.window, Arc::clone(&line.work));
    let number = line.up();
    debug!(peer = %line.peer, pid = peer.pid, life = %peer.life, "link is up");
    deliver(receiver, line, Delivery::Up(peer));
    let inbound = Inbound {
        process,
        line,
        number,
        account: &account,
        receiver,
    };
    let reason = tokio::select! {
        () = process.stop.cancelled() => DownReason::Closed,
        () = line.closing.cancelled() => DownReason::Closed,
        () = line.replaced.cancelled() => DownReason::Replaced,
        reason = inbound.read(reader) => reason,
        never = write(process, line, &account, writer) => match never {},
    };
    line.down();
    debug!(peer = %line.peer, %reason, "link is down");
    deliver(receiver, line, Delivery::Down(reason));
    reason
}

// === Reader ===

struct Inbound<'a> {
    process: &'a Process,
    line: &'a Arc<Line>,
    number: u64,
    account: &'a Arc<Account>,
    receiver: &'a Receiver,
}

impl Inbound<'_> {
    async fn read(&self, mut reader: Reader) -> DownReason {
        let options = &self.process.options;
        let mut silence = Silence::new(options.heartbeat, options.dead_after, Instant::now());
        let mut beats = beats(options.heartbeat);
        loop {
            tokio::select! {
                frame = reader.next() => match frame {
                    Some(Ok(bytes)) => {
                        if let Err(reason) = self.take(&bytes) {
                            return reason;
                        }
                        frame::shrink_reader(&mut reader, bytes.len());
                    }
                    Some(Err(error)) => return self.lost(&error),
                    None => return DownReason::Ended,
                },
                _ = beats.tick() => {
                    self.line.beat();
                    let unread = || has_unread(&reader);
                    if silence.look(Instant::now(), self.line.heard(), unread) {
                        return DownReason::Silent;
                    }
                }
            }
        }
    }

    fn take(&self, bytes: &BytesMut) -> Result<(), DownReason> {
        self.line.hear();
        self.line.counters.received();
        let frame = Frame::decode(bytes).map_err(|error| {
            warn!(peer = %self.line.peer, %error, "peer sent what cannot be decoded");
            DownReason::Garbled
        })?;
        match frame {
            Frame::Hello(_) => {
                warn!(peer = %self.line.peer, "peer said hello twice");
                return Err(DownReason::Garbled);
            }
            Frame::Heartbeat { lag_ms } => self.line.hear_lag(lag_ms),
            Frame::Credit { frames } => self.line.grant(frames),
            Frame::Event { lane, message } => {
                let _credit = self.spend(lane)?;
                self.deliver(Delivery::Event(Incoming { message, _credit }));
            }
            Frame::Call { lane, id, message } => {
                let asked = Asked {
                    id,
                    connection: self.number,
                    queue: Queue::of_answers_in(lane),
                    credit: self.spend(lane)?,
                };
                let answerer = Answerer::new(Arc::clone(self.line), asked);
                let incoming = Incoming {
                    message,
                    _credit: None,
                };
                self.deliver(Delivery::Call(incoming, answerer));
            }
            Frame::Answer { id, answer } => self.line.answered(id, answer),
        }
        Ok(())
    }

    fn spend(&self, lane: Lane) -> Result<Option<Credit>, DownReason> {
        match lane {
            Lane::Control => Ok(None),
            Lane::Data => match self.account.spend() {
                Some(credit) => Ok(Some(credit)),
                None => {
                    warn!(peer = %self.line.peer, "peer sent more data than it may");
                    Err(DownReason::Garbled)
                }
            },
        }
    }

    fn deliver(&self, delivery: Delivery) {
        deliver(self.receiver, self.line, delivery);
    }

    fn lost(&self, error: &io::Error) -> DownReason {
        // So a socket ends whose peer left something unread.
        if error.kind() == io::ErrorKind::ConnectionReset {
            return DownReason::Ended;
        }
        debug!(peer = %self.line.peer, %error, "cannot read from the link");
        DownReason::Lost
    }
}

fn has_unread(reader: &Reader) -> bool {
    rustix::io::ioctl_fionread(reader.get_ref().as_ref()).is_ok_and(|bytes| bytes > 0)
}

fn beats(heartbeat: Duration) -> Interval {
    let mut beats = interval(heartbeat);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beats
}

// === Writer ===

/// Writes for as long as the socket takes it; returns never.
///
/// A socket that takes no more may still hold what the peer wrote before it ended,
/// so it is the reader who finds the end.
async fn write(process: &Process, line: &Line, account: &Account, writer: Writer) -> Infallible {
    match drain(process, line, account, writer).await {
        Ok(never) => match never {},
        Err(error) => {
            debug!(peer = %line.peer, %error, "cannot write to the link");
            std::future::pending().await
        }
    }
}

/// Writes whatever there is, flushes, and waits for more.
async fn drain(
    process: &Process,
    line: &Line,
    account: &Account,
    mut writer: Writer,
) -> io::Result<Infallible> {
    loop {
        let mut largest = 0;
        loop {
            for frame in urgent(process, line, account).into_iter().flatten() {
                if let Some(bytes) = line.encode(&frame) {
                    line.counters.sent();
                    writer.feed(bytes).await?;
                }
            }
            let Some(bytes) = line.next() else { break };
            line.counters.sent();
            largest = largest.max(bytes.len());
            writer.feed(bytes).await?;
        }
        SinkExt::<Bytes>::flush(&mut writer).await?;
        frame::shrink_writer(&mut writer, largest);
        line.wrote();
        line.work.notified().await;
    }
}

/// Returns what goes before everything that was queued.
fn urgent(process: &Process, line: &Line, account: &Account) -> [Option<Frame>; 2] {
    let beat = line.take_beat();
    let lag_ms = || u64::try_from(process.lag.now().as_millis()).unwrap_or(u64::MAX);
    [
        beat.then(|| Frame::Heartbeat { lag_ms: lag_ms() }),
        account.grant(beat).map(|frames| Frame::Credit { frames }),
    ]
}
