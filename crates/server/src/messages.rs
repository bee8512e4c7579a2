//! What the handler of a prompt may return, and what becomes of it.

use conduit_protocol::{Content, Outcome, PromptMessage, PromptResult};

use crate::IntoRefusal;

/// Turns what the handler of a prompt returns into what the client gets.
///
/// | a handler returns | the client gets |
/// |---|---|
/// | `String`, `&'static str` | one message of the user's |
/// | [`Content`] | one message of the user's |
/// | [`PromptMessage`], a `Vec` or an array of them | these |
/// | [`PromptResult`], [`Outcome<PromptResult>`](Outcome) | the same |
/// | `Ok(x)` | what `x` becomes |
/// | `Err(x)` | what [`IntoRefusal`] makes of it: mostly an internal error with a text |
pub trait IntoMessages {
    /// Turns it into what the client gets.
    fn into_messages(self) -> Outcome<PromptResult>;
}

impl IntoMessages for Outcome<PromptResult> {
    fn into_messages(self) -> Self {
        self
    }
}

impl IntoMessages for PromptResult {
    fn into_messages(self) -> Outcome<PromptResult> {
        self.into()
    }
}

impl IntoMessages for Vec<PromptMessage> {
    fn into_messages(self) -> Outcome<PromptResult> {
        PromptResult::new(self).into()
    }
}

impl<const N: usize> IntoMessages for [PromptMessage; N] {
    fn into_messages(self) -> Outcome<PromptResult> {
        Vec::from(self).into_messages()
    }
}

impl IntoMessages for PromptMessage {
    fn into_messages(self) -> Outcome<PromptResult> {
        vec![self].into_messages()
    }
}

impl IntoMessages for Content {
    fn into_messages(self) -> Outcome<PromptResult> {
        PromptMessage::user(self).into_messages()
    }
}

impl IntoMessages for String {
    fn into_messages(self) -> Outcome<PromptResult> {
        Content::text(self).into_messages()
    }
}

impl IntoMessages for &'static str {
    fn into_messages(self) -> Outcome<PromptResult> {
        Content::text(self).into_messages()
    }
}

impl<T: IntoMessages, E: IntoRefusal<PromptResult>> IntoMessages for Result<T, E> {
    fn into_messages(self) -> Outcome<PromptResult> {
        match self {
            Ok(messages) => messages.into_messages(),
            Err(refusal) => refusal.into_refusal(),
        }
    }
}

#[cfg(test)]
mod tests {
    use conduit_protocol::{Code, WireError};
    use serde_json::{Value, json};

    use super::*;
    use crate::ToolError;

    #[track_caller]
    fn check(answer: impl IntoMessages, expected: &Value) {
        let Outcome::Complete(result) = answer.into_messages() else {
            panic!("a result");
        };
        let messages = serde_json::to_value(result.messages).expect("JSON");
        assert_eq!(messages, *expected);
    }

    fn message(role: &str, text: &str) -> Value {
        json!({"role": role, "content": {"type": "text", "text": text}})
    }

    #[test]
    fn a_text_is_said_by_the_user() {
        check("a", &json!([message("user", "a")]));
        check("a".to_owned(), &json!([message("user", "a")]));
        check(Content::text("a"), &json!([message("user", "a")]));
    }

    #[test]
    fn messages_stay_in_order() {
        check(
            [
                PromptMessage::user(Content::text("a")),
                PromptMessage::assistant(Content::text("b")),
            ],
            &json!([message("user", "a"), message("assistant", "b")]),
        );
    }

    #[test]
    fn a_failure_is_an_internal_error_with_its_text() {
        let Outcome::Refused(error) = Err::<String, _>(ToolError::new("no")).into_messages() else {
            panic!("an error");
        };

        assert_eq!((error.code, &*error.message), (Code::INTERNAL_ERROR, "no"));
    }

    #[test]
    fn a_protocol_error_stays_one() {
        let answer = Err::<String, _>(WireError::invalid_params("no"));

        let Outcome::Refused(error) = answer.into_messages() else {
            panic!("an error");
        };
        assert_eq!(error.code, Code::INVALID_PARAMS);
    }
}
