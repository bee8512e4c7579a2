//! What the admin port shows of the tree.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use conduit_lifecycle::Phase;
use conduit_link::{Answer, Lane, Message, Role, ShardMap, ToChild};
use conduit_telemetry::Event;
use serde::{Serialize, Serializer};
use tokio::task::JoinSet;
use tracing::debug;
use uuid::Uuid;

use crate::children::Member;
use crate::house::House;
use crate::table::{Grip, Table, Target};
use crate::tree_phase::TreePhase;

/// Shows the tree; cheap to clone.
#[derive(Clone, Debug)]
pub struct Board {
    house: Arc<House>,
}

/// The whole tree, as `/status` shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The version of this build.
    pub version: &'static str,
    /// What tells this executable from any other.
    pub build: String,
    /// What the tree is doing.
    pub phase: TreePhase,
    /// Where clients are served.
    pub endpoint: SocketAddr,
    /// The supervisor's process id.
    pub pid: u32,
    /// Since the supervisor started, in seconds.
    pub uptime_s: u64,
    /// Every slot, in the order of its start.
    pub slots: Vec<SlotView>,
    /// Which hubs there are.
    pub shard_map: ShardMap,
    /// The longest time since a gateway slot last answered a probe, in
    /// milliseconds; none while one of them has not answered yet.
    pub worst_probe_ms: Option<u64>,
}

/// One slot, as `/status` shows it.
#[derive(Clone, Debug, Serialize)]
pub struct SlotView {
    /// Its name, such as `gateway-0`.
    pub slot: String,
    /// What its process is to the tree.
    pub role: &'static str,
    /// What it is doing.
    #[serde(serialize_with = "word")]
    pub phase: Phase,
    /// The process that fills it.
    pub pid: Option<u32>,
    /// Names this life of the slot.
    pub life: Option<Uuid>,
    /// Since that process was started, in seconds.
    pub uptime_s: Option<u64>,
    /// How often it was filled again.
    pub restarts: u64,
    /// How the last process in it ended.
    pub last_exit: Option<String>,
    /// Its last answer to a probe; only gateways are asked.
    pub probe: Option<ProbeView>,
    /// How long the main loop of the process stood still at its last heartbeat, in
    /// milliseconds.
    pub lag_ms: Option<u64>,
    /// Whether its control link is up.
    pub linked: bool,
}

/// An answer to a probe.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ProbeView {
    /// How long ago it came, in milliseconds.
    pub age_ms: u64,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// A gateway slot that is not ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotReady {
    /// Its name.
    pub slot: String,
    /// What it is doing.
    #[serde(serialize_with = "word")]
    pub phase: Phase,
    /// How long ago its process last answered a probe, in milliseconds.
    pub probe_age_ms: Option<u64>,
}

impl Board {
    /// Shows everything.
    #[must_use]
    pub fn status(&self) -> Status {
        let now = self.house.now();
        let table = self.house.table.lock();
        Status {
            version: env!("CARGO_PKG_VERSION"),
            build: self.house.build.clone(),
            phase: TreePhase::of(table.signs()),
            endpoint: self.house.endpoint,
            pid: std::process::id(),
            uptime_s: now.as_secs(),
            slots: table
                .shown()
                .into_iter()
                .map(|(member, grip)| view(member, grip, now))
                .collect(),
            shard_map: table.roster.map().clone(),
            worst_probe_ms: worst_probe(&table, now),
        }
    }

    /// Says whether each gateway slot has answered a probe through its real
    /// pipeline lately. A gateway that was added since the start counts once it has
    /// answered for the first time, or was parked; one that is scaled away does not.
    ///
    /// # Errors
    ///
    /// The slots that have not.
    pub fn ready(&self) -> Result<(), Vec<NotReady>> {
        let now = self.house.now();
        let table = self.house.table.lock();
        let late: Vec<_> = table
            .slots()
            .filter(|(member, _)| member.slot.role == Role::Gateway && member.counts())
            .filter_map(|(member, grip)| self.not_ready(member, grip, now))
            .collect();
        if late.is_empty() { Ok(()) } else { Err(late) }
    }

