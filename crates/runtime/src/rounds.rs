//! What a callback that asks its client carries from one round to the next.
//!
//! A callback runs from its start in each round, with all that was answered so far and
//! with the state that it has noted. Modern requests carry both themselves, sealed
//! (R16); a bridged call keeps them in memory, and a task in the store.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use conduit_auth::{Binding, Rejected};
use conduit_link::{Answer, Refusal, TaskAnswer, TaskQuestion, ToStore};
use conduit_protocol::limits::INPUT_RESPONSES;
use conduit_protocol::{
    Code, InputRequest, InputRequired, Message, Method, Params, Retry, WireError, parse,
};
use conduit_server::Input;
use conduit_telemetry::BadState;
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::{debug, error};
use uuid::Uuid;

use crate::gateway::Shared;
use crate::hosted::Hosted;

/// When trying again makes sense.
const RETRY: Duration = Duration::from_secs(1);

/// What is known when a round begins.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// How many rounds there were before.
    pub(crate) round: u32,
    /// What the callback has noted.
    pub(crate) state: Option<Value>,
    /// What was answered, by key.
    pub(crate) answers: Vec<(String, Box<RawValue>)>,
}

/// The first round of a request, or a later one.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) carried: Carried,
    /// The name of the state that the request came with, and until when that can be
    /// used: for callbacks whose states hold for one use.
    pub(crate) single_use: Option<SingleUse>,
}

/// A state that may have been used before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SingleUse {
    pub(crate) nonce: Uuid,
    /// In milliseconds since 1970.
    pub(crate) until_ms: u64,
}

impl Carried {
    /// Writes it as JSON.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let Self {
            round,
            state,
            answers,
        } = self;
        // Numbers, texts and what was JSON before: this cannot fail.
        serde_json::to_vec(&(round, state, answers)).unwrap_or_default()
    }

    /// Reads what [`to_json`](Self::to_json) has written.
    pub(crate) fn from_json(json: &[u8]) -> Option<Self> {
        let (round, state, answers) = serde_json::from_slice(json).ok()?;
        Some(Self {
            round,
            state,
            answers,
        })
    }

    /// Hands it to a callback.
    pub(crate) fn into_input(self) -> Arc<Input> {
        Arc::new(Input::new(self.answers, self.state))
    }

    /// Returns what the next round is to know, after a callback that had `input` has
    /// asked: `state` is what it said with its question.
    pub(crate) fn after(round: u32, input: &Input, state: Option<Value>) -> Self {
        Self {
            round: round.saturating_add(1),
            state: state.or_else(|| input.state()),
            answers: input.carried(),
        }
    }

    /// Adds answers, but for those that are known.
    pub(crate) fn add(&mut self, answers: Vec<(String, Box<RawValue>)>) {
        for (key, answer) in answers {
            if !self.answers.iter().any(|(known, _)| *known == key) {
                self.answers.push((key, answer));
            }
        }
    }

    /// Whether there is nothing that a client has to bring back.
    fn is_empty(&self) -> bool {
        self.state.is_none() && self.answers.is_empty()
    }
}

impl Rounds {
    /// Reads what a modern request brings from the round before. A state that is not
    /// ours, too old, or of another request is refused, whatever is wrong with it (R15).
    pub(crate) fn read(
        shared: &Shared,
        hosted: &Hosted,
        method: Method,
        params: &Params<'_>,
    ) -> Result<Self, WireError> {
        let Some(Retry { responses, state }) = Retry::read(params)? else {
            return Ok(Self::default());
        };
        let mut rounds = match state {
            Some(token) => Self::open(shared, hosted, method, params, &token)?,
            None => Self::default(),
        };
        rounds.carried.add(responses);
        Ok(rounds)
    }

    fn open(
        shared: &Shared,
        hosted: &Hosted,
        method: Method,
        params: &Params<'_>,
        token: &str,
    ) -> Result<Self, WireError> {
        let salient = params.salient(method);
        let binding = binding(hosted, method, &salient);
        let opened = shared.sealer.open(&binding, token).map_err(|rejected| {
            refused(shared, bad(rejected));
            WireError::bad_request_state()
        })?;
        let carried = Carried::from_json(&opened.payload).ok_or_else(|| {
            refused(shared, BadState::Malformed);
            WireError::bad_request_state()
        })?;
        Ok(Self {
            carried,
            single_use: Some(SingleUse {
                nonce: opened.id,
                until_ms: opened.expires_ms,
            }),
        })
    }
}

