//! The root of a tree: decides about each child that ends.

use std::sync::Arc;

use conduit_lifecycle::{Budget, Phase, Verdict};
use parking_lot::Mutex;
use ractor::{ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{error, info, warn};

use super::{Child, SpawnFailed, TreeOptions};

/// The root hears supervision events and, from itself, that a delay is over.
#[derive(Debug)]
pub(super) enum Order {
    /// Start the child of this name again.
    Restart { name: &'static str },
}

/// Hears of every child's end, and starts it again or gives it up.
pub(super) struct Root {
    options: TreeOptions,
    children: Arc<Mutex<Vec<Child>>>,
    fail: watch::Sender<Option<&'static str>>,
    born: Instant,
}

impl Root {
    /// `fail` hears the name of a child that has spent its budget.
    pub(super) fn new(
        options: TreeOptions,
        children: Arc<Mutex<Vec<Child>>>,
        fail: watch::Sender<Option<&'static str>>,
    ) -> Self {
        Self {
            options,
            children,
            fail,
            born: Instant::now(),
        }
    }

    pub(super) async fn start(self) -> Result<ActorRef<Order>, SpawnFailed> {
        let (root, _joined) = ractor::Actor::spawn(None, Shell, self).await?;
        Ok(root)
    }
}

// === Behind the root ===

/// Gives the root the shape that ractor expects.
struct Shell;

impl ractor::Actor for Shell {
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
