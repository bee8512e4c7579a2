//! What a tool and its callers are held to: the schemas of its arguments and of
//! its answers. Pure, but for the log.

use conduit_protocol::{Outcome, ToolName, ToolResult, WireError};
use serde::de::DeserializeOwned;

use crate::schema::Schema;
use crate::violation::Violations;
use crate::{Arguments, IntoOutcome, input};

#[derive(Debug)]
pub(crate) struct Contract {
    pub(crate) tool: ToolName,
    pub(crate) input: Schema,
    pub(crate) output: Option<Schema>,
}

impl Contract {
    /// Reads arguments. The `Err` is the answer to arguments that are not valid: a
    /// result that lists all violations (R14).
    pub(crate) fn read<T: DeserializeOwned>(&self, arguments: &Arguments) -> Result<T, Outcome> {
        input::read(arguments, &self.input).map_err(|violations| {
            let text = format!(
                "The arguments of {} are not valid. Correct these, and call it again:\n{violations}",
                self.tool
            );
            ToolResult::failure(text).into()
        })
    }

    /// Lets an answer pass that keeps to the output schema. Any other is a bug of
    /// the tool, of which its client learns nothing but that there is one
    /// (M-TOOL-04).
    pub(crate) fn answer(&self, answer: impl IntoOutcome) -> Outcome {
        let outcome = answer.into_outcome();
        let (Some(schema), Outcome::Complete(result)) = (&self.output, &outcome) else {
            return outcome;
        };
        if result.is_error {
            return outcome;
        }
        let Some(content) = &result.structured_content else {
            tracing::error!(tool = %self.tool, "answer has no structured content, and its schema wants some");
            return WireError::internal().into();
        };
        let mut violations = Violations::default();
        schema.check(content, &mut violations);
        if violations.is_empty() {
            return outcome;
        }
        tracing::error!(tool = %self.tool, at = ?violations.pointers(), "answer breaks its output schema");
        WireError::internal().into()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use conduit_protocol::{Code, Content};
    use serde_json::{Value, json};

    use super::*;

    fn contract(input: &Value, output: Option<&Value>) -> Contract {
        Contract {
            tool: ToolName::new("add").expect("a name"),
            input: Schema::compile_input(&input.to_string()).expect("a schema"),
            output: output.map(|schema| Schema::compile(&schema.to_string()).expect("a schema")),
        }
    }

    fn sum() -> Contract {
        let output = json!({
            "type": "object",
            "properties": {"sum": {"type": "integer"}},
            "required": ["sum"],
        });
        contract(&json!({"type": "object"}), Some(&output))
    }

    #[track_caller]
    fn check_is_internal(outcome: &Outcome) {
        let Outcome::Refused(error) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(error.code, Code::INTERNAL_ERROR);
        assert_eq!(error.message, "Internal error");
        assert!(error.data().is_none());
    }

    #[test]
    fn invalid_arguments_are_answered_with_all_that_is_wrong() {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        });
        let arguments = Arguments::new(Bytes::from_static(br#"{"a":"one"}"#));

        let refusal = contract(&schema, None).read::<Value>(&arguments);

        let Err(Outcome::Complete(result)) = refusal else {
            panic!("a result");
        };
        assert!(result.is_error);
        let [Content::Text(block)] = result.content.as_slice() else {
            panic!("one text");
        };
        assert!(
            block
                .text
                .starts_with("The arguments of add are not valid."),
            "{}",
            block.text
        );
        assert!(
            block
                .text
                .contains("\n- /a: \"one\" is not of type \"number\""),
            "{}",
            block.text
        );
        assert!(
            block.text.contains("\n- /b: is required, and missing"),
            "{}",
            block.text
        );
    }

    #[test]
    fn an_answer_that_keeps_to_its_schema_passes() {
        let outcome = sum().answer(ToolResult::structured(json!({"sum": 3})));

        assert!(matches!(outcome, Outcome::Complete(_)));
    }

    #[test]
    fn an_answer_that_breaks_its_schema_is_our_fault_without_detail() {
        check_is_internal(&sum().answer(ToolResult::structured(json!({"sum": "3"}))));
    }

    #[test]
    fn an_answer_without_structured_content_breaks_any_schema() {
        check_is_internal(&sum().answer("3"));
    }

    #[test]
    fn a_failure_needs_no_structured_content() {
        let outcome = sum().answer(ToolResult::failure("no"));

        assert!(matches!(outcome, Outcome::Complete(result) if result.is_error));
    }
}