/// Seals what the next round of a request is to know; `None` when that is nothing.
///
/// `body` is the whole request.
pub(crate) fn seal(
    shared: &Shared,
    hosted: &Hosted,
    method: Method,
    body: &[u8],
    next: &Carried,
) -> Result<Option<String>, WireError> {
    if next.is_empty() {
        return Ok(None);
    }
    let Ok(Message::Request(request)) = parse(body) else {
        error!("a request cannot be read a second time");
        return Err(WireError::internal());
    };
    let salient = Params::read(request.params).salient(method);
    let binding = binding(hosted, method, &salient);
    match shared.sealer.seal(&binding, &next.to_json()) {
        Ok(token) => Ok(Some(token)),
        Err(too_large) => {
            error!(
                method = method.as_str(),
                "a callback's state and answers do not fit into a request: {too_large}"
            );
            Err(WireError::new(
                Code::INTERNAL_ERROR,
                "what was answered and noted so far does not fit into a request",
            ))
        }
    }
}

/// Says that a request asks its client too often.
pub(crate) fn too_many(shared: &Shared, subject: &str) -> WireError {
    let limit = shared.options.input_rounds;
    error!(subject, limit, "a callback asks too often");
    WireError::new(
        Code::INTERNAL_ERROR,
        format!("this request has asked for input {limit} times, and may not again"),
    )
}

/// Uses a state up that holds for one use (R15).
pub(crate) async fn spend(shared: &Shared, state: SingleUse) -> Result<(), WireError> {
    let SingleUse { nonce, until_ms } = state;
    let question = ToStore::Task(TaskQuestion::Spend { nonce, until_ms });
    let patience = shared.options.store_patience;
    match shared.store.ask(question, patience).await {
        Ok(Answer::Task(TaskAnswer::Done)) => Ok(()),
        Ok(Answer::Refused(Refusal::Spent)) => {
            refused(shared, BadState::Spent);
            Err(WireError::bad_request_state())
        }
        Ok(_) | Err(_) => Err(unavailable()),
    }
}

/// Refuses questions that nobody could tell apart, or too many of them.
pub(crate) fn check(asked: &InputRequired) -> Result<(), WireError> {
    let requests = &asked.requests;
    let keys: HashSet<_> = requests.iter().map(|(key, _)| key).collect();
    if keys.len() == requests.len() && requests.len() <= INPUT_RESPONSES {
        return Ok(());
    }
    error!(
        questions = requests.len(),
        "a callback asks too much at once, or twice under one key"
    );
    Err(WireError::internal())
}

/// Says what a client would have had to declare, if it would have (R31).
pub(crate) fn check_declared(
    requests: &[(String, InputRequest)],
    client: &conduit_protocol::ClientCapabilities,
) -> Result<(), WireError> {
    let missing: Vec<_> = requests
        .iter()
        .map(|(_, request)| request)
        .filter(|request| !request.is_declared(client))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let required = InputRequest::required_capabilities(&missing);
    Err(WireError::missing_capability(
        "the client has not declared what the answer needs to be asked of it",
        &required,
    ))
}

// === Behind the rounds ===

fn binding<'a>(hosted: &'a Hosted, method: Method, salient: &'a [u8]) -> Binding<'a> {
    Binding {
        server: &hosted.name,
        principal: None,
        method: method.as_str(),
        params: salient,
    }
}

fn unavailable() -> WireError {
    WireError::refused(503, "the store is not available, try again in a moment")
        .with_retry_after(RETRY)
}

fn bad(rejected: Rejected) -> BadState {
    match rejected {
        Rejected::Malformed | Rejected::TooLong => BadState::Malformed,
        Rejected::UnknownKey => BadState::UnknownKey,
        Rejected::Forged => BadState::Forged,
        Rejected::Expired => BadState::Expired,
    }
}

/// The kind is for the operator alone (R15).
fn refused(shared: &Shared, kind: BadState) {
    debug!(kind = kind.as_str(), "request state refused");
    shared.telemetry.bad_state(kind);
}
