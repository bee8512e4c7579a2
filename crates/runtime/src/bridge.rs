//! Asks the clients of legacy sessions on behalf of callbacks (R6).
//!
//! A question is a request of ours on the stream of the call, and its answer a message
//! of its own, which a client may send to any gateway: our id names the gateway that
//! waits for it, and the others pass it on by mail.
//!
//! Bound: a call waits for at most [`INPUT_RESPONSES`] answers at a time, and calls are
//! bounded by the admission. When this process dies, so does the call.
//!
//! [`INPUT_RESPONSES`]: conduit_protocol::limits::INPUT_RESPONSES

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use conduit_link::{Answer, Mail, Slot};
use conduit_protocol::{Code, InputRequest, RequestId, Response, WireError};
use futures_util::future::try_join_all;
use parking_lot::Mutex;
use serde_bytes::ByteBuf;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::debug;
use uuid::Uuid;

use crate::gateway::Shared;
use crate::responder::Responder;
use crate::sessions::Session;

/// Between two attempts to pass an answer on.
const AGAIN: Duration = Duration::from_millis(100);

/// The questions of this gateway that wait for answers; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bridge {
    waiting: Arc<Mutex<Desk>>,
}

#[derive(Debug, Default)]
struct Desk {
    /// Whether no answer can come any more.
    is_closed: bool,
    questions: HashMap<Uuid, Waiting>,
}

/// An answer to one of our questions: a result, or why there is none.
type Answered = Result<Box<RawValue>, Unanswered>;

#[derive(Debug)]
struct Waiting {
    session: Uuid,
    reply: oneshot::Sender<Answered>,
}

/// Why a callback gets no answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unanswered {
    /// The version that is spoken has no such request.
    #[error("the client's version of the protocol cannot ask for this input")]
    Impossible,
    /// The client has answered with an error.
    #[error("the client has refused to give the input that was asked for")]
    Refused,
    /// Its session has ended, or its pipe.
    #[error("the client can no longer give the input that was asked for")]
    Gone,
    /// The client took too long.
    #[error("the client has not given the input that was asked for in time")]
    Late,
    /// Nobody waits for the call's result any more.
    #[error("Request cancelled")]
    Cancelled,
}

impl Unanswered {
    /// Returns what the call is answered with (R6).
    pub(crate) fn into_error(self) -> WireError {
        WireError::new(Code::INTERNAL_ERROR, self.to_string())
    }
}

/// Asks a session's client on the stream of a call, and waits for all answers.
///
/// # Cancel safety
///
/// Safe: answers that come later are dropped.
pub(crate) async fn ask(
    shared: &Shared,
    session: &Session,
    responder: &Arc<Responder>,
    requests: Vec<(String, InputRequest)>,
    related_task: Option<Uuid>,
    token: &CancellationToken,
) -> Result<Vec<(String, Box<RawValue>)>, Unanswered> {
    let mut asked = Vec::with_capacity(requests.len());
    let mut messages = Vec::with_capacity(requests.len());
    for (key, request) in requests {
        let question = shared.bridge.open(session.id);
        let id = name(shared.options.index, question.id).ok_or(Unanswered::Impossible)?;
        let elicitation = Uuid::new_v4().to_string();
        let message = request
            .server_request(&id, session.version, Some(&elicitation), related_task)
            .ok_or(Unanswered::Impossible)?;
        messages.push(message);
        asked.push((key, question));
    }
    for message in messages {
        responder.ask(message);
    }
    let answers = asked.into_iter().map(|(key, question)| async move {
        let answer = question.answer().await?;
        Ok((key, answer))
    });
    let answers = timeout(shared.options.bridge_patience, try_join_all(answers));
    match token.run_until_cancelled(answers).await {
        // What was cancelled first is cancelled, whatever has come since.
        Some(Ok(Err(_unanswered))) if token.is_cancelled() => Err(Unanswered::Cancelled),
        Some(Ok(answers)) => answers,
        Some(Err(_elapsed)) => Err(Unanswered::Late),
        None => Err(Unanswered::Cancelled),
    }
}

