//! Questions to clients: in the modern era a result, in a legacy session requests.

use serde_json::value::RawValue;
use uuid::Uuid;

use crate::id::RequestId;
use crate::input::{
    FormRequest, InputRequest, SamplingContent, SamplingMessage, SamplingRequest, UrlRequest,
};
use crate::raw;
use crate::shape::face::{Face, whole};
use crate::shape::json::Object;
use crate::shape::page::{Dialect, Listed};
use crate::shape::{Rendered, legacy};
use crate::version;

impl Face {
    /// Answers a request with questions, for a retry to answer. Modern only.
    ///
    /// `token` is the sealed state. Without questions and without a token the client
    /// has nothing to come back with, so at least one of them has to be there.
    ///
    /// Source: M-MRTR-02 to M-MRTR-04.
    #[must_use]
    pub fn input_required(
        &self,
        id: &RequestId,
        requests: &[(String, InputRequest)],
        token: Option<&str>,
    ) -> Rendered {
        whole(id, |out| {
            let mut result = Object::open(out);
            result.raw("resultType", r#""input_required""#);
            if !requests.is_empty() {
                let mut map = result.object("inputRequests");
                for (key, request) in requests {
                    map.entry(key, request.write_json().get());
                }
                map.close();
            }
            result.option("requestState", token);
            self.server_info.write(&mut result, None);
            result.close();
        })
    }
}

impl InputRequest {
    /// Writes the question as the modern era puts it, without an envelope:
    /// `{"method":"roots/list"}`.
    ///
    /// Source: M-MRTR-03.
    #[must_use]
    pub fn write_json(&self) -> Box<RawValue> {
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);
        object.value("method", self.method());
        match self {
            Self::Roots => {}
            Self::Form(request) => {
                let mut params = object.object("params");
                form(&mut params, request);
                params.close();
            }
            Self::Url(request) => {
                let mut params = object.object("params");
                url(&mut params, request);
                params.close();
            }
            Self::Sampling(request) => {
                let mut params = object.object("params");
                sampling(&mut params, request, Dialect::Modern);
                params.close();
            }
        }
        object.close();
        raw::from_bytes(out)
    }

    /// Writes the question as a request to the client of a legacy session.
    ///
    /// `elicitation_id` names a URL to open, which only 2025-11-25 knows, towards the
    /// notification that it is done with. `related_task` is the task that asks.
    ///
    /// `None` when the version has no such question: not a legacy version, a URL
    /// without an id or in 2025-06-18, and there also a sampling with tools or with a
    /// message of several blocks.
    ///
    /// Source: R6, L-TASK-12, table 5.0.
    #[must_use]
    pub fn server_request(
        &self,
        id: &RequestId,
        version: &str,
        elicitation_id: Option<&str>,
        related_task: Option<Uuid>,
    ) -> Option<Rendered> {
        let newest = version::legacy(version)? == version::newest_legacy();
        let mut out = Vec::new();
        let mut message = Object::open(&mut out);
        message.raw("jsonrpc", r#""2.0""#);
        message.raw("id", id.as_json());
        message.value("method", self.method());
        if matches!(self, Self::Roots) && related_task.is_none() {
            message.close();
            return Some(Rendered::whole(out.into()));
        }
        let mut params = message.object("params");
        match self {
            Self::Roots => {}
            Self::Form(request) => {
                if newest {
                    params.raw("mode", r#""form""#);
                }
                form(&mut params, request);
            }
            Self::Url(request) => {
                let elicitation_id = elicitation_id.filter(|_| newest)?;
                url(&mut params, request);
                params.value("elicitationId", elicitation_id);
            }
            Self::Sampling(request) => {
                if !(newest || is_plain(request)) {
                    return None;
                }
                sampling(&mut params, request, Dialect::Legacy);
            }
        }
        if let Some(task) = related_task {
            let mut meta = params.object("_meta");
            legacy::related_task(&mut meta, task);
            meta.close();
        }
        params.close();
        message.close();
        Some(Rendered::whole(out.into()))
    }
}

// === Behind the handle ===

/// M-ELIC-01: without a mode it is a form.
fn form(params: &mut Object<'_>, request: &FormRequest) {
    params.value("message", &request.message);
    params.raw(
        "requestedSchema",
        raw::compact(request.schema.clone()).get(),
    );
}

/// M-ELIC-01.
fn url(params: &mut Object<'_>, request: &UrlRequest) {
    params.raw("mode", r#""url""#);
    params.value("message", &request.message);
    params.value("url", &request.url);
}

/// M-SAMP-01.
fn sampling(params: &mut Object<'_>, request: &SamplingRequest, dialect: Dialect) {
    params.value("messages", &request.messages);
    params.value("maxTokens", &request.max_tokens);
    params.option("modelPreferences", request.model_preferences.as_ref());
    params.option("systemPrompt", request.system_prompt.as_ref());
    params.option("includeContext", request.include_context.as_ref());
    let temperature = request.temperature.filter(|value| value.is_finite());
    params.option("temperature", temperature.as_ref());
    if !request.stop_sequences.is_empty() {
        params.value("stopSequences", &request.stop_sequences);
    }
    params.option("metadata", request.metadata.as_ref());
    if !request.tools.is_empty() {
        params.array("tools", &request.tools, |out, tool| {
            tool.write(dialect, out);
        });
    }
    params.option("toolChoice", request.tool_choice.as_ref());
}

/// Whether 2025-06-18 can say it (M-SAMP-02).
fn is_plain(request: &SamplingRequest) -> bool {
    let plain = |message: &SamplingMessage| {
        matches!(
            *message.content,
            [SamplingContent::Text(_) | SamplingContent::Image(_) | SamplingContent::Audio(_)]
        )
    };
    !request.offers_tools() && request.messages.iter().all(plain)
}
