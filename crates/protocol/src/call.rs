//! `tools/call`: what it asks and what it answers.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::content::Content;
use crate::demand;
use crate::meta::Meta;
use crate::params::Params;
use crate::raw;
use crate::wire_error::WireError;

/// The parameters of `tools/call`: `{"name":"add","arguments":{"a":1,"b":2}}`.
///
/// Other members are ignored, among them a stray `task` (M-TOOL-01).
#[derive(Debug)]
pub struct CallParams<'a> {
    /// The tool that is asked for, known or not.
    pub name: Cow<'a, str>,
    /// What it shall work with, an object; absent is the same as `{}`.
    pub arguments: Option<&'a RawValue>,
}

impl<'a> CallParams<'a> {
    /// Reads the parameters of a call.
    ///
    /// # Errors
    ///
    /// -32602 when the name is missing or not a string, when the arguments are not
    /// an object, or when either occurs twice (M-TOOL-15).
    pub fn parse(params: Option<&'a RawValue>) -> Result<Self, WireError> {
        Self::read(&Params::read(params))
    }

    /// Reads the parameters of a call from those that have been read already.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn read(params: &Params<'a>) -> Result<Self, WireError> {
        let members = params.members()?;
        let name = demand::string(members.name, "params.name")?;
        let arguments = demand::once(members.arguments, "params.arguments")?;
        if arguments.is_some_and(|arguments| !raw::is_object(arguments)) {
            return Err(demand::mistyped("params.arguments", "an object"));
        }
        Ok(Self { name, arguments })
    }
}

/// What a tool answers; its own failure is an answer too (R14).
///
/// Source: M-TOOL-03.
#[derive(Clone, Debug, Default)]
pub struct ToolResult {
    /// For people and models. May be empty.
    pub content: Vec<Content>,
    /// For programs. `Some(Value::Null)` is a value and differs from `None`
    /// (M-TOOL-06); legacy clients see objects only (table 5.0).
    pub structured_content: Option<Value>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// What else is known about it.
    pub meta: Option<Meta>,
}

impl ToolResult {
    /// Answers with text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Content::text(text)],
            ..Self::default()
        }
    }

    /// Answers that the tool failed, with a text that a model can act on (R14).
    #[must_use]
    pub fn failure(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// Answers with a value, and with its JSON as text for clients that do not look
    /// at values (M-TOOL-05).
    #[must_use]
    pub fn structured(value: Value) -> Self {
        let text = value.to_string();
        Self {
            structured_content: Some(value),
            ..Self::text(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_error::Code;

    fn parse(text: &str) -> Result<CallParams<'_>, WireError> {
        CallParams::parse(Some(serde_json::from_str(text).expect("valid JSON")))
    }

    #[track_caller]
    fn refused(params: Option<&RawValue>) {
        let error = CallParams::parse(params).expect_err("a refusal");

        assert_eq!(error.code, Code::INVALID_PARAMS);
    }

    #[test]
    fn arguments_stay_as_they_were_written() {
        let params = parse(r#"{"name":"echo","arguments":{"n": 123456789012345678901}}"#);

        let params = params.expect("parameters");

        assert_eq!(params.name, "echo");
        let arguments = params.arguments.expect("arguments");
        assert_eq!(arguments.get(), r#"{"n": 123456789012345678901}"#);
    }

    #[test]
    fn arguments_may_be_missing_and_others_are_ignored() {
        let params = parse(r#"{"name":"echo","task":{"ttl":1},"_meta":5}"#).expect("parameters");

        assert!(params.arguments.is_none());
    }

    #[test]
    fn a_call_without_a_name_is_refused() {
        refused(None);
        for text in [
            "{}",
            r#"{"name":5}"#,
            r#"{"name":null}"#,
            r#"{"name":"a","name":"b"}"#,
        ] {
            refused(serde_json::from_str(text).ok());
        }
    }

    #[test]
    fn arguments_that_are_no_object_are_refused() {
        for arguments in ["null", "[]", "\"x\"", "1"] {
            let text = format!(r#"{{"name":"echo","arguments":{arguments}}}"#);
            refused(serde_json::from_str(&text).ok());
        }
        let twice = r#"{"name":"echo","arguments":{},"arguments":{}}"#;
        refused(serde_json::from_str(twice).ok());
    }

    #[test]
    fn a_value_is_answered_as_text_too() {
        let result = ToolResult::structured(serde_json::json!({"sum": 3}));

        let Some(Content::Text(block)) = result.content.first() else {
            panic!("text");
        };
        assert_eq!(block.text, r#"{"sum":3}"#);
    }
}
