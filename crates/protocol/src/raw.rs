//! What kind of JSON a raw value is, without decoding the rest of it.

use std::borrow::Cow;

use serde_json::value::RawValue;

pub(crate) fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

pub(crate) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

pub(crate) fn is_boolean(raw: &RawValue) -> bool {
    matches!(raw.get(), "true" | "false")
}

pub(crate) fn is_number(raw: &RawValue) -> bool {
    raw.get()
        .starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// Returns the text of a JSON string, borrowed unless it has escapes.
///
/// `None` for anything else, and for a string that is no Unicode text (a lone
/// surrogate, which the JSON grammar lets through).
pub(crate) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let quoted = raw.get();
    let inner = quoted.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(quoted).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// Returns whether this is a number without fraction and exponent.
pub(crate) fn is_integer(raw: &RawValue) -> bool {
    let digits = raw.get().strip_prefix('-').unwrap_or_else(|| raw.get());
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Takes JSON that we have written; `null` if it is none.
pub(crate) fn from_bytes(json: Vec<u8>) -> Box<RawValue> {
    let text = String::from_utf8(json).unwrap_or_default();
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Returns the same JSON without white space between its parts.
///
/// An author's raw value may be laid out over many lines, and a message has to
/// fit into one (M-HTTP-12, C-STDIO-01).
pub(crate) fn compact(raw: Box<RawValue>) -> Box<RawValue> {
    if !raw.get().bytes().any(|byte| byte.is_ascii_whitespace()) {
        return raw;
    }
    let mut text = String::with_capacity(raw.get().len());
    let mut quoted = false;
    let mut escaped = false;
    for character in raw.get().chars() {
        if quoted {
            quoted = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if character.is_ascii_whitespace() {
            continue;
        } else {
            quoted = character == '"';
        }
        text.push(character);
    }
    RawValue::from_string(text).unwrap_or(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("valid JSON")
    }

    #[test]
    fn a_string_without_escapes_is_borrowed() {
        assert!(matches!(
            string(&raw(r#""abc""#)),
            Some(Cow::Borrowed("abc"))
        ));
    }

    #[test]
    fn a_string_with_escapes_is_decoded() {
        assert_eq!(string(&raw(r#""a\u0062\"\\""#)).as_deref(), Some(r#"ab"\"#));
    }

    #[test]
    fn a_lone_surrogate_is_not_text() {
        assert_eq!(string(&raw(r#""\ud800""#)), None);
    }

    #[test]
    fn only_digits_with_a_sign_are_an_integer() {
        for (text, expected) in [
            ("0", true),
            ("-7", true),
            ("123456789012345678901", true),
            ("1.0", false),
            ("1e3", false),
            ("null", false),
            (r#""1""#, false),
        ] {
            assert_eq!(is_integer(&raw(text)), expected, "{text}");
        }
    }

    #[test]
    fn compact_json_keeps_white_space_inside_strings_only() {
        let compacted = compact(raw("{\n \"a b\" : [ 1,\t2 ],\r\n\"c\\\" \": \" x \\\\\" }"));

        assert_eq!(compacted.get(), r#"{"a b":[1,2],"c\" ":" x \\"}"#);
    }
}
