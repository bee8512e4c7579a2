//! `notifications/cancelled`: which request, and why.

use serde_json::value::RawValue;

use crate::id::RequestId;
use crate::limits::REASON_CHARS;
use crate::reflected::reflected;
use crate::wire_error::WireError;
use crate::{members, raw};

/// The parameters of `notifications/cancelled`: `{"requestId":7,"reason":"user"}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelledParams {
    /// The request that nobody waits for any more.
    pub request_id: RequestId,
    /// Why, fit for a log line, at most [`REASON_CHARS`] characters. A reason that
    /// is not a string is kept as its JSON.
    pub reason: Option<String>,
}

impl CancelledParams {
    /// Reads the parameters of a cancellation. `None` when it names no request:
    /// then there is nothing to do.
    ///
    /// # Errors
    ///
    /// -32602 when the parameters are present and no object, or when the request id
    /// is present, not `null`, and neither an integer nor a string of at most 256
    /// bytes. Over HTTP it is answered with status 200 and `"id": null`
    /// ([`error_with_null_id`](crate::error_with_null_id)), elsewhere it is dropped (R2).
    ///
    /// Source: seeds, handler page; inventory C-08 to C-13.
    pub fn parse(params: Option<&RawValue>) -> Result<Option<Self>, WireError> {
        let Some(params) = params else {
            return Ok(None);
        };
        let Ok([id, reason]) = members::read(params.get(), &["requestId", "reason"]) else {
            return Err(WireError::invalid_params("`params` has to be an object"));
        };
        if id.is_twice() {
            return Err(WireError::invalid_params("`params.requestId` occurs twice"));
        }
        let Some(id) = id.one().filter(|id| !raw::is_null(id)) else {
            return Ok(None);
        };
        let Ok(request_id) = RequestId::for_cancel(id) else {
            return Err(WireError::invalid_params(
                "`params.requestId` has to be an integer or a string of at most 256 bytes",
            ));
        };
        let reason = reason.one().filter(|reason| !raw::is_null(reason));
        Ok(Some(Self {
            request_id,
            reason: reason.map(clean),
        }))
    }
}

// === Behind the handle ===

fn clean(reason: &RawValue) -> String {
    match raw::string(reason) {
        Some(text) => reflected(&text, REASON_CHARS),
        None => reflected(reason.get(), REASON_CHARS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_error::Code;

    fn parse(text: &str) -> Result<Option<CancelledParams>, WireError> {
        CancelledParams::parse(Some(serde_json::from_str(text).expect("valid JSON")))
    }

    #[test]
    fn a_request_is_named_with_a_reason() {
        let params = parse(r#"{"requestId":"a1","reason":"stop"}"#);

        let params = params.expect("readable").expect("a request");

        assert_eq!(params.request_id.as_json(), "\"a1\"");
        assert_eq!(params.reason.as_deref(), Some("stop"));
    }

    #[test]
    fn parameters_that_name_no_request_are_ignored() {
        assert_eq!(CancelledParams::parse(None).ok(), Some(None));
        for text in ["{}", r#"{"requestId":null}"#] {
            assert_eq!(parse(text).ok(), Some(None), "{text}");
        }
    }

    #[test]
    fn parameters_that_are_no_object_are_refused() {
        for text in ["null", "[1]", "\"x\"", "5"] {
            let error = parse(text).expect_err("a refusal");
            assert_eq!(error.code, Code::INVALID_PARAMS, "{text}");
        }
    }

    #[test]
    fn an_id_of_another_type_or_too_long_is_refused() {
        for id in [
            "true",
            "1.5",
            "{}",
            "[]",
            &format!("\"{}\"", "a".repeat(257)),
        ] {
            let error = parse(&format!(r#"{{"requestId":{id}}}"#)).expect_err("a refusal");
            assert_eq!(error.code, Code::INVALID_PARAMS, "{id}");
        }
        assert!(parse(r#"{"requestId":1,"requestId":2}"#).is_err());
    }

    #[test]
    fn ids_at_the_edges_are_taken() {
        for id in ["0", "-1", "\"\"", &format!("\"{}\"", "a".repeat(256))] {
            let params = parse(&format!(r#"{{"requestId":{id}}}"#)).expect("readable");
            assert_eq!(params.expect("a request").request_id.as_json(), id);
        }
    }

    #[track_caller]
    fn check_reason(reason: &str, expected: Option<&str>) {
        let params = parse(&format!(r#"{{"requestId":1,"reason":{reason}}}"#));

        let params = params.expect("readable").expect("a request");

        assert_eq!(params.reason.as_deref(), expected);
    }

    #[test]
    fn a_reason_is_cleaned_and_cut() {
        check_reason(r#""a\u001b\u0000b""#, Some("ab"));
        check_reason(&format!("\"{}\"", "x".repeat(500)), Some(&"x".repeat(200)));
    }

    #[test]
    fn a_reason_of_another_type_is_kept_as_json() {
        check_reason("[1.5]", Some("[1.5]"));
        check_reason("{}", Some("{}"));
        check_reason("null", None);
    }
}
