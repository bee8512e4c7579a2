//! The hub's end: which gateways have registered a topic, and what each of them
//! believes about the others.

mod news;
#[cfg(test)]
mod tests;
mod topics;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use conduit_link::{Roll, Slot, Topic};
use uuid::Uuid;

use self::news::News;
pub use self::news::Tell;
use self::topics::Topics;

/// The most lives of gateways that a shard knows at once, those that are away included.
const MOST_LIVES: usize = 1_024;

/// One shard of the hub; `L` leads to a gateway.
///
/// Bounds: so many registrations as it was made for, 1,024 lives of gateways, and for each
/// of them the news about as many topics as there are.
#[derive(Debug)]
pub struct Shard<L> {
    most: usize,
    /// The newest map that anybody has spoken of.
    epoch: u64,
    /// The newest map of which the supervisor has said whom to wait for.
    rolled: Option<u64>,
    /// Whom to wait for.
    awaited: BTreeSet<Uuid>,
    reaped: HashSet<Uuid>,
    /// By seat, which names a gateway for as long as it lives.
    gateways: BTreeMap<u64, Gateway<L>>,
    topics: Topics,
    /// Grows with each topic that somebody begins to listen to.
    number: u64,
}

/// Why a gateway is not entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAttached {
    /// It is dead.
    Dead,
    /// As many gateways as may be.
    Full,
}

/// Why a question of a gateway is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It follows another map than the shard, or has not said which.
    Stale,
    /// No link of this id is attached.
    Detached,
    /// As many registrations as may be.
    Full,
}

/// To whom a change has to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audience<L> {
    /// The links of those who listen.
    pub links: Vec<L>,
    /// Whether somebody listens who cannot be told now.
    pub is_partial: bool,
}

/// Why it cannot be said to whom a change has to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The publisher follows an older map.
    Stale,
    /// Somebody may listen who has not registered yet.
    NotYet,
}

/// The number of a registration, see [`Shard::is_known`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(u64);

#[derive(Debug)]
struct Gateway<L> {
    life: Uuid,
    slot: Slot,
    /// The id of its present or last link, which its registrations bear.
    link_id: u64,
    link: Option<L>,
    /// The map that it follows, as it has said on this link.
    entered: Option<u64>,
    /// The map by which it has registered everything, on whichever link.
    settled: Option<u64>,
    /// Whether registrations of an earlier link are left.
    has_ghosts: bool,
    news: News,
}

impl<L: Clone> Shard<L> {
    /// Makes a shard for at most so many registrations.
    #[must_use]
    pub fn new(registrations: usize) -> Self {
        Self {
            most: registrations,
            epoch: 0,
            rolled: None,
            awaited: BTreeSet::new(),
            reaped: HashSet::new(),
            gateways: BTreeMap::new(),
            topics: Topics::default(),
            number: 0,
        }
    }

    /// Hears from the supervisor which map is the newest, whom to wait for, and who is
    /// dead.
    pub fn roll(&mut self, roll: Roll) {
        let Roll { map, told, reaped } = roll;
        if self.rolled.is_none_or(|rolled| map.epoch > rolled) {
            // Whoever is told its first map later begins with this one. So later rolls
            // of the same map add nobody.
            self.awaited = told.into_iter().collect();
            self.rolled = Some(map.epoch);
        }
        self.learn(map.epoch);
        self.reaped = reaped.into_iter().collect();
        self.awaited.retain(|life| !self.reaped.contains(life));
        let before = self.gateways.len();
        self.gateways
            .retain(|_, gateway| !self.reaped.contains(&gateway.life));
        if self.gateways.len() < before {
            let alive = &self.gateways;
            let gone = self
                .topics
                .retain(|holder| alive.contains_key(&holder.seat));
            self.spread_gone(&gone);
        }
    }

    /// A link to a gateway is up. What it registered on an earlier link stays, so that no
    /// change passes it by, until it has settled on this one.
    ///
    /// # Errors
    ///
    /// [`NotAttached`]; the link is of no use then.
    pub fn attach(
        &mut self,
        slot: Slot,
        life: Uuid,
        link_id: u64,
        link: L,
    ) -> Result<(), NotAttached> {
        if self.reaped.contains(&life) {
            return Err(NotAttached::Dead);
        }
        let known = self.of_life(&life);
        if known.is_none() && self.gateways.len() >= MOST_LIVES {
            return Err(NotAttached::Full);
        }
        let gateway = Gateway {
            life,
            slot,
            link_id,
            link: Some(link),
            entered: None,
            settled: known.and_then(|(_, known)| known.settled),
            has_ghosts: known.is_some(),
            // What it was told on the link that it has lost it forgets before it enters.
            news: News::of_everything(
                self.topics.fingerprints(),
                known.is_some_and(|(_, known)| known.news.is_believed()),
            ),
        };
        let seat = known.map_or(link_id, |(seat, _)| *seat);
        self.gateways.insert(seat, gateway);
        Ok(())
    }

