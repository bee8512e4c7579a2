//! The JSON-RPC envelope: which kind of message the bytes are.

use std::borrow::Cow;
use std::str;

use serde_json::value::RawValue;

use crate::id::RequestId;
use crate::members::{self, Slot};
use crate::raw;
use crate::wire_error::WireError;

/// One message of a client, its parameters still raw.
#[derive(Debug)]
pub enum Message<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none.
    Notification(Notification<'a>),
    /// Answers a request of ours, or claims to.
    Response(Response<'a>),
}

/// `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
#[derive(Debug)]
pub struct Request<'a> {
    /// What the answer has to repeat.
    pub id: RequestId,
    /// The method, routed or not.
    pub method: Cow<'a, str>,
    /// The parameters, an object where there are any.
    pub params: Option<&'a RawValue>,
}

/// `{"jsonrpc":"2.0","method":"notifications/initialized"}`
#[derive(Debug)]
pub struct Notification<'a> {
    /// The method, routed or not.
    pub method: Cow<'a, str>,
    /// The parameters, of any type: who reads them decides (seeds, handler page).
    pub params: Option<&'a RawValue>,
}

/// `{"jsonrpc":"2.0","id":1,"result":{}}`
#[derive(Debug)]
pub struct Response<'a> {
    /// The request of ours that is answered. `None` when it is not readable, or when
    /// the message has a result and an error: then it answers nothing (C-RPC-04).
    pub id: Option<RequestId>,
    /// The result, or the error object, of any type: who reads it decides.
    pub answer: Result<&'a RawValue, &'a RawValue>,
}

/// Bytes that are no message; over HTTP always status 400.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the message: {error}")]
pub struct Malformed {
    /// The id, whenever it was readable (R28).
    pub id: Option<RequestId>,
    /// What to answer.
    pub error: WireError,
}

/// Tells which kind of message `bytes` are.
///
/// Only the members of the envelope are looked at, each once, and nothing but
/// the id is copied. Values are skipped without recursion, so that the depth of
/// foreign JSON costs memory in proportion to the bytes that the transport let
/// in, and no stack: no bound on depth is needed. Members that JSON-RPC does not
/// know are ignored.
///
/// # Errors
///
/// [`Malformed`] with -32700 when the bytes are not JSON; -32602 when the
/// parameters of a request are present and not an object (C-RPC-08); -32600 for
/// everything else: a batch (R23), a version that is not `2.0`, an id that is
/// neither string nor integer (C-RPC-02), a method that is not a string, a member
/// that occurs twice or whose name is no text (a lone surrogate), a message that is
/// request and response at once or neither.
pub fn parse(bytes: &[u8]) -> Result<Message<'_>, Malformed> {
    let Ok(text) = str::from_utf8(bytes) else {
        return Err(nameless(WireError::parse_error()));
    };
    let Ok([jsonrpc, id, method, params, result, error]) = members::read(text, &MEMBERS) else {
        return Err(nameless(not_an_object(text)));
    };
    let named = Id::read(id);
    let refuse = |reason: &'static str| Malformed {
        id: named.known().cloned(),
        error: WireError::invalid_request(reason),
    };

    if [jsonrpc, id, method, params, result, error]
        .into_iter()
        .any(Slot::is_twice)
    {
        return Err(refuse("a member of the message occurs twice"));
    }
    if jsonrpc.one().and_then(raw::string).as_deref() != Some("2.0") {
        return Err(refuse("`jsonrpc` has to be \"2.0\""));
    }
    let answer = answer(result, error);
    let method = match (method.one(), answer) {
        (None, Some(answer)) => {
            let both = !(result.is_absent() || error.is_absent());
            let id = named.known().filter(|_| !both).cloned();
            return Ok(Message::Response(Response { id, answer }));
        }
        (None, None) => return Err(refuse("`method` is missing")),
        (Some(_), Some(_)) => return Err(refuse("a message is a request or a response")),
        (Some(raw), None) => {
            raw::string(raw).ok_or_else(|| refuse("`method` has to be a string"))?
        }
    };
    let params = params.one();
    match named {
        Id::Invalid => Err(refuse("`id` has to be a string or an integer")),
        Id::Absent => Ok(Message::Notification(Notification { method, params })),
        Id::Known(id) if params.is_some_and(|params| !raw::is_object(params)) => Err(Malformed {
            id: Some(id),
            error: WireError::invalid_params("`params` has to be an object"),
        }),
        Id::Known(id) => Ok(Message::Request(Request { id, method, params })),
    }
}

/// Returns the id of a request, or of what tried to be one, for a refusal that
/// does not read the message otherwise (R28).
#[must_use]
pub fn peek_id(bytes: &[u8]) -> Option<RequestId> {
    match parse(bytes) {
        Ok(Message::Request(request)) => Some(request.id),
        Ok(Message::Notification(_) | Message::Response(_)) => None,
        Err(malformed) => malformed.id,
    }
}

// === Behind the handle ===

const MEMBERS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

enum Id {
    Absent,
    Invalid,
    Known(RequestId),
}

impl Id {
    fn read(slot: Slot<'_>) -> Self {
        match slot {
            Slot::Absent => Self::Absent,
            Slot::One(raw) => RequestId::from_raw(raw).map_or(Self::Invalid, Self::Known),
            Slot::Twice => Self::Invalid,
        }
    }

    const fn known(&self) -> Option<&RequestId> {
        match self {
            Self::Known(id) => Some(id),
            Self::Absent | Self::Invalid => None,
        }
    }
}

/// What a response says, if the message is one. An error outweighs a result.
fn answer<'a>(result: Slot<'a>, error: Slot<'a>) -> Option<Result<&'a RawValue, &'a RawValue>> {
    match (result.one(), error.one()) {
        (_, Some(error)) => Some(Err(error)),
        (Some(result), None) => Some(Ok(result)),
        (None, None) => None,
    }
}

const fn nameless(error: WireError) -> Malformed {
    Malformed { id: None, error }
}

/// Why `text` could not be read as an object: because it is other JSON, or none.
fn not_an_object(text: &str) -> WireError {
    let Ok(json) = serde_json::from_str::<&RawValue>(text) else {
        return WireError::parse_error();
    };
    WireError::invalid_request(match json.get().bytes().next() {
        Some(b'[') => "batches are not supported",
        Some(b'{') => "the name of a member has to be text",
        Some(_) | None => "a message has to be an object",
    })
}

#[cfg(test)]
mod tests;
