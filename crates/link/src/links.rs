//! All links of one process, on a thread of their own.
//!
//! Why a thread: a main loop that is blocked must not pass for a dead process.
//! Its heartbeats go on, and say how long the loop has been blocked.

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use conduit_errors::{Code, Coded};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::accept::accept;
use crate::connect::keep;
use crate::lag::Lag;
use crate::line::Line;
use crate::process::Process;
use crate::registry::Registry;
use crate::socket::RunDir;
use crate::thread::Thread;
use crate::view::{Counters, PeerView};
use crate::{Link, Receiver, Slot};

/// Who this process is, and how patient its links are.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory of the sockets; it must exist and should have mode 0700.
    pub run_dir: PathBuf,
    /// The slot that this process fills.
    pub slot: Slot,
    /// This life of the process.
    pub life: Uuid,
    /// Which executable this is, see [`build_id`](crate::build_id).
    pub build: String,
    /// How often each link says that it lives.
    pub heartbeat: Duration,
    /// How long a peer may be silent, or take to say hello.
    pub dead_after: Duration,
    /// The largest frame, in bytes, without its length.
    pub max_frame: usize,
    /// Data frames that a peer may have unanswered at a time, on each link.
    pub window: u32,
    /// Whether this process holds the listening socket for clients.
    pub holds_listener: bool,
}

impl Options {
    /// Returns options with the usual times and bounds: a heartbeat each second,
    /// dead after three, 8 MiB, 1,024 frames.
    #[must_use]
    pub const fn new(run_dir: PathBuf, slot: Slot, life: Uuid, build: String) -> Self {
        Self {
            run_dir,
            slot,
            life,
            build,
            heartbeat: Duration::from_secs(1),
            dead_after: Duration::from_secs(3),
            max_frame: 8 * 1024 * 1024,
            window: 1024,
            holds_listener: false,
        }
    }
}

/// Reaches the link thread; cheap to clone.
///
/// The thread ends, and all links with it, after [`Links::stop`] or when the last
/// clone is dropped.
#[derive(Clone, Debug)]
pub struct Links {
    inner: Arc<Inner>,
}

/// Why the links of a process do not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The run directory is not there, or not ours.
    #[error("cannot open the run directory `{path}`")]
    RunDir {
        /// The directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The operating system gave us no thread.
    #[error("cannot start the link thread")]
    Thread {
        /// What it said.
        source: io::Error,
    },
    /// The socket could not be made.
    #[error("cannot listen at the socket of `{slot}` in `{run_dir}`")]
    Listen {
        /// Whose socket.
        slot: Slot,
        /// Where.
        run_dir: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Links {
    /// Starts the link thread.
    ///
    /// # Errors
    ///
    /// [`Error::RunDir`] and [`Error::Thread`].
    pub fn start(options: Options) -> Result<Self, Error> {
        let run_dir = RunDir::find(&options.run_dir).map_err(|source| Error::RunDir {
            path: options.run_dir.clone(),
            source,
        })?;
        let process = Arc::new(Process {
            options,
            run_dir,
            epoch: AtomicU64::new(0),
            lag: Arc::new(Lag::new()),
            registry: Registry::default(),
            stop: CancellationToken::new(),
        });
        let thread =
            Thread::start(Arc::clone(&process)).map_err(|source| Error::Thread { source })?;
        Ok(Self {
            inner: Arc::new(Inner { process, thread }),
        })
    }

    /// Listens at this slot's socket. Peers can connect once this has returned. A
    /// socket that somebody takes away is made again within a heartbeat.
    ///
    /// A slot that connects again, before we know that its old link is dead,
    /// replaces it: `receiver` hears the old link's end before the new one is up.
    ///
    /// # Errors
    ///
    /// [`Error::Listen`].
    pub fn listen(&self, receiver: Receiver) -> Result<(), Error> {
        let Inner { process, thread } = &*self.inner;
        let slot = &process.options.slot;
        let listener = {
            let _runtime = thread.runtime().enter();
            process.run_dir.listen(&slot.to_string())
        };
        let listener = listener.map_err(|source| Error::Listen {
            slot: slot.clone(),
            run_dir: process.options.run_dir.clone(),
            source,
        })?;
        thread.run(accept(
            Arc::clone(process),
            listener,
            receiver,
            thread.tasks(),
        ));
        Ok(())
    }

    /// Opens a link that stays: it connects again for ever, 10 to 500 ms after it
    /// broke, until it is closed.
    #[must_use]
    pub fn connect(&self, to: Slot, receiver: Receiver) -> Link {
        let Inner { process, thread } = &*self.inner;
        let counters = Arc::new(Counters::default());
        let line = Line::new(to, process.options.max_frame, counters);
        if process.stop.is_cancelled() {
            line.end();
        } else {
            process.registry.open(Arc::clone(&line));
            let (process, line) = (Arc::clone(process), Arc::clone(&line));
            thread.run(keep(process, line, receiver));
        }
        Link::new(line)
    }

    /// Returns the slot that this process fills.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.inner.process.options.slot.clone()
    }

    /// Sets the epoch that the next hello says.
    pub fn set_epoch(&self, epoch: u64) {
        self.inner.process.epoch.store(epoch, Ordering::Release);
    }

    /// Shows every peer: those that we connect to, and those that ever connected.
    #[must_use]
    pub fn peers(&self) -> Vec<PeerView> {
        self.inner.process.registry.view()
    }

    /// Measures from now on how long the loop behind `main` lets a task wait, once
    /// in each heartbeat. To be called once.
    pub fn watch_loop(&self, main: Handle) {
        let Inner { process, thread } = &*self.inner;
        let watch = Arc::clone(&process.lag).watch(main, process.options.heartbeat);
        let stop = process.stop.clone();
        thread.run(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = watch => {}
            }
        });
    }

    /// Returns the lag of the main loop: the last that was measured, or how long
    /// it has been stuck.
    #[must_use]
    pub fn lag(&self) -> Duration {
        self.inner.process.lag.now()
    }

    /// Writes what is queued, for at most `flush`, then ends all links and the
    /// thread, which takes a second at most.
    ///
    /// # Cancel safety
    ///
    /// Safe: call it again.
    pub async fn stop(&self, flush: Duration) {
        let Inner { process, thread } = &*self.inner;
        let flushed = async {
            for line in process.registry.lines() {
                line.flushed().await;
            }
        };
        drop(tokio::time::timeout(flush, flushed).await);
        process.stop.cancel();
        thread.ended().await;
    }
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Self::RunDir { .. } | Self::Listen { .. } => Code::STATE_UNUSABLE,
            Self::Thread { .. } => Code::INTERNAL,
        }
    }
}

// === Behind the handle ===

#[derive(Debug)]
struct Inner {
    process: Arc<Process>,
    thread: Thread,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.process.stop.cancel();
    }
}
