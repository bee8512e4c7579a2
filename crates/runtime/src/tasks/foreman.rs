//! Sees to it that this gateway does its share of the work of tasks.
//!
//! It asks the store for work while there is room, and says every third of a lease what
//! is still held. Neither is waited for in here: each question is a task of its own, of
//! which there is one at a time.

use std::sync::Arc;
use std::time::Duration;

use conduit_actor::{Actor, Failure};
use conduit_link::{Holding, TaskAnswer, TaskQuestion};
use tokio::time::Instant;
use tracing::{debug, warn};

use super::run;
use crate::gateway::Shared;

/// The most work that is asked for at once.
const BATCH: usize = 32;

/// What the foreman hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// The store has work.
    Ready,
    /// A piece of work has ended. Sent once for each.
    Ended,
    /// A second has passed.
    Tick,
    /// The link to the store is up.
    StoreBack,
    /// The store was asked for work, and gave as much as it was asked for.
    TookAll,
    /// The store was asked for work.
    Took,
    /// The store was told what is held.
    Told,
}

#[derive(Debug)]
pub(crate) struct Foreman {
    shared: Arc<Shared>,
    /// Whether a question of either kind is on its way.
    takes: bool,
    tells: bool,
    /// Whether to ask for work again once the present question is answered.
    again: bool,
    /// When the store is to be told next.
    tell_at: Instant,
}

impl Foreman {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            takes: false,
            tells: false,
            again: false,
            tell_at: Instant::now(),
        }
    }

    fn take(&mut self) {
        if self.takes {
            self.again = true;
            return;
        }
        let room = self.room();
        if room == 0 {
            return;
        }
        (self.takes, self.again) = (true, false);
        let shared = Arc::clone(&self.shared);
        self.shared.tasks.spawn(async move {
            let took = take(&shared, room.min(BATCH)).await;
            cast(
                &shared,
                if took {
                    Message::TookAll
                } else {
                    Message::Took
                },
            );
        });
    }

    fn took(&mut self, all: bool) {
        self.takes = false;
        if all || self.again {
            self.take();
        }
    }

    fn room(&self) -> usize {
        let executor = &self.shared.executor;
        if executor.is_ending() || !self.is_of_use() {
            return 0;
        }
        let running = executor.shared.ledger.lock().len();
        self.shared.options.tasks.running.saturating_sub(running)
    }

    /// Whether there is anything to ask, and somebody who answers.
    fn is_of_use(&self) -> bool {
        self.shared.has_tasks() && self.shared.store.is_up()
    }

    fn tick(&mut self) {
        let lease = self.shared.options.tasks.lease;
        let executor = &self.shared.executor;
        let stopped = executor.shared.ledger.lock().expire(Instant::now(), lease);
        if stopped > 0 {
            warn!(stopped, "no store for a whole lease, tasks are stopped");
        }
        if Instant::now() >= self.tell_at {
            self.tell();
        }
        self.take();
    }

    fn tell(&mut self) {
        if self.tells || !self.is_of_use() {
            return;
        }
        self.tells = true;
        let third = self.shared.options.tasks.lease / 3;
        self.tell_at = Instant::now() + third;
        let shared = Arc::clone(&self.shared);
        self.shared.tasks.spawn(async move {
            tell(&shared, third).await;
            cast(&shared, Message::Told);
        });
    }
}

impl Actor for Foreman {
    type Message = Message;

    async fn handle(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Ready | Message::Ended => self.take(),
            Message::Tick => self.tick(),
            Message::StoreBack => {
                self.tell();
                self.take();
            }
            Message::TookAll => self.took(true),
            Message::Took => self.took(false),
            Message::Told => self.tells = false,
        }
        Ok(())
    }
}

// === The questions ===

/// Asks for work and begins with it; returns whether there was as much.
async fn take(shared: &Arc<Shared>, limit: usize) -> bool {
    let since = Instant::now();
    let question = TaskQuestion::Take {
        limit: u16::try_from(limit).unwrap_or(u16::MAX),
    };
    let patience = shared.options.store_patience;
    let answer = shared.store.ask_of_tasks(question, patience).await;
    let Ok(Ok(TaskAnswer::Taken(taken))) = answer else {
        return false;
    };
    let all = taken.len() >= limit;
    for task in taken {
        run::start(shared, task, since);
    }
    all
}

/// Tells the store all that is held, and stops what is not. What the store has given a
/// moment ago may be missing: it does not wait for that.
async fn tell(shared: &Arc<Shared>, patience: Duration) {
    let executor = &shared.executor;
    let held: Vec<Holding> = executor.shared.ledger.lock().held();
    let sent = Instant::now();
    let question = TaskQuestion::Renew { held: held.clone() };
    let patience = patience.min(shared.options.store_patience);
    match shared.store.ask_of_tasks(question, patience).await {
        Ok(Ok(TaskAnswer::Lost(lost))) => {
            let stopped = executor.shared.ledger.lock().renewed(sent, &held, &lost);
            if stopped > 0 {
                debug!(stopped, "work is somebody else's by now");
            }
        }
        Ok(_) | Err(_) => debug!("the store does not know what is held"),
    }
}

fn cast(shared: &Shared, message: Message) {
    if shared.executor.shared.seat.cast(message).is_err() {
        debug!("the foreman is restarting, it begins anew");
    }
}