/// Hands a client's response to whoever has asked, here or at another gateway; what
/// nobody has asked is dropped (H-07).
///
/// `after` runs once it is known whether the response was taken care of; if not, the
/// client may send it again.
pub(crate) fn take(
    shared: &Arc<Shared>,
    session: Uuid,
    response: &Response<'_>,
    after: impl FnOnce(bool) + Send + 'static,
) {
    let Some((gateway, question)) = response.id.as_ref().and_then(parse_name) else {
        return after(true);
    };
    let (json, is_error) = match response.answer {
        Ok(result) => (result, false),
        Err(error) => (error, true),
    };
    if gateway == shared.options.index {
        let answer = if is_error {
            Err(Unanswered::Refused)
        } else {
            Ok(json.to_owned())
        };
        shared.bridge.answer(session, question, answer);
        return after(true);
    }
    let mail = Mail::Response {
        session: session.to_string(),
        question,
        json: ByteBuf::from(if is_error { "" } else { json.get() }),
        is_error,
    };
    let here = Arc::clone(shared);
    shared.tasks.spawn(async move {
        let passed_on = pass_on(&here, Slot::gateway(gateway), mail).await;
        after(passed_on);
    });
}

impl Bridge {
    /// Takes a response that came to another gateway; returns whether somebody here has
    /// asked for it.
    pub(crate) fn take_mail(
        &self,
        session: &str,
        question: Uuid,
        json: Vec<u8>,
        is_error: bool,
    ) -> bool {
        let Ok(session) = Uuid::try_parse(session) else {
            return false;
        };
        let json = String::from_utf8(json).ok();
        let result = json.and_then(|json| RawValue::from_string(json).ok());
        let answer = result.filter(|_| !is_error).ok_or(Unanswered::Refused);
        self.answer(session, question, answer)
    }

    /// Lets nobody wait any more for the clients of sessions that have ended.
    pub(crate) fn end(&self, sessions: &[Uuid]) {
        let questions = &mut self.waiting.lock().questions;
        questions.retain(|_, waiting| !sessions.contains(&waiting.session));
    }

    /// Answers nothing any more: what waits, and what is asked from now on, hears at once
    /// that there will be no answer.
    pub(crate) fn close(&self) {
        let mut desk = self.waiting.lock();
        desk.is_closed = true;
        desk.questions.clear();
    }

    fn open(&self, session: Uuid) -> Question {
        let id = Uuid::new_v4();
        let (reply, answer) = oneshot::channel();
        let mut desk = self.waiting.lock();
        if !desk.is_closed {
            desk.questions.insert(id, Waiting { session, reply });
        }
        drop(desk);
        Question {
            id,
            answer,
            _place: Place {
                bridge: self.clone(),
                id,
            },
        }
    }

    /// Answers a question of the same session.
    fn answer(&self, session: Uuid, question: Uuid, answer: Answered) -> bool {
        let waiting = &mut self.waiting.lock().questions;
        if waiting.get(&question).map(|waiting| waiting.session) != Some(session) {
            debug!("a response that nobody has asked for is dropped");
            return false;
        }
        let Some(asked) = waiting.remove(&question) else {
            return false;
        };
        asked.reply.send(answer).is_ok()
    }
}

// === Behind the bridge ===

/// A question on its way.
struct Question {
    id: Uuid,
    answer: oneshot::Receiver<Answered>,
    _place: Place,
}

/// Its place among those that wait, until it is dropped.
struct Place {
    bridge: Bridge,
    id: Uuid,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.bridge.waiting.lock().questions.remove(&self.id);
    }
}

impl Question {
    async fn answer(self) -> Answered {
        let Self { answer, _place, .. } = self;
        answer.await.unwrap_or(Err(Unanswered::Gone))
    }
}

