//! Tasks that change their state all the while, and those who see to that.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conduit_testkit::{Call, Conn, Era, PATIENCE, Reply};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::audience::{Final, bare};
use crate::dice::Dice;

/// How many tasks there are, and who sees to them.
const TASKS: usize = 48;
const DRIVERS: usize = 6;
/// One task of so many is never answered: it waits.
const WAITS: usize = 3;
/// Between two looks at all tasks of a driver.
const PACE: Duration = Duration::from_millis(50);
/// How many steps a task has at least, and how many more at most; how long each takes.
const STEPS: usize = 4;
const MORE_STEPS: usize = 20;
const STEP_MS: u64 = 100;

/// Tasks that somebody sees to.
#[derive(Debug)]
pub(super) struct Watched {
    drivers: JoinSet<Result<Driver, String>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    endpoint: SocketAddr,
    start: Instant,
    stop: AtomicBool,
}

/// Sees to some of the tasks.
#[derive(Debug)]
struct Driver {
    shared: Arc<Shared>,
    conn: Option<Conn>,
    tasks: Vec<Task>,
}

#[derive(Debug)]
struct Task {
    id: String,
    waits: bool,
    /// What it was seen to be last, and when the call was sent that told so.
    last: Option<(Value, Duration)>,
    /// When a call was sent that told something else, if one was.
    other: Option<Duration>,
}

impl Watched {
    /// Makes the tasks, and returns their ids.
    ///
    /// # Errors
    ///
    /// A call makes none.
    pub(super) async fn start(
        endpoint: SocketAddr,
        start: Instant,
        seed: u64,
    ) -> Result<(Self, Vec<String>), String> {
        let mut dice = Dice::of(seed, 501);
        let shared = Arc::new(Shared {
            endpoint,
            start,
            stop: AtomicBool::new(false),
        });
        let (mut ids, mut drivers) = (Vec::new(), Vec::new());
        for _ in 0..DRIVERS {
            let mut driver = Driver {
                shared: Arc::clone(&shared),
                conn: None,
                tasks: Vec::new(),
            };
            for number in 0..TASKS / DRIVERS {
                let steps = STEPS + dice.below(MORE_STEPS);
                let id = driver.make(steps).await?;
                ids.push(id.clone());
                driver.tasks.push(Task {
                    id,
                    waits: number % WAITS == 0,
                    last: None,
                    other: None,
                });
            }
            drivers.push(driver);
        }
        let drivers = drivers.into_iter().map(Driver::run).collect();
        Ok((Self { drivers, shared }, ids))
    }

    /// Sees that every task comes to its end, or waits, and returns what they are then.
    ///
    /// # Errors
    ///
    /// One does not, or failed.
    pub(super) async fn settle(mut self) -> Result<HashMap<String, Final>, String> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let mut finals = HashMap::new();
        while let Some(ended) = self.drivers.join_next().await {
            let mut driver = ended.map_err(|broken| broken.to_string())??;
            driver.settle().await?;
            finals.extend(driver.tasks.into_iter().map(Task::end));
        }
        Ok(finals)
    }
}

// === Behind the tasks ===

impl Driver {
    async fn run(mut self) -> Result<Self, String> {
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.round().await?;
            sleep(PACE).await;
        }
        Ok(self)
    }

    /// Looks at all tasks until each is over, or waits for good, and stays so.
    async fn settle(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        while !self.round().await? {
            if Instant::now() >= deadline {
                return Err(format!("tasks do not end: {:?}", self.tasks));
            }
            sleep(PACE).await;
        }
        Ok(())
    }

    /// Looks at each task, and answers it; tells whether all are seen at their end.
    async fn round(&mut self) -> Result<bool, String> {
        let mut is_settled = true;
        for index in 0..self.tasks.len() {
            is_settled &= self.see_to(index).await?;
        }
        Ok(is_settled)
    }

    async fn see_to(&mut self, index: usize) -> Result<bool, String> {
        let task = &self.tasks[index];
        let (id, waits) = (task.id.clone(), task.waits);
        let sent = self.shared.start.elapsed();
        let call = Call::modern("tasks/get", json!({ "taskId": id }));
        let Some(reply) = self.send(call).await else {
            return Ok(false);
        };
        let result = result(&reply).ok_or_else(|| format!("no task: {reply}"))?;
        self.tasks[index].see(bare(result), sent);
        match result["status"].as_str() {
            Some("working") => Ok(false),
            Some("input_required") if waits => Ok(true),
            Some("input_required") => {
                let questions = result["inputRequests"].as_object();
                let key = questions.and_then(|map| map.keys().next());
                let key = key.ok_or_else(|| format!("no question: {reply}"))?;
                let content = json!({ "word": "go" });
                let answer = json!({ key: { "action": "accept", "content": content } });
                let params = json!({ "taskId": id, "inputResponses": answer });
                self.send(Call::modern("tasks/update", params)).await;
                Ok(false)
            }
            Some("completed") => Ok(true),
            Some(_) | None => Err(format!("a task is started again, and ends: {reply}")),
        }
    }

    async fn make(&mut self, steps: usize) -> Result<String, String> {
        let arguments = json!({ "tag": "busy", "steps": steps, "ms": STEP_MS });
        let call = Era::Modern.tool("busy_task", arguments);
        let reply = self.send(call).await.ok_or("nobody makes a task")?;
        let id = result(&reply).and_then(|result| result["taskId"].as_str());
        id.map(str::to_owned)
            .ok_or_else(|| format!("a call that made no task: {reply}"))
    }

    /// Sends a call; nothing if nobody answers, or we are to come again in a moment.
    async fn send(&mut self, call: Call) -> Option<Reply> {
        let mut conn = match self.conn.take() {
            Some(conn) => conn,
            None => Conn::try_open(self.shared.endpoint).await.ok()?,
        };
        let call = call.capabilities(json!({
            "elicitation": {},
            "extensions": { "io.modelcontextprotocol/tasks": {} },
        }));
        let reply = conn.try_send(&call).await.ok()?;
        if !conn.is_closed() {
            self.conn = Some(conn);
        }
        (reply.status != StatusCode::SERVICE_UNAVAILABLE).then_some(reply)
    }
}

impl Task {
    fn see(&mut self, state: Value, sent: Duration) {
        if let Some((before, sent)) = &self.last
            && *before != state
        {
            self.other = Some(*sent);
        }
        self.last = Some((state, sent));
    }

    fn end(self) -> (String, Final) {
        let (state, _) = self.last.unwrap_or_default();
        let other = self.other;
        (self.id, Final { state, other })
    }
}

fn result(reply: &Reply) -> Option<&Value> {
    let is_ok = reply.status == StatusCode::OK;
    is_ok.then(|| reply.message().get("result")).flatten()
}
