//! A whole system that is up: where it is, what it says of itself.

use std::net::SocketAddr;
use std::ops::Deref;
use std::time::Duration;

use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::process::{self, Signal};
use crate::{
    Broken, Call, Conn, Ending, Launch, Metrics, Options, PATIENCE, Raw, Reply, Version,
    initialize_with, wait_until,
};

/// A running system; dropping it kills all of it.
#[derive(Debug)]
pub struct Tree {
    launch: Launch,
    endpoint: SocketAddr,
    admin: SocketAddr,
}

/// What `/status` says, as far as a test looks at it.
#[derive(Clone, Debug, Deserialize)]
pub struct Status {
    /// What the whole does: `serving`, `degraded`, `closed`.
    pub phase: String,
    /// Every slot, the supervisor's children.
    pub slots: Vec<SlotStatus>,
}

/// What `/status` says of one slot.
#[derive(Clone, Debug, Deserialize)]
pub struct SlotStatus {
    /// Its name, such as `gateway-0`.
    pub slot: String,
    /// The process in it, if there is one.
    pub pid: Option<u32>,
    /// Where it is in its life: `serving`, `parked`.
    pub phase: String,
    /// How often it was restarted.
    pub restarts: u64,
    /// How the last process in it ended.
    pub last_exit: Option<String>,
}

impl Tree {
    /// Starts a system and returns once it serves and is ready.
    pub async fn start(options: Options) -> Self {
        Self::of(options.launch()).await
    }

    /// Waits until what was launched serves and is ready.
    pub async fn of(mut launch: Launch) -> Self {
        let (found, _) = wait_until("the addresses to be printed", PATIENCE, async || {
            if let Some(ending) = launch.ended() {
                panic!("it ended instead of starting: {ending:?}");
            }
            let printed = launch.stdout();
            Some((address(&printed, "endpoint")?, address(&printed, "admin")?))
        })
        .await;
        let (endpoint, admin) = found;
        let tree = Self {
            launch,
            endpoint,
            admin,
        };
        tree.ready().await;
        tree
    }

    /// Returns where MCP is served.
    #[must_use]
    pub const fn endpoint(&self) -> SocketAddr {
        self.endpoint
    }

    /// Returns where the admin port is.
    #[must_use]
    pub const fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// Opens a connection to the endpoint.
    pub async fn conn(&self) -> Conn {
        Conn::open(self.endpoint).await
    }

    /// Opens a connection that this gateway serves.
    ///
    /// Who accepts is not for a client to choose: it opens connections, and keeps
    /// them, until the gateway counts one more.
    pub async fn conn_to(&self, gateway: &str) -> Conn {
        let mut others = Vec::new();
        for _ in 0..64 {
            let before = self.accepted_by(gateway).await;
            let mut conn = self.conn().await;
            conn.send(&Call::legacy("ping", Value::Null)).await;
            if self.accepted_by(gateway).await > before {
                return conn;
            }
            others.push(conn);
        }
        panic!("{gateway} took none of {} connections", others.len())
    }

    /// Opens a bare socket to the endpoint.
    pub async fn raw(&self) -> Raw {
        Raw::open(self.endpoint).await
    }

    /// Sends one call over a connection of its own.
    pub async fn send(&self, call: &Call) -> Reply {
        self.conn().await.send(call).await
    }

    /// Opens a session of a legacy client that can do nothing, and returns its id.
    pub async fn session(&self, version: Version) -> String {
        self.session_with(version, Value::Object(Map::new())).await
    }

    /// Opens a session of a legacy client that can do what it says, and returns its id.
    pub async fn session_with(&self, version: Version, capabilities: Value) -> String {
        let reply = self.send(&initialize_with(version, capabilities)).await;
        let id = reply.header("mcp-session-id");
        id.unwrap_or_else(|| panic!("no session in {reply}"))
            .to_owned()
    }