    /// A link is down. Its gateway may live, and then it believes what it was told, and
    /// its clients listen.
    pub fn detach(&mut self, link_id: u64) {
        if let Some((_, gateway)) = self.linked(link_id) {
            gateway.link = None;
            gateway.entered = None;
            // On its next link it is told everything.
            gateway.news.discard();
        }
    }

    /// A gateway follows a map from now on.
    ///
    /// # Errors
    ///
    /// [`Refused::Stale`] if that is an older one than the shard's; [`Refused::Detached`].
    pub fn enter(&mut self, link_id: u64, epoch: u64) -> Result<(), Refused> {
        self.learn(epoch);
        let newest = self.epoch;
        let (_, gateway) = self.linked(link_id).ok_or(Refused::Detached)?;
        if epoch < newest {
            return Err(Refused::Stale);
        }
        // Said twice it means nothing new: what is complete by this map may be on its way.
        if gateway.entered != Some(epoch) {
            gateway.entered = Some(epoch);
            gateway.news.forget_complete();
        }
        Ok(())
    }

    /// A gateway wants to hear of topics; all of them, or none. In effect at once; whether
    /// everybody knows, [`is_known`](Self::is_known) says.
    ///
    /// # Errors
    ///
    /// [`Refused`].
    pub fn register(
        &mut self,
        link_id: u64,
        epoch: u64,
        topics: Vec<Topic>,
    ) -> Result<Number, Refused> {
        let seat = self.entered(link_id, epoch)?;
        let fresh = topics.iter().filter(|topic| !self.topics.has(topic, seat));
        if self.topics.registrations() + fresh.count() > self.most {
            return Err(Refused::Full);
        }
        let mut begun = Vec::new();
        for topic in topics {
            begun.extend(self.topics.add(topic, seat, link_id));
        }
        if !begun.is_empty() {
            self.number += 1;
        }
        for gateway in self.attached() {
            gateway.news.begun(&begun);
        }
        Ok(Number(self.number))
    }

    /// A gateway has registered everything that this shard owns by this map.
    ///
    /// # Errors
    ///
    /// [`Refused`].
    pub fn settle(&mut self, link_id: u64, epoch: u64) -> Result<(), Refused> {
        let seat = self.entered(link_id, epoch)?;
        let (_, gateway) = self.linked(link_id).ok_or(Refused::Detached)?;
        gateway.settled = Some(epoch);
        if std::mem::take(&mut gateway.has_ghosts) {
            let gone = self
                .topics
                .retain(|holder| holder.seat != seat || holder.link_id == link_id);
            self.spread_gone(&gone);
        }
        Ok(())
    }

    /// A gateway no longer wants to hear of topics.
    ///
    /// # Errors
    ///
    /// [`Refused::Detached`].
    pub fn unregister(&mut self, link_id: u64, topics: &[Topic]) -> Result<(), Refused> {
        let (seat, _) = self.linked(link_id).ok_or(Refused::Detached)?;
        let gone = topics
            .iter()
            .filter_map(|topic| self.topics.remove(topic, seat))
            .collect::<Vec<_>>();
        self.spread_gone(&gone);
        Ok(())
    }

    /// Says to whom a change has to be told.
    ///
    /// # Errors
    ///
    /// [`Unknown`].
    pub fn audience(&mut self, epoch: u64, topic: &Topic) -> Result<Audience<L>, Unknown> {
        self.ask_audience(epoch)?;
        Ok(self.audience_now(topic))
    }

    /// Says whether [`audience_now`](Self::audience_now) may be asked, by this map.
    ///
    /// # Errors
    ///
    /// [`Unknown`].
    pub fn ask_audience(&mut self, epoch: u64) -> Result<(), Unknown> {
        self.learn(epoch);
        if epoch < self.epoch {
            Err(Unknown::Stale)
        } else if self.is_open() {
            Ok(())
        } else {
            Err(Unknown::NotYet)
        }
    }

    /// Says to whom a change has to be told, just after
    /// [`ask_audience`](Self::ask_audience).
    #[must_use]
    pub fn audience_now(&self, topic: &Topic) -> Audience<L> {
        let mut audience = Audience {
            links: Vec::new(),
            is_partial: false,
        };
        for holder in self.topics.holders(topic) {
            match self.gateways.get(&holder.seat) {
                Some(Gateway {
                    link: Some(link),
                    link_id,
                    ..
                }) if *link_id == holder.link_id => audience.links.push(link.clone()),
                Some(_) => audience.is_partial = true,
                None => {}
            }
        }
        audience
    }

