//! What this gateway's clients listen to, and whether the hub knows it.
//!
//! What is wanted is counted here; a task keeps the hub's shards in line with it. The
//! truth is here, for here are the clients: when a link comes up, everything that its
//! shard owns is registered anew, and a change that may have been told in between
//! counts as one (architecture, section 4).
//!
//! Bound: [`MOST`] topics. Without peers there is nobody to register with, and all that
//! is wanted is heard at once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use conduit_actor::Seat;
use conduit_link::{Answer, DownReason, ToHub, Topic};
use conduit_telemetry::Gauge;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::mail::PostOffice;
use crate::streams;

/// The most topics that the clients of one gateway listen to.
pub(crate) const MOST: usize = 100_000;

/// How long one question to a shard may take.
const DEADLINE: Duration = Duration::from_secs(2);
/// Between two questions of which the first was not answered.
const AGAIN: Duration = Duration::from_millis(50);
/// The most bytes of topics in one frame.
const FRAME: usize = 256 * 1024;

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

/// As many topics are wanted as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

#[derive(Debug)]
struct Shared {
    /// Whether there are hubs at all.
    has_peers: bool,
    inner: Mutex<Inner>,
    /// Something has to be registered, or no longer.
    dirty: Notify,
    /// Something was registered.
    settled: Notify,
    gauge: Gauge,
}

#[derive(Debug, Default)]
struct Inner {
    /// How many want each.
    wanted: HashMap<Arc<Topic>, usize>,
    /// Which shard knows that we want it.
    registered: HashMap<Arc<Topic>, u16>,
    shards: HashMap<u16, Shard>,
}

/// What we know of our link to a shard.
#[derive(Clone, Copy, Debug, Default)]
struct Shard {
    /// Grows when the link comes up or goes down.
    connection: u64,
    is_up: bool,
    /// Whether the shard was told that all is registered on this connection.
    is_settled: bool,
    /// Whether the link broke while we registered: then nobody knows what was missed.
    is_doubtful: bool,
}

impl Interest {
    pub(crate) fn new(has_peers: bool, gauge: Gauge) -> Self {
        Self {
            shared: Arc::new(Shared {
                has_peers,
                inner: Mutex::default(),
                dirty: Notify::new(),
                settled: Notify::new(),
                gauge,
            }),
        }
    }

    /// Wants topics, each once.
    pub(crate) fn want(&self, topics: Vec<Topic>) -> Result<Wanted, Full> {
        let mut inner = self.shared.inner.lock();
        let fresh = topics
            .iter()
            .filter(|topic| !inner.wanted.contains_key(*topic));
        if inner.wanted.len() + fresh.count() > MOST {
            return Err(Full);
        }
        let topics = topics.into_iter().map(|topic| inner.want(topic)).collect();
        self.shared.gauge.set(inner.wanted.len());
        drop(inner);
        self.shared.dirty.notify_one();
        Ok(Wanted {
            topics,
            interest: self.clone(),
        })
    }

    /// The link to a shard is up: whatever it knew of us it has forgotten.
    pub(crate) fn up(&self, shard: u16) {
        let mut inner = self.shared.inner.lock();
        inner.registered.retain(|_, owner| *owner != shard);
        let state = inner.shards.entry(shard).or_default();
        state.connection += 1;
        state.is_up = true;
        state.is_settled = false;
        drop(inner);
        self.shared.dirty.notify_one();
    }

    /// The link to a shard is down. Unless that is the shard's own end, it may tell of
    /// changes that we do not hear.
    pub(crate) fn down(&self, shard: u16, reason: DownReason) {
        let mut inner = self.shared.inner.lock();
        inner.registered.retain(|_, owner| *owner != shard);
        let state = inner.shards.entry(shard).or_default();
        state.connection += 1;
        state.is_up = false;
        state.is_doubtful |= !state.is_settled || reason != DownReason::Ended;
    }

    /// The shards are others now.
    pub(crate) fn moved(&self) {
        self.shared.dirty.notify_one();
    }

