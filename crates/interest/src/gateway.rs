//! The gateway's end: what its clients listen to, which shards know that, and what it may
//! believe about the others.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use conduit_link::{ShardMap, Topic, owner_of};

/// The most bytes of topics in one question.
const MOST_BYTES: usize = 256 * 1024;
/// The most topics in one question.
const MOST_TOPICS: usize = 4_096;

/// What one gateway wants to hear of. Bound: so many topics as it was made for.
#[derive(Debug)]
pub struct Ledger {
    most: usize,
    map: ShardMap,
    /// How many want each.
    wanted: HashMap<Arc<Topic>, usize>,
    /// Topics for which a shard has no room.
    refused: HashSet<Arc<Topic>>,
    shards: HashMap<u16, Shard>,
    /// How often a link came up or went down.
    connections: u64,
}

/// As many topics are wanted as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// How far it is that a topic is heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Each change from now on.
    Yes,
    /// Not yet.
    NotYet,
    /// Its shard has no room for it.
    Refused,
}

/// What to ask a shard next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    connection: u64,
    /// The map that is followed.
    pub epoch: u64,
    /// What.
    pub question: Question,
}

/// A question to a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// We follow the map.
    Enter,
    /// We want to hear of these.
    Register(Vec<Arc<Topic>>),
    /// We have registered everything.
    Settle,
    /// We no longer want to hear of these.
    Unregister(Vec<Arc<Topic>>),
}

/// What a shard has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// There is no room.
    Full,
    /// Something else, or nothing: it has to be asked again.
    Failed,
}

/// One shard, as we know it.
#[derive(Debug, Default)]
struct Shard {
    /// The number of the link's present state, which no other one ever had.
    connection: u64,
    is_up: bool,
    entered: Option<u64>,
    settled: Option<u64>,
    /// What it may know that we want, and whether that is certain: it has said so, and
    /// has owned it ever since.
    known: HashMap<Arc<Topic>, bool>,
    /// What it has to be told that we want, and no longer want.
    register: BTreeSet<Arc<Topic>>,
    unregister: BTreeSet<Arc<Topic>>,
    /// The most topics in one question, less where there was no room for more.
    limit: Option<usize>,
    /// What somebody listens to, by what it has told us on this connection.
    listened: HashSet<u64>,
    /// The map by which that is everything.
    complete: Option<u64>,
}

