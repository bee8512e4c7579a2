//! What the store keeps for the work of a task, as JSON: how its tool was called, and
//! what it has asked in the rounds before.

use conduit_link::{TaskEntry, TaskWork};
use conduit_protocol::{
    ClientCapabilities, InputRequest, LogLevel, ProgressToken, RequestId, TraceContext,
};
use serde_bytes::ByteBuf;
use serde_json::value::RawValue;

use crate::rounds::Carried;

/// How a tool was called. Never changes while the task lives.
#[derive(Debug)]
pub(crate) struct Called {
    /// The version of the protocol that was spoken.
    pub(crate) version: Option<String>,
    /// The session as authors see it.
    pub(crate) session: Option<String>,
    pub(crate) principal: Option<String>,
    pub(crate) request_id: RequestId,
    pub(crate) arguments: Option<Box<RawValue>>,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) client_info: Option<Box<RawValue>>,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) trace: TraceContext,
    pub(crate) progress_token: Option<ProgressToken>,
}

/// What a task knows from its rounds before.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub(crate) carried: Carried,
    /// Under which key each question was asked: the author's, and the one on the wire.
    asked: Vec<(String, String)>,
}

impl Called {
    /// Writes it as JSON.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).ok();
        let TraceContext {
            traceparent,
            tracestate,
            baggage,
        } = &self.trace;
        let parts = (
            (&self.version, &self.session, &self.principal),
            (raw(self.request_id.as_json()), &self.arguments),
            (raw(self.capabilities.as_json()), &self.client_info),
            self.log_level.map(LogLevel::as_str),
            (traceparent, tracestate, baggage),
            self.progress_token
                .as_ref()
                .and_then(|token| raw(token.as_json())),
        );
        // Texts and what was JSON before: this cannot fail.
        serde_json::to_vec(&parts).unwrap_or_default()
    }

    /// Reads what [`to_json`](Self::to_json) has written.
    pub(crate) fn from_json(json: &[u8]) -> Option<Self> {
        type Raw = Option<Box<RawValue>>;
        type Text = Option<Box<str>>;
        type Texts = (Option<String>, Option<String>, Option<String>);
        type Trace = (Text, Text, Text);
        type Parts = (Texts, (Raw, Raw), (Raw, Raw), Option<String>, Trace, Raw);
        let parts: Parts = serde_json::from_slice(json).ok()?;
        let (texts, (id, arguments), (capabilities, client_info), level, trace, token) = parts;
        let (version, session, principal) = texts;
        let (traceparent, tracestate, baggage) = trace;
        let capabilities = capabilities.and_then(|raw| ClientCapabilities::from_json(raw.get()));
        Some(Self {
            version,
            session,
            principal,
            request_id: RequestId::from_raw(&id?).ok()?,
            arguments,
            capabilities: capabilities.unwrap_or_default(),
            client_info,
            log_level: level.and_then(|level| LogLevel::parse(&level)),
            trace: TraceContext {
                traceparent,
                tracestate,
                baggage,
            },
            progress_token: token.and_then(|raw| ProgressToken::from_raw(&raw).ok()),
        })
    }
}

impl Journal {
    /// Begins with what a call had before it became a task.
    pub(crate) const fn of(carried: Carried) -> Self {
        Self {
            carried,
            asked: Vec::new(),
        }
    }

    /// Takes up the work where it was left, with what its client has answered since.
    /// `None` when it cannot be read.
    pub(crate) fn resume(work: &TaskWork) -> Option<Self> {
        let mut journal = Self::from_json(&work.journal)?;
        let answers = work.answers.iter().filter_map(|answer| {
            let author = journal.author_key(&answer.key)?.to_owned();
            Some((author, raw_of(&answer.json)?))
        });
        let answers = answers.collect();
        journal.carried.add(answers);
        Some(journal)
    }

    /// Returns what is known in the next round, and the questions under keys that this
    /// task has not used before (T-TASK-20).
    pub(crate) fn ask(
        &mut self,
        carried: Carried,
        requests: &[(String, InputRequest)],
    ) -> Vec<TaskEntry> {
        self.carried = carried;
        let questions = requests.iter().map(|(author, request)| TaskEntry {
            key: self.wire_key(author),
            json: ByteBuf::from(request.write_json().get()),
        });
        questions.collect()
    }

