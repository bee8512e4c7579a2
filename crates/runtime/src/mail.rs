//! Mail to the other gateways, through the hub shard that owns its key.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use conduit_link::{
    Answer, Lane, Link, Links, Mail, Message as Wire, Receiver, Recipients, ShardMap, Slot, ToHub,
    owner,
};
use parking_lot::RwLock;
use tracing::{debug, info};

/// Sends mail; cheap to clone.
#[derive(Clone)]
pub(crate) struct PostOffice {
    shared: Arc<Shared>,
}

struct Shared {
    /// None in a process without peers.
    links: Option<Links>,
    receiver: Receiver,
    deadline: Duration,
    /// The newest map, and one link for each of its shards.
    shards: RwLock<Shards>,
}

#[derive(Default)]
struct Shards {
    map: ShardMap,
    links: HashMap<u16, Link>,
}

impl PostOffice {
    /// `receiver` hears what hubs say; `deadline` bounds every mail.
    pub(crate) fn new(links: Option<Links>, receiver: Receiver, deadline: Duration) -> Self {
        Self {
            shared: Arc::new(Shared {
                links,
                receiver,
                deadline,
                shards: RwLock::default(),
            }),
        }
    }

    /// Takes a newer shard map: links to new shards open, those to old ones close.
    pub(crate) fn take_map(&self, map: ShardMap) {
        let Shared {
            links,
            receiver,
            shards,
            ..
        } = &*self.shared;
        let Some(links) = links else { return };
        let mut shards = shards.write();
        if map.epoch <= shards.map.epoch {
            debug!(epoch = map.epoch, "stale shard map refused");
            return;
        }
        info!(epoch = map.epoch, shards = ?map.shards, "new shard map");
        links.set_epoch(map.epoch);
        shards.links.retain(|index, link| {
            let kept = map.shards.contains(index);
            if !kept {
                link.close();
            }
            kept
        });
        for &index in &map.shards {
            shards
                .links
                .entry(index)
                .or_insert_with(|| links.connect(Slot::hub(index), Arc::clone(receiver)));
        }
        shards.map = map;
    }

    /// Whether there are hubs at all.
    pub(crate) fn has_peers(&self) -> bool {
        self.shared.links.is_some()
    }

    /// Asks a shard. `None` when there is no answer.
    pub(crate) async fn ask(
        &self,
        shard: u16,
        question: ToHub,
        deadline: Duration,
    ) -> Option<Answer> {
        let link = self.shared.shards.read().links.get(&shard).cloned()?;
        ask(&link, Lane::Data, question, deadline).await
    }

    /// Sends mail to one gateway and returns what it answers; `None` when it is not
    /// there, or does not.
    pub(crate) async fn send_to(
        &self,
        slot: Slot,
        mail: Mail,
        deadline: Duration,
    ) -> Option<Answer> {
        let link = self.owner(mail.key())?;
        let question = ToHub::Mail {
            to: Recipients::One(slot),
            mail,
            deadline_ms: millis(deadline),
        };
        ask(&link, Lane::Data, question, deadline).await
    }

    /// Sends mail to every other gateway and returns how many took it; `None` when
    /// not all of them can be known to have got it, as while a hub is out of reach.
    pub(crate) async fn send_to_others(&self, mail: Mail) -> Option<u16> {
        if self.shared.links.is_none() {
            return Some(0);
        }
        let Some(link) = self.owner(mail.key()) else {
            debug!("no shard owns the mail's key");
            return None;
        };
        let deadline = self.shared.deadline;
        let question = ToHub::Mail {
            to: Recipients::Others,
            mail,
            deadline_ms: millis(deadline),
        };
        let answer = ask(&link, Lane::Control, question, deadline).await?;
        if let Answer::Receipts {
            taken, missing: 0, ..
        } = answer
        {
            return Some(taken);
        }
        debug!(?answer, "mail not delivered to all");
        None
    }

    fn owner(&self, key: &str) -> Option<Link> {
        let shards = self.shared.shards.read();
        let index = owner(&shards.map, key)?;
        shards.links.get(&index).cloned()
    }
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

async fn ask(link: &Link, lane: Lane, question: ToHub, deadline: Duration) -> Option<Answer> {
    match link.call(lane, Wire::ToHub(question), deadline).await {
        Ok(answer) => Some(answer),
        Err(error) => {
            debug!(%error, "no answer from the hub");
            None
        }
    }
}

impl std::fmt::Debug for PostOffice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostOffice")
            .field("map", &self.shared.shards.read().map)
            .finish_non_exhaustive()
    }
}