    /// Waits until no gateway has served for a second: whoever connects now would
    /// hang for as long as the gateways take to come back.
    ///
    /// # Cancel safety
    ///
    /// Safe: the second begins anew.
    pub async fn closed(&self) {
        loop {
            self.house.until(|table| !table.is_open()).await;
            tokio::select! {
                biased;
                () = self.open() => {}
                () = tokio::time::sleep(PATIENCE) => return,
            }
        }
    }

    /// Waits until some gateway serves.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn open(&self) {
        self.house.until(Table::is_open).await;
    }

    /// Collects the encoded metrics of every process, our own first.
    ///
    /// A child that does not answer in time is left out, and an event says so.
    ///
    /// # Cancel safety
    ///
    /// Safe: answers that still come are thrown away.
    pub async fn scrape(&self) -> Vec<Vec<u8>> {
        let Ok(_turn) = self.house.scrapes.acquire().await else {
            return Vec::new();
        };
        let targets = self.house.table.lock().targets(None);
        let mut asked = JoinSet::new();
        for target in targets {
            asked.spawn(scrape(Arc::clone(&self.house), target));
        }
        let mut parts = vec![self.house.telemetry.encode()];
        while let Some(answer) = asked.join_next().await {
            parts.extend(answer.ok().flatten());
        }
        parts
    }

    pub(crate) const fn new(house: Arc<House>) -> Self {
        Self { house }
    }

    fn not_ready(&self, member: &Member, grip: &Grip, now: Duration) -> Option<NotReady> {
        let phase = member.place.phase();
        let age = grip.answer.map(|answer| now.saturating_sub(answer.at));
        let valid = age.is_some_and(|age| age <= self.house.options.probe_valid);
        if valid && phase == Phase::Serving {
            return None;
        }
        Some(NotReady {
            slot: member.slot.to_string(),
            phase,
            probe_age_ms: age.map(millis),
        })
    }
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.slot, self.phase)?;
        match self.probe_age_ms {
            Some(age) => write!(f, ", answered a probe {age} ms ago"),
            None => f.write_str(", has not answered a probe"),
        }
    }
}

// === Behind the board ===

/// How long a connection may wait for a gateway that is being replaced.
const PATIENCE: Duration = Duration::from_secs(1);

fn view(member: &Member, grip: &Grip, now: Duration) -> SlotView {
    let Member { slot, place, .. } = member;
    let occupant = place.occupant();
    let link = grip.link.as_ref().filter(|link| link.is_up());
    SlotView {
        slot: slot.to_string(),
        role: slot.role.as_str(),
        phase: place.phase(),
        pid: occupant.map(|occupant| occupant.pid),
        life: occupant.map(|occupant| occupant.life),
        uptime_s: occupant.map(|occupant| now.saturating_sub(occupant.since).as_secs()),
        restarts: place.restarts(),
        last_exit: place.last_exit().map(ToString::to_string),
        probe: grip.answer.map(|answer| ProbeView {
            age_ms: millis(now.saturating_sub(answer.at)),
            took_ms: millis(answer.took),
        }),
        lag_ms: link.map(|link| millis(link.peer_lag())),
        linked: link.is_some(),
    }
}

fn worst_probe(table: &Table, now: Duration) -> Option<u64> {
    table
        .slots()
        .filter(|(member, _)| member.slot.role == Role::Gateway && member.counts())
        .map(|(_, grip)| {
            grip.answer
                .map(|answer| millis(now.saturating_sub(answer.at)))
        })
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .max()
}

async fn scrape(house: Arc<House>, target: Target) -> Option<Vec<u8>> {
    let patience = house.options.scrape_patience;
    let asked = target
        .link
        .call(Lane::Control, Message::ToChild(ToChild::Scrape), patience);
    match asked.await {
        Ok(Answer::Metrics(bytes)) => return Some(bytes.into_vec()),
        Ok(other) => debug!(peer = %target.link.slot(), answer = ?other, "scrape refused"),
        Err(error) => debug!(peer = %target.link.slot(), %error, "scrape not answered"),
    }
    let slot = target.link.slot().to_string();
    house.telemetry.emit(Event::ScrapeMissed { slot });
    None
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn word<S: Serializer>(phase: &Phase, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(phase.as_str())
}
