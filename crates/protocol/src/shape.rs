//! From neutral answers to the bytes that an era sends.
//!
//! Each difference between the eras is a `match` in [`face`] or [`page`] over one
//! function in `modern` and one in `legacy`. The two legacy versions get the same
//! bytes: what one of them lacks is an optional member of an open object, and only
//! what would break a client is left out (C-TYPE-00). Tasks (R10) and questions to
//! clients (R6) are the exceptions.

mod error;
mod face;
mod input;
mod json;
mod legacy;
mod modern;
mod notification;
mod page;
mod shaped;
mod task;

use bytes::Bytes;

use crate::id::RequestId;

pub use crate::shape::error::{REJECTION_STATUS, error, error_with_null_id, http_status};
pub use crate::shape::face::{CacheHints, CacheScope, Face};
pub use crate::shape::notification::{
    ChangeNotice, ListKind, acknowledged, list_changed, log_message, progress, resource_updated,
};
pub use crate::shape::page::{
    Dialect, Listed, Page, PromptsPage, ResourcesPage, TemplatesPage, ToolsPage,
};
pub use crate::shape::shaped::Shaped;
pub use crate::shape::task::{TaskChange, task_status};

/// One message to send: JSON on one line, in one or two pieces.
///
/// The second piece, where there is one, is shared by all answers of its kind and
/// never copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    head: Bytes,
    tail: Option<Bytes>,
}

impl Rendered {
    /// Returns how many bytes the message has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.head.len() + self.tail.as_ref().map_or(0, Bytes::len)
    }

    /// Returns the pieces, in order.
    #[must_use]
    pub fn into_parts(self) -> (Bytes, Option<Bytes>) {
        (self.head, self.tail)
    }

    /// Returns the pieces, in order, where they are.
    pub fn parts(&self) -> impl Iterator<Item = &Bytes> {
        std::iter::once(&self.head).chain(&self.tail)
    }

    /// Returns the message in one piece; copies it if there are two.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        match self.tail {
            None => self.head,
            Some(tail) => [self.head, tail].concat().into(),
        }
    }
}

impl From<Bytes> for Rendered {
    /// Takes a whole message.
    fn from(message: Bytes) -> Self {
        Self::whole(message)
    }
}

// === Behind the handle ===

impl Rendered {
    const fn whole(head: Bytes) -> Self {
        Self { head, tail: None }
    }

    /// An answer whose result is shared; `tail` also closes the message.
    fn shared(id: &RequestId, tail: &Bytes) -> Self {
        Self {
            head: result_head(id, 0).into(),
            tail: Some(tail.clone()),
        }
    }
}

/// The start of an answer, up to its result, with room for `more` bytes.
fn result_head(id: &RequestId, more: usize) -> Vec<u8> {
    const START: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
    const RESULT: &[u8] = br#","result":"#;
    let id = id.as_json().as_bytes();
    let mut out = Vec::with_capacity(START.len() + id.len() + RESULT.len() + more);
    out.extend_from_slice(START);
    out.extend_from_slice(id);
    out.extend_from_slice(RESULT);
    out
}

/// Writes a result and the end of the message around it.
fn result_tail(write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut out = Vec::new();
    write(&mut out);
    out.push(b'}');
    out.into()
}

#[cfg(test)]
mod tests;
