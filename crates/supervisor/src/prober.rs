//! Asks each gateway whether its real pipeline answers.
//!
//! Every second, and as soon as a gateway is ready, it gets a probe over its
//! control link. Who answered, and when, is in the [`Table`](crate::table::Table);
//! the readiness of the whole tree follows from it. A gateway that does not
//! answer is not killed for it: it may be overloaded, and its heartbeat tells a
//! hung process better.
//!
//! Bound: one open probe for each gateway.
//!
//! When it fails, open probes are still recorded, and its successor may ask a
//! gateway a second time meanwhile.

use std::collections::HashSet;
use std::sync::Arc;

use conduit_actor::{Actor, Failure, Reply, Seat, Tree};
use conduit_link::{Answer, Lane, Message as Body, Role, ToChild};
use tokio::time::{Instant, MissedTickBehavior};
use tracing::debug;
use uuid::Uuid;

use crate::error::Error;
use crate::house::House;
use crate::table::{ProbeAnswer, Target};

/// What the prober hears.
#[derive(Debug)]
pub(crate) enum Message {
    /// Ask every gateway. One at a time, from the clock.
    Round { reply: Reply<()> },
    /// This gateway has just become ready. One for each start of a process.
    Greet { index: usize },
    /// A probe is over. One for each probe.
    Over { index: usize, life: Uuid },
}

/// Makes the seat of the prober.
pub(crate) fn seat() -> Seat<Message> {
    Seat::new("prober")
}

/// Starts the prober and its clock.
pub(crate) async fn start(house: &Arc<House>, tree: &Tree) -> Result<(), Error> {
    let held = Arc::clone(house);
    tree.start_at(&house.prober, move || Prober {
        house: Arc::clone(&held),
        asked: HashSet::new(),
    })
    .await?;
    house.tasks.spawn(keep_time(Arc::clone(house)));
    Ok(())
}

// === Behind the seat ===

struct Prober {
    house: Arc<House>,
    /// Whose answers are awaited.
    asked: HashSet<(usize, Uuid)>,
}

impl Actor for Prober {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Round { reply } => {
                self.ask(|_target| true);
                if reply.send(()).is_err() {
                    debug!("the clock has left");
                }
            }
            Message::Greet { index } => self.ask(|target| target.index == index),
            Message::Over { index, life } => {
                self.asked.remove(&(index, life));
            }
        }
        Ok(())
    }
}

impl Prober {
    fn ask(&mut self, wanted: impl Fn(&Target) -> bool) {
        let targets = self.house.table.lock().targets(Some(Role::Gateway));
        for target in targets {
            if wanted(&target) && self.asked.insert((target.index, target.life)) {
                self.house
                    .tasks
                    .spawn(probe(Arc::clone(&self.house), target));
            }
        }
    }
}

async fn probe(house: Arc<House>, target: Target) {
    let Target { index, life, link } = target;
    let asked = Instant::now();
    let patience = house.options.probe_patience;
    match link
        .call(Lane::Control, Body::ToChild(ToChild::Probe), patience)
        .await
    {
        Ok(Answer::Probed) => {
            let answer = ProbeAnswer {
                at: house.now(),
                took: asked.elapsed(),
            };
            house.table.lock().answered(index, life, answer);
        }
        Ok(other) => debug!(peer = %link.slot(), answer = ?other, "probe refused"),
        Err(error) => debug!(peer = %link.slot(), %error, "probe not answered"),
    }
    if house.prober.cast(Message::Over { index, life }).is_err() {
        debug!("prober is gone");
    }
}

async fn keep_time(house: Arc<House>) {
    let mut beat = tokio::time::interval(house.options.probe_interval);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = house.end.cancelled() => return,
            _ = beat.tick() => {}
        }
        let patience = house.options.probe_patience;
        let asked = house.prober.ask(patience, |reply| Message::Round { reply });
        if let Err(error) = asked.await {
            debug!(%error, "prober did not hear its clock");
        }
    }
}
