//! What the handler of a resource may return, and what becomes of it.

use bytes::Bytes;
use conduit_protocol::{CacheHints, Era, Outcome, ReadResult, ResourceContents, WireError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{IntoRefusal, Json};

const TEXT: &str = "text/plain";
const BYTES: &str = "application/octet-stream";
const JSON: &str = "application/json";

/// Turns what the handler of a resource returns into what the client gets.
///
/// | a handler returns | the client gets |
/// |---|---|
/// | `String`, `&'static str` | text |
/// | `Vec<u8>`, `&'static [u8]`, `Bytes` | bytes |
/// | [`Json<T>`] | JSON as text |
/// | [`ResourceContents`], a `Vec` of them | these; of an empty one that there is no such resource |
/// | [`ReadResult`], [`Outcome<ReadResult>`](Outcome) | the same |
/// | `Some(x)` | what `x` becomes |
/// | `None` | that there is no such resource |
/// | `Ok(x)` | what `x` becomes |
/// | `Err(x)` | what [`IntoRefusal`] makes of it: mostly an internal error with a text |
pub trait IntoContents {
    /// Turns it into what the client gets of `uri`; `None` when there is no such
    /// resource. `mime_type` is what the resource is listed with.
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>>;

    /// Returns the media type to list, if it is always the same.
    #[must_use]
    fn mime_type() -> Option<&'static str> {
        None
    }
}

impl IntoContents for Outcome<ReadResult> {
    fn into_contents(self, _uri: &str, _mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        Some(self)
    }
}

impl IntoContents for ReadResult {
    fn into_contents(self, _uri: &str, _mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        (!self.contents.is_empty()).then_some(Outcome::Complete(self))
    }
}

impl IntoContents for Vec<ResourceContents> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        ReadResult::new(self).into_contents(uri, mime_type)
    }
}

impl IntoContents for ResourceContents {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        vec![self].into_contents(uri, mime_type)
    }
}

impl IntoContents for String {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        text(self, uri, mime_type.unwrap_or(TEXT))
    }

    fn mime_type() -> Option<&'static str> {
        Some(TEXT)
    }
}

impl IntoContents for &'static str {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        self.to_owned().into_contents(uri, mime_type)
    }

    fn mime_type() -> Option<&'static str> {
        Some(TEXT)
    }
}

impl IntoContents for &'static [u8] {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        blob(self, uri, mime_type)
    }
}

impl<const N: usize> IntoContents for &'static [u8; N] {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        blob(self, uri, mime_type)
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        blob(&self, uri, mime_type)
    }
}

impl IntoContents for Bytes {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        blob(&self, uri, mime_type)
    }
}

impl<T: Serialize + JsonSchema> IntoContents for Json<T> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        match serde_json::to_string(&self.0) {
            Ok(json) => text(json, uri, mime_type.unwrap_or(JSON)),
            Err(error) => {
                tracing::error!(%error, "a resource cannot be written as JSON");
                Some(Outcome::Refused(WireError::internal()))
            }
        }
    }

    fn mime_type() -> Option<&'static str> {
        Some(JSON)
    }
}

impl<T: IntoContents> IntoContents for Option<T> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        self.and_then(|found| found.into_contents(uri, mime_type))
    }

    fn mime_type() -> Option<&'static str> {
        T::mime_type()
    }
}

impl<T: IntoContents, E: IntoRefusal<ReadResult>> IntoContents for Result<T, E> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
        match self {
            Ok(found) => found.into_contents(uri, mime_type),
            Err(refusal) => Some(refusal.into_refusal()),
        }
    }

    fn mime_type() -> Option<&'static str> {
        T::mime_type()
    }
}

// === Behind the handle ===

/// What is known of a resource, or of all that match a template, without reading it.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Its URI, or the template.
    pub(crate) uri: Box<str>,
    pub(crate) mime_type: Option<Box<str>>,
    pub(crate) cache: CacheHints,
}

