//! Harms the processes of a tree, and brings it back.

use std::sync::Arc;
use std::time::Duration;

use conduit_testkit::process::{self, Signal};
use conduit_testkit::{Conn, Era, Options, PATIENCE, Tree};
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::client::Shared;
use crate::dice::Dice;

/// How long the store believes in a gateway of which it hears nothing: longer than
/// anybody is stopped.
pub(super) const LEASE: Duration = Duration::from_secs(5);

/// How many calls are under way that take long.
const CALLS: usize = 4;

/// A tree that can be harmed, and what outlives it.
#[derive(Debug)]
pub(super) struct House {
    options: Options,
    tree: Tree,
    /// Trees whose supervisor is dead, until all of them is.
    gone: Vec<Tree>,
    /// Calls that take long: whoever drains waits for them.
    calls: JoinSet<()>,
    shared: Arc<Shared>,
    /// Where all of them keep their state, until this is dropped.
    _folder: TempDir,
}

/// What is done to a tree in one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strike {
    /// How long it is left alone before, so that everything is under way.
    wait: Duration,
    victim: Victim,
    blow: Blow,
    /// Who is killed while the first one is stopped.
    second: Option<Victim>,
    /// After how long a dead supervisor is replaced, whether or not its children are
    /// still there; without it, once they are not.
    again: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Store,
    Gateway(usize),
    Supervisor,
}

#[derive(Clone, Copy, Debug)]
enum Blow {
    Kill,
    /// Stops it for so long.
    Stop(Duration),
}

impl Strike {
    /// Throws the dice.
    pub(super) fn choose(dice: &mut Dice) -> Self {
        let wait = Duration::from_millis(50 + dice.below(450) as u64);
        let victim = Victim::choose(dice);
        let (blow, second) = match dice.below(5) {
            0..=2 => (Blow::Kill, None),
            _ => {
                let long = Duration::from_millis(1_000 + dice.below(3_000) as u64);
                let second = Some(Victim::choose(dice)).filter(|_| dice.below(2) == 0);
                (Blow::Stop(long), second)
            }
        };
        Self {
            wait,
            victim,
            blow,
            second: second.filter(|second| *second != victim),
            again: (dice.below(2) == 0).then(|| Duration::from_millis(dice.below(2_500) as u64)),
        }
    }
}

impl Strike {
    const fn takes_tasks_along(&self) -> bool {
        !matches!((self.victim, self.second), (Victim::Store, None))
    }
}

impl Victim {
    fn choose(dice: &mut Dice) -> Self {
        match dice.below(8) {
            0..=2 => Self::Store,
            3..=5 => Self::Gateway(dice.below(2)),
            _ => Self::Supervisor,
        }
    }
}

impl House {
    /// Starts a tree of two gateways that is never parked.
    pub(super) async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let proofs = folder.path().join("proofs");
        std::fs::create_dir(&proofs).expect("a folder");
        let lease = LEASE.as_millis().to_string();
        let options = Options::fixture()
            .gateways(2)
            .state_dir(&folder.path().join("state"))
            .environment("FIXTURE_PROOFS", proofs.to_str().expect("a plain path"))
            .environment("CONDUIT_TASKS_LEASE_MS", &lease)
            .environment("CONDUIT_TASKS_MAX", "1000000")
            .environment("CONDUIT_TASKS_MAX_ATTEMPTS", "1000")
            .environment("CONDUIT_SUPERVISOR_RESTARTS", "1000")
            .environment("CONDUIT_SUPERVISOR_BACKOFF_MOST_MS", "50")
            .environment("CONDUIT_SUPERVISOR_DRAIN_GRACE_MS", "2000");
        let tree = Tree::start(options.clone()).await;
        Self {
            shared: Arc::new(Shared::new(tree.endpoint(), proofs)),
            options,
            tree,
            gone: Vec::new(),
            calls: JoinSet::new(),
            _folder: folder,
        }
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Does what is to be done, and returns when all is well again.
    pub(super) async fn suffer(&mut self, strike: Strike) {
        let Strike {
            wait,
            victim,
            blow,
            second,
            again,
        } = strike;
        self.call();
        // How long somebody is stopped, and when, is what is tested here.
        sleep(wait).await;
        if strike.takes_tasks_along() {
            self.shared.harm(true);
        }
        match blow {
            Blow::Kill => self.kill(victim).await,
            Blow::Stop(long) => {
                let stopped = self.signal(victim, Signal::STOP);
                sleep(long / 2).await;
                if let Some(second) = second {
                    self.kill(second).await;
                    self.replace_supervisor(again).await;
                }
                sleep(long / 2).await;
                if let Some(pid) = stopped.filter(|pid| !process::is_over(*pid)) {
                    process::signal(pid, Signal::CONT);
                }
            }
        }
        self.replace_supervisor(again).await;
        self.tree.ready().await;
        self.gone.retain(|gone| !gone.processes().is_empty());
        self.shared.harm(!self.gone.is_empty());
    }

    /// Waits until nothing is left of trees that are dead, and the tree is well.
    pub(super) async fn rest(&mut self) {
        for gone in self.gone.drain(..) {
            gone.everything_ended(PATIENCE).await;
        }
        self.tree.ready().await;
        self.shared.harm(false);
    }

    pub(super) async fn stop(self) {
        self.tree.stop().await;
    }
}

// === Behind the house ===

impl House {
    /// Starts some calls that take longer than a drain may.
    fn call(&mut self) {
        self.calls.abort_all();
        for _ in 0..CALLS {
            let endpoint = self.tree.endpoint();
            self.calls.spawn(async move {
                let call = Era::Modern.tool("slow", json!({ "seconds": 20 }));
                if let Ok(mut conn) = Conn::try_open(endpoint).await {
                    // Whether it is answered does not matter here.
                    drop(conn.try_send(&call).await);
                }
            });
        }
    }

    /// Starts another tree where the supervisor is dead.
    async fn replace_supervisor(&mut self, again: Option<Duration>) {
        if !process::is_over(self.tree.pid()) {
            return;
        }
        match again {
            Some(again) => sleep(again).await,
            None => drop(self.tree.everything_ended(PATIENCE).await),
        }
        let next = Tree::start(self.options.clone()).await;
        self.shared.move_to(next.endpoint());
        self.gone.push(std::mem::replace(&mut self.tree, next));
    }

    async fn kill(&self, victim: Victim) {
        if let Some(pid) = self.signal(victim, Signal::KILL) {
            process::end_of(pid, PATIENCE).await;
        }
    }

    fn signal(&self, victim: Victim, signal: Signal) -> Option<u32> {
        let pid = self.pid_of(victim)?;
        process::signal(pid, signal);
        Some(pid)
    }

    /// Finds a process without the supervisor's help, which may be stopped.
    fn pid_of(&self, victim: Victim) -> Option<u32> {
        let slot = match victim {
            Victim::Supervisor => return Some(self.tree.pid()),
            Victim::Store => "--slot store ".to_owned(),
            Victim::Gateway(index) => format!("--slot gateway-{index} "),
        };
        let mut processes = self.tree.processes().into_iter();
        processes.find(|pid| process::command_line(*pid).contains(&slot))
    }
}
