//! The gateway's end: what its clients listen to, which shards know that, and what it may
//! believe about the others.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use conduit_link::{ShardMap, Topic, owner_of};

/// The most bytes of topics in one question.
const MOST_BYTES: usize = 256 * 1024;
/// The most topics in one question.
const MOST_TOPICS: usize = 4_096;
/// Tables of so many places are left as they are; a crowd that has left larger ones leaves
/// no memory behind.
const SPARE: usize = 1_024;

/// What one gateway wants to hear of.
///
/// Bounds: so many topics as it was made for. What is wanted no longer is remembered until
/// its shard has answered for that, and goes before what is newly wanted.
#[derive(Debug)]
pub struct Ledger {
    most: usize,
    map: ShardMap,
    wanted: HashMap<Arc<Topic>, Want>,
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

/// A topic that is wanted.
#[derive(Clone, Copy, Debug)]
struct Want {
    fingerprint: u64,
    /// How many want it.
    count: usize,
}

/// A topic that is found by its fingerprint, as there may be very many of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Keyed {
    fingerprint: u64,
    topic: Arc<Topic>,
}

impl Hash for Keyed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
    }
}

impl Keyed {
    fn of(topic: &Arc<Topic>) -> Self {
        Self::new(topic.fingerprint(), topic)
    }

