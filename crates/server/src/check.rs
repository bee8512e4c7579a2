//! Holds what a client answers against what it was asked.

use conduit_protocol::{ElicitAction, InputAnswer, InputRequest, WireError};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::input;
use crate::schema::Schema;

/// Looks whether an answer fits its question, as [`Context::ask`](crate::Context::ask)
/// would: it has the right shape, and what was filled in is valid by the form's schema.
///
/// # Errors
///
/// -32602, which says what is wrong.
///
/// Source: T-TASK-17.
pub fn check_answer(request: &InputRequest, answer: &RawValue) -> Result<(), WireError> {
    let InputAnswer::Elicited(elicited) = InputAnswer::read(request, answer)? else {
        return Ok(());
    };
    let (InputRequest::Form(form), ElicitAction::Accept) = (request, elicited.action) else {
        return Ok(());
    };
    let Ok(schema) = Schema::compile_form(form.schema.get()) else {
        // Whoever asks by hand looks at the answer by hand.
        return Ok(());
    };
    let content = elicited.content.as_deref().map_or("{}", RawValue::get);
    match input::read_text::<Value>(content.as_bytes(), &schema) {
        Ok(_) => Ok(()),
        Err(violations) => Err(WireError::invalid_params(format!(
            "`content` is not valid:\n{violations}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use conduit_protocol::Code;

    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).expect("JSON")
    }

    #[track_caller]
    fn check(answer: &str) -> Result<(), WireError> {
        let schema =
            r#"{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}"#;
        check_answer(&InputRequest::form("How old?", raw(schema)), &raw(answer))
    }

    #[test]
    fn what_was_filled_in_is_held_against_the_form() {
        assert!(check(r#"{"action":"accept","content":{"age":7}}"#).is_ok());

        for answer in [
            r#"{"action":"accept","content":{"age":"x"}}"#,
            r#"{"action":"accept","content":{}}"#,
            "{}",
            "7",
        ] {
            let refused = check(answer).expect_err("a refusal");
            assert_eq!(refused.code, Code::INVALID_PARAMS, "{answer}");
        }
    }

    #[test]
    fn who_fills_nothing_in_is_held_to_nothing() {
        assert!(check(r#"{"action":"decline"}"#).is_ok());
        assert!(check(r#"{"action":"cancel"}"#).is_ok());
    }
}