    /// Keeps the hub in line with what is wanted, for ever. `streams` hears when a
    /// change may have been missed.
    pub(crate) async fn keep(self, post: PostOffice, streams: Seat<streams::Message>) {
        loop {
            self.shared.dirty.notified().await;
            while !self.pass(&post, &streams).await {
                sleep(AGAIN).await;
            }
        }
    }

    /// Brings every shard in line; returns whether that worked.
    async fn pass(&self, post: &PostOffice, streams: &Seat<streams::Message>) -> bool {
        let mut all = true;
        for shard in post.shards() {
            all &= self.align(shard, post, streams).await.is_some();
        }
        all
    }

    /// Brings one shard in line, if its link is up; else that will be the reason to.
    /// `None` when it has to be tried again.
    async fn align(
        &self,
        shard: u16,
        post: &PostOffice,
        streams: &Seat<streams::Message>,
    ) -> Option<()> {
        let Some(plan) = self.shared.inner.lock().plan(shard, post) else {
            return Some(());
        };
        for topics in chunks(&plan.register) {
            let question = ToHub::Register { topics };
            self.ask(post, &plan, question, Answer::Done).await?;
        }
        self.note(&plan)?;
        for topics in chunks(&plan.unregister) {
            let question = ToHub::Unregister { topics };
            self.ask(post, &plan, question, Answer::Done).await?;
        }
        if plan.is_settled {
            return Some(());
        }
        let answer = post.ask(shard, ToHub::Settle, DEADLINE).await?;
        let Answer::Settled { missed } = answer else {
            debug!(?answer, shard, "the hub is not ready");
            return None;
        };
        let doubtful = self.settle(&plan)?;
        if (missed || doubtful) && streams.cast(streams::Message::Missed).is_err() {
            debug!("no streams that could have missed anything");
        }
        Some(())
    }

    async fn ask(
        &self,
        post: &PostOffice,
        plan: &Plan,
        question: ToHub,
        expected: Answer,
    ) -> Option<()> {
        let answer = post.ask(plan.shard, question, DEADLINE).await?;
        if answer != expected {
            debug!(
                ?answer,
                shard = plan.shard,
                "the hub does not take what is listened to"
            );
            return None;
        }
        Some(())
    }

    /// Notes that a shard knows what was registered, unless the link is another now.
    fn note(&self, plan: &Plan) -> Option<()> {
        let mut inner = self.shared.inner.lock();
        if inner.connection(plan.shard) != plan.connection {
            return None;
        }
        for topic in &plan.unregister {
            if inner.registered.get(topic) == Some(&plan.shard) {
                inner.registered.remove(topic);
            }
        }
        for topic in &plan.register {
            inner.registered.insert(Arc::clone(topic), plan.shard);
        }
        drop(inner);
        self.shared.settled.notify_waiters();
        Some(())
    }

    /// Notes that a shard knows all; returns whether something may have been missed.
    fn settle(&self, plan: &Plan) -> Option<bool> {
        let mut inner = self.shared.inner.lock();
        if inner.connection(plan.shard) != plan.connection {
            inner.shards.entry(plan.shard).or_default().is_doubtful = true;
            return None;
        }
        let state = inner.shards.entry(plan.shard).or_default();
        state.is_settled = true;
        Some(std::mem::take(&mut state.is_doubtful))
    }

    fn is_heard(&self, topics: &[Arc<Topic>]) -> bool {
        if !self.shared.has_peers {
            return true;
        }
        let inner = self.shared.inner.lock();
        topics
            .iter()
            .all(|topic| inner.registered.contains_key(topic))
    }
}

impl Wanted {
    /// Returns the topics.
    pub(crate) fn topics(&self) -> &[Arc<Topic>] {
        &self.topics
    }

    /// Waits until every change of these topics is heard here; returns whether that was
    /// so in time (R30).
    ///
    /// Cancel safe.
    pub(crate) fn heard(&self, patience: Duration) -> impl Future<Output = bool> + use<> {
        let (topics, interest) = (self.topics.clone(), self.interest.clone());
        async move {
            let heard = async {
                loop {
                    let settled = interest.shared.settled.notified();
                    if interest.is_heard(&topics) {
                        return;
                    }
                    settled.await;
                }
            };
            timeout(patience, heard).await.is_ok()
        }
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        let shared = &self.interest.shared;
        let mut inner = shared.inner.lock();
        for topic in &self.topics {
            inner.release(topic);
        }
        shared.gauge.set(inner.wanted.len());
        drop(inner);
        shared.dirty.notify_one();
    }
}