    /// Asks the admin port.
    ///
    /// # Errors
    ///
    /// Nobody answers.
    pub async fn ask(&self, path: &str) -> Result<Reply, Broken> {
        Conn::try_open(self.admin)
            .await?
            .try_send(&Call::verb(Method::GET).path(path))
            .await
    }

    /// Returns what `/status` says.
    pub async fn status(&self) -> Status {
        let reply = self
            .ask("/status")
            .await
            .unwrap_or_else(|problem| panic!("asking /status: {problem}"));
        serde_json::from_slice(&reply.body).unwrap_or_else(|problem| panic!("{problem} in {reply}"))
    }

    /// Returns what `/status` says of one slot.
    pub async fn slot(&self, slot: &str) -> SlotStatus {
        let status = self.status().await;
        let found = status.slots.iter().find(|of| of.slot == slot);
        found
            .unwrap_or_else(|| panic!("no {slot} in {status:?}"))
            .clone()
    }

    /// Returns the process in a slot; an empty slot is a panic.
    pub async fn pid_of(&self, slot: &str) -> u32 {
        self.slot(slot)
            .await
            .pid
            .unwrap_or_else(|| panic!("nobody in {slot}"))
    }

    /// Scrapes `/metrics`.
    pub async fn metrics(&self) -> Metrics {
        let reply = self
            .ask("/metrics")
            .await
            .unwrap_or_else(|problem| panic!("asking /metrics: {problem}"));
        assert_eq!(reply.status, StatusCode::OK, "{reply}");
        Metrics::parse(&String::from_utf8_lossy(&reply.body))
    }

    /// Returns whether `/readyz` says so.
    pub async fn is_ready(&self) -> bool {
        self.ask("/readyz")
            .await
            .is_ok_and(|reply| reply.status == StatusCode::OK)
    }

    /// Waits until `/readyz` says so, and returns how long that took.
    pub async fn ready(&self) -> Duration {
        wait_until("readiness", PATIENCE, async || {
            self.is_ready().await.then_some(())
        })
        .await
        .1
    }

    /// Sends a signal to the process in a slot and returns its pid.
    pub async fn signal_slot(&self, slot: &str, signal: Signal) -> u32 {
        let pid = self.pid_of(slot).await;
        process::signal(pid, signal);
        pid
    }

    /// Waits until another process than `before` is ready in a slot.
    pub async fn replaced(&self, slot: &str, before: u32, within: Duration) -> SlotStatus {
        let what = format!("{slot} to be filled again after {before}");
        let answer = wait_until(&what, within, async || {
            let now = self.slot(slot).await;
            (now.phase == "serving" && now.pid.is_some_and(|pid| pid != before)).then_some(now)
        });
        answer.await.0
    }

    /// Returns the memory of all processes together, in bytes (proportional shares).
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.launch
            .processes()
            .into_iter()
            .filter_map(process::memory)
            .sum()
    }

    /// Returns the descriptors of all processes together.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        self.launch
            .processes()
            .into_iter()
            .filter_map(process::descriptors)
            .sum()
    }

    /// Asks the supervisor to end and waits until all has ended; anything but
    /// status 0, or a process that stays, is a panic.
    pub async fn stop(self) -> Ending {
        self.launch.signal(Signal::TERM);
        let ending = self.launch.ending(PATIENCE).await;
        assert_eq!(ending.status, Some(0), "{ending:?}");
        ending
    }
}

impl Deref for Tree {
    type Target = Launch;

    fn deref(&self) -> &Launch {
        &self.launch
    }
}

// === Behind the tree ===

impl Tree {
    async fn accepted_by(&self, gateway: &str) -> f64 {
        self.metrics()
            .await
            .sum("conduit_http_connections_total", &[("process", gateway)])
    }
}

/// Finds the line that begins with `keyword` and has a URL after it.
fn address(printed: &str, keyword: &str) -> Option<SocketAddr> {
    printed.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        if words.next()? != keyword {
            return None;
        }
        let rest = words.next()?.strip_prefix("http://")?;
        rest.split('/').next()?.parse().ok()
    })
}
