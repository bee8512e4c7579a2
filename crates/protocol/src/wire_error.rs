//! The JSON-RPC error object and its codes.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::capability::TASKS_EXTENSION;
use crate::complete::Reference;
use crate::era::Era;
use crate::limits::{REFLECTED_CHARS, REFLECTED_URI_CHARS, REFLECTED_VERSION_CHARS};
use crate::reflected::reflected;
use crate::version::MODERN_VERSIONS;

/// A JSON-RPC error code.
///
/// Codes of applications lie outside of -32768 to -32000 (C-ERR-01); ours are
/// HTTP statuses times 100, see [`Code::refusal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Code(pub i64);

impl Code {
    /// The bytes are not JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The envelope is wrong.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// The method is not routed in this era, or not offered.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The parameters or the request metadata are wrong.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// The fault is on our side.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// A header is missing or differs from the body. Modern.
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The client did not declare what the request needs. Modern.
    pub const MISSING_CLIENT_CAPABILITY: Self = Self(-32021);
    /// The request names a version that is not served. Modern.
    pub const UNSUPPORTED_VERSION: Self = Self(-32022);
    /// There is no such resource. Legacy; must not be sent in the modern era.
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);
    /// As many cancellations are recorded as may be (R2, R34).
    pub const CANCELLATION_LIMIT: Self = Self(-32000);

    /// Returns the code of a refusal before the handler: the HTTP status times 100.
    ///
    /// Source: R34.
    #[must_use]
    pub const fn refusal(status: u16) -> Self {
        Self(status as i64 * 100)
    }

    /// The HTTP status of a refusal that we make.
    pub(crate) fn refused_with(self) -> Option<u16> {
        REFUSALS
            .into_iter()
            .find(|status| Self::refusal(*status) == self)
    }
}

/// A JSON-RPC error object: `{"code":-32602,"message":"Unknown tool: x"}`.
///
/// The message is one short sentence. Client text gets into it through
/// [`reflected`] only, and no internals ever do.
///
/// Source: C-RPC-05.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WireError {
    /// What kind of error.
    pub code: Code,
    /// What a person reads.
    pub message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<RawValue>>,
}

impl WireError {
    /// Makes an error without data.
    #[must_use]
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Returns what a machine may read; its shape depends on the code.
    #[must_use]
    pub fn data(&self) -> Option<&RawValue> {
        self.data.as_deref()
    }

    /// Adds data that a machine may read. Data that cannot be written as JSON is
    /// left out.
    #[must_use]
    pub fn with_data<T: Serialize + ?Sized>(mut self, data: &T) -> Self {
        self.data = to_raw_value(data).ok().map(crate::raw::compact);
        self
    }

    /// Adds `{"retryAfterMs": n}` (R34).
    #[must_use]
    pub fn with_retry_after(self, wait: Duration) -> Self {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct RetryAfter {
            retry_after_ms: u64,
        }
        self.with_data(&RetryAfter {
            retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Returns the error object as JSON, such as for the record of a task.
    #[must_use]
    pub fn to_json(&self) -> Box<RawValue> {
        to_raw_value(self).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }

    /// Reads an error object, ours or that of a client. `None` when it is none.
    #[must_use]
    pub fn from_json(raw: &RawValue) -> Option<Self> {
        let mut error: Self = serde_json::from_str(raw.get()).ok()?;
        error.data = error.data.map(crate::raw::compact);
        Some(error)
    }

    /// The bytes are not JSON.
    #[must_use]
    pub const fn parse_error() -> Self {
        Self {
            code: Code::PARSE_ERROR,
            message: Cow::Borrowed("Parse error"),
            data: None,
        }
    }

    /// The envelope is wrong.
    #[must_use]
    pub fn invalid_request(reason: &'static str) -> Self {
        Self::new(Code::INVALID_REQUEST, format!("Invalid request: {reason}"))
    }

    /// The parameters or the request metadata are wrong. The reason names a key,
    /// never its value.
    #[must_use]
    pub fn invalid_params(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::INVALID_PARAMS, reason)
    }

    /// The method is not routed in the era of the request.
    ///
    /// `initialize` can only get here with modern metadata: its sender then learns
    /// which versions to name (M-VER-05).
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        let shown = reflected(method, REFLECTED_CHARS);
        let message = if method == "initialize" {
            let versions = MODERN_VERSIONS.join(", ");
            format!("Method not found: {shown} (not part of {versions})")
        } else {
            format!("Method not found: {shown}")
        };
        Self::new(Code::METHOD_NOT_FOUND, message)
    }

    /// No tool has this name (M-TOOL-15).
    #[must_use]
    pub fn unknown_tool(name: &str) -> Self {
        let shown = reflected(name, REFLECTED_CHARS);
        Self::new(Code::INVALID_PARAMS, format!("Unknown tool: {shown}"))
    }

    /// No prompt has this name (M-PROMPT-02).
    #[must_use]
    pub fn unknown_prompt(name: &str) -> Self {
        let shown = reflected(name, REFLECTED_CHARS);
        Self::new(Code::INVALID_PARAMS, format!("Unknown prompt: {shown}"))
    }

    /// There is no such resource: -32602 in the modern era, -32002 in the legacy one,
    /// with `{"uri":"mem://zz"}` in both.
    ///
    /// Source: M-RES-03, L-RES-04.
    #[must_use]
    pub fn resource_not_found(era: Era, uri: &str) -> Self {
        #[derive(Serialize)]
        struct NotFound {
            uri: String,
        }
        let code = match era {
            Era::Modern => Code::INVALID_PARAMS,
            Era::Legacy => Code::RESOURCE_NOT_FOUND,
        };
        let shown = reflected(uri, REFLECTED_CHARS);
        Self::new(code, format!("Resource not found: {shown}")).with_data(&NotFound {
            uri: reflected(uri, REFLECTED_URI_CHARS),
        })
    }

    /// What an argument should be completed for does not exist (C-COMP-03).
    #[must_use]
    pub fn unknown_reference(reference: &Reference<'_>) -> Self {
        match reference {
            Reference::Prompt(name) => Self::unknown_prompt(name),
            Reference::Resource(uri) => {
                let shown = reflected(uri, REFLECTED_CHARS);
                let message = format!("Unknown resource template: {shown}");
                Self::new(Code::INVALID_PARAMS, message)
            }
        }
    }

    /// The fault is on our side; what it was goes to the log and to nobody else.
    #[must_use]
    pub const fn internal() -> Self {
        Self {
            code: Code::INTERNAL_ERROR,
            message: Cow::Borrowed("Internal error"),
            data: None,
        }
    }

    /// A header is missing or differs from the body.
    #[must_use]
    pub fn header_mismatch(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::HEADER_MISMATCH, reason)
    }