// === Behind the handle ===

/// What one shard has to be told.
#[derive(Debug)]
struct Plan {
    shard: u16,
    /// The connection for which this holds.
    connection: u64,
    register: Vec<Arc<Topic>>,
    unregister: Vec<Arc<Topic>>,
    is_settled: bool,
}

impl Inner {
    fn want(&mut self, topic: Topic) -> Arc<Topic> {
        let topic = match self.wanted.get_key_value(&topic) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::new(topic),
        };
        *self.wanted.entry(Arc::clone(&topic)).or_default() += 1;
        topic
    }

    fn release(&mut self, topic: &Arc<Topic>) {
        if let Some(count) = self.wanted.get_mut(topic) {
            *count -= 1;
            if *count == 0 {
                self.wanted.remove(topic);
            }
        }
    }

    fn connection(&self, shard: u16) -> u64 {
        self.shards.get(&shard).map_or(0, |shard| shard.connection)
    }

    fn plan(&self, shard: u16, post: &PostOffice) -> Option<Plan> {
        let state = self.shards.get(&shard).filter(|state| state.is_up)?;
        let owners = post.owners();
        let owned: HashSet<_> = self
            .wanted
            .keys()
            .filter(|topic| owners.of(topic) == Some(shard))
            .collect();
        let register = owned
            .iter()
            .filter(|topic| self.registered.get(**topic) != Some(&shard))
            .map(|topic| Arc::clone(topic))
            .collect();
        let unregister = self
            .registered
            .iter()
            .filter(|&(topic, owner)| *owner == shard && !owned.contains(topic))
            .map(|(topic, _)| Arc::clone(topic))
            .collect();
        Some(Plan {
            shard,
            connection: state.connection,
            register,
            unregister,
            is_settled: state.is_settled,
        })
    }
}

/// Cuts topics into pieces that fit into frames.
fn chunks(topics: &[Arc<Topic>]) -> impl Iterator<Item = Vec<Topic>> {
    let mut rest = topics;
    std::iter::from_fn(move || {
        let mut size = 0;
        let fits = rest.iter().take_while(|topic| {
            let is_first = size == 0;
            size += topic.size();
            is_first || size <= FRAME
        });
        let count = fits.count();
        let (chunk, after) = rest.split_at_checked(count)?;
        rest = after;
        (!chunk.is_empty()).then(|| chunk.iter().map(|topic| Topic::clone(topic)).collect())
    })
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
        let interest = Interest::new(false, gauge());
        let first = interest.want(vec![topic("a"), topic("b")]).expect("room");
        let second = interest.want(vec![topic("b")]).expect("room");

        drop(first);

        let wanted: Vec<_> = interest
            .shared
            .inner
            .lock()
            .wanted
            .keys()
            .cloned()
            .collect();
        assert_eq!(wanted, [Arc::new(topic("b"))]);
        drop(second);
        assert!(interest.shared.inner.lock().wanted.is_empty());
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

        assert!(wanted.heard(Duration::ZERO).await);
    }

    #[test]
    fn topics_are_cut_into_pieces_that_fit() {
        let topics: Vec<_> = (0..300)
            .map(|number| Arc::new(topic(&format!("{number:04000}"))))
            .collect();

        let pieces: Vec<_> = chunks(&topics).collect();

        assert!(pieces.len() > 1);
        assert_eq!(pieces.iter().map(Vec::len).sum::<usize>(), 300);
        for piece in pieces {
            assert!(piece.iter().map(Topic::size).sum::<usize>() <= FRAME);
        }
        let large = [Arc::new(topic(&"x".repeat(2 * FRAME)))];
        assert_eq!(chunks(&large).count(), 1);
    }
}