impl Ledger {
    /// Makes an empty one for at most so many topics.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            map: ShardMap::default(),
            wanted: HashMap::new(),
            refused: HashSet::new(),
            shards: HashMap::new(),
            connections: 0,
        }
    }

    /// Wants topics, each once more than before; all of them, or none.
    ///
    /// # Errors
    ///
    /// [`Full`].
    pub fn want(&mut self, topics: Vec<Topic>) -> Result<Vec<Arc<Topic>>, Full> {
        let fresh = topics
            .iter()
            .filter(|topic| !self.wanted.contains_key(*topic));
        if self.wanted.len() + fresh.count() > self.most {
            return Err(Full);
        }
        Ok(topics
            .into_iter()
            .map(|topic| self.want_one(topic))
            .collect())
    }

    /// Wants topics once less.
    pub fn release(&mut self, topics: &[Arc<Topic>]) {
        for topic in topics {
            let Some(count) = self.wanted.get_mut(topic) else {
                continue;
            };
            *count -= 1;
            if *count > 0 {
                continue;
            }
            self.wanted.remove(topic);
            self.refused.remove(topic);
            if let Some(shard) = self.owner(topic) {
                shard.unwant(topic);
            }
        }
        tighten(&mut self.wanted);
    }

    /// Takes a newer map; returns whether it is one.
    pub fn take_map(&mut self, map: &ShardMap) -> bool {
        if map.epoch <= self.map.epoch {
            return false;
        }
        self.map = map.clone();
        self.shards.retain(|index, _| map.shards.contains(index));
        for &index in &map.shards {
            self.shards.entry(index).or_default();
        }
        self.refused.clear();
        for (&index, shard) in &mut self.shards {
            shard.register.clear();
            shard.limit = None;
            for (topic, is_certain) in &mut shard.known {
                // Another shard may say meanwhile that nobody listens to it.
                *is_certain &= owner_of(map, topic.fingerprint()) == Some(index);
                shard.unregister.insert(Arc::clone(topic));
            }
        }
        for topic in self.wanted.keys() {
            let owner = owner_of(&self.map, topic.fingerprint());
            if let Some(shard) = owner.and_then(|owner| self.shards.get_mut(&owner)) {
                shard.want(topic);
            }
        }
        true
    }

    /// The link to a shard is up: whatever the shard knew of us it has forgotten, and so
    /// have we what it told us.
    pub fn up(&mut self, index: u16) {
        self.reconnect(index, true);
    }

    /// The link to a shard is down.
    pub fn down(&mut self, index: u16) {
        self.reconnect(index, false);
    }

    /// Returns what a shard has to be asked now, if there is anything.
    pub fn next(&mut self, index: u16) -> Option<Ask> {
        let epoch = self.map.epoch;
        let shard = self.shards.get_mut(&index).filter(|shard| shard.is_up)?;
        let limit = shard.limit.unwrap_or(MOST_TOPICS);
        let question = if shard.entered != Some(epoch) {
            Question::Enter
        } else if !shard.register.is_empty() {
            let topics = some(&shard.register, limit);
            for topic in &topics {
                shard.known.entry(Arc::clone(topic)).or_insert(false);
            }
            Question::Register(topics)
        } else if shard.settled != Some(epoch) {
            Question::Settle
        } else if !shard.unregister.is_empty() {
            let gone = some(&shard.unregister, MOST_TOPICS);
            // What is wanted again from here on has to be registered again, behind this.
            for topic in &gone {
                shard.unregister.remove(topic);
                shard.doubt(topic);
            }
            Question::Unregister(gone)
        } else {
            return None;
        };
        Some(Ask {
            connection: shard.connection,
            epoch,
            question,
        })
    }

    /// Notes how a question went; returns the topics that are refused for good.
    pub fn answered(&mut self, index: u16, ask: Ask, outcome: Outcome) -> Vec<Arc<Topic>> {
        let Some(shard) = self.shards.get_mut(&index) else {
            return Vec::new();
        };
        if shard.connection != ask.connection {
            return Vec::new();
        }
        // A shard that owned a topic by an older map may have lost it meanwhile, and got it
        // back: what it says of that says nothing.
        let is_new = ask.epoch == self.map.epoch;
        match (ask.question, outcome) {
            (Question::Enter, Outcome::Done) => shard.entered = Some(ask.epoch),
            (Question::Settle, Outcome::Done) => shard.settled = Some(ask.epoch),
            (Question::Register(topics), Outcome::Done) if is_new => {
                shard.limit = None;
                for topic in topics {
                    if shard.register.remove(&topic) {
                        shard.known.insert(topic, true);
                    }
                }
            }
            (Question::Register(topics), Outcome::Full) if is_new && topics.len() > 1 => {
                shard.limit = Some(topics.len() / 2);
            }
            (Question::Register(topics), Outcome::Full) if is_new => {
                let mut refused = Vec::new();
                for topic in topics {
                    if shard.register.remove(&topic) {
                        // An earlier question that failed may have been done.
                        shard.unregister.insert(Arc::clone(&topic));
                        self.refused.insert(Arc::clone(&topic));
                        refused.push(topic);
                    }
                }
                return refused;
            }
            (Question::Unregister(topics), Outcome::Done) => {
                for topic in topics {
                    if !shard.register.contains(&topic) {
                        shard.known.remove(&topic);
                    }
                }
                tighten(&mut shard.known);
            }
            (Question::Unregister(topics), Outcome::Full | Outcome::Failed) => {
                for topic in topics {
                    if !shard.register.contains(&topic) {
                        shard.unregister.insert(topic);
                    }
                }
            }
            // It may have been done all the same: it is known that it was asked.
            (Question::Register(_), Outcome::Done | Outcome::Full | Outcome::Failed)
            | (Question::Enter | Question::Settle, Outcome::Full | Outcome::Failed) => {}
        }
        Vec::new()
    }

    /// Takes what a shard says about what others listen to.
    pub fn hear(&mut self, index: u16, added: &[u64], removed: &[u64], complete: Option<u64>) {
        let Some(shard) = self.shards.get_mut(&index).filter(|shard| shard.is_up) else {
            return;
        };
        for topic in removed {
            shard.listened.remove(topic);
        }
        shard.listened.extend(added);
        if complete.is_some() {
            shard.complete = complete;
        }
        tighten_set(&mut shard.listened);
    }

    /// Whether each change of a topic is heard of from now on.
    #[must_use]
    pub fn heard(&self, topic: &Arc<Topic>) -> Heard {
        if self.refused.contains(topic) {
            return Heard::Refused;
        }
        let owner = self.map_owner(topic);
        match owner.and_then(|owner| self.shards.get(&owner)) {
            Some(shard) if shard.is_certain(topic) => Heard::Yes,
            Some(_) | None => Heard::NotYet,
        }
    }

    /// Whether it is certain that nobody listens to a topic, here or elsewhere, see the
    /// [crate].
    #[must_use]
    pub fn is_unheard(&self, topic: &Topic) -> bool {
        let fingerprint = topic.fingerprint();
        let owner = owner_of(&self.map, fingerprint);
        let owner = owner.and_then(|owner| self.shards.get(&owner));
        owner.is_some_and(|shard| {
            shard.is_up
                && shard.complete == Some(self.map.epoch)
                && !shard.listened.contains(&fingerprint)
        })
    }

    /// Returns the shard that owns a topic, and the epoch of the map by which it does.
    #[must_use]
    pub fn route(&self, topic: &Topic) -> Option<(u16, u64)> {
        self.map_owner(topic).map(|owner| (owner, self.map.epoch))
    }

    /// Returns how many topics are wanted.
    #[must_use]
    pub fn wanted(&self) -> usize {
        self.wanted.len()
    }
}

