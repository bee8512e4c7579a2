//! The thread that owns the sockets.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::process::Process;

/// How long tasks may take to end once they are asked to.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reaches the thread.
#[derive(Debug)]
pub(crate) struct Thread {
    runtime: Handle,
    tasks: TaskTracker,
    ended: CancellationToken,
}

impl Thread {
    /// Starts the thread; it ends when the process' links are to stop.
    pub(crate) fn start(process: Arc<Process>) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let thread = Self {
            runtime: runtime.handle().clone(),
            tasks: TaskTracker::new(),
            ended: CancellationToken::new(),
        };
        let tasks = thread.tasks.clone();
        let ended = thread.ended.clone().drop_guard();
        std::thread::Builder::new()
            .name("link".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    process.stop.cancelled().await;
                    tasks.close();
                    drop(tokio::time::timeout(PATIENCE, tasks.wait()).await);
                });
                drop(runtime);
                drop(ended);
            })?;
        Ok(thread)
    }

    /// Runs a task on the thread.
    pub(crate) fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.tasks.spawn_on(task, &self.runtime));
    }

    /// Returns the runtime, to register sockets with.
    pub(crate) const fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Returns where tasks of the thread start others.
    pub(crate) fn tasks(&self) -> TaskTracker {
        self.tasks.clone()
    }

    /// Waits until the thread has let go of everything.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }
}
