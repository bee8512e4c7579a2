//! What this gateway's clients listen to, and whether the hub knows it.
//!
//! What is wanted is counted in a [`Ledger`]; one task for each shard of the map keeps the
//! shard in line with it. The truth is here, for here are the clients: when a link comes
//! up, everything that its shard owns is registered anew.
//!
//! Bound: [`MOST`] topics, and a task a shard. Without peers there is nobody to register
//! with, and all that is wanted is heard at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use conduit_actor::Seat;
use conduit_interest::{Ask, Heard, Ledger, Outcome, Question};
use conduit_link::{Answer, Refusal, ShardMap, ToHub, Topic};
use conduit_telemetry::Gauge;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use tracing::{debug, warn};

use crate::mail::PostOffice;
use crate::streams;

pub(crate) use conduit_interest::Full;

/// The most topics that the clients of one gateway listen to.
pub(crate) const MOST: usize = 100_000;

/// How long one question to a shard may take. An answer to a registration waits for all
/// gateways, one of which may hang until the supervisor has replaced it.
const DEADLINE: Duration = Duration::from_secs(5);
/// Between two questions of which the first was not answered.
const AGAIN: Duration = Duration::from_millis(50);

/// Reaches what is wanted; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Interest {
    shared: Arc<Shared>,
}

/// Topics that somebody here wants to hear of, until this is dropped.
#[derive(Debug)]
pub(crate) struct Wanted {
    topics: Vec<Arc<Topic>>,
    interest: Interest,
}

/// Why topics are not heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unheard {
    /// The hub has no room for them.
    Full,
    /// It did not answer in time.
    Late,
}

#[derive(Debug)]
struct Shared {
    /// Whether there are hubs at all.
    has_peers: bool,
    ledger: Mutex<Ledger>,
    followers: Mutex<HashMap<u16, Follower>>,
    /// Something was registered, or refused.
    settled: Notify,
    /// A shard that could not be asked may answer now.
    moved: Notify,
    gauge: Gauge,
}

/// Keeps one shard in line, until it is dropped.
#[derive(Debug)]
struct Follower {
    /// The shard has to be told something.
    dirty: Arc<Notify>,
    _task: AbortOnDropHandle<()>,
}

/// What a follower works with.
#[derive(Clone, Debug)]
struct Work {
    interest: Interest,
    shard: u16,
    dirty: Arc<Notify>,
    post: PostOffice,
    streams: Seat<streams::Message>,
}

impl Interest {
    pub(crate) fn new(has_peers: bool, gauge: Gauge) -> Self {
        Self {
            shared: Arc::new(Shared {
                has_peers,
                ledger: Mutex::new(Ledger::new(MOST)),
                followers: Mutex::default(),
                settled: Notify::new(),
                moved: Notify::new(),
                gauge,
            }),
        }
    }

    /// Wants topics, each once.
    pub(crate) fn want(&self, topics: Vec<Topic>) -> Result<Wanted, Full> {
        let topics = {
            let mut ledger = self.shared.ledger.lock();
            let topics = ledger.want(topics)?;
            self.shared.gauge.set(ledger.wanted());
            topics
        };
        self.stir();
        Ok(Wanted {
            topics,
            interest: self.clone(),
        })
    }

    /// Takes a newer map. What its links say comes after this.
    pub(crate) fn take_map(
        &self,
        map: &ShardMap,
        post: &PostOffice,
        streams: &Seat<streams::Message>,
        runtime: &Handle,
    ) {
        if !self.shared.has_peers || !self.shared.ledger.lock().take_map(map) {
            return;
        }
        {
            let mut followers = self.shared.followers.lock();
            followers.retain(|shard, _| map.shards.contains(shard));
            for &shard in &map.shards {
                followers.entry(shard).or_insert_with(|| {
                    let dirty = Arc::<Notify>::default();
                    let work = Work {
                        interest: self.clone(),
                        shard,
                        dirty: Arc::clone(&dirty),
                        post: post.clone(),
                        streams: streams.clone(),
                    };
                    Follower {
                        dirty,
                        _task: AbortOnDropHandle::new(runtime.spawn(work.follow())),
                    }
                });
            }
        }
        self.stir();
        self.shared.moved.notify_waiters();
    }

    /// The link to a shard is up: whatever it knew of us it has forgotten.
    pub(crate) fn up(&self, shard: u16) {
        self.shared.ledger.lock().up(shard);
        self.stir();
        self.shared.moved.notify_waiters();
    }

    /// The link to a shard is down.
    pub(crate) fn down(&self, shard: u16) {
        self.shared.ledger.lock().down(shard);
    }

    /// A shard says what others listen to.
    pub(crate) fn hear(&self, shard: u16, added: &[u64], removed: &[u64], complete: Option<u64>) {
        let mut ledger = self.shared.ledger.lock();
        ledger.hear(shard, added, removed, complete);
    }

    /// Whether it is certain that nobody listens to a topic, at any gateway: then a change
    /// of it need not be published. Why no change can slip between: [`conduit_interest`].
    pub(crate) fn is_unheard(&self, topic: &Topic) -> bool {
        self.shared.has_peers && self.shared.ledger.lock().is_unheard(topic)
    }

    /// Returns the shard that owns a topic, and the epoch of the map by which it does.
    pub(crate) fn route(&self, topic: &Topic) -> Option<(u16, u64)> {
        self.shared.ledger.lock().route(topic)
    }

    fn stir(&self) {
        for follower in self.shared.followers.lock().values() {
            follower.dirty.notify_one();
        }
    }

