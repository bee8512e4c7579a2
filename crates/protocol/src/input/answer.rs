//! What a client answers to a question.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::content::Role;
use crate::demand::{mistyped, once, string};
use crate::input::InputRequest;
use crate::input::sampling::{SamplingContent, blocks};
use crate::members::{self, Slot};
use crate::raw;
use crate::wire_error::WireError;

/// What a client answers to a question: the bare result, in both eras (M-MRTR-06).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum InputAnswer {
    /// To a form or a URL.
    Elicited(Elicited),
    /// To a sampling.
    Sampled(Sampled),
    /// The folders that the client works in.
    Roots(Vec<Root>),
}

/// What a person did with a form or a URL.
///
/// Source: M-ELIC-03 to M-ELIC-05.
#[derive(Clone, Debug)]
pub struct Elicited {
    /// Whether they did as they were asked. That a URL was accepted does not say that
    /// anything came of it.
    pub action: ElicitAction,
    /// What they filled in: a JSON object, and only where a form was accepted. It has
    /// not been held against the schema of the form.
    pub content: Option<Box<RawValue>>,
}

/// Whether a person did as they were asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElicitAction {
    /// Yes.
    Accept,
    /// No.
    Decline,
    /// They did not say.
    Cancel,
}

/// What a client's model said.
///
/// Source: M-SAMP-03.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// In whose part.
    pub role: Role,
    /// What.
    pub content: Vec<SamplingContent>,
    /// Which model.
    pub model: String,
    /// Why it stopped: `endTurn`, `maxTokens`, or another word.
    pub stop_reason: Option<String>,
}

/// A folder that a client works in. It tells, and grants nothing (M-ROOT-01).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Root {
    /// Where it is: a `file:` URI.
    pub uri: String,
    /// The name for people.
    pub name: Option<String>,
}

impl InputAnswer {
    /// Reads the answer to a question. Members that nobody knows are ignored.
    ///
    /// # Errors
    ///
    /// -32602 when it has another shape than the question asks for, an accepted form
    /// without its content included. The message names the place, never its value.
    ///
    /// Source: M-MRTR-10.
    pub fn read(request: &InputRequest, raw: &RawValue) -> Result<Self, WireError> {
        match request {
            InputRequest::Form(_) => elicited(raw, true).map(Self::Elicited),
            InputRequest::Url(_) => elicited(raw, false).map(Self::Elicited),
            InputRequest::Sampling(_) => sampled(raw).map(Self::Sampled),
            InputRequest::Roots => roots(raw).map(Self::Roots),
        }
    }
}

impl ElicitAction {
    /// Returns the word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }
}

// === Behind the handle ===

fn elicited(raw: &RawValue, form: bool) -> Result<Elicited, WireError> {
    let [action, content] = object(raw, &["action", "content"])?;
    let action = match &*string(action, "action")? {
        "accept" => ElicitAction::Accept,
        "decline" => ElicitAction::Decline,
        "cancel" => ElicitAction::Cancel,
        _ => return Err(mistyped("action", "`accept`, `decline` or `cancel`")),
    };
    let content = if form && action == ElicitAction::Accept {
        match once(content, "content")? {
            Some(content) if raw::is_object(content) => Some(content.to_owned()),
            Some(_) | None => return Err(mistyped("content", "an object")),
        }
    } else {
        None
    };
    Ok(Elicited { action, content })
}

fn sampled(raw: &RawValue) -> Result<Sampled, WireError> {
    let names = ["role", "content", "model", "stopReason"];
    let [role, content, model, stop_reason] = object(raw, &names)?;
    let role = match &*string(role, "role")? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return Err(mistyped("role", "`user` or `assistant`")),
    };
    let content = once(content, "content")?.and_then(|content| blocks(content).ok());
    let Some(content) = content else {
        return Err(mistyped("content", "a block or an array of blocks"));
    };
    Ok(Sampled {
        role,
        content,
        model: string(model, "model")?.into_owned(),
        stop_reason: text(stop_reason, "stopReason")?,
    })
}

fn roots(raw: &RawValue) -> Result<Vec<Root>, WireError> {
    let [roots] = object(raw, &["roots"])?;
    let roots = once(roots, "roots")?;
    roots
        .and_then(|roots| serde_json::from_str::<Vec<Root>>(roots.get()).ok())
        .filter(|roots| roots.iter().all(|root| root.uri.starts_with("file://")))
        .ok_or_else(|| mistyped("roots", "an array of objects with a `uri` of files"))
}

/// A string that may be missing.
fn text(slot: Slot<'_>, key: &str) -> Result<Option<String>, WireError> {
    if slot.is_absent() {
        return Ok(None);
    }
    string(slot, key).map(|text| Some(text.into_owned()))
}

fn object<'a, const N: usize>(
    raw: &'a RawValue,
    names: &[&str; N],
) -> Result<[Slot<'a>; N], WireError> {
    members::read(raw.get(), names)
        .ok()
        .ok_or_else(|| WireError::invalid_params("an answer to a question has to be an object"))
}
