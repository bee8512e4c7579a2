//! What a retry of a request brings: answers, and the state from before.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::demand::{mistyped, once};
use crate::limits::{INPUT_RESPONSES, REQUEST_STATE};
use crate::members::Slot;
use crate::params::Params;
use crate::raw;
use crate::wire_error::WireError;

/// What a retry of `tools/call`, `resources/read` or `prompts/get` brings:
/// `{"inputResponses":{"who":{"action":"decline"}},"requestState":"…"}`.
///
/// Source: M-MRTR-05, M-MRTR-11.
#[derive(Clone, Debug, Default)]
pub struct Retry {
    /// The answers, each once under its key, as they were written: see
    /// [`InputAnswer::read`](crate::InputAnswer::read). Keys that nobody asked with
    /// are to be ignored (M-MRTR-10).
    pub responses: Vec<(String, Box<RawValue>)>,
    /// The state, sealed, and not to be trusted before it is opened (M-MRTR-07).
    pub state: Option<String>,
}

impl Retry {
    /// Reads what a retry brings. `None` when the request brings nothing: then it is
    /// no retry, or one of a round without questions and state.
    ///
    /// # Errors
    ///
    /// -32602 when the answers are no object, or more than [`INPUT_RESPONSES`]; when
    /// the state is no string, or longer than [`REQUEST_STATE`] bytes; when either, or
    /// a key, occurs twice.
    ///
    /// Source: M-MRTR-10, M-MRTR-13, R15.
    pub fn read(params: &Params<'_>) -> Result<Option<Self>, WireError> {
        let members = params.members()?;
        if members.input_responses.is_absent() && members.request_state.is_absent() {
            return Ok(None);
        }
        let responses = match once(members.input_responses, RESPONSES)? {
            Some(raw) => read_responses(raw)?,
            None => Vec::new(),
        };
        let state = state(members.request_state)?;
        Ok(Some(Self { responses, state }))
    }
}

// === Behind the handle ===

const RESPONSES: &str = "params.inputResponses";
const STATE: &str = "params.requestState";

/// Reads answers that have to be there.
pub(crate) fn responses(slot: Slot<'_>) -> Result<Vec<(String, Box<RawValue>)>, WireError> {
    match once(slot, RESPONSES)? {
        Some(raw) => read_responses(raw),
        None => Err(mistyped(RESPONSES, "an object")),
    }
}

fn state(slot: Slot<'_>) -> Result<Option<String>, WireError> {
    let Some(raw) = once(slot, STATE)? else {
        return Ok(None);
    };
    let text = raw::string(raw).ok_or_else(|| mistyped(STATE, "a string"))?;
    if text.len() > REQUEST_STATE {
        return Err(WireError::bad_request_state());
    }
    Ok(Some(text.into_owned()))
}

fn read_responses(raw: &RawValue) -> Result<Vec<(String, Box<RawValue>)>, WireError> {
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    match deserializer.deserialize_map(Responses) {
        Ok(Entries::Read(entries)) => Ok(entries),
        Ok(Entries::TooMany) => Err(WireError::invalid_params(format!(
            "`{RESPONSES}` has more than {INPUT_RESPONSES} entries"
        ))),
        Ok(Entries::Twice) => Err(WireError::invalid_params(format!(
            "`{RESPONSES}` has a key twice"
        ))),
        Err(_) => Err(mistyped(RESPONSES, "an object")),
    }
}

enum Entries {
    Read(Vec<(String, Box<RawValue>)>),
    TooMany,
    Twice,
}

struct Responses;

impl<'de> Visitor<'de> for Responses {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
        let mut entries = Vec::<(String, Box<RawValue>)>::new();
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let refused = if entries.len() == INPUT_RESPONSES {
                Entries::TooMany
            } else if !keys.insert(key.clone()) {
                Entries::Twice
            } else {
                entries.push((key, map.next_value()?));
                continue;
            };
            map.next_value::<IgnoredAny>()?;
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(refused);
        }
        Ok(Entries::Read(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_error::Code;

    fn read(text: &str) -> Result<Option<Retry>, WireError> {
        Retry::read(&Params::read(Some(
            serde_json::from_str(text).expect("valid JSON"),
        )))
    }

    #[test]
    fn a_request_that_brings_nothing_is_no_retry() {
        assert!(read(r#"{"name":"ask"}"#).expect("readable").is_none());
        assert!(
            Retry::read(&Params::read(None))
                .expect("readable")
                .is_none()
        );
    }

    #[test]
    fn answers_and_state_come_together_or_alone() {
        for (text, answers, state) in [
            (
                r#"{"inputResponses":{"who":{"n": 1.50},"":null},"requestState":"v1"}"#,
                &[("who", r#"{"n": 1.50}"#), ("", "null")][..],
                Some("v1"),
            ),
            (r#"{"inputResponses":{"a":1}}"#, &[("a", "1")], None),
            (r#"{"inputResponses":{}}"#, &[], None),
            (r#"{"requestState":""}"#, &[], Some("")),
        ] {
            let retry = read(text).expect("readable").expect("a retry");

            let found = retry.responses.iter().map(|(key, raw)| (&**key, raw.get()));
            assert_eq!(found.collect::<Vec<_>>(), answers);
            assert_eq!(retry.state.as_deref(), state);
        }
    }

    #[track_caller]
    fn refused(text: &str, part: &str) {
        let error = read(text).expect_err("a refusal");

        assert_eq!(error.code, Code::INVALID_PARAMS, "{text}");
        assert!(error.message.contains(part), "{}", error.message);
    }

    #[test]
    fn answers_of_another_shape_are_refused() {
        for text in [
            r#"{"inputResponses":null}"#,
            r#"{"inputResponses":[{"action":"accept"}]}"#,
            r#"{"inputResponses":"x"}"#,
            r#"{"inputResponses":{"\ud800":1}}"#,
            r#"{"inputResponses":{},"inputResponses":{}}"#,
        ] {
            refused(text, "`params.inputResponses`");
        }
        refused(
            r#"{"inputResponses":{"a":1,"\u0061":2,"b":3}}"#,
            "a key twice",
        );
        refused("[]", "`params`");
    }

    #[test]
    fn a_state_of_another_type_is_refused() {
        for text in [
            r#"{"requestState":null}"#,
            r#"{"requestState":{}}"#,
            r#"{"requestState":"a","requestState":"a"}"#,
        ] {
            refused(text, "`params.requestState`");
        }
    }

    #[test]
    fn as_many_answers_as_may_be_are_taken_and_no_more() {
        let answers = |count: usize| {
            let entries: Vec<_> = (0..count).map(|key| format!(r#""{key}":[]"#)).collect();
            format!(r#"{{"inputResponses":{{{}}}}}"#, entries.join(","))
        };

        let most = read(&answers(INPUT_RESPONSES)).expect("readable");
        assert_eq!(most.expect("a retry").responses.len(), INPUT_RESPONSES);
        refused(&answers(INPUT_RESPONSES + 2), "64 entries");
    }

    #[test]
    fn a_state_that_is_too_long_is_as_bad_as_any_other() {
        let state = |size| format!(r#"{{"requestState":"{}"}}"#, "a".repeat(size));

        assert!(read(&state(REQUEST_STATE)).is_ok());
        let error = read(&state(REQUEST_STATE + 1)).expect_err("a refusal");
        assert_eq!(error.message, WireError::bad_request_state().message);
    }
}