    fn heard(&self, topics: &[Arc<Topic>]) -> Heard {
        if !self.shared.has_peers {
            return Heard::Yes;
        }
        let ledger = self.shared.ledger.lock();
        let mut all = Heard::Yes;
        for topic in topics {
            match ledger.heard(topic) {
                Heard::Yes => {}
                Heard::NotYet => all = Heard::NotYet,
                Heard::Refused => return Heard::Refused,
            }
        }
        all
    }
}

impl Wanted {
    /// Returns the topics.
    pub(crate) fn topics(&self) -> &[Arc<Topic>] {
        &self.topics
    }

    /// Waits until every change of these topics is heard here, at most for `patience`
    /// (R30).
    ///
    /// Cancel safe.
    pub(crate) fn heard(
        &self,
        patience: Duration,
    ) -> impl Future<Output = Result<(), Unheard>> + use<> {
        let (topics, interest) = (self.topics.clone(), self.interest.clone());
        async move {
            let heard = async {
                loop {
                    let settled = interest.shared.settled.notified();
                    match interest.heard(&topics) {
                        Heard::Yes => return Ok(()),
                        Heard::Refused => return Err(Unheard::Full),
                        Heard::NotYet => settled.await,
                    }
                }
            };
            timeout(patience, heard).await.unwrap_or(Err(Unheard::Late))
        }
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        let shared = &self.interest.shared;
        {
            let mut ledger = shared.ledger.lock();
            ledger.release(&self.topics);
            shared.gauge.set(ledger.wanted());
        }
        self.interest.stir();
    }
}

// === Behind the handle ===

impl Work {
    /// Keeps the shard in line with what is wanted, for ever.
    async fn follow(self) {
        loop {
            self.dirty.notified().await;
            while let Some(ask) = self.next() {
                if !self.ask(ask).await {
                    // Not at once again: the map may be on its way, or the link.
                    drop(timeout(AGAIN, self.interest.shared.moved.notified()).await);
                }
            }
        }
    }

    fn next(&self) -> Option<Ask> {
        self.interest.shared.ledger.lock().next(self.shard)
    }

    /// Asks the shard; returns whether it could be asked.
    async fn ask(&self, ask: Ask) -> bool {
        let question = question(&ask);
        let answer = self.post.ask(self.shard, question, DEADLINE).await;
        let outcome = match answer {
            Some(Answer::Done) => Outcome::Done,
            Some(Answer::Refused(Refusal::Full)) => Outcome::Full,
            other => {
                debug!(answer = ?other, shard = self.shard, "the hub cannot be told what is listened to");
                Outcome::Failed
            }
        };
        let refused = {
            let mut ledger = self.interest.shared.ledger.lock();
            ledger.answered(self.shard, ask, outcome)
        };
        self.interest.shared.settled.notify_waiters();
        if !refused.is_empty() {
            self.give_up(refused);
        }
        outcome != Outcome::Failed
    }

    /// Ends the streams whose topics the hub has no room for; their clients listen anew,
    /// and hear why that cannot be.
    fn give_up(&self, topics: Vec<Arc<Topic>>) {
        warn!(
            shard = self.shard,
            topics = topics.len(),
            "the hub has no room for what is listened to here"
        );
        let message = streams::Message::Refused { topics };
        if self.streams.cast(message).is_err() {
            debug!("no streams that could be refused anything");
        }
    }
}

fn question(ask: &Ask) -> ToHub {
    let all = |topics: &[Arc<Topic>]| topics.iter().map(|topic| Topic::clone(topic)).collect();
    let epoch = ask.epoch;
    match &ask.question {
        Question::Enter => ToHub::Enter { epoch },
        Question::Register(topics) => ToHub::Register {
            epoch,
            topics: all(topics),
        },
        Question::Settle => ToHub::Settle { epoch },
        Question::Unregister(topics) => ToHub::Unregister {
            topics: all(topics),
        },
    }
}

#[cfg(test)]
mod tests {
    use conduit_link::Subject;

    use super::*;

    fn gauge() -> Gauge {
        conduit_telemetry::Telemetry::new("test").topics().clone()
    }

    fn topic(uri: &str) -> Topic {
        Topic {
            server: "test".to_owned(),
            subject: Subject::Resource(uri.to_owned()),
        }
    }

    #[test]
    fn a_topic_is_wanted_as_long_as_somebody_wants_it() {
        let gauge = gauge();
        let interest = Interest::new(false, gauge.clone());
        let first = interest.want(vec![topic("a"), topic("b")]).expect("room");
        let second = interest.want(vec![topic("b")]).expect("room");

        drop(first);

        assert_eq!(gauge.level(), 1);
        drop(second);
        assert_eq!(gauge.level(), 0);
    }

    #[test]
    fn more_topics_than_may_be_are_refused_and_nothing_is_wanted() {
        let interest = Interest::new(false, gauge());
        let many = (0..MOST).map(|number| topic(&number.to_string())).collect();
        let held = interest.want(many).expect("room");

        assert!(
            interest.want(vec![topic("0")]).is_ok(),
            "it is wanted already"
        );
        assert_eq!(interest.want(vec![topic("x")]).map(drop), Err(Full));
        drop(held);
        assert!(interest.want(vec![topic("x")]).is_ok());
    }

    #[tokio::test]
    async fn without_peers_all_that_is_wanted_is_heard() {
        let interest = Interest::new(false, gauge());

        let wanted = interest.want(vec![topic("a")]).expect("room");

        assert_eq!(wanted.heard(Duration::ZERO).await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_map_nothing_is_heard() {
        let interest = Interest::new(true, gauge());

        let wanted = interest.want(vec![topic("a")]).expect("room");

        let patience = Duration::from_secs(1);
        assert_eq!(wanted.heard(patience).await, Err(Unheard::Late));
    }
}
