//! The ids and tokens that a peer chooses.
//!
//! They are kept as their JSON text, so that an answer repeats exactly what was
//! asked (C-RPC-03, R35), and compared by JSON type and value: `"a"` equals
//! `"\u0061"`, `42` differs from `"42"`. Ids that we mint have types of their
//! own where they are minted.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::limits::CANCEL_ID_BYTES;
use crate::raw;

/// Names a request towards the peer that sent it: a string or an integer.
///
/// Two peers may choose the same, so it says nothing outside of one connection,
/// session or scope. Cloning is cheap.
///
/// Source: C-RPC-02, C-RPC-03.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(Scalar);

/// Names the progress of one request towards the peer that sent it: a string or
/// an integer, under the same rules as a [`RequestId`].
///
/// Source: M-PROG-01, M-PROG-02.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgressToken(Scalar);

/// Says why a JSON value names no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidId {
    /// Neither a string nor an integer: `null`, a fraction, an object.
    #[error("an id has to be a string or an integer")]
    Type,
    /// A string of more than [`CANCEL_ID_BYTES`] bytes.
    #[error("an id has to be at most {CANCEL_ID_BYTES} bytes long")]
    Length,
}

impl RequestId {
    /// Reads an id from JSON text, such as `7` or `"a"`.
    ///
    /// # Errors
    ///
    /// [`InvalidId::Type`] when the text is not exactly one string or integer.
    pub fn from_json(text: &str) -> Result<Self, InvalidId> {
        serde_json::from_str(text).map_or(Err(InvalidId::Type), Self::from_raw)
    }

    /// Reads an id from a member of a message.
    ///
    /// # Errors
    ///
    /// [`InvalidId::Type`] when it is neither a string nor an integer.
    pub fn from_raw(raw: &RawValue) -> Result<Self, InvalidId> {
        Scalar::read(raw).map(Self).ok_or(InvalidId::Type)
    }

    /// Reads an id that names a request to cancel: a string must not have more
    /// than [`CANCEL_ID_BYTES`] bytes once it is decoded.
    ///
    /// # Errors
    ///
    /// [`InvalidId`] when it can name no request.
    ///
    /// Source: seeds, handler page (`requestId`); inventory C-08.
    pub fn for_cancel(raw: &RawValue) -> Result<Self, InvalidId> {
        let id = Self::from_raw(raw)?;
        match id.0.key() {
            (Kind::String, value) if value.len() > CANCEL_ID_BYTES => Err(InvalidId::Length),
            (Kind::String | Kind::Integer, _) => Ok(id),
        }
    }

    /// Returns the id as the peer wrote it, as JSON.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0.text
    }
}

impl ProgressToken {
    /// Reads a token from JSON text, such as `7` or `"a"`.
    ///
    /// # Errors
    ///
    /// [`InvalidId::Type`] when the text is not exactly one string or integer.
    pub fn from_json(text: &str) -> Result<Self, InvalidId> {
        serde_json::from_str(text).map_or(Err(InvalidId::Type), Self::from_raw)
    }

    /// Reads a token from a member of `_meta`.
    ///
    /// # Errors
    ///
    /// [`InvalidId::Type`] when it is neither a string nor an integer.
    pub fn from_raw(raw: &RawValue) -> Result<Self, InvalidId> {
        Scalar::read(raw).map(Self).ok_or(InvalidId::Type)
    }

    /// Returns the token as the peer wrote it, as JSON.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0.text
    }
}

impl From<u64> for RequestId {
    fn from(number: u64) -> Self {
        Self(Scalar {
            text: number.to_string().into(),
            value: None,
        })
    }
}

// === Behind the handle ===

/// A string or an integer of any size.
#[derive(Clone)]
struct Scalar {
    /// As it was written.
    text: Arc<str>,
    /// What it means, where that is not plain from the text.
    value: Option<Arc<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    String,
    Integer,
}

impl Scalar {
    fn read(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        let value = if text.starts_with('"') {
            let value = raw::string(raw)?;
            text.contains('\\').then(|| Arc::from(&*value))
        } else if raw::is_integer(raw) {
            (text == "-0").then(|| Arc::from("0"))
        } else {
            return None;
        };
        Some(Self {
            text: Arc::from(text),
            value,
        })
    }

    fn key(&self) -> (Kind, &str) {
        let inner = self.text.strip_prefix('"');
        let kind = inner.map_or(Kind::Integer, |_| Kind::String);
        let plain = inner.and_then(|inner| inner.strip_suffix('"'));
        let value = self.value.as_deref().or(plain).unwrap_or(&self.text);
        (kind, value)
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn id(text: &str) -> RequestId {
        RequestId::from_json(text).expect("an id")
    }

    #[test]
    fn an_id_is_repeated_as_it_was_written() {
        for text in [r#""\u0061""#, "-0", "9007199254740993", r#""""#] {
            assert_eq!(id(text).as_json(), text);
        }
    }

    #[test]
    fn ids_are_equal_by_type_and_value() {
        assert_eq!(id(r#""a""#), id(r#""\u0061""#));
        assert_eq!(id("0"), id("-0"));
        assert_ne!(id("42"), id(r#""42""#));
        assert_ne!(id("9007199254740993"), id("9007199254740992"));
        assert_ne!(id(r#""\"a\"""#), id(r#""a""#));
    }

    #[test]
    fn equal_ids_fall_into_one_place_of_a_set() {
        let set: HashSet<RequestId> = [r#""a""#, r#""\u0061""#, "1", r#""1""#].map(id).into();

        assert_eq!(set.len(), 3);
    }

    #[test]
    fn anything_but_a_string_or_an_integer_is_no_id() {
        for text in [
            "null",
            "1.5",
            "1.0",
            "1e3",
            "true",
            "{}",
            "[]",
            r#""\ud800""#,
            "",
            "1 2",
        ] {
            assert_eq!(RequestId::from_json(text), Err(InvalidId::Type), "{text}");
        }
    }

    #[test]
    fn an_integer_of_any_size_is_an_id() {
        let text = "-123456789012345678901234567890";

        assert_eq!(id(text).as_json(), text);
    }

    #[test]
    fn a_number_of_ours_is_an_id() {
        assert_eq!(RequestId::from(7), id("7"));
    }

    #[track_caller]
    fn check_cancel(text: &str, expected: Option<InvalidId>) {
        let raw: &RawValue = serde_json::from_str(text).expect("valid JSON");

        assert_eq!(RequestId::for_cancel(raw).err(), expected);
    }

    #[test]
    fn a_string_of_256_bytes_names_a_request_to_cancel() {
        check_cancel(&format!(r#""{}""#, "a".repeat(256)), None);
    }

    #[test]
    fn a_string_of_257_bytes_names_no_request_to_cancel() {
        check_cancel(
            &format!(r#""{}""#, "a".repeat(257)),
            Some(InvalidId::Length),
        );
    }

    #[test]
    fn bytes_are_counted_and_not_characters() {
        check_cancel(
            &format!(r#""{}""#, "é".repeat(129)),
            Some(InvalidId::Length),
        );
    }

    #[test]
    fn bytes_are_counted_after_decoding() {
        check_cancel(&format!(r#""{}""#, r"\u0061".repeat(256)), None);
    }

    #[test]
    fn a_long_integer_names_a_request_to_cancel() {
        check_cancel(&"7".repeat(300), None);
    }
}
