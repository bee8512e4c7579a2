//! The whole of it: start, show, stop.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use conduit_actor::{Tree, TreeOptions};
use conduit_link::{Links, Role, Slot};
use conduit_telemetry::Telemetry;
use tracing::{debug, error, info};
use uuid::Uuid;

use crate::board::Board;
use crate::claim::Claim;
use crate::error::Error;
use crate::house::{House, Parts};
use crate::plan::Plan;
use crate::spawn::Launcher;
use crate::table::Table;
use crate::wishes::Wishes;
use crate::{children, collect, prober};

/// The running tree of processes.
///
/// Dropping it without [`Supervisor::stop`] kills every child.
#[derive(Debug)]
pub struct Supervisor {
    house: Arc<House>,
    tree: Tree,
    killer: KillOnDrop,
    /// Dropped last: until then nobody else may use the directory.
    _claim: Claim,
}

/// Ends every child at once; cheap to clone.
#[derive(Clone, Debug)]
pub struct Killer {
    house: Arc<House>,
}

impl Supervisor {
    /// Starts the tree, and does not wait for any child: [`Supervisor::settled`]
    /// does.
    ///
    /// The store comes first, then the hubs, then the gateways. A slot that fails
    /// its first start does not hold up the next kind.
    ///
    /// # Errors
    ///
    /// [`Error`] when something that every child needs is missing; no child is
    /// left then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves no child, but may leave idle actors.
    pub async fn launch(
        plan: Plan,
        claim: Claim,
        listener: TcpListener,
        telemetry: Telemetry,
    ) -> Result<Self, Error> {
        let unprepared = |what| move |source| Error::Unprepared { what, source };
        let build = conduit_link::build_id().map_err(unprepared("the build id"))?;
        let endpoint = listener.local_addr().map_err(unprepared("the socket"))?;
        let links = Links::start(link_options(&plan, build.clone()))?;
        let wishes = Wishes::load(&plan);
        let house = Arc::new(House::new(Parts {
            table: Table::new(slots(&wishes), &plan.options),
            wishes,
            launcher: Launcher::new(&plan, listener).map_err(unprepared("the balance"))?,
            links,
            telemetry,
            options: plan.options,
            endpoint,
            build,
        }));
        let tree = Tree::start(TreeOptions::default()).await?;
        let killer = KillOnDrop(Killer {
            house: Arc::clone(&house),
        });
        house.telemetry.start_in(&tree).await?;
        children::start(&house, &tree).await?;
        prober::start(&house, &tree).await?;
        collect::install(&house);
        house.telemetry.watch_links(&house.links);
        house.links.watch_loop(tokio::runtime::Handle::current());
        house.links.set_epoch(house.table.lock().roster.map().epoch);
        let receiver = children::receiver(house.children.clone());
        house.links.listen(receiver)?;
        children::tell(&house, |reply| children::Message::Begin { reply }).await;
        Ok(Self {
            house,
            tree,
            killer,
            _claim: claim,
        })
    }

    /// Waits until every slot was ready once, or is parked.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn settled(&self) {
        self.house.until(|table| table.roster.settled()).await;
    }

    /// Returns what shows the tree.
    #[must_use]
    pub fn board(&self) -> Board {
        Board::new(Arc::clone(&self.house))
    }

    /// Returns what ends every child at once, even while [`Supervisor::stop`] is
    /// at work, which is then soon over.
    #[must_use]
    pub fn killer(&self) -> Killer {
        self.killer.0.clone()
    }

    /// Ends the actor called `name` as a crash would, for tests and fault drills;
    /// it comes back, and no child notices.
    pub fn kill_actor(&self, name: &str) {
        self.tree.kill(name);
    }

    /// Waits until the supervisor cannot go on, and says why. It has to be stopped
    /// then.
    ///
    /// # Cancel safety
    ///
    /// Safe: a failure stays known.
    pub async fn ended(&self) -> Error {
        let actor = self.tree.failed().await;
        Error::ActorFailed { actor }
    }

    /// Stops the tree in order: the gateways drain, then the hubs, then the store.
    ///
    /// Whoever takes longer than its grace and
    /// [`Options::kill_after`](crate::Options::kill_after) is killed. No child is
    /// left afterwards. To hurry it, use a [`Killer`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future kills who is left.
    pub async fn stop(self) {
        for role in children::ORDER.into_iter().rev() {
            drain(&self.house, role).await;
        }
        self.house.table.lock().kill_all();
        self.house.end.cancel();
        self.house.tasks.close();
        if tokio::time::timeout(PATIENCE, self.house.tasks.wait())
            .await
            .is_err()
        {
            error!("a killed child does not end, leaving it");
        }
        self.house.links.stop(PATIENCE).await;
        if let Err(error) = self.house.telemetry.flush(PATIENCE).await {
            debug!(%error, "the last events are lost");
        }
        self.tree.stop().await;
        info!("all children have ended");
    }
}

impl Killer {
    /// Kills every child; further calls do nothing.
    pub fn kill(&self) {
        if !self.house.set_killed() {
            children::kill(&self.house);
        }
    }
}

// === Behind the supervisor ===

/// How long the end of things that end by themselves may take.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct KillOnDrop(Killer);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.house.table.lock().kill_all();
        self.0.house.end.cancel();
    }
}

fn link_options(plan: &Plan, build: String) -> conduit_link::Options {
    conduit_link::Options {
        heartbeat: plan.options.heartbeat,
        dead_after: plan.options.dead_after,
        holds_listener: true,
        ..conduit_link::Options::new(plan.run_dir(), Slot::SUPERVISOR, Uuid::new_v4(), build)
    }
}

/// Returns every slot, in the order of their start.
fn slots(wishes: &Wishes) -> Vec<Slot> {
    let row = |role| (0..wishes.count(role)).map(move |index| Slot { role, index });
    children::ORDER.into_iter().flat_map(row).collect()
}

/// Empties the slots of a kind, and waits until they are empty.
async fn drain(house: &Arc<House>, role: Role) {
    let options = &house.options;
    let grace = options.grace(role);
    info!(role = role.as_str(), ?grace, "draining");
    children::tell(house, |reply| children::Message::Drain {
        role,
        grace,
        reply,
    })
    .await;
    let bound = grace + options.kill_after + PATIENCE;
    if tokio::time::timeout(bound, house.until(|table| table.roster.gone(role)))
        .await
        .is_err()
    {
        error!(
            role = role.as_str(),
            "children do not end though they were killed"
        );
    }
}
