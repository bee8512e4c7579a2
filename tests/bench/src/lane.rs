//! One connection of a measurement: its requests, one after the other, and its counts.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::Instant;

use crate::connection::{Connection, Trouble};
use crate::endpoint::Endpoint;
use crate::latency::Latency;
use crate::load::{self, Load};
use crate::request::{Ids, Request};
use crate::stored::{self, Stored};

/// After so many failures a connection is not opened again.
const MOST_FAILURES: u64 = 8;

/// A connection that is driven.
#[derive(Debug)]
pub(crate) struct Lane {
    endpoint: Endpoint,
    connection: Connection,
    session: Option<String>,
    request: Request,
    ids: Ids,
    /// The tasks that are looked at, if the load looks at any.
    stored: Option<Stored>,
    /// How long the body of a good answer is.
    expected: usize,
}

/// What became of a lane's requests.
#[derive(Debug)]
pub(crate) struct Tally {
    /// The good answers.
    pub(crate) latency: Latency,
    /// When the last good answer came.
    pub(crate) last: Option<Instant>,
    /// How many requests had no good answer.
    pub(crate) errors: u64,
    /// What was wrong with the first of them.
    pub(crate) first_error: Option<String>,
}

impl Lane {
    /// Connects, and begins a session where the load has one.
    pub(crate) async fn open(
        endpoint: &Endpoint,
        load: Load,
        ids: Ids,
        expected: usize,
    ) -> Result<Self, String> {
        let said = |trouble: Trouble| trouble.to_string();
        let mut connection = Connection::open(endpoint.address).await.map_err(said)?;
        let session = match load.has_session() {
            true => Some(begin_session(&mut connection, endpoint).await?),
            false => None,
        };
        let mut request = load.request(endpoint, session.as_deref());
        request.set_task(&stored::name(0));
        Ok(Self {
            request,
            endpoint: endpoint.clone(),
            connection,
            session,
            ids,
            stored: None,
            expected,
        })
    }

    /// Looks at any of these tasks; else it is always the same one.
    pub(crate) fn among(self, stored: Stored) -> Self {
        Self {
            stored: Some(stored),
            ..self
        }
    }

    /// Sends requests until this moment, or until it is told to stop, and waits for the
    /// answer to the last one.
    pub(crate) async fn drive(&mut self, until: Instant, stop: &AtomicBool, tally: &mut Tally) {
        let mut begun = Instant::now();
        while begun < until && !stop.load(Ordering::Relaxed) {
            self.request.set_id(self.ids.take());
            if let Some(stored) = &mut self.stored {
                self.request.set_task(&stored.any());
            }
            let answer = self.connection.exchange(self.request.bytes()).await;
            let now = Instant::now();
            let wrong = match answer {
                Ok(head) if head.status != 200 => format!("status {}", head.status),
                Ok(head) if head.body != self.expected => {
                    format!("{} bytes, not {}", head.body, self.expected)
                }
                Ok(head) if head.closes => "an answer that ends the connection".to_owned(),
                Ok(_good) => {
                    tally.latency.record(now - begun);
                    tally.last = Some(now);
                    begun = now;
                    continue;
                }
                Err(trouble) => trouble.to_string(),
            };
            tally.failed(wrong);
            if tally.errors >= MOST_FAILURES {
                return;
            }
            match Connection::open(self.endpoint.address).await {
                Ok(connection) => self.connection = connection,
                Err(trouble) => return tally.failed(trouble.to_string()),
            }
            begun = Instant::now();
        }
    }

    /// Sends the request once, not measured; returns the answer's status and body.
    pub(crate) async fn try_once(&mut self) -> Result<(u16, &[u8]), Trouble> {
        let head = self.connection.ask(self.request.bytes()).await?;
        Ok((head.status, self.connection.body(head)))
    }

    /// Ends the session, if there is one. Whether that succeeds does not matter here.
    pub(crate) async fn close(mut self) {
        if let Some(session) = self.session.take() {
            let end = load::end(&self.endpoint, &session);
            drop(self.connection.ask(end.bytes()).await);
        }
    }
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            latency: Latency::new(),
            last: None,
            errors: 0,
            first_error: None,
        }
    }

    /// Counts a request that had no good answer.
    pub(crate) fn failed(&mut self, why: String) {
        self.errors += 1;
        self.first_error.get_or_insert(why);
    }

    /// Adds the counts of another lane.
    pub(crate) fn merge(&mut self, other: Self) {
        self.latency.merge(&other.latency);
        self.last = self.last.max(other.last);
        self.errors += other.errors;
        self.first_error = self.first_error.take().or(other.first_error);
    }
}

/// Opens a session and returns its id.
pub(crate) async fn begin_session(
    connection: &mut Connection,
    endpoint: &Endpoint,
) -> Result<String, String> {
    let said = |trouble: Trouble| format!("initialize: {trouble}");
    let initialize = load::initialize(endpoint);
    let head = connection.ask(initialize.bytes()).await.map_err(said)?;
    let session = connection.field(head, "mcp-session-id").map(str::to_owned);
    let Some(session) = session.filter(|_| head.status == 200) else {
        return Err(format!("initialize: status {}, or no session", head.status));
    };
    let initialized = load::initialized(endpoint, &session);
    let head = connection.ask(initialized.bytes()).await.map_err(said)?;
    if head.status != 202 {
        return Err(format!("notifications/initialized: status {}", head.status));
    }
    Ok(session)
}