    /// The request needs capabilities that its client has not declared.
    ///
    /// `required` is an object of capability objects, of what is missing:
    /// `{"elicitation":{"url":{}}}` (C-ERR-02).
    #[must_use]
    pub fn missing_capability<T: Serialize>(
        reason: impl Into<Cow<'static, str>>,
        required: &T,
    ) -> Self {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Missing<'a, T> {
            required_capabilities: &'a T,
        }
        Self::new(Code::MISSING_CLIENT_CAPABILITY, reason).with_data(&Missing {
            required_capabilities: required,
        })
    }

    /// A callback asks for input where none can be asked for: in the legacy era
    /// outside of a session, or in answer to another method (AT-184, R6).
    #[must_use]
    pub const fn input_not_possible() -> Self {
        Self {
            code: Code::INTERNAL_ERROR,
            message: Cow::Borrowed("MRTR input requests require protocol 2026-07-28"),
            data: None,
        }
    }

    /// A callback answers a task where there can be none (R10).
    #[must_use]
    pub const fn task_not_possible() -> Self {
        Self {
            code: Code::INTERNAL_ERROR,
            message: Cow::Borrowed("This request cannot be answered with a task"),
            data: None,
        }
    }

    /// The state that came back with a retry is not one that we gave for this request,
    /// or no longer. What is wrong with it goes to the log and to nobody else (R15).
    #[must_use]
    pub const fn bad_request_state() -> Self {
        Self {
            code: Code::INVALID_PARAMS,
            message: Cow::Borrowed("`params.requestState` is not valid"),
            data: None,
        }
    }

    /// The request needs the tasks extension, which its client has not declared
    /// (T-TASK-03, T-TASK-14, T-TASK-25).
    #[must_use]
    pub fn tasks_undeclared() -> Self {
        Self::missing_capability(
            "The tasks extension is required",
            &json!({"extensions": {TASKS_EXTENSION: {}}}),
        )
    }

    /// There is no such task, or it is somebody else's: nobody learns which
    /// (T-TASK-15, T-TASK-28).
    #[must_use]
    pub fn unknown_task(id: &str) -> Self {
        let shown = reflected(id, REFLECTED_CHARS);
        Self::new(Code::INVALID_PARAMS, format!("Unknown task: {shown}"))
    }

    /// The request names a version that is not served; the data says which are.
    ///
    /// Source: M-ERR-03, R22.
    #[must_use]
    pub fn unsupported_version(requested: &str) -> Self {
        #[derive(Serialize)]
        struct Unsupported<'a> {
            supported: &'a [&'a str],
            requested: String,
        }
        Self::new(Code::UNSUPPORTED_VERSION, "Unsupported protocol version").with_data(
            &Unsupported {
                supported: &MODERN_VERSIONS,
                requested: reflected(requested, REFLECTED_VERSION_CHARS),
            },
        )
    }

    /// The request is refused before any handler sees it, with this HTTP status.
    ///
    /// Source: R34.
    #[must_use]
    pub fn refused(status: u16, reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::refusal(status), reason)
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code.0)
    }
}

impl std::error::Error for WireError {}

// === Behind the handle ===

