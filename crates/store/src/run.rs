//! The life of a store process: open, listen, keep, end.

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use conduit_actor::{Tree, TreeOptions};
use conduit_link::{Answer, Answerer, Delivery, Link, Links, Message, Receiver, Refusal, Role};
use conduit_telemetry::Telemetry;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error, info, warn};

use crate::Error;
use crate::backend::Backend;
use crate::gateways::Gateways;
use crate::keeper::Keeper;
use crate::retention::Retention;
use crate::sessions::{self, Handle};
use crate::sqlite::{Sqlite, SqliteReader};
use crate::writer::{self, Thread, Writer};

/// What a store is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The database file, `conduit.db` in the state directory. Its log and index
    /// lie beside it.
    pub path: PathBuf,
    /// A session that nobody used for longer than this ends. Counted in whole
    /// seconds.
    pub session_idle: Duration,
    /// The most sessions at once. One more replaces the one that was not used for
    /// the longest time, if that is more than a minute.
    pub session_cap: u64,
    /// The most changes that share one transaction; at least one.
    pub batch: usize,
    /// The time between two looks for sessions whose time is over.
    pub sweep_every: Duration,
    /// How long a gateway may take to forget a session before it counts as gone;
    /// also the longest that each step of the end may take.
    pub forget_deadline: Duration,
    /// The most changes that wait for the writer; at least one. More wait for a
    /// place, at most as many as the links allow.
    pub queue: usize,
}

/// Runs the store until `stop`, or until it cannot go on.
///
/// Listens at the store's socket of `links`; `ready` is called once gateways may
/// connect. Starts a tree of actors, the telemetry sink among them. At the end
/// it refuses new calls, finishes those at hand and closes the database; `links`
/// are the caller's to stop.
///
/// # Errors
///
/// [`Error`], at the start for a database that cannot be used, later when the
/// writer or an actor is beyond help. The process has to end then.
///
/// # Cancel safety
///
/// Not safe: the database is left open until the writer notices.
pub async fn run(
    options: Options,
    links: Links,
    telemetry: Telemetry,
    stop: CancellationToken,
    ready: impl FnOnce(),
) -> Result<(), Error> {
    let (backend, reader) = open(options.path.clone()).await?;
    let (writer, thread) = Writer::start(backend, options.writer(), telemetry.clone())
        .map_err(|source| Error::Thread { source })?;

    let gateways = Arc::new(Gateways::new(options.forget_deadline));
    let keeper = Arc::new(Keeper::new(
        writer.clone(),
        reader,
        Arc::clone(&gateways),
        options.retention(),
        telemetry.clone(),
    ));
    let tasks = TaskTracker::new();
    let tree = Tree::start(TreeOptions::default()).await?;
    telemetry.start_in(&tree).await?;
    let sessions = sessions::start(&tree, Arc::clone(&keeper), tasks.clone()).await?;
    links.listen(receiver(gateways, sessions, telemetry))?;
    ready();

    let ended = tokio::select! {
        biased;
        () = stop.cancelled() => Ok(()),
        () = thread.ended() => Err(Error::WriterEnded),
        name = tree.failed() => Err(Error::ActorFailed { name }),
        () = keeper.sweep_for_ever(options.sweep_every) => Ok(()),
    };
    tree.stop().await;
    finish_calls(&tasks, options.forget_deadline).await;
    // The reader goes first: whoever closes the file last tidies its log, and a
    // reader cannot.
    drop(keeper);
    close(&writer, thread, options.forget_deadline).await;
    ended
}

// === Behind the run ===

impl Options {
    fn writer(&self) -> writer::Options {
        let at_least_one = |number| NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN);
        writer::Options {
            batch: at_least_one(self.batch),
            queue: at_least_one(self.queue),
        }
    }

    const fn retention(&self) -> Retention {
        Retention {
            idle: self.session_idle,
            cap: self.session_cap,
        }
    }
}

/// Opens the database, for writing and for reading.
async fn open(path: PathBuf) -> Result<(Sqlite, SqliteReader), Error> {
    let opening = tokio::task::spawn_blocking(move || {
        let backend = Sqlite::open(&path)?;
        info!(path = %path.display(), sessions = backend.live(), "database is open");
        let reader = backend.reader().map_err(|failure| Error::Reader {
            source: Box::new(failure),
        })?;
        Ok((backend, reader))
    });
    opening.await.map_err(|source| Error::Thread {
        source: source.into(),
    })?
}

/// Sorts what comes over links. Runs on the link thread.
fn receiver(gateways: Arc<Gateways>, sessions: Handle, telemetry: Telemetry) -> Receiver {
    Arc::new(move |link: Link, delivery| {
        telemetry.tell_of_link(&link, &delivery);
        match delivery {
            Delivery::Up(hello) if hello.slot.role == Role::Gateway => gateways.attach(link),
            Delivery::Up(_) => {}
            Delivery::Down(_) => gateways.detach(&link),
            Delivery::Call(incoming, answerer) => take(&sessions, link, incoming.message, answerer),
            Delivery::Event(_) => debug!(peer = %link.slot(), "the store hears no events"),
        }
    })
}

fn take(sessions: &Handle, asker: Link, message: Message, answerer: Answerer) {
    if let Message::ToStore(question) = message
        && asker.slot().role == Role::Gateway
    {
        sessions.ask(asker, question, answerer);
    } else {
        answerer.answer(Answer::Refused(Refusal::Misplaced));
    }
}

async fn finish_calls(tasks: &TaskTracker, patience: Duration) {
    tasks.close();
    if tokio::time::timeout(patience, tasks.wait()).await.is_err() {
        warn!(calls = tasks.len(), "calls are not finished in time");
    }
}

/// Finishes what the writer has and closes the database.
async fn close(writer: &Writer, thread: Thread, patience: Duration) {
    let closed = tokio::time::timeout(patience, async {
        writer.close().await;
        thread.join().await
    });
    match closed.await {
        Ok(true) => info!("database is closed"),
        Ok(false) => error!("writer panicked"),
        Err(_elapsed) => warn!("database is not closed in time"),
    }
}
