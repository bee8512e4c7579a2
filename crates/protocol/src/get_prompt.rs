//! `prompts/get`: what it asks and what it answers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::content::{Content, Role};
use crate::meta::Meta;
use crate::params::Params;
use crate::wire_error::WireError;
use crate::{demand, strings};

/// The parameters of `prompts/get`: `{"name":"greet","arguments":{"who":"Ada"}}`.
///
/// Other members are ignored.
///
/// Source: M-PROMPT-01, C-PROMPT-03.
#[derive(Debug)]
pub struct GetPromptParams<'a> {
    /// The prompt that is asked for, known or not.
    pub name: Cow<'a, str>,
    /// What to fill in; absent is the same as `{}`.
    pub arguments: BTreeMap<String, String>,
}

/// What a prompt says, filled in.
///
/// Source: M-PROMPT-01.
#[derive(Clone, Debug, Default)]
pub struct PromptResult {
    /// What it is for.
    pub description: Option<String>,
    /// The messages to a model, in order.
    pub messages: Vec<PromptMessage>,
    /// What else is known about it.
    pub meta: Option<Meta>,
}

/// One message to a model: `{"role":"user","content":{"type":"text","text":"Hi"}}`.
///
/// A resource in it has to say its media type (C-TYPE-05).
///
/// Source: C-TYPE-08.
#[derive(Clone, Debug, Serialize)]
pub struct PromptMessage {
    /// Who says it.
    pub role: Role,
    /// What is said, in one block.
    pub content: Content,
}

impl<'a> GetPromptParams<'a> {
    /// Reads the parameters of `prompts/get`.
    ///
    /// # Errors
    ///
    /// -32602 when the name is missing or not a string, when the arguments are not
    /// an object of strings, or when any of them occurs twice (M-PROMPT-02).
    pub fn read(params: &Params<'a>) -> Result<Self, WireError> {
        let members = params.members()?;
        let name = demand::string(members.name, "params.name")?;
        let arguments = match demand::once(members.arguments, "params.arguments")? {
            Some(arguments) => strings::map(arguments, "params.arguments")?,
            None => BTreeMap::new(),
        };
        Ok(Self { name, arguments })
    }
}

impl PromptResult {
    /// Answers with messages.
    #[must_use]
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }

    /// Answers with one message of text from the person.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        PromptMessage::user(Content::text(text)).into()
    }
}

impl PromptMessage {
    /// Lets the person say something.
    #[must_use]
    pub const fn user(content: Content) -> Self {
        Self {
            role: Role::User,
            content,
        }
    }

    /// Lets the model say something.
    #[must_use]
    pub const fn assistant(content: Content) -> Self {
        Self {
            role: Role::Assistant,
            content,
        }
    }
}

impl From<PromptMessage> for PromptResult {
    /// Takes the only message.
    fn from(message: PromptMessage) -> Self {
        Self::new(vec![message])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_error::Code;

    fn read(text: &str) -> Result<GetPromptParams<'_>, WireError> {
        let params = Params::read(Some(serde_json::from_str(text).expect("valid JSON")));
        GetPromptParams::read(&params)
    }

    #[test]
    fn arguments_are_strings_by_name() {
        let params = read(r#"{"name":"greet","arguments":{"who":"Ada"}}"#).expect("parameters");

        assert_eq!(params.name, "greet");
        assert_eq!(params.arguments.get("who").map(String::as_str), Some("Ada"));
    }

    #[test]
    fn arguments_may_be_missing() {
        let params = read(r#"{"name":"greet"}"#).expect("parameters");

        assert!(params.arguments.is_empty());
    }

    #[test]
    fn anything_else_is_refused_and_the_key_is_named() {
        for (text, key) in [
            ("{}", "`params.name`"),
            ("[]", "`params`"),
            (r#"{"name":1}"#, "`params.name`"),
            (r#"{"name":"a","name":"a"}"#, "`params.name`"),
            (r#"{"name":"a","arguments":null}"#, "`params.arguments`"),
            (r#"{"name":"a","arguments":[]}"#, "`params.arguments`"),
            (r#"{"name":"a","arguments":{"n":1}}"#, "`params.arguments`"),
            (
                r#"{"name":"a","arguments":{"n":"","n":""}}"#,
                "`params.arguments`",
            ),
            (
                r#"{"name":"a","arguments":{},"arguments":{}}"#,
                "`params.arguments`",
            ),
        ] {
            let error = read(text).expect_err("a refusal");
            assert_eq!(error.code, Code::INVALID_PARAMS, "{text}");
            assert!(error.message.contains(key), "{}", error.message);
        }
    }
}
