//! What a handler may return, and what becomes of it.

use conduit_protocol::{Content, Outcome, ToolResult, WireError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::IntoRefusal;
use crate::typed::output_schema;

/// Turns what a handler returns into what the client gets.
///
/// | a handler returns | the client gets |
/// |---|---|
/// | `String`, `&'static str` | one block of text |
/// | `()` | no blocks |
/// | [`Content`], `Vec<Content>` | these blocks |
/// | [`Json<T>`] | structured content and its JSON as text; the schema of `T` is listed |
/// | [`ToolResult`], [`Outcome`] | the same |
/// | `Ok(x)` | what `x` becomes |
/// | `Err(x)` | what [`IntoRefusal`] makes of it: mostly a text with `isError: true` |
pub trait IntoOutcome {
    /// Turns it into what the client gets.
    fn into_outcome(self) -> Outcome;

    /// Returns the JSON Schema of the structured content, if there always is some
    /// in a success.
    #[must_use]
    fn output_schema() -> Option<Value> {
        None
    }
}

/// A value for programs: structured content of a known schema, and the same JSON
/// as text for those that don't look at it.
///
/// Make it a struct: clients of the legacy era see objects only.
///
/// Source: M-TOOL-04, M-TOOL-05.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

impl IntoOutcome for ToolResult {
    fn into_outcome(self) -> Outcome {
        self.into()
    }
}

impl IntoOutcome for String {
    fn into_outcome(self) -> Outcome {
        ToolResult::text(self).into()
    }
}

impl IntoOutcome for &'static str {
    fn into_outcome(self) -> Outcome {
        ToolResult::text(self).into()
    }
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Outcome {
        ToolResult::default().into()
    }
}

impl IntoOutcome for Content {
    fn into_outcome(self) -> Outcome {
        vec![self].into_outcome()
    }
}

impl IntoOutcome for Vec<Content> {
    fn into_outcome(self) -> Outcome {
        Outcome::Complete(ToolResult {
            content: self,
            ..ToolResult::default()
        })
    }
}

impl<T: Serialize + JsonSchema> IntoOutcome for Json<T> {
    fn into_outcome(self) -> Outcome {
        match serde_json::to_value(self.0) {
            Ok(value) => ToolResult::structured(value).into(),
            Err(error) => {
                tracing::error!(%error, "a tool's answer cannot be written as JSON");
                WireError::internal().into()
            }
        }
    }

    fn output_schema() -> Option<Value> {
        Some(output_schema::<T>())
    }
}

impl<T: IntoOutcome, E: IntoRefusal> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(answer) => answer.into_outcome(),
            Err(refusal) => refusal.into_refusal(),
        }
    }

    fn output_schema() -> Option<Value> {
        T::output_schema()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::*;
    use crate::{Cancelled, ToolError};

    /// The blocks' texts, the structured content, and whether it is an error.
    #[track_caller]
    fn check(answer: impl IntoOutcome, texts: &[&str], structured: Option<&Value>, failed: bool) {
        let Outcome::Complete(result) = answer.into_outcome() else {
            panic!("a result");
        };
        let text = |block: &Content| {
            let Content::Text(block) = block else {
                panic!("{block:?}");
            };
            block.text.clone()
        };
        let blocks: Vec<_> = result.content.iter().map(text).collect();
        assert_eq!(blocks, texts);
        assert_eq!(result.structured_content.as_ref(), structured);
        assert_eq!(result.is_error, failed);
    }

    #[test]
    fn a_text_is_one_block() {
        check("a", &["a"], None, false);
        check("b".to_owned(), &["b"], None, false);
    }

    #[test]
    fn nothing_is_no_block() {
        check((), &[], None, false);
    }

    #[test]
    fn blocks_stay_as_they_are() {
        check(Content::text("a"), &["a"], None, false);
        check(
            vec![Content::text("a"), Content::text("b")],
            &["a", "b"],
            None,
            false,
        );
        check(ToolResult::failure("a"), &["a"], None, true);
    }

    #[test]
    fn json_is_structured_and_text() {
        let sum = HashMap::from([("sum", 3)]);

        check(
            Json(sum),
            &[r#"{"sum":3}"#],
            Some(&json!({"sum": 3})),
            false,
        );
    }

    #[test]
    fn null_is_structured_content_too() {
        check(Json(()), &["null"], Some(&Value::Null), false);
    }

    #[test]
    fn what_does_not_fit_into_json_is_our_fault() {
        let outcome = Json(HashMap::from([("sum", u128::MAX)])).into_outcome();

        let Outcome::Refused(error) = outcome else {
            panic!("an error");
        };
        assert_eq!(error.code, conduit_protocol::Code::INTERNAL_ERROR);
    }

    #[test]
    fn a_failure_of_the_tool_is_a_result() {
        check(Err::<(), _>(ToolError::new("no")), &["no"], None, true);
        check(Err::<(), _>("no"), &["no"], None, true);
        check(Err::<(), _>("no".to_owned()), &["no"], None, true);
        check(
            Err::<(), _>(Cancelled),
            &["the call was cancelled"],
            None,
            true,
        );
    }

    #[test]
    fn any_error_can_become_a_failure_of_the_tool() {
        let parse = || -> Result<String, ToolError> { Ok("x".parse::<u8>()?.to_string()) };

        check(parse(), &["invalid digit found in string"], None, true);
    }

    #[test]
    fn a_protocol_error_stays_one() {
        for outcome in [
            Err::<(), _>(WireError::invalid_params("no")).into_outcome(),
            Err::<(), _>(ToolError::protocol(WireError::invalid_params("no"))).into_outcome(),
        ] {
            let Outcome::Refused(error) = outcome else {
                panic!("an error");
            };
            assert_eq!(error.message, "no");
        }
    }

    #[test]
    fn only_json_has_a_schema() {
        assert!(<Result<Json<HashMap<String, u8>>, ToolError>>::output_schema().is_some());
        assert!(<Result<String, ToolError>>::output_schema().is_none());
    }
}
