//! Clients that make tasks, answer, cancel and look at them, and remember what they were
//! told.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use conduit_testkit::{Call, Conn, Era, Reply};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::record::{Entry, Kind, Seen};
use crate::dice::Dice;

/// The longest that a task works, in milliseconds.
pub(super) const LONGEST: usize = 1_500;

/// How often a client does something.
const PACE: Duration = Duration::from_millis(20);
/// The most tasks of one client that are not over.
const OPEN: usize = 16;
/// The connections of a client: by chance to one gateway or to two.
const LANES: usize = 2;

/// What clients and whoever harms processes know of each other.
#[derive(Debug)]
pub(super) struct Shared {
    start: Instant,
    endpoint: watch::Sender<SocketAddr>,
    harm: watch::Sender<Harm>,
    stop: AtomicBool,
    made: AtomicU64,
    /// Where the tools write down how they were started.
    proofs: PathBuf,
}

/// When processes that take running tasks along were harmed.
#[derive(Clone, Copy, Debug, Default)]
struct Harm {
    goes_on: bool,
    last: Option<Duration>,
}

/// One client, and its record of what was acknowledged.
#[derive(Debug)]
pub(super) struct Client {
    name: u64,
    shared: Arc<Shared>,
    dice: Dice,
    lanes: [Option<Conn>; LANES],
    entries: Vec<Entry>,
    /// Which of them are not over, as far as is known.
    open: Vec<usize>,
}

impl Shared {
    pub(super) fn new(endpoint: SocketAddr, proofs: PathBuf) -> Self {
        Self {
            start: Instant::now(),
            endpoint: watch::Sender::new(endpoint),
            harm: watch::Sender::default(),
            stop: AtomicBool::new(false),
            made: AtomicU64::new(0),
            proofs,
        }
    }

    /// Sends clients to another tree.
    pub(super) fn move_to(&self, endpoint: SocketAddr) {
        self.endpoint.send_replace(endpoint);
    }

    /// Notes whether running tasks may be taken along from now on.
    pub(super) fn harm(&self, goes_on: bool) {
        self.harm.send_if_modified(|harm| {
            if harm.goes_on || goes_on {
                harm.last = Some(self.now());
            }
            harm.goes_on = goes_on;
            false
        });
    }

    /// Lets clients end, or begin.
    pub(super) fn stop(&self, stop: bool) {
        self.stop.store(stop, Ordering::Relaxed);
    }

    /// Returns how many tasks were acknowledged.
    pub(super) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Returns what the tools have found that should never be so.
    pub(super) fn violations(&self) -> String {
        self.starts_of("violations")
    }

    /// Returns how the tool of a task was started.
    pub(super) fn starts_of(&self, id: &str) -> String {
        fs::read_to_string(self.proofs.join(id)).unwrap_or_default()
    }

