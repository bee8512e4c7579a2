//! Keeps one of many streams open, and reads it at its pace.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use conduit_testkit::{Call, Conn, PATIENCE, Reply, Version, initialize};
use http::{Method, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep};

use super::life::{Asked, Kind, Life};
use super::wire::{NoStream, Wire};
use super::{Era, Pace, Plan};
use crate::dice::Dice;

/// Before a stream that could not be opened is opened again.
const AGAIN: Duration = Duration::from_millis(20);
/// How many streams are opened at once.
const OPENINGS: usize = 64;
/// As much as there is.
const ALL: usize = usize::MAX;
/// What a slow reader takes at once, in bytes, and how long it rests after that.
const SIP: usize = 64;
const REST: Duration = Duration::from_millis(40);
/// How long one that stalls takes nothing, and after how many readings, at most.
const STALL: usize = 4_000;
const READINGS: usize = 50;

/// What all streams have in common.
#[derive(Debug)]
pub(super) struct Shared {
    start: Instant,
    endpoint: SocketAddr,
    pub(super) ears: Vec<Ear>,
    openings: Semaphore,
    is_calm: watch::Sender<bool>,
}

/// A stream, however often it is opened.
#[derive(Debug)]
pub(super) struct Ear {
    pub(super) plan: Plan,
    pub(super) life: Mutex<Option<Life>>,
    /// How often it was opened, and how often it did not break off.
    pub(super) lives: AtomicUsize,
    pub(super) ends: AtomicUsize,
}

impl Shared {
    pub(super) fn new(endpoint: SocketAddr, start: Instant, plans: Vec<Plan>) -> Self {
        Self {
            start,
            endpoint,
            ears: plans.into_iter().map(Ear::new).collect(),
            openings: Semaphore::new(OPENINGS),
            is_calm: watch::Sender::new(false),
        }
    }

    /// Lets every reader take what there is from now on.
    pub(super) fn calm(&self) {
        self.is_calm.send_replace(true);
    }

    /// Looks at every stream; one that is not open is something to be found.
    pub(super) fn each(&self, find: impl Fn(&Life) -> Vec<String>) -> Vec<String> {
        let ears = self.ears.iter().enumerate();
        ears.flat_map(|(number, ear)| {
            let found = match ear.life.lock().as_ref() {
                Some(life) => find(life),
                None => vec!["not open".to_owned()],
            };
            let lives = ear.lives.load(Ordering::Relaxed);
            let Plan { era, pace, .. } = ear.plan;
            let name = format!("stream {number} ({era:?}, {pace:?}, life {lives})");
            found.into_iter().map(move |what| format!("{name}: {what}"))
        })
        .collect()
    }

    /// Keeps a stream open; returns what was wrong.
    pub(super) async fn run(&self, number: usize, mut dice: Dice) -> String {
        let ear = &self.ears[number];
        let id = if number.is_multiple_of(2) {
            json!(number)
        } else {
            json!(format!("stream {number}"))
        };
        let (call, kind) = match ear.plan.era {
            Era::Modern => (listen(&ear.plan.asked, &id), Kind::Listen(id)),
            Era::Legacy | Era::Resuming => match self.session(&ear.plan.asked).await {
                Ok(session) => (get(&session), Kind::Session),
                Err(wrong) => return wrong,
            },
        };
        let mut last_id: Option<String> = None;
        loop {
            let call = match &last_id {
                Some(id) => call.clone().header("last-event-id", id),
                None => call.clone(),
            };
            match self.live(ear, &call, &kind, &mut dice).await {
                Ok(id) if ear.plan.era == Era::Resuming => last_id = id.or(last_id),
                Ok(_) => {}
                Err(wrong) => return format!("stream {number}: {wrong}"),
            }
            if last_id.is_none() {
                *ear.life.lock() = None;
            } else if let Some(life) = ear.life.lock().as_mut() {
                life.broke();
            }
            sleep(AGAIN).await;
        }
    }
}

// === Behind the streams ===

impl Ear {
    fn new(plan: Plan) -> Self {
        Self {
            plan,
            life: Mutex::new(None),
            lives: AtomicUsize::new(0),
            ends: AtomicUsize::new(0),
        }
    }
}

