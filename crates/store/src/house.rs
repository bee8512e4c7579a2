//! Everything behind the door of a store: database, writer, keeper. With or without
//! links.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use conduit_telemetry::Telemetry;
use tokio_util::task::TaskTracker;
use tracing::{error, info, warn};

use crate::backend::Backend;
use crate::gateways::Gateways;
use crate::keeper::{Keeper, Lives};
use crate::sqlite::{Sqlite, SqliteReader};
use crate::writer::{Thread, Writer};
use crate::{Error, Options};

/// A store at work.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) gateways: Arc<Gateways>,
    /// Calls that take longer, and news on its way.
    pub(crate) tasks: TaskTracker,
    writer: Writer,
    thread: Thread,
    sweep_every: Duration,
    patience: Duration,
}

impl House {
    /// Opens the database and starts the writer.
    ///
    /// # Errors
    ///
    /// [`Error`], when the database cannot be used or there is no thread.
    pub(crate) async fn open(options: &Options, telemetry: Telemetry) -> Result<Self, Error> {
        let (backend, reader) = open(options.path.clone()).await?;
        let (writer, thread) = Writer::start(backend, options.writer(), telemetry.clone())
            .map_err(|source| Error::Thread { source })?;
        let tasks = TaskTracker::new();
        let patience = options.forget_deadline;
        let gateways = Arc::new(Gateways::new(patience, tasks.clone()));
        let keeper = Keeper::new(
            writer.clone(),
            reader,
            Arc::clone(&gateways),
            options.keeper(),
            telemetry,
        );
        Ok(Self {
            keeper: Arc::new(keeper),
            gateways,
            tasks,
            writer,
            thread,
            sweep_every: options.sweep_every,
            patience,
        })
    }

    /// Does what has to be done without being asked, for ever.
    pub(crate) async fn keep_for_ever(&self, lives: Lives) {
        tokio::join!(
            self.keeper.sweep_for_ever(self.sweep_every),
            self.keeper.tend_for_ever(lives),
        );
    }

    /// Waits until the writer ends, for whatever reason.
    pub(crate) async fn writer_ended(&self) {
        self.thread.ended().await;
    }

    /// Finishes the calls at hand and closes the database.
    pub(crate) async fn close(self) {
        self.tasks.close();
        let finished = tokio::time::timeout(self.patience, self.tasks.wait()).await;
        if finished.is_err() {
            warn!(calls = self.tasks.len(), "calls are not finished in time");
        }
        // The reader goes first: whoever closes the file last tidies its log, and a
        // reader cannot.
        drop(self.keeper);
        close(&self.writer, self.thread, self.patience).await;
    }
}

// === Behind the house ===

/// Opens the database, for writing and for reading.
async fn open(path: PathBuf) -> Result<(Sqlite, SqliteReader), Error> {
    let opening = tokio::task::spawn_blocking(move || {
        let backend = Sqlite::open(&path)?;
        let tasks = backend.census().all();
        info!(path = %path.display(), sessions = backend.live(), tasks, "database is open");
        let reader = backend.reader().map_err(|failure| Error::Reader {
            source: Box::new(failure),
        })?;
        Ok((backend, reader))
    });
    opening.await.map_err(|source| Error::Thread {
        source: source.into(),
    })?
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
