//! Text in a header value: as it is, or as `=?base64?…?=` where it could not
//! travel as it is.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Returns the text that a header value stands for.
///
/// A value that starts with exactly `=?base64?` and ends with `?=` is decoded;
/// any other is literal. `None` when the Base64 is not standard and padded, or
/// when it is not UTF-8 inside.
///
/// Source: M-HDR-04.
#[must_use]
pub fn decode_header_text(value: &str) -> Option<Cow<'_, str>> {
    let Some(encoded) = encoded_part(value) else {
        return Some(Cow::Borrowed(value));
    };
    let bytes = STANDARD.decode(encoded).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Returns a header value that stands for `text`, as clients write it.
///
/// ```
/// use conduit_protocol::encode_header_text;
///
/// assert_eq!(encode_header_text("echo"), "echo");
/// assert_eq!(encode_header_text("Zürich"), "=?base64?WsO8cmljaA==?=");
/// ```
///
/// Source: M-HDR-05.
#[must_use]
pub fn encode_header_text(text: &str) -> Cow<'_, str> {
    let printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let padded = text.starts_with(' ') || text.ends_with(' ');
    if printable && !padded && encoded_part(text).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(text)))
}

// === Behind the handle ===

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

fn encoded_part(value: &str) -> Option<&str> {
    value.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: Option<&str>) {
        assert_eq!(decode_header_text(value).as_deref(), expected);
    }

    #[test]
    fn a_plain_value_is_literal() {
        check("note:///a b", Some("note:///a b"));
    }

    #[test]
    fn a_whole_sentinel_is_decoded() {
        check(
            "=?base64?bm90ZTovLy9aYcW8w7PFgsSH?=",
            Some("note:///Zażółć"),
        );
    }

    #[test]
    fn an_empty_sentinel_is_the_empty_text() {
        check("=?base64??=", Some(""));
    }

    #[test]
    fn half_a_sentinel_is_literal() {
        for value in ["=?base64?YQ==", "YQ==?=", "=?BASE64?YQ==?=", "=?base64?="] {
            check(value, Some(value));
        }
    }

    #[test]
    fn base64_with_a_fault_is_not_decoded() {
        for value in [
            "=?base64?YQ?=",
            "=?base64?YQ=?=",
            "=?base64?Y*==?=",
            "=?base64?YR==?=",
            "=?base64?_-A=?=",
            "=?base64?/w==?=",
        ] {
            check(value, None);
        }
    }

    #[test]
    fn text_that_looks_like_a_sentinel_is_wrapped() {
        let text = "=?base64?YQ==?=";

        let value = encode_header_text(text);

        assert_ne!(value, text);
        assert_eq!(decode_header_text(&value).as_deref(), Some(text));
    }
}