    fn new(fingerprint: u64, topic: &Arc<Topic>) -> Self {
        Self {
            fingerprint,
            topic: Arc::clone(topic),
        }
    }
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
    known: HashMap<Keyed, bool>,
    /// What it has to be told that we want, and no longer want.
    register: BTreeSet<Keyed>,
    unregister: BTreeSet<Keyed>,
    /// The most topics in one question, less where there was no room for more.
    limit: Option<usize>,
    /// Those that it had to be told of when it was entered, and has not answered for.
    owed: BTreeSet<Keyed>,
    /// Whether topics were registered since some were unregistered.
    has_registered: bool,
    /// Whether there was no room though we take some that we no longer need.
    is_short: bool,
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
            let Some(want) = self.wanted.get_mut(topic) else {
                continue;
            };
            want.count -= 1;
            if want.count > 0 {
                continue;
            }
            let key = Keyed::new(want.fingerprint, topic);
            self.wanted.remove(topic);
            self.refused.remove(topic);
            if let Some(shard) = self.owner(key.fingerprint) {
                shard.unwant(&key);
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
            let is_owned = |key: &Keyed| owner_of(map, key.fingerprint) == Some(index);
            shard.register.retain(is_owned);
            shard.owed.clear();
            shard.limit = None;
            for (key, is_certain) in &mut shard.known {
                // Another shard may say meanwhile that nobody listens to it.
                if !is_owned(key) {
                    *is_certain = false;
                    shard.unregister.insert(key.clone());
                }
            }
        }
        for (topic, want) in &self.wanted {
            let owner = owner_of(&self.map, want.fingerprint);
            if let Some(shard) = owner.and_then(|owner| self.shards.get_mut(&owner)) {
                shard.want(&Keyed::new(want.fingerprint, topic));
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
        } else if shard.is_short && !shard.unregister.is_empty() {
            shard.leave()
        } else if shard.settled != Some(epoch) {
            // Only what was wanted before: whatever is wanted since is answered for when it
            // is registered, and there may be no end of it.
            match some(&shard.owed, limit) {
                owed if owed.is_empty() => Question::Settle,
                owed => shard.enroll(owed),
            }
        } else if shard.has_registered && !shard.unregister.is_empty() {
            // Their turn, so that what comes and goes quickly leaves nothing behind.
            shard.leave()
        } else if !shard.register.is_empty() {
            shard.enroll(some(&shard.register, limit))
        } else if !shard.unregister.is_empty() {
            shard.leave()
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
            (Question::Enter, Outcome::Done) => {
                shard.entered = Some(ask.epoch);
                shard.owed.clone_from(&shard.register);
            }
            (Question::Settle, Outcome::Done) => shard.settled = Some(ask.epoch),
            (Question::Register(topics), Outcome::Done) if is_new => {
                shard.limit = None;
                for key in topics.iter().map(Keyed::of) {
                    shard.owed.remove(&key);
                    if shard.register.remove(&key) {
                        shard.known.insert(key, true);
                    }
                }
            }
            (Question::Register(topics), Outcome::Full) if is_new && topics.len() > 1 => {
                shard.limit = Some(topics.len() / 2);
            }
            (Question::Register(_), Outcome::Full) if is_new && !shard.unregister.is_empty() => {
                shard.is_short = true;
            }
            (Question::Register(topics), Outcome::Full) if is_new => {
                let mut refused = Vec::new();
                for key in topics.iter().map(Keyed::of) {
                    shard.owed.remove(&key);
                    if shard.register.remove(&key) {
                        self.refused.insert(Arc::clone(&key.topic));
                        refused.push(Arc::clone(&key.topic));
                        // An earlier question that failed may have been done.
                        shard.unregister.insert(key);
                    }
                }
                return refused;
            }
            (Question::Unregister(topics), Outcome::Done) => {
                for key in topics.iter().map(Keyed::of) {
                    if !shard.register.contains(&key) {
                        shard.known.remove(&key);
                    }
                }
                tighten(&mut shard.known);
            }
            (Question::Unregister(topics), Outcome::Full | Outcome::Failed) => {
                for key in topics.iter().map(Keyed::of) {
                    if !shard.register.contains(&key) {
                        shard.unregister.insert(key);
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
        let key = Keyed::of(topic);
        let owner = owner_of(&self.map, key.fingerprint);
        match owner.and_then(|owner| self.shards.get(&owner)) {
            Some(shard) if shard.is_certain(&key) => Heard::Yes,
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
        let owner = owner_of(&self.map, topic.fingerprint())?;
        Some((owner, self.map.epoch))
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
        if let Some((known, want)) = self.wanted.get_key_value(&topic) {
            let key = Keyed::new(want.fingerprint, known);
            if let Some(want) = self.wanted.get_mut(&topic) {
                want.count += 1;
            }
            // There may be room by now: who wants it hears how it is.
            if self.refused.remove(&topic)
                && let Some(shard) = self.owner(key.fingerprint)
            {
                shard.want(&key);
            }
            return key.topic;
        }
        let key = Keyed::of(&Arc::new(topic));
        let want = Want {
            fingerprint: key.fingerprint,
            count: 1,
        };
        self.wanted.insert(Arc::clone(&key.topic), want);
        if let Some(shard) = self.owner(key.fingerprint) {
            shard.want(&key);
        }
        key.topic
    }

    fn owner(&mut self, fingerprint: u64) -> Option<&mut Shard> {
        let owner = owner_of(&self.map, fingerprint)?;
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
        for (topic, want) in &self.wanted {
            if owner_of(&self.map, want.fingerprint) == Some(index) {
                // Another life of the shard may have room.
                self.refused.remove(topic);
                shard.want(&Keyed::new(want.fingerprint, topic));
            }
        }
    }
}

impl Shard {
    /// It owns a topic that is wanted.
    fn want(&mut self, key: &Keyed) {
        self.unregister.remove(key);
        if !self.is_certain(key) {
            self.register.insert(key.clone());
        }
    }

    /// It owns a topic that is wanted no longer.
    fn unwant(&mut self, key: &Keyed) {
        self.register.remove(key);
        self.owed.remove(key);
        if self.known.contains_key(key) {
            self.unregister.insert(key.clone());
        }
    }

    /// Tells it that we want these.
    fn enroll(&mut self, topics: Vec<Keyed>) -> Question {
        self.has_registered = true;
        for key in &topics {
            self.known.entry(key.clone()).or_insert(false);
        }
        Question::Register(bare(topics))
    }

    /// Picks what it is told that we no longer want. What is wanted again from here on has
    /// to be registered again, behind this.
    fn leave(&mut self) -> Question {
        self.has_registered = false;
        self.is_short = false;
        let gone = some(&self.unregister, MOST_TOPICS);
        for key in &gone {
            self.unregister.remove(key);
            // It may know of it, or not.
            if let Some(is_certain) = self.known.get_mut(key) {
                *is_certain = false;
            }
        }
        Question::Unregister(bare(gone))
    }

    fn is_certain(&self, key: &Keyed) -> bool {
        self.known.get(key).is_some_and(|is_certain| *is_certain)
    }
}

fn bare(keys: Vec<Keyed>) -> Vec<Arc<Topic>> {
    keys.into_iter().map(|key| key.topic).collect()
}

/// Picks as many topics as fit into one question; at least one.
fn some(topics: &BTreeSet<Keyed>, limit: usize) -> Vec<Keyed> {
    let mut size = 0;
    let fits = topics.iter().take(limit).take_while(|key| {
        let is_first = size == 0;
        size += key.topic.size();
        is_first || size <= MOST_BYTES
    });
    fits.cloned().collect()
}

fn tighten<K: Eq + Hash, V>(map: &mut HashMap<K, V>) {
    if map.capacity() > SPARE && map.capacity() / 8 > map.len() {
        map.shrink_to(map.len() * 2);
    }
}

fn tighten_set<T: Eq + Hash>(set: &mut HashSet<T>) {
    if set.capacity() > SPARE && set.capacity() / 8 > set.len() {
        set.shrink_to(set.len() * 2);
    }
}
