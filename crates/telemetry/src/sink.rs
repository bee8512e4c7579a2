//! The sink: counts events and writes their log lines, away from whoever emits.
//!
//! Senders never wait: an event needs one of [`QUEUE`] permits, and without one
//! it is dropped and counted. The permit goes back once the event is counted.
//!
//! When it fails, the events that it held are lost; the counters are not its
//! own and stay.

mod lines;
mod tally;

use std::sync::Arc;
use std::time::Duration;

use conduit_actor::{Actor, Failure, Reply, Seat, Tree};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Error;
use crate::event::Event;
use crate::telemetry::Telemetry;

/// The most events that wait for the sink.
pub const QUEUE: usize = 8192;

/// What the sink understands.
pub(crate) enum Message {
    /// Count this.
    Event {
        event: Event,
        /// Its place in the queue.
        permit: OwnedSemaphorePermit,
    },
    /// Say when you get here. One is in the mailbox per caller that waits.
    Flush { reply: Reply<()> },
}

/// Starts the sink of `telemetry` in `tree`.
pub(crate) async fn start(telemetry: &Telemetry, tree: &Tree) -> Result<(), Error> {
    let held = telemetry.clone();
    let make = move || Sink {
        telemetry: held.clone(),
    };
    Ok(tree.start_at(telemetry.seat(), make).await?)
}

/// Puts an event into the queue, if there is a place; returns whether there was.
pub(crate) fn hand_over(sink: &Seat<Message>, room: &Arc<Semaphore>, event: Event) -> bool {
    let Ok(permit) = Arc::clone(room).try_acquire_owned() else {
        return false;
    };
    sink.cast(Message::Event { event, permit }).is_ok()
}

/// Waits until the sink has come to the end of its queue as it is now.
pub(crate) async fn flush(sink: &Seat<Message>, patience: Duration) -> Result<(), Error> {
    sink.ask(patience, |reply| Message::Flush { reply })
        .await
        .map_err(Error::Flush)
}

// === Behind the queue ===

struct Sink {
    telemetry: Telemetry,
}

impl Actor for Sink {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Event { event, permit } => {
                tally::count(&event, self.telemetry.instruments());
                lines::write(&event);
                self.telemetry.tell_listeners(&event);
                drop(permit);
            }
            Message::Flush { reply } => drop(reply.send(())),
        }
        Ok(())
    }
}
