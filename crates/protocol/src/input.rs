//! What a callback can ask of a client before it goes on.
//!
//! In the modern era the questions are the result of the request, and the answers
//! come with a retry of it (6.1); in a legacy session each is a request of its own
//! (R6). How they are written is the shapers' matter.

mod answer;
mod read;
mod sampling;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::capability::ClientCapabilities;

pub use crate::input::answer::{ElicitAction, Elicited, InputAnswer, Root, Sampled};
pub use crate::input::sampling::{
    IncludeContext, ModelHint, ModelPreferences, SamplingContent, SamplingMessage, SamplingRequest,
    ToolChoice, ToolChoiceMode, ToolResultBlock, ToolUseBlock,
};

/// What a callback wants to know before it goes on.
///
/// Source: M-MRTR-02, M-MRTR-04.
#[derive(Clone, Debug, Default)]
pub struct InputRequired {
    /// The questions, each under a key that its answer comes back under. No key may
    /// occur twice (M-MRTR-03). May be empty: then the client just comes again.
    pub requests: Vec<(String, InputRequest)>,
    /// What the callback wants to find again when it goes on. It is the runtime that
    /// seals it, so that the client can neither read nor change it (M-MRTR-07).
    pub state: Option<Value>,
}

/// One question to a client.
///
/// Source: M-MRTR-03.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum InputRequest {
    /// Lets the person fill in a form.
    Form(FormRequest),
    /// Lets the person open a URL.
    Url(UrlRequest),
    /// Lets the client's model say something. Deprecated in the modern era.
    Sampling(Box<SamplingRequest>),
    /// Asks which folders the client works in. Deprecated in the modern era.
    Roots,
}

/// A form to fill in.
///
/// Source: M-ELIC-01, M-ELIC-02.
#[derive(Clone, Debug)]
pub struct FormRequest {
    /// What the person reads.
    pub message: String,
    /// The JSON Schema of what they fill in: a flat object of primitives.
    pub schema: Box<RawValue>,
}

/// A URL to open, for what must not pass through the client (M-ELIC-06).
///
/// Source: M-ELIC-01, M-ELIC-07.
#[derive(Clone, Debug)]
pub struct UrlRequest {
    /// What the person reads.
    pub message: String,
    /// Where they shall go.
    pub url: String,
}

impl InputRequired {
    /// Asks nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a question.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, request: impl Into<InputRequest>) -> Self {
        self.requests.push((key.into(), request.into()));
        self
    }

    /// Says what the callback wants to find again when it goes on.
    #[must_use]
    pub fn with_state(mut self, state: Value) -> Self {
        self.state = Some(state);
        self
    }
}

impl InputRequest {
    /// Lets the person fill in a form.
    #[must_use]
    pub fn form(message: impl Into<String>, schema: Box<RawValue>) -> Self {
        Self::Form(FormRequest {
            message: message.into(),
            schema,
        })
    }

    /// Lets the person open a URL.
    #[must_use]
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(UrlRequest {
            message: message.into(),
            url: url.into(),
        })
    }

    /// Returns the method on the wire.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Form(_) | Self::Url(_) => "elicitation/create",
            Self::Sampling(_) => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// Returns whether a client has declared all that this asks for.
    ///
    /// Source: table of 6.2, M-MRTR-16.
    #[must_use]
    pub fn is_declared(&self, declared: &ClientCapabilities) -> bool {
        match self {
            Self::Form(_) => declared.elicits_forms(),
            Self::Url(_) => declared.elicits_urls(),
            Self::Sampling(request) => {
                declared.samples()
                    && (!request.offers_tools() || declared.samples_with_tools())
                    && (!request.wants_context() || declared.samples_with_context())
            }
            Self::Roots => declared.lists_roots(),
        }
    }

    /// Returns what a client has to declare to be asked all of these, for
    /// [`WireError::missing_capability`](crate::WireError::missing_capability):
    /// `{"elicitation":{},"sampling":{"tools":{}}}`.
    ///
    /// Source: table of 6.2, M-MRTR-17.
    #[must_use]
    pub fn required_capabilities(undeclared: &[&Self]) -> Value {
        let asks = |kind: fn(&Self) -> bool| undeclared.iter().any(|request| kind(request));
        let mut required = Map::new();
        let forms = asks(|request| matches!(request, Self::Form(_)));
        let urls = asks(|request| matches!(request, Self::Url(_)));
        if forms || urls {
            // `{"url":{}}` alone would mean no forms (M-META-06).
            let modes = [("form", forms && urls), ("url", urls)];
            required.insert("elicitation".to_owned(), settings(modes));
        }
        if asks(|request| matches!(request, Self::Sampling(_))) {
            let tools = asks(|request| request.sampling(SamplingRequest::offers_tools));
            let context = asks(|request| request.sampling(SamplingRequest::wants_context));
            let parts = [("tools", tools), ("context", context)];
            required.insert("sampling".to_owned(), settings(parts));
        }
        if asks(|request| matches!(request, Self::Roots)) {
            required.insert("roots".to_owned(), settings([]));
        }
        Value::Object(required)
    }
}

impl From<FormRequest> for InputRequest {
    fn from(request: FormRequest) -> Self {
        Self::Form(request)
    }
}

impl From<UrlRequest> for InputRequest {
    fn from(request: UrlRequest) -> Self {
        Self::Url(request)
    }
}

impl From<SamplingRequest> for InputRequest {
    fn from(request: SamplingRequest) -> Self {
        Self::Sampling(Box::new(request))
    }
}

// === Behind the handle ===

impl InputRequest {
    fn sampling(&self, says: fn(&SamplingRequest) -> bool) -> bool {
        match self {
            Self::Sampling(request) => says(request),
            Self::Form(_) | Self::Url(_) | Self::Roots => false,
        }
    }
}

/// An object with an empty object for each name that counts.
fn settings<const N: usize>(names: [(&str, bool); N]) -> Value {
    let counting = names.into_iter().filter(|(_, counts)| *counts);
    let empty = |(name, _): (&str, bool)| (name.to_owned(), Value::Object(Map::new()));
    Value::Object(counting.map(empty).collect())
}

#[cfg(test)]
mod tests;
