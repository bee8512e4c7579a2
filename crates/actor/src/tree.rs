//! One-for-one supervision: each child is restarted alone.
//!
//! Why one-for-one: children meet only through seats, and a seat outlives its
//! occupant, so no child holds the address of an incarnation that is gone. State
//! that must survive a restart is not the actor's (the cancellation map belongs
//! to the process, the truth about sessions to the store).

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use conduit_lifecycle::{Backoff, Budget, Phase, Verdict};
use parking_lot::Mutex;
use ractor::{ActorCell, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{error, info, warn};

use crate::seat::Counted;
use crate::{Actor, Seat};

/// How a tree treats failures.
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

impl Tree {
    /// Starts an empty tree on the current runtime.
    ///
    /// # Errors
    ///
    /// Fails when the runtime is shutting down.
    pub async fn start(options: TreeOptions) -> Result<Self, SpawnFailed> {
        let children = Arc::new(Mutex::new(Vec::new()));
        let (fail, failed) = watch::channel(None);
        let root = Root {
            options,
            children: Arc::clone(&children),
            fail,
            born: Instant::now(),
        };
        let (root, _joined) = ractor::Actor::spawn(None, RootShell(PhantomData), root)
            .await
            .map_err(SpawnFailed::from)?;
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
    pub async fn start_at<A, F>(&self, seat: &Seat<A::Message>, make: F) -> Result<(), SpawnFailed>
    where
        A: Actor,
        F: Fn() -> A + Send + Sync + 'static,
    {
        let launcher: Arc<dyn Launch> = Arc::new(Launcher {
            seat: seat.clone(),
            make,
        });
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

    /// Ends all children, last started first, each after the message at hand.
    pub async fn stop(self) {
        let children: Vec<Child> = std::mem::take(&mut *self.children.lock());
        for child in children.into_iter().rev() {
            if let Some(cell) = child.cell
                && cell
                    .stop_and_wait(None, Some(Duration::from_secs(1)))
                    .await
                    .is_err()
            {
                cell.kill();
            }
        }
        self.root.stop(None);
    }
}

/// An actor could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start an actor")]
pub struct SpawnFailed {
    source: Box<SpawnErr>,
}

impl From<SpawnErr> for SpawnFailed {
    fn from(source: SpawnErr) -> Self {
        Self {
            source: Box::new(source),
        }
    }
}

// === Behind the tree ===

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

type Launched<'a> =
    std::pin::Pin<Box<dyn Future<Output = Result<ActorCell, SpawnFailed>> + Send + 'a>>;

/// Makes incarnations of one child, whatever its message type.
trait Launch: Send + Sync {
    fn launch(&self, parent: ActorCell) -> Launched<'_>;
    fn vacate(&self);
    fn depth(&self) -> usize;
}

struct Launcher<A: Actor, F> {
    seat: Seat<A::Message>,
    make: F,
}

impl<A: Actor, F: Fn() -> A + Send + Sync + 'static> Launch for Launcher<A, F> {
    fn launch(&self, parent: ActorCell) -> Launched<'_> {
        Box::pin(async move {
            let actor = (self.make)();
            let (reference, _joined) =
                ractor::Actor::spawn_linked(None, Shell(PhantomData), actor, parent)
                    .await
                    .map_err(SpawnFailed::from)?;
            let cell = reference.get_cell();
            self.seat.fill(Some(reference));
            Ok(cell)
        })
    }

    fn vacate(&self) {
        self.seat.fill(None);
    }

    fn depth(&self) -> usize {
        self.seat.depth()
    }
}

/// Gives an [`Actor`] the shape that ractor expects.
struct Shell<A>(PhantomData<fn() -> A>);

impl<A: Actor> ractor::Actor for Shell<A> {
    type Msg = Counted<A::Message>;
    type State = A;
    type Arguments = A;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        actor: A,
    ) -> Result<A, ActorProcessingErr> {
        Ok(actor)
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        mut counted: Self::Msg,
        actor: &mut A,
    ) -> Result<(), ActorProcessingErr> {
        if let Some(message) = counted.take() {
            actor.handle(message).await?;
        }
        Ok(())
    }
}

/// The root hears supervision events and, from itself, that a delay is over.
#[derive(Debug)]
enum Order {
    Restart { name: &'static str },
}

struct Root {
    options: TreeOptions,
    children: Arc<Mutex<Vec<Child>>>,
    fail: watch::Sender<Option<&'static str>>,
    born: Instant,
}

struct RootShell(PhantomData<Root>);

impl ractor::Actor for RootShell {
    type Msg = Order;
    type State = Root;
    type Arguments = Root;

    async fn pre_start(
        &self,
        _myself: ActorRef<Order>,
        root: Root,
    ) -> Result<Root, ActorProcessingErr> {
        Ok(root)
    }

    async fn handle(
        &self,
        myself: ActorRef<Order>,
        order: Order,
        root: &mut Root,
    ) -> Result<(), ActorProcessingErr> {
        let Order::Restart { name } = order;
        root.restart(name, myself.get_cell()).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Order>,
        event: SupervisionEvent,
        root: &mut Root,
    ) -> Result<(), ActorProcessingErr> {
        let ended = match event {
            SupervisionEvent::ActorFailed(cell, reason) => Some((cell, reason.to_string())),
            SupervisionEvent::ActorTerminated(cell, _, reason) => {
                Some((cell, reason.unwrap_or_else(|| "killed".to_owned())))
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => None,
        };
        if let Some((cell, reason)) = ended {
            root.ended(&myself, &cell, &reason);
        }
        Ok(())
    }
}

impl Root {
    fn ended(&self, myself: &ActorRef<Order>, cell: &ActorCell, reason: &str) {
        let mut children = self.children.lock();
        let Some(child) = children
            .iter_mut()
            .find(|child| child.cell.as_ref().map(ActorCell::get_id) == Some(cell.get_id()))
        else {
            return;
        };
        child.launcher.vacate();
        child.cell = None;
        let TreeOptions {
            restarts,
            window,
            backoff,
        } = self.options;
        let budget = child
            .budget
            .get_or_insert_with(|| Budget::new(restarts, window, backoff));
        let name = child.name;
        match budget.failed(self.born.elapsed()) {
            Verdict::Again(delay) => {
                child.phase = Phase::Waiting;
                warn!(actor = name, reason, ?delay, "actor ended, restarting it");
                if delay.is_zero() {
                    if myself.cast(Order::Restart { name }).is_err() {
                        info!(actor = name, "tree is stopping, no restart");
                    }
                } else {
                    drop(myself.send_after(delay, move || Order::Restart { name }));
                }
            }
            Verdict::Park => {
                child.phase = Phase::Parked;
                error!(actor = name, reason, "actor failed too often");
                self.fail.send_replace(Some(name));
            }
        }
    }

    async fn restart(&self, name: &'static str, parent: ActorCell) {
        let launcher = self
            .children
            .lock()
            .iter()
            .find(|child| child.name == name && child.cell.is_none())
            .map(|child| Arc::clone(&child.launcher));
        let Some(launcher) = launcher else { return };
        match launcher.launch(parent).await {
            Ok(cell) => {
                let mut children = self.children.lock();
                if let Some(child) = children.iter_mut().find(|child| child.name == name) {
                    child.cell = Some(cell);
                    child.phase = Phase::Serving;
                    child.restarts += 1;
                    info!(actor = name, restarts = child.restarts, "actor restarted");
                }
            }
            Err(error) => {
                error!(actor = name, %error, "actor cannot be restarted");
                self.fail.send_replace(Some(name));
            }
        }
    }
}

#[cfg(test)]
mod tests;