    /// Whether it is known, by the newest map, who listens to what.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.rolled == Some(self.epoch)
            && self.all_awaited(|gateway| gateway.settled == Some(self.epoch))
    }

    /// Whether no gateway believes any more that nobody listens to the topics that were
    /// registered up to this number.
    #[must_use]
    pub fn is_known(&self, number: Number) -> bool {
        let knows = |gateway: &Gateway<L>| match gateway.entered {
            Some(_) => !gateway.news.is_believed() || gateway.news.noted() >= number.0,
            // It may not have noticed yet that it has no link, or another one.
            None => !gateway.news.is_believed(),
        };
        self.rolled == Some(self.epoch)
            // Until then it may believe what another shard has said, or another life of
            // this one.
            && self.all_awaited(|gateway| gateway.entered == Some(self.epoch))
            && self.gateways.values().all(knows)
    }

    /// Returns what is to be told next to the gateway behind a link; nothing while it has
    /// not answered for what it was told last, and while it does not follow the newest map.
    pub fn next_tell(&mut self, link_id: u64) -> Option<Tell> {
        let (is_open, epoch, number) = (self.is_open(), self.epoch, self.number);
        let (_, gateway) = self.linked(link_id)?;
        // Others may have registered elsewhere, by the newest map, what they take back here:
        // who follows an older one has to go on believing that somebody listens to it.
        if gateway.entered != Some(epoch) {
            return None;
        }
        gateway.news.next(number, is_open.then_some(epoch))
    }

    /// The gateway behind a link has noted what it was told last.
    pub fn noted(&mut self, link_id: u64) {
        if let Some((_, gateway)) = self.linked(link_id) {
            gateway.news.noted_last();
        }
    }

    /// Returns the links that are attached.
    pub fn links(&self) -> impl Iterator<Item = (u64, &Slot, &L)> {
        self.gateways.values().filter_map(|gateway| {
            let link = gateway.link.as_ref()?;
            Some((gateway.link_id, &gateway.slot, link))
        })
    }

    /// Whether everybody who is waited for is attached: whoever is not has nothing.
    #[must_use]
    pub fn is_gathered(&self) -> bool {
        self.rolled.is_some() && self.all_awaited(|gateway| gateway.link.is_some())
    }

    /// Returns the newest map that anybody has spoken of.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns how many topics somebody listens to.
    #[must_use]
    pub fn topics(&self) -> usize {
        self.topics.len()
    }

    /// Returns how many registrations there are, one a topic and gateway.
    #[must_use]
    pub const fn registrations(&self) -> usize {
        self.topics.registrations()
    }
}

// === Behind the shard ===

impl<L: Clone> Shard<L> {
    const fn learn(&mut self, epoch: u64) {
        if epoch > self.epoch {
            self.epoch = epoch;
        }
    }

    /// Returns the gateway that a link leads to.
    fn linked(&mut self, link_id: u64) -> Option<(u64, &mut Gateway<L>)> {
        let mut gateways = self.gateways.iter_mut();
        let found =
            gateways.find(|(_, gateway)| gateway.link_id == link_id && gateway.link.is_some());
        found.map(|(seat, gateway)| (*seat, gateway))
    }

    fn of_life(&self, life: &Uuid) -> Option<(&u64, &Gateway<L>)> {
        let mut gateways = self.gateways.iter();
        gateways.find(|(_, gateway)| gateway.life == *life)
    }

    /// Those that can be told something.
    fn attached(&mut self) -> impl Iterator<Item = &mut Gateway<L>> {
        let gateways = self.gateways.values_mut();
        gateways.filter(|gateway| gateway.link.is_some())
    }

    fn all_awaited(&self, is_so: impl Fn(&Gateway<L>) -> bool) -> bool {
        let so: HashSet<Uuid> = self
            .gateways
            .values()
            .filter(|gateway| is_so(gateway))
            .map(|gateway| gateway.life)
            .collect();
        self.awaited.iter().all(|life| so.contains(life))
    }

    /// Returns the seat of a gateway that follows the newest map.
    fn entered(&mut self, link_id: u64, epoch: u64) -> Result<u64, Refused> {
        self.learn(epoch);
        let newest = self.epoch;
        let (seat, gateway) = self.linked(link_id).ok_or(Refused::Detached)?;
        if gateway.entered != Some(epoch) || epoch < newest {
            return Err(Refused::Stale);
        }
        Ok(seat)
    }

    fn spread_gone(&mut self, gone: &[u64]) {
        for gateway in self.attached() {
            gateway.news.gone(gone);
        }
    }
}
