//! What a client's model can be asked to say.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::content::{self, Content, MediaBlock, Role, TextBlock};
use crate::meta::Meta;
use crate::raw;
use crate::tools::Tool;

/// Lets the client's model go on with a conversation.
///
/// Source: M-SAMP-01.
#[derive(Clone, Debug)]
pub struct SamplingRequest {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// The most tokens that the model may say.
    pub max_tokens: u64,
    /// Which model is wanted; the client decides.
    pub model_preferences: Option<ModelPreferences>,
    /// What the model is told before the conversation; the client may change it.
    pub system_prompt: Option<String>,
    /// Whether the model is shown what servers have said. Deprecated but for `none`.
    pub include_context: Option<IncludeContext>,
    /// How much chance is in the model's words.
    pub temperature: Option<f64>,
    /// The model stops before it says one of these.
    pub stop_sequences: Vec<String>,
    /// For the provider of the model, in a shape of its own.
    pub metadata: Option<Map<String, Value>>,
    /// What the model may call. 2025-06-18 has no such thing.
    pub tools: Vec<Tool>,
    /// Whether the model may, must or must not call them.
    pub tool_choice: Option<ToolChoice>,
}

/// One message of a conversation with a model.
///
/// Source: M-SAMP-02, M-SAMP-04.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SamplingMessage {
    /// Who says it.
    pub role: Role,
    /// What is said. 2025-06-18 has one block a message.
    #[serde(serialize_with = "one_or_many", deserialize_with = "many")]
    pub content: Vec<SamplingContent>,
}

/// One block of a message: `{"type":"text","text":"hello"}`.
///
/// Source: M-SAMP-02.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SamplingContent {
    /// Text.
    Text(TextBlock),
    /// A picture.
    Image(MediaBlock),
    /// A sound.
    Audio(MediaBlock),
    /// The model calls a tool.
    ToolUse(ToolUseBlock),
    /// What a call of a tool came to.
    ToolResult(ToolResultBlock),
}

/// A call of a tool by a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ToolUseBlock {
    /// Names the call towards its result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it shall work with: a JSON object.
    #[serde(serialize_with = "compact")]
    pub input: Box<RawValue>,
    /// What else is known about it.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// What the call of a tool by a model came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultBlock {
    /// The call.
    pub tool_use_id: String,
    /// For the model.
    pub content: Vec<Content>,
    /// For programs. An object, which 2025-11-25 demands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Map<String, Value>>,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// What else is known about it.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Which model is wanted. Each priority is a number from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPreferences {
    /// Models, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<ModelHint>,
    /// How much the price matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_priority: Option<f64>,
    /// How much the time matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_priority: Option<f64>,
    /// How much the wits matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intelligence_priority: Option<f64>,
}

/// A model that would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelHint {
    /// Its name, or a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Whose words the model is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IncludeContext {
    /// Nobody's.
    None,
    /// This server's.
    ThisServer,
    /// Those of all servers.
    AllServers,
}

/// How the model deals with its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolChoice {
    /// Whether it calls them; it decides when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
}

/// Whether a model calls its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoiceMode {
    /// If it wants to.
    Auto,
    /// At least one of them.
    Required,
    /// None of them.
    None,
}

impl SamplingRequest {
    /// Lets the model go on with a conversation, with nothing more to say about how.
    #[must_use]
    pub const fn new(messages: Vec<SamplingMessage>, max_tokens: u64) -> Self {
        Self {
            messages,
            max_tokens,
            model_preferences: None,
            system_prompt: None,
            include_context: None,
            temperature: None,
            stop_sequences: Vec::new(),
            metadata: None,
            tools: Vec::new(),
            tool_choice: None,
        }
    }

    /// Returns whether it says anything about tools.
    #[must_use]
    pub const fn offers_tools(&self) -> bool {
        !self.tools.is_empty() || self.tool_choice.is_some()
    }

    /// Returns whether the model shall be shown what servers have said.
    #[must_use]
    pub fn wants_context(&self) -> bool {
        self.include_context
            .is_some_and(|context| context != IncludeContext::None)
    }
}

impl SamplingMessage {
    /// Lets the person say something.
    #[must_use]
    pub fn user(content: SamplingContent) -> Self {
        Self {
            role: Role::User,
            content: vec![content],
        }
    }

    /// Lets the model say something.
    #[must_use]
    pub fn assistant(content: SamplingContent) -> Self {
        Self {
            role: Role::Assistant,
            content: vec![content],
        }
    }
}

impl SamplingContent {
    /// Makes a block of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextBlock {
            text: text.into(),
            annotations: None,
            meta: None,
        })
    }

    /// Makes a block of a picture from its bytes.
    #[must_use]
    pub fn image(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Image(MediaBlock::new(bytes, mime_type.into()))
    }

    /// Makes a block of a sound from its bytes.
    #[must_use]
    pub fn audio(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self::Audio(MediaBlock::new(bytes, mime_type.into()))
    }
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        match content::kind_of(&raw).as_deref() {
            Some("text") => content::block(&raw).map(Self::Text),
            Some("image") => content::block(&raw).map(Self::Image),
            Some("audio") => content::block(&raw).map(Self::Audio),
            Some("tool_use") => {
                let block: ToolUseBlock = content::block(&raw)?;
                if raw::is_object(&block.input) {
                    Ok(Self::ToolUse(block))
                } else {
                    Err(de::Error::custom("the input of a tool is an object"))
                }
            }
            Some("tool_result") => content::block(&raw).map(Self::ToolResult),
            Some(_) | None => Err(de::Error::custom("no kind of block")),
        }
    }
}

// === Behind the handle ===

/// Reads one block, or an array of them.
pub(super) fn blocks(raw: &RawValue) -> serde_json::Result<Vec<SamplingContent>> {
    if raw.get().starts_with('[') {
        serde_json::from_str(raw.get())
    } else {
        serde_json::from_str(raw.get()).map(|block| vec![block])
    }
}

fn many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SamplingContent>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    blocks(&raw).map_err(de::Error::custom)
}

/// Writes one block as itself, which every version understands.
fn one_or_many<S: Serializer>(
    content: &[SamplingContent],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match content {
        [block] => block.serialize(serializer),
        blocks => blocks.serialize(serializer),
    }
}

/// Writes an author's JSON on one line.
#[expect(clippy::borrowed_box, reason = "serde asks for it")]
fn compact<S: Serializer>(raw: &Box<RawValue>, serializer: S) -> Result<S::Ok, S::Error> {
    raw::compact(raw.clone()).serialize(serializer)
}
