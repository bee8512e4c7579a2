//! The parameters that all lists share.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::demand;
use crate::params::Params;
use crate::wire_error::WireError;

/// The parameters of a list: `{"cursor":"p2"}`.
///
/// Source: C-PAGE-01 to C-PAGE-03.
#[derive(Debug, Default)]
pub struct ListParams<'a> {
    /// Where to go on, as an earlier page said. An empty cursor is a cursor.
    pub cursor: Option<Cow<'a, str>>,
}

impl<'a> ListParams<'a> {
    /// Reads the parameters of a list.
    ///
    /// # Errors
    ///
    /// -32602 when the cursor is not a string, or occurs twice.
    pub fn parse(params: Option<&'a RawValue>) -> Result<Self, WireError> {
        Self::read(&Params::read(params))
    }

    /// Reads the parameters of a list from those that have been read already.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn read(params: &Params<'a>) -> Result<Self, WireError> {
        let cursor = params.members()?.cursor;
        if cursor.is_absent() {
            return Ok(Self::default());
        }
        let cursor = demand::string(cursor, "params.cursor")?;
        Ok(Self {
            cursor: Some(cursor),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(text: &str) -> Result<Option<String>, WireError> {
        let params = ListParams::parse(Some(serde_json::from_str(text).expect("valid JSON")))?;
        Ok(params.cursor.map(Cow::into_owned))
    }

    #[test]
    fn an_empty_cursor_differs_from_none() {
        assert_eq!(cursor(r#"{"cursor":""}"#).ok(), Some(Some(String::new())));
        assert_eq!(cursor("{}").ok(), Some(None));
        assert!(ListParams::parse(None).expect("readable").cursor.is_none());
    }

    #[test]
    fn a_cursor_that_is_no_string_is_refused() {
        for text in [
            r#"{"cursor":1}"#,
            r#"{"cursor":null}"#,
            r#"{"cursor":"a","cursor":"b"}"#,
        ] {
            assert!(cursor(text).is_err(), "{text}");
        }
    }
}