// === Behind the ledger ===

impl Ledger {
    fn want_one(&mut self, topic: Topic) -> Arc<Topic> {
        if let Some((known, _)) = self.wanted.get_key_value(&topic) {
            let topic = Arc::clone(known);
            if let Some(count) = self.wanted.get_mut(&topic) {
                *count += 1;
            }
            return topic;
        }
        let topic = Arc::new(topic);
        self.wanted.insert(Arc::clone(&topic), 1);
        if let Some(shard) = self.owner(&topic) {
            shard.want(&topic);
        }
        topic
    }

    fn map_owner(&self, topic: &Topic) -> Option<u16> {
        owner_of(&self.map, topic.fingerprint())
    }

    fn owner(&mut self, topic: &Topic) -> Option<&mut Shard> {
        let owner = self.map_owner(topic)?;
        self.shards.get_mut(&owner)
    }

    fn reconnect(&mut self, index: u16, is_up: bool) {
        let Some(shard) = self.shards.get_mut(&index) else {
            return;
        };
        self.connections += 1;
        *shard = Shard {
            connection: self.connections,
            is_up,
            ..Shard::default()
        };
        for topic in self.wanted.keys() {
            let is_owned = owner_of(&self.map, topic.fingerprint()) == Some(index);
            if is_owned && !self.refused.contains(topic) {
                shard.want(topic);
            }
        }
    }
}

impl Shard {
    /// It owns a topic that is wanted.
    fn want(&mut self, topic: &Arc<Topic>) {
        self.unregister.remove(topic);
        if !self.is_certain(topic) {
            self.register.insert(Arc::clone(topic));
        }
    }

    /// It owns a topic that is wanted no longer.
    fn unwant(&mut self, topic: &Arc<Topic>) {
        self.register.remove(topic);
        if self.known.contains_key(topic) {
            self.unregister.insert(Arc::clone(topic));
        }
    }

    fn is_certain(&self, topic: &Arc<Topic>) -> bool {
        self.known.get(topic).is_some_and(|is_certain| *is_certain)
    }

    /// It may know of a topic, or not.
    fn doubt(&mut self, topic: &Arc<Topic>) {
        if let Some(is_certain) = self.known.get_mut(topic) {
            *is_certain = false;
        }
    }
}

/// Picks as many topics as fit into one question; at least one.
fn some(topics: &BTreeSet<Arc<Topic>>, limit: usize) -> Vec<Arc<Topic>> {
    let mut size = 0;
    let fits = topics.iter().take(limit).take_while(|topic| {
        let is_first = size == 0;
        size += topic.size();
        is_first || size <= MOST_BYTES
    });
    fits.cloned().collect()
}

/// A crowd that has left leaves no memory behind.
const SPARE: usize = 1_024;

fn tighten<V>(map: &mut HashMap<Arc<Topic>, V>) {
    if map.capacity() > SPARE && map.capacity() / 8 > map.len() {
        map.shrink_to(map.len() * 2);
    }
}

fn tighten_set<T: Eq + std::hash::Hash>(set: &mut HashSet<T>) {
    if set.capacity() > SPARE && set.capacity() / 8 > set.len() {
        set.shrink_to(set.len() * 2);
    }
}
