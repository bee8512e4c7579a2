//! Reads a question back from the record of a task.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::input::{
    FormRequest, IncludeContext, InputRequest, ModelPreferences, SamplingMessage, SamplingRequest,
    ToolChoice, UrlRequest,
};
use crate::members;
use crate::raw;
use crate::tools::Tool;

impl InputRequest {
    /// Reads a question that [`write_json`](Self::write_json) has written. `None` when
    /// it is none.
    #[must_use]
    pub fn from_json(raw: &RawValue) -> Option<Self> {
        let [method, params] = members::read(raw.get(), &["method", "params"]).ok()?;
        let params = params.one();
        match &*method.one().and_then(raw::string)? {
            "elicitation/create" => elicitation(params?),
            "sampling/createMessage" => sampling(params?).map(Self::from),
            "roots/list" => Some(Self::Roots),
            _ => None,
        }
    }
}

// === Behind the handle ===

/// The parameters of an elicitation, of either mode.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Elicitation {
    mode: Option<String>,
    message: String,
    requested_schema: Option<Box<RawValue>>,
    url: Option<String>,
}

fn elicitation(params: &RawValue) -> Option<InputRequest> {
    let Elicitation {
        mode,
        message,
        requested_schema,
        url,
    } = serde_json::from_str(params.get()).ok()?;
    match mode.as_deref() {
        None | Some("form") => Some(InputRequest::Form(FormRequest {
            message,
            schema: requested_schema.filter(|schema| raw::is_object(schema))?,
        })),
        Some("url") => Some(InputRequest::Url(UrlRequest { message, url: url? })),
        Some(_) => None,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sampling {
    messages: Vec<SamplingMessage>,
    max_tokens: u64,
    model_preferences: Option<ModelPreferences>,
    system_prompt: Option<String>,
    include_context: Option<IncludeContext>,
    temperature: Option<f64>,
    #[serde(default)]
    stop_sequences: Vec<String>,
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    tools: Vec<Box<RawValue>>,
    tool_choice: Option<ToolChoice>,
}

fn sampling(params: &RawValue) -> Option<SamplingRequest> {
    let params: Sampling = serde_json::from_str(params.get()).ok()?;
    let tools = params.tools.iter().map(|tool| Tool::from_raw(tool));
    Some(SamplingRequest {
        messages: params.messages,
        max_tokens: params.max_tokens,
        model_preferences: params.model_preferences,
        system_prompt: params.system_prompt,
        include_context: params.include_context,
        temperature: params.temperature,
        stop_sequences: params.stop_sequences,
        metadata: params.metadata,
        tools: tools.collect::<Option<_>>()?,
        tool_choice: params.tool_choice,
    })
}
