//! Error answers, and their HTTP status. They look the same in both eras.

use crate::era::Era;
use crate::id::RequestId;
use crate::shape::Rendered;
use crate::shape::json::Object;
use crate::wire_error::{Code, WireError};

/// The HTTP status of a message that [`parse`](crate::parse) or
/// [`classify`](crate::classify) refuses, whatever its code.
///
/// Source: seeds, handler page; R23.
pub const REJECTION_STATUS: u16 = 400;

/// Answers with an error. Without an id there is no member `id`: `null` is none
/// (C-RPC-06, R28).
#[must_use]
pub fn error(id: Option<&RequestId>, error: &WireError) -> Rendered {
    render(id.map(RequestId::as_json), error)
}

/// Answers a malformed `notifications/cancelled`, or one over the quota, with
/// `"id": null`. Legacy over HTTP only, with status 200.
///
/// Source: seeds, handler page; R2.
#[must_use]
pub fn error_with_null_id(error: &WireError) -> Rendered {
    render(Some("null"), error)
}

/// Returns the HTTP status of an error that was neither a matter of
/// [`parse`](crate::parse) nor of [`classify`](crate::classify).
///
/// Ordinary errors are 200 in both eras (R46). An unknown method is 404 in the
/// modern era and never in the legacy one, where 404 means a lost session
/// (L-HTTP-24). A refusal before the handler has the status in its code (R34).
///
/// Source: M-HTTP-11, L-HTTP-23, R34, R46.
#[must_use]
pub fn http_status(era: Era, error: &WireError) -> u16 {
    match (era, error.code) {
        (
            Era::Modern | Era::Legacy,
            Code::PARSE_ERROR
            | Code::INVALID_REQUEST
            | Code::HEADER_MISMATCH
            | Code::MISSING_CLIENT_CAPABILITY
            | Code::UNSUPPORTED_VERSION,
        ) => 400,
        (Era::Modern, Code::METHOD_NOT_FOUND) => 404,
        (Era::Modern | Era::Legacy, code) => code.refused_with().unwrap_or(200),
    }
}

// === Behind the handle ===

fn render(id: Option<&str>, error: &WireError) -> Rendered {
    let mut out = Vec::with_capacity(ROOM);
    let mut message = Object::open(&mut out);
    message.raw("jsonrpc", r#""2.0""#);
    if let Some(id) = id {
        message.raw("id", id);
    }
    message.value("error", error);
    message.close();
    Rendered::whole(out.into())
}

/// Room for an ordinary error, so that it is written without growing.
const ROOM: usize = 192;