/// Passes a response on until its gateway has it, or no longer than a call of the store
/// would take. Returns whether it has, or is gone with the call that has asked.
async fn pass_on(shared: &Shared, gateway: Slot, mail: Mail) -> bool {
    let until = Instant::now() + shared.options.store_patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let answer = shared.post.send_to(gateway.clone(), mail.clone(), left);
        let is_gone = match answer.await {
            Some(Answer::Receipt { .. }) => return true,
            Some(Answer::Receipts { .. }) => true,
            Some(_) | None => false,
        };
        if Instant::now() >= until {
            debug!(%gateway, is_gone, "a response did not reach its gateway");
            return is_gone;
        }
        sleep(AGAIN).await;
    }
}

/// Returns what we call a question: whose it is, and which.
fn name(gateway: u16, question: Uuid) -> Option<RequestId> {
    RequestId::from_json(&format!("\"{gateway}-{question}\"")).ok()
}

fn parse_name(id: &RequestId) -> Option<(u16, Uuid)> {
    let text = id.as_json().strip_prefix('"')?.strip_suffix('"')?;
    let (gateway, question) = text.split_once('-')?;
    let (gateway, question) = (gateway.parse().ok()?, Uuid::try_parse(question).ok()?);
    (name(gateway, question).as_ref() == Some(id)).then_some((gateway, question))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: Uuid = Uuid::from_u128(1);
    const OTHER: Uuid = Uuid::from_u128(2);

    fn result(json: &str) -> Answered {
        Ok(RawValue::from_string(json.to_owned()).expect("JSON"))
    }

    #[test]
    fn a_question_is_read_back_from_its_name() {
        let question = Uuid::from_u128(7);

        let id = name(300, question).expect("an id");
        assert_eq!(parse_name(&id), Some((300, question)));
        for other in [
            "1",
            "\"x\"",
            "\"0-x\"",
            "\"70000-00000000-0000-0000-0000-000000000007\"",
        ] {
            let id = RequestId::from_json(other).expect("an id");
            assert_eq!(parse_name(&id), None, "{other}");
        }
    }

    #[tokio::test]
    async fn an_answer_reaches_whoever_asked() {
        let bridge = Bridge::default();
        let question = bridge.open(SESSION);

        assert!(bridge.take_mail(
            &SESSION.to_string(),
            question.id,
            b"{\"a\":1}".to_vec(),
            false
        ));

        let answer = question.answer().await.expect("a result");
        assert_eq!(answer.get(), "{\"a\":1}");
    }

    #[tokio::test]
    async fn an_error_answers_too() {
        let bridge = Bridge::default();
        let question = bridge.open(SESSION);

        assert!(bridge.answer(SESSION, question.id, Err(Unanswered::Refused)));

        assert_eq!(question.answer().await.err(), Some(Unanswered::Refused));
    }

    #[test]
    fn an_answer_counts_in_the_same_session_and_once() {
        let bridge = Bridge::default();
        let question = bridge.open(SESSION);

        assert!(!bridge.answer(OTHER, question.id, result("{}")));
        assert!(bridge.answer(SESSION, question.id, result("{}")));
        assert!(!bridge.answer(SESSION, question.id, result("{}")));
    }

    #[test]
    fn whoever_no_longer_asks_leaves_nothing_behind() {
        let bridge = Bridge::default();

        drop(bridge.open(SESSION));

        assert!(bridge.waiting.lock().questions.is_empty());
    }

    #[tokio::test]
    async fn nobody_waits_for_a_session_that_has_ended() {
        let bridge = Bridge::default();
        let (ended, other) = (bridge.open(SESSION), bridge.open(OTHER));

        bridge.end(&[SESSION]);

        assert_eq!(ended.answer().await.err(), Some(Unanswered::Gone));
        assert!(bridge.answer(OTHER, other.id, result("{}")));
    }

    #[tokio::test]
    async fn nobody_waits_once_no_answer_can_come() {
        let bridge = Bridge::default();
        let before = bridge.open(SESSION);

        bridge.close();

        assert_eq!(before.answer().await.err(), Some(Unanswered::Gone));
        let after = bridge.open(SESSION).answer().await;
        assert_eq!(after.err(), Some(Unanswered::Gone));
    }
}
