//! `resources/read` and its neighbours: what they ask and what a read answers.

use std::borrow::Cow;

use crate::content::ResourceContents;
use crate::demand;
use crate::limits::SUBSCRIPTION_ENTRY_BYTES;
use crate::meta::Meta;
use crate::params::Params;
use crate::shape::CacheHints;
use crate::strings;
use crate::wire_error::WireError;

/// The parameters of `resources/read`: `{"uri":"mem://a"}`.
///
/// Other members are ignored.
///
/// Source: M-RES-02.
#[derive(Debug)]
pub struct ReadParams<'a> {
    /// The resource that is asked for, known or not.
    pub uri: Cow<'a, str>,
}

/// The parameters of `resources/subscribe` and `resources/unsubscribe`:
/// `{"uri":"mem://a"}`. Legacy only.
///
/// Source: L-RES-05.
#[derive(Debug)]
pub struct SubscribeParams<'a> {
    /// The resource to hear of, or no longer to hear of, known or not; at most
    /// [`SUBSCRIPTION_ENTRY_BYTES`] bytes, for it is kept.
    pub uri: Cow<'a, str>,
}

/// What is in a resource: one part, or several, such as the files of a folder.
///
/// That there is no such resource is no empty result but an error (M-RES-03), see
/// [`WireError::resource_not_found`].
///
/// Source: M-RES-02, L-METH-08.
#[derive(Clone, Debug, Default)]
pub struct ReadResult {
    /// The parts.
    pub contents: Vec<ResourceContents>,
    /// How long a modern client may keep it; not at all when nothing is said.
    pub cache: Option<CacheHints>,
    /// What else is known about it.
    pub meta: Option<Meta>,
}

impl<'a> ReadParams<'a> {
    /// Reads the parameters of a read.
    ///
    /// # Errors
    ///
    /// -32602 when the URI is missing, not a string, or occurs twice.
    pub fn read(params: &Params<'a>) -> Result<Self, WireError> {
        let uri = demand::string(params.members()?.uri, "params.uri")?;
        Ok(Self { uri })
    }
}

impl<'a> SubscribeParams<'a> {
    /// Reads the parameters of a subscription, or of its end.
    ///
    /// # Errors
    ///
    /// -32602 when the URI is missing, not a string, too long, or occurs twice.
    pub fn read(params: &Params<'a>) -> Result<Self, WireError> {
        let ReadParams { uri } = ReadParams::read(params)?;
        if uri.len() > SUBSCRIPTION_ENTRY_BYTES {
            return Err(strings::too_long("params.uri"));
        }
        Ok(Self { uri })
    }
}

impl ReadResult {
    /// Answers with the parts of a resource.
    #[must_use]
    pub fn new(contents: Vec<ResourceContents>) -> Self {
        Self {
            contents,
            ..Self::default()
        }
    }

    /// Answers with text.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        ResourceContents::text(uri, text).into()
    }

    /// Answers with bytes.
    #[must_use]
    pub fn blob(uri: impl Into<String>, bytes: &[u8]) -> Self {
        ResourceContents::blob(uri, bytes).into()
    }
}

impl From<ResourceContents> for ReadResult {
    /// Takes the one part of a resource.
    fn from(contents: ResourceContents) -> Self {
        Self::new(vec![contents])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_error::Code;

    fn params(text: &str) -> Params<'_> {
        Params::read(Some(serde_json::from_str(text).expect("valid JSON")))
    }

    #[track_caller]
    fn refused(text: &str) {
        let params = params(text);

        let read = ReadParams::read(&params).expect_err("a refusal");
        let subscribe = SubscribeParams::read(&params).expect_err("a refusal");

        for error in [read, subscribe] {
            assert_eq!(error.code, Code::INVALID_PARAMS, "{text}");
            assert!(error.message.contains("params"), "{}", error.message);
        }
    }

    #[test]
    fn a_uri_is_taken_as_it_is_and_others_are_ignored() {
        let params = params(r#"{"uri":"note:///\u017c","requestState":5}"#);

        assert_eq!(ReadParams::read(&params).expect("a URI").uri, "note:///ż");
        let subscribe = SubscribeParams::read(&params).expect("a URI");
        assert_eq!(subscribe.uri, "note:///ż");
    }

    #[test]
    fn a_uri_that_is_missing_twice_or_no_string_is_refused() {
        for text in [
            "{}",
            "[]",
            r#"{"uri":null}"#,
            r#"{"uri":["mem://a"]}"#,
            r#"{"uri":"a","uri":"b"}"#,
        ] {
            refused(text);
        }
        assert!(ReadParams::read(&Params::read(None)).is_err());
    }

    #[test]
    fn a_uri_that_would_be_kept_has_a_bound() {
        let text = |size| format!(r#"{{"uri":"{}"}}"#, "a".repeat(size));
        let (longest, longer) = (
            text(SUBSCRIPTION_ENTRY_BYTES),
            text(SUBSCRIPTION_ENTRY_BYTES + 1),
        );

        assert!(SubscribeParams::read(&params(&longest)).is_ok());
        assert!(SubscribeParams::read(&params(&longer)).is_err());
        assert!(ReadParams::read(&params(&longer)).is_ok());
    }
}
