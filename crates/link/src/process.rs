//! This process, as its links introduce it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio_util::sync::CancellationToken;

use crate::lag::Lag;
use crate::registry::Registry;
use crate::socket::RunDir;
use crate::{Hello, Options};

/// What all tasks of the link thread share.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) options: Options,
    pub(crate) run_dir: RunDir,
    pub(crate) epoch: AtomicU64,
    pub(crate) lag: Arc<Lag>,
    pub(crate) registry: Registry,
    /// Ends every link.
    pub(crate) stop: CancellationToken,
}

impl Process {
    /// Says hello for this process.
    pub(crate) fn hello(&self) -> Hello {
        Hello {
            build: self.options.build.clone(),
            slot: self.options.slot.clone(),
            pid: std::process::id(),
            life: self.options.life,
            epoch: self.epoch.load(Ordering::Acquire),
            holds_listener: self.options.holds_listener,
        }
    }
}