    /// Writes it as JSON.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let carried = String::from_utf8(self.carried.to_json());
        let carried = carried
            .ok()
            .and_then(|json| RawValue::from_string(json).ok());
        serde_json::to_vec(&(carried, &self.asked)).unwrap_or_default()
    }

    fn from_json(json: &[u8]) -> Option<Self> {
        let (carried, asked): (Box<RawValue>, _) = serde_json::from_slice(json).ok()?;
        let carried = Carried::from_json(carried.get().as_bytes())?;
        Some(Self { carried, asked })
    }

    fn author_key(&self, wire: &str) -> Option<&str> {
        let asked = self.asked.iter().find(|(_, known)| known == wire);
        asked.map(|(author, _)| author.as_str())
    }

    /// Finds a key that was never used: the author's own, else `key-2`, `key-3`, …
    fn wire_key(&mut self, author: &str) -> String {
        let mut key = author.to_owned();
        let mut number = 1_u32;
        while self.author_key(&key).is_some() {
            number += 1;
            key = format!("{author}-{number}");
        }
        self.asked.push((author.to_owned(), key.clone()));
        key
    }
}

/// Reads JSON that the store has kept.
pub(crate) fn raw_of(json: &[u8]) -> Option<Box<RawValue>> {
    serde_json::from_slice(json).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).expect("JSON")
    }

    fn form() -> InputRequest {
        InputRequest::form("Who?", raw(r#"{"type":"object"}"#))
    }

    /// Asks under these keys and returns those on the wire.
    fn ask(journal: &mut Journal, keys: &[&str]) -> Vec<String> {
        let requests: Vec<_> = keys.iter().map(|key| ((*key).to_owned(), form())).collect();
        let carried = std::mem::take(&mut journal.carried);
        let questions = journal.ask(carried, &requests);
        questions.into_iter().map(|question| question.key).collect()
    }

    #[test]
    fn no_key_is_used_twice_in_the_life_of_a_task() {
        let mut journal = Journal::default();

        assert_eq!(ask(&mut journal, &["who", "when"]), ["who", "when"]);
        assert_eq!(ask(&mut journal, &["who", "who-2"]), ["who-2", "who-2-2"]);
        assert_eq!(ask(&mut journal, &["who"]), ["who-3"]);
    }

    #[test]
    fn an_answer_reaches_the_author_under_the_author_s_key() {
        let mut journal = Journal::default();
        ask(&mut journal, &["who"]);
        ask(&mut journal, &["who"]);
        let answer = |key: &str, json: &str| TaskEntry {
            key: key.to_owned(),
            json: ByteBuf::from(json),
        };
        let work = TaskWork {
            input: ByteBuf::new(),
            journal: ByteBuf::from(journal.to_json()),
            answers: vec![
                answer("who-2", r#"{"action":"decline"}"#),
                answer("x", "{}"),
            ],
            attempt: 1,
        };

        let resumed = Journal::resume(&work).expect("a journal");

        let answers: Vec<_> = resumed
            .carried
            .answers
            .iter()
            .map(|(key, answer)| (key.as_str(), answer.get()))
            .collect();
        assert_eq!(answers, [("who", r#"{"action":"decline"}"#)]);
        let mut resumed = resumed;
        assert_eq!(ask(&mut resumed, &["who"]), ["who-3"], "it still knows");
    }

    #[test]
    fn what_was_called_is_read_back_as_it_was_written() {
        let called = Called {
            version: Some("2026-07-28".to_owned()),
            session: None,
            principal: None,
            request_id: RequestId::from_json(r#""42""#).expect("an id"),
            arguments: Some(raw(r#"{"a": 1.50}"#)),
            capabilities: ClientCapabilities::from_json(r#"{"elicitation":{}}"#)
                .expect("capabilities"),
            client_info: None,
            log_level: Some(LogLevel::Warning),
            trace: TraceContext {
                traceparent: Some("00-1".into()),
                ..TraceContext::default()
            },
            progress_token: ProgressToken::from_json("7").ok(),
        };

        let read = Called::from_json(&called.to_json()).expect("what was written");

        assert_eq!(format!("{read:?}"), format!("{called:?}"));
        assert!(Called::from_json(b"[]").is_none());
    }

    #[test]
    fn a_journal_keeps_the_state_and_the_round() {
        let journal = Journal::of(Carried {
            round: 3,
            state: Some(json!({"step": 1})),
            answers: vec![("a".to_owned(), raw("{}"))],
        });

        let read = Journal::from_json(&journal.to_json()).expect("a journal");

        assert_eq!(read.carried.round, 3);
        assert_eq!(read.carried.state, Some(json!({"step": 1})));
        assert_eq!(read.carried.answers.len(), 1);
        assert!(Journal::from_json(b"{}").is_none());
    }
}