impl Shared {
    /// Opens a stream and reads it to its end; returns the id of the last event.
    async fn live(
        &self,
        ear: &Ear,
        call: &Call,
        kind: &Kind,
        dice: &mut Dice,
    ) -> Result<Option<String>, String> {
        let mut opening = self.openings.acquire().await.ok();
        let is_small = ear.plan.pace != Pace::Brisk;
        let Ok(mut wire) = Wire::open(self.endpoint, call, is_small).await else {
            return Ok(None);
        };
        ear.lives.fetch_add(1, Ordering::Relaxed);
        ear.life
            .lock()
            .get_or_insert_with(|| Life::new(kind.clone(), ear.plan.asked.clone()));
        loop {
            let most = if opening.is_some() {
                ALL
            } else {
                self.rest(ear.plan.pace, dice).await
            };
            let messages = match wire.read(most).await {
                Ok(Some(messages)) => messages,
                Ok(None) => break,
                // As whoever comes too early, or to a store that is not there, is told.
                Err(NoStream(head)) if head.starts_with("http/1.1 503") => break,
                Err(NoStream(head)) => return Err(head),
            };
            let now = self.start.elapsed();
            let mut life = ear.life.lock();
            let Some(life) = life.as_mut() else { break };
            if wire.is_open() {
                life.opened(now);
            }
            for message in messages {
                let message: Value = message.parse().expect("a message is JSON");
                life.see(now, &message)?;
            }
            if life.is_heard() {
                opening = None;
            }
            if wire.is_over() {
                if *kind != Kind::Session && !life.is_over() {
                    return Err("it ends without a result".to_owned());
                }
                ear.ends.fetch_add(1, Ordering::Relaxed);
                break;
            }
        }
        Ok(wire.last_id().map(str::to_owned))
    }

    /// Waits as a reader of this pace does; returns how much it takes then.
    async fn rest(&self, pace: Pace, dice: &mut Dice) -> usize {
        let mut is_calm = self.is_calm.subscribe();
        let (most, rest) = match pace {
            _ if *is_calm.borrow_and_update() => return ALL,
            Pace::Brisk => return ALL,
            Pace::Slow => (SIP, REST),
            Pace::Stalling if dice.below(READINGS) > 0 => return ALL,
            Pace::Stalling => (ALL, Duration::from_millis(dice.below(STALL) as u64)),
        };
        tokio::select! {
            biased;
            _ = is_calm.changed() => ALL,
            () = sleep(rest) => most,
        }
    }

    /// Opens a legacy session that subscribes to resources, and returns its id.
    async fn session(&self, asked: &Asked) -> Result<String, String> {
        let _opening = self.openings.acquire().await.ok();
        let mut conn = None;
        let reply = self
            .send(&mut conn, &initialize(Version::November2025))
            .await?;
        let session = reply
            .header("mcp-session-id")
            .ok_or_else(|| format!("no session: {reply}"))?;
        for uri in asked.uris() {
            let call = Call::legacy("resources/subscribe", json!({ "uri": uri }));
            let reply = self.send(&mut conn, &call.session(session)).await?;
            if reply.message().get("result").is_none() {
                return Err(format!("no subscription: {reply}"));
            }
        }
        Ok(session.to_owned())
    }

    /// Sends a call until somebody answers.
    async fn send(&self, conn: &mut Option<Conn>, call: &Call) -> Result<Reply, String> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let ours = match conn.take() {
                Some(ours) => Ok(ours),
                None => Conn::try_open(self.endpoint).await,
            };
            if let Ok(mut ours) = ours
                && let Ok(reply) = ours.try_send(call).await
                && reply.status != StatusCode::SERVICE_UNAVAILABLE
            {
                *conn = Some(ours).filter(|ours| !ours.is_closed());
                return Ok(reply);
            }
            sleep(AGAIN).await;
        }
        Err(format!("nobody answers {call:?}"))
    }
}

fn listen(asked: &Asked, id: &Value) -> Call {
    let params = json!({ "notifications": asked.filter() });
    Call::modern("subscriptions/listen", params)
        .id(id.clone())
        .capabilities(json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }))
}

fn get(session: &str) -> Call {
    Call::verb(Method::GET)
        .header("accept", "text/event-stream")
        .header("mcp-protocol-version", Version::November2025.as_str())
        .session(session)
}
