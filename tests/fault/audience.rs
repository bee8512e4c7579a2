//! Many streams at once, each of which remembers what it was told.
//!
//! A stream that breaks is opened again, as its client would: its life begins anew with
//! its acknowledgement, and what came before is its client's to read again. Only the
//! stream of a session goes on, if its client says what came last (`Last-Event-ID`).

mod client;
mod life;
mod wire;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use conduit_testkit::PATIENCE;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use self::client::Shared;
use self::life::Life;
pub(crate) use self::life::{Asked, Final, LISTS, Published, bare};
use crate::dice::Dice;

/// How often it is looked whether all is well.
const LOOK: Duration = Duration::from_millis(50);

/// One stream that is to be opened.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) asked: Asked,
    pub(crate) era: Era,
    pub(crate) pace: Pace,
}

/// What kind of stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// A listen stream.
    Modern,
    /// That of a legacy session, which is told of all lists.
    Legacy,
    /// The same, and its client says what came last when it comes back.
    Resuming,
}

/// How a stream is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// As soon as there is something.
    Brisk,
    /// A few bytes at a time.
    Slow,
    /// Not at all for seconds, now and then.
    Stalling,
}

/// Streams that are open; dropping it closes them.
#[derive(Debug)]
pub(crate) struct Audience {
    /// Each ends with what was wrong.
    clients: JoinSet<String>,
    shared: Arc<Shared>,
}

/// How often a stream was opened, and told of changes since it was opened last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    pub(crate) lives: usize,
    pub(crate) told: usize,
}

impl Plan {
    /// Plans a listen stream that is read at once.
    pub(crate) fn listen(asked: Asked) -> Self {
        Self {
            asked,
            era: Era::Modern,
            pace: Pace::Brisk,
        }
    }

    /// Plans a legacy session that has subscribed to `uris`.
    pub(crate) fn session(uris: impl IntoIterator<Item = String>) -> Self {
        let lists = LISTS.map(str::to_owned);
        let asked = Asked {
            topics: uris.into_iter().chain(lists).collect(),
            ..Asked::default()
        };
        Self {
            era: Era::Legacy,
            ..Self::listen(asked)
        }
    }

    /// Comes back to the stream of a session.
    pub(crate) fn resuming(self) -> Self {
        Self {
            era: Era::Resuming,
            ..self
        }
    }

    /// Reads it in another way.
    pub(crate) fn pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }
}

impl Audience {
    /// Opens streams; `start` is when time begins, and the seed says when who stalls.
    pub(crate) fn open(endpoint: SocketAddr, start: Instant, plans: Vec<Plan>, seed: u64) -> Self {
        let shared = Arc::new(Shared::new(endpoint, start, plans));
        let clients = (0..shared.ears.len()).map(|number| {
            let shared = Arc::clone(&shared);
            // Publishers have the first numbers.
            let dice = Dice::of(seed, 1_000 + number as u64);
            async move { shared.run(number, dice).await }
        });
        Self {
            clients: clients.collect(),
            shared,
        }
    }

    /// Waits until every stream is open and acknowledged.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub(crate) async fn opened(&mut self) -> Result<(), String> {
        let is_missing = |life: &Life| {
            let is_heard = life.is_heard();
            (!is_heard).then(|| "not acknowledged".to_owned())
        };
        self.none(|life| is_missing(life).into_iter().collect())
            .await
    }

    /// Waits until every stream was told of each change that it had to be told of.
    ///
    /// # Errors
    ///
    /// What was not told in time, or is wrong.
    pub(crate) async fn told(&mut self, published: &Mutex<Published>) -> Result<(), String> {
        self.none(|life| life.untold(&published.lock())).await
    }

    /// Waits until every stream was told of the last state of its tasks.
    ///
    /// # Errors
    ///
    /// What was not told in time, or is wrong.
    pub(crate) async fn told_tasks(
        &mut self,
        finals: &HashMap<String, Final>,
    ) -> Result<(), String> {
        self.none(|life| life.untold_tasks(finals)).await
    }

    /// Fails with what was wrong on some stream.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        match self.clients.try_join_next() {
            Some(ended) => Err(ended.unwrap_or_else(|broken| broken.to_string())),
            None => Ok(()),
        }
    }

    /// Lets every reader take what there is from now on.
    pub(crate) fn calm(&self) {
        self.shared.calm();
    }

    /// Returns what listen streams were told although nobody had published it. What a
    /// session missed while its stream was broken is nobody's to know.
    pub(crate) fn unfounded(&self, published: &Mutex<Published>) -> Vec<String> {
        let ears = self.shared.ears.iter();
        let ears = ears.filter(|ear| ear.plan.era == Era::Modern);
        ears.filter_map(|ear| Some(ear.life.lock().as_ref()?.unfounded(&published.lock())))
            .flatten()
            .collect()
    }

    /// Returns how often each stream was told of changes that were none of this topic.
    pub(crate) fn counts_but(&self, topic: &str) -> Vec<Count> {
        let count = |life: &Life| life.count_but(topic);
        let ears = self.shared.ears.iter();
        ears.map(|ear| Count {
            lives: ear.lives.load(Ordering::Relaxed),
            told: ear.life.lock().as_ref().map_or(0, count),
        })
        .collect()
    }

    /// Returns how often streams were opened in all.
    pub(crate) fn lives(&self) -> usize {
        let ears = self.shared.ears.iter();
        ears.map(|ear| ear.lives.load(Ordering::Relaxed)).sum()
    }

    /// Returns how often the server has ended a stream, and it did not break off.
    pub(crate) fn ends(&self) -> usize {
        let ears = self.shared.ears.iter();
        ears.map(|ear| ear.ends.load(Ordering::Relaxed)).sum()
    }
}

// === Behind the audience ===

impl Audience {
    /// Waits until nothing is found on any stream.
    async fn none(&mut self, find: impl Fn(&Life) -> Vec<String>) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            look.tick().await;
            self.check()?;
            let found = self.shared.each(&find);
            if found.is_empty() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let (count, first) = (found.len(), found.get(..20).unwrap_or(&found));
                return Err(format!("{count} in vain:\n{}", first.join("\n")));
            }
        }
    }
}