/// Turns what a handler returned into what the client gets of `uri`.
pub(crate) fn answer(
    read: impl IntoContents,
    era: Era,
    uri: &str,
    listed: &Listed,
) -> Outcome<ReadResult> {
    match read.into_contents(uri, listed.mime_type.as_deref()) {
        Some(Outcome::Complete(mut result)) => {
            result.cache.get_or_insert(listed.cache);
            Outcome::Complete(result)
        }
        Some(other) => other,
        None => Outcome::Refused(WireError::resource_not_found(era, uri)),
    }
}

fn text(text: String, uri: &str, mime_type: &str) -> Option<Outcome<ReadResult>> {
    let contents = ResourceContents::Text {
        uri: uri.to_owned(),
        text,
        mime_type: Some(mime_type.to_owned()),
        meta: None,
    };
    contents.into_contents(uri, None)
}

fn blob(bytes: &[u8], uri: &str, mime_type: Option<&str>) -> Option<Outcome<ReadResult>> {
    let mut contents = ResourceContents::blob(uri, bytes);
    if let ResourceContents::Blob { mime_type: own, .. } = &mut contents {
        *own = Some(mime_type.unwrap_or(BYTES).to_owned());
    }
    contents.into_contents(uri, None)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use conduit_protocol::Code;
    use serde_json::{Value, json};

    use super::*;
    use crate::ToolError;

    /// What the client gets, as JSON; `None` when there is no such resource.
    #[track_caller]
    fn contents(answer: impl IntoContents, mime_type: Option<&str>) -> Option<Value> {
        let Outcome::Complete(result) = answer.into_contents("mem://a", mime_type)? else {
            panic!("contents");
        };
        Some(serde_json::to_value(result.contents).expect("JSON"))
    }

    #[track_caller]
    fn refused(answer: impl IntoContents) -> WireError {
        match answer.into_contents("mem://a", None) {
            Some(Outcome::Refused(error)) => error,
            answer => panic!("{answer:?}"),
        }
    }

    #[test]
    fn text_has_the_uri_and_a_media_type() {
        let text = |mime_type| json!([{"uri": "mem://a", "text": "x", "mimeType": mime_type}]);

        assert_eq!(contents("x", None), Some(text("text/plain")));
        assert_eq!(
            contents("x".to_owned(), Some("text/css")),
            Some(text("text/css"))
        );
    }

    #[test]
    fn bytes_are_encoded() {
        let bytes = |mime_type| json!([{"uri": "mem://a", "blob": "eA==", "mimeType": mime_type}]);

        assert_eq!(
            contents(b"x", None),
            Some(bytes("application/octet-stream"))
        );
        assert_eq!(
            contents(vec![b'x'], Some("image/png")),
            Some(bytes("image/png"))
        );
    }

    #[test]
    fn json_is_text() {
        let answer = Json(HashMap::from([("a", 1)]));

        assert_eq!(
            contents(answer, None),
            Some(json!([{"uri": "mem://a", "text": r#"{"a":1}"#, "mimeType": "application/json"}]))
        );
    }

    #[test]
    fn nothing_is_no_such_resource() {
        assert_eq!(contents(None::<String>, None), None);
        assert_eq!(contents(Ok::<_, ToolError>(None::<String>), None), None);
        assert_eq!(contents(Vec::<ResourceContents>::new(), None), None);
        assert_eq!(contents(ReadResult::default(), None), None);
    }

    #[test]
    fn a_failure_is_an_internal_error_with_its_text() {
        for error in [
            refused(Err::<String, _>("the disk is full")),
            refused(Err::<String, _>(ToolError::new("the disk is full"))),
        ] {
            assert_eq!(error.code, Code::INTERNAL_ERROR);
            assert_eq!(error.message, "the disk is full");
        }
    }

    #[test]
    fn a_protocol_error_stays_one() {
        let error = refused(Err::<String, _>(WireError::invalid_params("no")));

        assert_eq!(error.code, Code::INVALID_PARAMS);
    }

    #[test]
    fn what_does_not_fit_into_json_is_our_fault() {
        let error = refused(Json(HashMap::from([(vec!["no name"], 1)])));

        assert_eq!(error.message, "Internal error");
    }
}