    /// Returns when running tasks were last taken along.
    fn last_harm(&self) -> Option<Duration> {
        let Harm { goes_on, last } = *self.harm.borrow();
        if goes_on { Some(self.now()) } else { last }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

impl Client {
    pub(super) fn new(name: u64, seed: u64, shared: Arc<Shared>) -> Self {
        Self {
            name,
            shared,
            dice: Dice::of(seed, name),
            lanes: [const { None }; LANES],
            entries: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Goes on until it is told to stop; fails with what must not be.
    pub(super) async fn run(mut self) -> Result<Self, String> {
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.shared.stop.load(Ordering::Relaxed) {
            pace.tick().await;
            self.step().await?;
        }
        Ok(self)
    }

    /// While nobody is harmed: sees that what works comes to its end in time, then that
    /// what waits does so once it is answered, and then looks at everything again.
    pub(super) async fn settle(mut self, within: Duration) -> Result<Self, String> {
        self.until(within, Entry::waits).await?;
        for index in self.open.clone() {
            while self.entries[index].waits() {
                self.answer(index).await?;
                self.look_surely(index, within).await?;
            }
        }
        self.until(within, |_| false).await?;
        for index in 0..self.entries.len() {
            self.look_surely(index, within).await?;
        }
        Ok(self)
    }

    /// Returns what was acknowledged to it.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

// === Behind the client ===

impl Client {
    async fn step(&mut self) -> Result<(), String> {
        match self.dice.below(10) {
            0..=2 if self.open.len() < OPEN => self.make().await,
            3 => match self.any_open() {
                Some(index) => self.cancel(index).await,
                None => Ok(()),
            },
            4..=5 => match self.any_waiting() {
                Some(index) => self.answer(index).await,
                None => Ok(()),
            },
            6 if !self.entries.is_empty() => {
                let index = self.dice.below(self.entries.len());
                self.look(index).await.map(drop)
            }
            _ => match self.any_open() {
                Some(index) => self.look(index).await.map(drop),
                None => Ok(()),
            },
        }
    }

    async fn make(&mut self) -> Result<(), String> {
        let kind = Kind::ALL[self.dice.below(Kind::ALL.len())];
        let tag = format!("{}-{}", self.name, self.entries.len());
        let arguments = json!({ "tag": tag, "ms": self.dice.below(LONGEST) });
        let since = self.shared.now();
        let call = Era::Modern.tool(kind.tool(), arguments);
        let Some(reply) = self.send(call).await else {
            return Ok(());
        };
        let task = result(&reply).filter(|result| result["resultType"] == "task");
        let task = task.ok_or_else(|| format!("a call that made no task: {reply}"))?;
        let entry = Entry::new(kind, tag, since, self.shared.now(), task);
        let index = self.entries.len();
        self.entries.push(entry);
        self.open.push(index);
        self.shared.made.fetch_add(1, Ordering::Relaxed);
        // Wherever it is looked for, it has to be there already (T-TASK-08).
        self.look(index).await.map(drop)
    }

    async fn cancel(&mut self, index: usize) -> Result<(), String> {
        let at = self.shared.now();
        self.entries[index].send_cancel(at);
        if self.ask("tasks/cancel", index, json!({})).await?.is_some() {
            let at = self.shared.now();
            self.entries[index].cancel_acknowledged(at);
            self.look(index).await?;
        }
        Ok(())
    }

    async fn answer(&mut self, index: usize) -> Result<(), String> {
        let Some((key, word)) = self.entries[index].next_word() else {
            return Ok(());
        };
        let content = json!({ "word": word });
        let answer = json!({ "action": "accept", "content": content });
        let at = self.shared.now();
        self.entries[index].send_word(at, word);
        let params = json!({ "inputResponses": { key: answer } });
        if self.ask("tasks/update", index, params).await?.is_some() {
            let at = self.shared.now();
            self.entries[index].word_acknowledged(at);
            self.look(index).await?;
        }
        Ok(())
    }

    /// Looks at a task; returns whether somebody told.
    async fn look(&mut self, index: usize) -> Result<bool, String> {
        let Some(reply) = self.ask("tasks/get", index, json!({})).await? else {
            return Ok(false);
        };
        let seen = Seen {
            at: self.shared.now(),
            body: &reply.body,
            result: &reply.message()["result"],
            harm: self.shared.last_harm(),
        };
        let wrong = self.entries[index].see(&seen);
        wrong.map_err(|wrong| self.told(index, &wrong))?;
        if self.entries[index].is_over() {
            self.open.retain(|open| *open != index);
        }
        Ok(true)
    }

    /// Looks at all tasks that are not over until each is, or `will_do`.
    async fn until(
        &mut self,
        within: Duration,
        will_do: impl Fn(&Entry) -> bool,
    ) -> Result<(), String> {
        let deadline = Instant::now() + within;
        let mut pace = interval(PACE);
        loop {
            pace.tick().await;
            for index in self.open.clone() {
                self.look(index).await?;
            }
            let mut left = self.open.iter();
            let Some(stuck) = left.find(|index| !will_do(&self.entries[**index])) else {
                return Ok(());
            };
            if Instant::now() >= deadline {
                return Err(self.told(*stuck, "it is stuck"));
            }
        }
    }

    /// Looks until somebody tells: nobody is harmed now.
    async fn look_surely(&mut self, index: usize, within: Duration) -> Result<(), String> {
        let deadline = Instant::now() + within;
        while !self.look(index).await? {
            if Instant::now() >= deadline {
                return Err(self.told(index, "nobody tells of it"));
            }
        }
        Ok(())
    }

    /// Asks about a task; the answer is a result, or nobody has answered.
    async fn ask(
        &mut self,
        method: &str,
        index: usize,
        mut params: Value,
    ) -> Result<Option<Reply>, String> {
        params["taskId"] = json!(self.entries[index].id);
        let Some(reply) = self.send(Call::modern(method, params)).await else {
            return Ok(None);
        };
        match result(&reply) {
            Some(_) => Ok(Some(reply)),
            None => Err(self.told(index, &format!("{method} is refused: {reply}"))),
        }
    }

    /// Sends a call over a connection of ours; nothing when it broke before the answer,
    /// or when we are to come again in a moment.
    async fn send(&mut self, call: Call) -> Option<Reply> {
        let lane = self.dice.below(LANES);
        let endpoint = *self.shared.endpoint.borrow();
        let mut conn = match self.lanes[lane].take() {
            Some(conn) => conn,
            None => Conn::try_open(endpoint).await.ok()?,
        };
        let call = call.capabilities(json!({
            "elicitation": {},
            "extensions": { "io.modelcontextprotocol/tasks": {} },
        }));
        let reply = conn.try_send(&call).await.ok()?;
        if !conn.is_closed() {
            self.lanes[lane] = Some(conn);
        }
        (reply.status != StatusCode::SERVICE_UNAVAILABLE).then_some(reply)
    }

    /// Tells what is wrong with a task, and all that is known of it.
    fn told(&self, index: usize, wrong: &str) -> String {
        let (entry, now) = (&self.entries[index], self.shared.now());
        let starts = self.shared.starts_of(&entry.id);
        format!("{wrong}\n{entry}  {now:9.3?} now\n{starts}")
    }

    fn any_open(&mut self) -> Option<usize> {
        let count = self.open.len();
        (count > 0).then(|| self.open[self.dice.below(count)])
    }

    fn any_waiting(&mut self) -> Option<usize> {
        let open = self.open.iter().copied();
        let waiting: Vec<usize> = open.filter(|index| self.entries[*index].waits()).collect();
        (!waiting.is_empty()).then(|| waiting[self.dice.below(waiting.len())])
    }
}

fn result(reply: &Reply) -> Option<&Value> {
    let is_ok = reply.status == StatusCode::OK;
    is_ok.then(|| reply.message().get("result")).flatten()
}
