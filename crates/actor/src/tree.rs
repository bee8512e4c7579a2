//! One-for-one supervision: each child is restarted alone.
//!
//! Why one-for-one: children meet only through seats, and a seat outlives its
//! occupant, so no child holds the address of an incarnation that is gone. State
//! that must survive a restart is not the actor's (the cancellation map belongs
//! to the process, the truth about sessions to the store).

mod launch;
mod root;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use conduit_lifecycle::{Backoff, Budget, Phase};
use parking_lot::Mutex;
use ractor::{ActorCell, ActorRef, SpawnErr};
use tokio::sync::watch;

use self::launch::{Launch, Launcher};
use self::root::{Order, Root};
use crate::{Actor, Seat};

/// How a tree treats failures. Usually it allows five in ten seconds, and restarts
/// at once.
#[derive(Clone, Copy, Debug)]
pub struct TreeOptions {
    /// Restarts of one child within [`TreeOptions::window`] before the tree fails.
    pub restarts: usize,
    /// The time in which restarts are counted.
    pub window: Duration,
    /// The delay before a restart.
    pub backoff: Backoff,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            restarts: 5,
            window: Duration::from_secs(10),
            backoff: Backoff {
                first: Duration::ZERO,
                most: Duration::ZERO,
            },
        }
    }
}

/// What a tree shows of one child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildView {
    /// The child's name.
    pub name: &'static str,
    /// What it is doing.
    pub phase: Phase,
    /// How often it has been started again.
    pub restarts: u64,
    /// Messages in its mailbox.
    pub depth: usize,
}

/// The root supervisor of the actors of one process.
///
/// Dropping the tree leaves the actors running; [`Tree::stop`] ends them.
#[derive(Debug)]
pub struct Tree {
    root: ActorRef<Order>,
    children: Arc<Mutex<Vec<Child>>>,
    failed: watch::Receiver<Option<&'static str>>,
}

/// An actor could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start an actor")]
pub struct SpawnFailed {
    source: Box<SpawnErr>,
}

impl Tree {
    /// Starts an empty tree on the current runtime.
    ///
    /// # Errors
    ///
    /// Fails when the runtime is shutting down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may leave a root without children behind.
    pub async fn start(options: TreeOptions) -> Result<Self, SpawnFailed> {
        let children = Arc::new(Mutex::new(Vec::new()));
        let (fail, failed) = watch::channel(None);
        let root = Root::new(options, Arc::clone(&children), fail)
            .start()
            .await?;
        Ok(Self {
            root,
            children,
            failed,
        })
    }

    /// Starts an actor in an empty seat and keeps it alive.
    ///
    /// `make` builds each incarnation; it must not fail and should be quick.
    ///
    /// # Errors
    ///
    /// Fails when the tree is stopping.
    ///
    /// # Cancel safety
    ///
    /// Not safe: an actor may be left in the seat that nobody restarts or stops.
    pub async fn start_at<A, F>(&self, seat: &Seat<A::Message>, make: F) -> Result<(), SpawnFailed>
    where
        A: Actor,
        F: Fn() -> A + Send + Sync + 'static,
    {
        let launcher: Arc<dyn Launch> = Arc::new(Launcher::new(seat.clone(), make));
        let cell = launcher.launch(self.root.get_cell()).await?;
        self.children.lock().push(Child {
            name: seat.name(),
            launcher,
            cell: Some(cell),
            phase: Phase::Serving,
            restarts: 0,
            budget: None,
        });
        Ok(())
    }

    /// Waits until a child has failed more often than its budget allows, and
    /// returns its name. The process has to end then.
    ///
    /// # Cancel safety
    ///
    /// Safe: a failure stays known.
    pub async fn failed(&self) -> &'static str {
        let mut failed = self.failed.clone();
        match failed.wait_for(Option::is_some).await {
            Ok(name) => name.unwrap_or("tree"),
            Err(_root_is_gone) => "tree",
        }
    }

    /// Shows every child.
    #[must_use]
    pub fn view(&self) -> Vec<ChildView> {
        view(&self.children)
    }

    /// Returns a function that shows every child, for a metrics collector.
    pub fn viewer(&self) -> impl Fn() -> Vec<ChildView> + Send + Sync + 'static {
        let children = Arc::clone(&self.children);
        move || view(&children)
    }

    /// Ends the child in the seat called `name` as a crash would, for tests and
    /// fault drills; the tree restarts it.
    pub fn kill(&self, name: &str) {
        for child in self.children.lock().iter() {
            if child.name == name
                && let Some(cell) = &child.cell
            {
                cell.kill();
            }
        }
    }

    /// Ends all children, last started first, each after the message at hand; one
    /// that takes longer than a second for it is killed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves the children that are left running.
    pub async fn stop(self) {
        let children: Vec<Child> = std::mem::take(&mut *self.children.lock());
        for child in children.into_iter().rev() {
            if let Some(cell) = child.cell
                && cell.stop_and_wait(None, Some(LAST_MESSAGE)).await.is_err()
            {
                cell.kill();
            }
        }
        self.root.stop(None);
    }
}

impl From<SpawnErr> for SpawnFailed {
    fn from(source: SpawnErr) -> Self {
        Self {
            source: Box::new(source),
        }
    }
}

// === Behind the tree ===

/// How long a child that is stopped may take for the message at hand.
const LAST_MESSAGE: Duration = Duration::from_secs(1);

struct Child {
    name: &'static str,
    launcher: Arc<dyn Launch>,
    cell: Option<ActorCell>,
    phase: Phase,
    restarts: u64,
    budget: Option<Budget>,
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("name", &self.name)
            .field("phase", &self.phase)
            .field("restarts", &self.restarts)
            .finish_non_exhaustive()
    }
}

fn view(children: &Mutex<Vec<Child>>) -> Vec<ChildView> {
    let children = children.lock();
    children
        .iter()
        .map(|child| ChildView {
            name: child.name,
            phase: child.phase,
            restarts: child.restarts,
            depth: child.launcher.depth(),
        })
        .collect()
}
