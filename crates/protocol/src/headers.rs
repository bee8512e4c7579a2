//! The request headers that repeat what the body says.
//!
//! Each function is one step of the order in which a request is checked
//! (C-ERA-07): [`classify`](crate::classify), then [`check_version_header`], then
//! [`check_version`](crate::check_version), then [`check_method_header`], then the
//! method is routed, then [`check_name_header_of`], then [`check_param_headers`]
//! for the tool that was found. They hold for modern requests only, never for
//! notifications (R5, M-HDR-11). The body stays authoritative; headers are only
//! verified (M-HDR-14).
//!
//! Not here: the headers of sessions.

mod decimal;
mod param;
mod sentinel;

use std::borrow::Cow;

use crate::era::{Context, Era};
use crate::method::Method;
use crate::params::Params;
use crate::wire_error::WireError;
use crate::{raw, version};

pub use crate::headers::param::check_param_headers;
pub use crate::headers::sentinel::{decode_header_text, encode_header_text};

/// What a request says in one header, as the lines of that name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Field<'a> {
    /// No line.
    #[default]
    Absent,
    /// One line; white space around the value counts not (M-HDR-03).
    One(&'a [u8]),
    /// Several lines, which is invalid for every header here (M-HDR-12).
    Many,
}

impl<'a> Field<'a> {
    /// Takes all lines of one name.
    pub fn of(lines: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut lines = lines.into_iter();
        match (lines.next(), lines.next()) {
            (None, _) => Self::Absent,
            (Some(line), None) => Self::One(line),
            (Some(_), Some(_)) => Self::Many,
        }
    }

    /// Returns the value without the white space around it, if there is one line of
    /// printable ASCII.
    #[must_use]
    pub fn text(self) -> Option<&'a str> {
        let Self::One(line) = self else {
            return None;
        };
        let allowed = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
        let text = str::from_utf8(line).ok()?;
        line.iter()
            .all(allowed)
            .then(|| text.trim_matches([' ', '\t']))
    }
}

/// Step 4: `MCP-Protocol-Version` has to repeat the version of the body.
///
/// A `server/discover` without a version passes with any header or none: it is a
/// bare probe, which no version's rules bind (R1).
///
/// # Errors
///
/// -32020 when the header is missing, invalid or different.
///
/// Source: M-HDR-01 to M-HDR-03, M-HDR-12.
pub fn check_version_header(field: Field<'_>, context: &Context) -> Result<(), WireError> {
    match bound_by(context) {
        Some(version) => repeats(field, "MCP-Protocol-Version", version),
        None => Ok(()),
    }
}

/// Step 6: `Mcp-Method` has to repeat the method of the body, letter for letter.
///
/// # Errors
///
/// -32020 when the header is missing, invalid or different.
///
/// Source: M-HDR-01 to M-HDR-03, M-HDR-12.
pub fn check_method_header(
    field: Field<'_>,
    context: &Context,
    method: &str,
) -> Result<(), WireError> {
    match bound_by(context) {
        Some(_) => repeats(field, "Mcp-Method", method),
        None => Ok(()),
    }
}

/// Step 8: `Mcp-Name` has to repeat the name in the parameters (of a tool, for
/// `tools/call`), plain or in the Base64 form of [`encode_header_text`].
///
/// `name` is `None` when the parameters hold no readable name. Then there is
/// nothing to compare with, and the step after this one refuses the parameters.
///
/// # Errors
///
/// -32020 when the header is missing, invalid, not decodable or different.
///
/// Source: M-HDR-02 to M-HDR-04, M-HDR-12.
pub fn check_name_header(
    field: Field<'_>,
    context: &Context,
    name: Option<&str>,
) -> Result<(), WireError> {
    if bound_by(context).is_none() {
        return Ok(());
    }
    let text = decoded(required(field, MCP_NAME)?, MCP_NAME)?;
    match name {
        Some(name) if text != name => Err(differs(MCP_NAME)),
        Some(_) | None => Ok(()),
    }
}

/// Step 8, for any method: does what [`check_name_header`] does where the method
/// has such a header (`tools/call` and `prompts/get` for `params.name`,
/// `resources/read` for `params.uri`), and lets all others pass (M-HDR-08). A request
/// about a task may leave the header out; a wrong one is refused (R27).
///
/// # Errors
///
/// As [`check_name_header`].
///
/// Source: table of 2.6, R27.
pub fn check_name_header_of(
    field: Field<'_>,
    context: &Context,
    method: Method,
    params: &Params<'_>,
) -> Result<(), WireError> {
    match params.subject(method) {
        Some(_) if method.names_a_task() && field == Field::Absent => Ok(()),
        Some(slot) => {
            let name = slot.one().and_then(raw::string);
            check_name_header(field, context, name.as_deref())
        }
        None => Ok(()),
    }
}

/// Checks `MCP-Protocol-Version` on a legacy request and returns the version that
/// it names, if it names one.
///
/// `initialize` is exempt: it negotiates, whatever the header says.
///
/// # Errors
///
/// -32600, over HTTP 400, when the header is invalid or names no legacy version
/// that is served.
///
/// Source: R44, L-HTTP-20, L-HTTP-21.
pub fn check_legacy_version_header(
    field: Field<'_>,
    method: &str,
) -> Result<Option<&'static str>, WireError> {
    if method == "initialize" || field == Field::Absent {
        return Ok(None);
    }
    match field.text().and_then(version::legacy) {
        Some(version) => Ok(Some(version)),
        None => Err(WireError::invalid_request(
            "MCP-Protocol-Version names no version that is served",
        )),
    }
}

// === Behind the handle ===

const MCP_NAME: &str = "Mcp-Name";

/// The version whose header rules bind the message, if any do.
fn bound_by(context: &Context) -> Option<&str> {
    match context.era {
        Era::Modern => context.version.as_deref(),
        Era::Legacy => None,
    }
}

fn repeats(field: Field<'_>, header: &str, expected: &str) -> Result<(), WireError> {
    if required(field, header)? == expected {
        Ok(())
    } else {
        Err(differs(header))
    }
}

fn required<'a>(field: Field<'a>, header: &str) -> Result<&'a str, WireError> {
    let fault = match field {
        Field::Absent => "is missing",
        Field::Many => "occurs more than once",
        Field::One(_) => match field.text() {
            Some(text) => return Ok(text),
            None => "has invalid characters",
        },
    };
    Err(WireError::header_mismatch(format!("{header} {fault}")))
}

/// The text that a value stands for (M-HDR-04).
fn decoded<'a>(text: &'a str, header: &str) -> Result<Cow<'a, str>, WireError> {
    decode_header_text(text)
        .ok_or_else(|| WireError::header_mismatch(format!("{header} is not valid Base64 of UTF-8")))
}

fn differs(header: &str) -> WireError {
    WireError::header_mismatch(format!("{header} does not match the body"))
}

#[cfg(test)]
mod tests;