/// The statuses that a request can be refused with before any handler sees it.
const REFUSALS: [u16; 10] = [401, 403, 404, 405, 406, 408, 413, 415, 429, 503];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: &WireError, expected: &str) {
        assert_eq!(serde_json::to_string(error).expect("JSON"), expected);
    }

    #[test]
    fn an_error_without_data_has_no_such_member() {
        check(
            &WireError::parse_error(),
            r#"{"code":-32700,"message":"Parse error"}"#,
        );
    }

    #[test]
    fn a_refusal_is_the_status_times_a_hundred_and_says_when_to_come_back() {
        check(
            &WireError::refused(503, "Overloaded").with_retry_after(Duration::from_secs(2)),
            r#"{"code":50300,"message":"Overloaded","data":{"retryAfterMs":2000}}"#,
        );
    }

    #[test]
    fn an_unsupported_version_is_repeated_beside_those_that_are_served() {
        check(
            &WireError::unsupported_version("v999.0.0"),
            concat!(
                r#"{"code":-32022,"message":"Unsupported protocol version","#,
                r#""data":{"supported":["2026-07-28"],"requested":"v999.0.0"}}"#
            ),
        );
    }

    #[test]
    fn a_resource_that_is_not_found_has_a_code_for_each_era() {
        let of = |era| WireError::resource_not_found(era, "mem://zz");

        check(
            &of(Era::Modern),
            r#"{"code":-32602,"message":"Resource not found: mem://zz","data":{"uri":"mem://zz"}}"#,
        );
        check(
            &of(Era::Legacy),
            r#"{"code":-32002,"message":"Resource not found: mem://zz","data":{"uri":"mem://zz"}}"#,
        );
    }

    #[test]
    fn what_is_completed_for_and_does_not_exist_is_named() {
        check(
            &WireError::unknown_reference(&Reference::Prompt("greet".into())),
            r#"{"code":-32602,"message":"Unknown prompt: greet"}"#,
        );
        check(
            &WireError::unknown_reference(&Reference::Resource("mem://{id}".into())),
            r#"{"code":-32602,"message":"Unknown resource template: mem://{id}"}"#,
        );
    }

    #[test]
    fn a_long_uri_is_cut() {
        let error = WireError::resource_not_found(Era::Modern, &"é".repeat(5000));

        assert!(error.message.chars().count() < 250);
        assert!(error.data().expect("data").get().chars().count() < 2100);
    }

    #[test]
    fn a_long_version_is_cut() {
        let error = WireError::unsupported_version(&"9".repeat(5000));

        assert!(error.data().expect("data").get().len() < 120);
    }

    #[test]
    fn an_unknown_method_is_shown_without_what_could_mislead() {
        let error = WireError::method_not_found("a\u{202E}\nb");

        assert_eq!(error.message, "Method not found: ab");
    }

    #[test]
    fn an_initialize_in_the_modern_era_learns_the_versions() {
        let error = WireError::method_not_found("initialize");

        assert!(error.message.contains("2026-07-28"));
    }

    #[test]
    fn missing_capabilities_are_an_object_of_objects() {
        let required = serde_json::json!({"elicitation": {"url": {}}});

        check(
            &WireError::missing_capability("elicitation is required", &required),
            concat!(
                r#"{"code":-32021,"message":"elicitation is required","#,
                r#""data":{"requiredCapabilities":{"elicitation":{"url":{}}}}}"#
            ),
        );
    }

    #[test]
    fn input_in_the_legacy_era_names_the_version_that_has_it() {
        let error = WireError::input_not_possible();

        assert_eq!(error.code, Code::INTERNAL_ERROR);
        assert!(error.message.contains("MRTR"));
        assert!(error.message.contains("2026-07-28"));
    }

    #[test]
    fn tasks_that_were_not_declared_are_an_extension() {
        check(
            &WireError::tasks_undeclared(),
            concat!(
                r#"{"code":-32021,"message":"The tasks extension is required","data":"#,
                r#"{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#
            ),
        );
    }

    #[test]
    fn an_error_is_read_back_as_it_was_written() {
        for error in [
            WireError::internal(),
            WireError::unsupported_version("v999.0.0"),
            WireError::new(Code(7), "\"é\n").with_data(&[1.5]),
        ] {
            let json = error.to_json();

            let back = WireError::from_json(&json).expect("an error");

            check(&back, json.get());
        }
    }

    #[test]
    fn an_error_of_a_client_is_read_and_other_json_is_not() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).expect("valid JSON");
        let theirs = raw("{\"code\":-1,\"message\":\"no\",\"data\":{\n},\"x\":1}");

        let error = WireError::from_json(&theirs).expect("an error");

        check(&error, r#"{"code":-1,"message":"no","data":{}}"#);
        for text in [
            "null",
            "{}",
            r#"{"code":"1","message":"x"}"#,
            r#"{"code":1}"#,
        ] {
            assert!(WireError::from_json(&raw(text)).is_none(), "{text}");
        }
    }
}
