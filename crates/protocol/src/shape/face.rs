//! How one server looks to its clients, rendered once.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use crate::call::ToolResult;
use crate::capability::ServerCapabilities;
use crate::complete::Completion;
use crate::era::Era;
use crate::get_prompt::PromptResult;
use crate::id::RequestId;
use crate::implementation::Implementation;
use crate::meta::{Meta, keys};
use crate::outcome::Outcome;
use crate::read::ReadResult;
use crate::shape::json::{Object, put};
use crate::shape::{Rendered, Shaped, error, legacy, modern, result_head, result_tail};
use crate::version::{LEGACY_VERSIONS, negotiate};
use crate::wire_error::WireError;

/// What one server says about itself, ready to send in both eras.
///
/// Everything that does not change from request to request is rendered when the
/// face is made. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Face {
    pub(super) server_info: ServerInfo,
    discover: Bytes,
    initialize: [(&'static str, Bytes); LEGACY_VERSIONS.len()],
    empty_modern: Bytes,
    empty_legacy: Bytes,
}

/// How long, and for whom, a modern result may be kept by who received it.
///
/// The default is not at all: `{"ttlMs":0,"cacheScope":"private"}` (R17).
///
/// Source: M-CACHE-01 to M-CACHE-04.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheHints {
    /// For how many milliseconds it stays fresh.
    pub ttl_ms: u64,
    /// Whether it is the same for every caller.
    #[serde(rename = "cacheScope")]
    pub scope: CacheScope,
}

/// For whom a result may be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// For everybody: it is the same for every caller.
    Public,
    /// For the caller alone.
    #[default]
    Private,
}

impl Face {
    /// Renders what a server says about itself.
    ///
    /// `discover` are the hints of `server/discover`; lists have their own, see
    /// [`Page::render`](crate::Page::render).
    #[must_use]
    pub fn new(
        implementation: &Implementation,
        capabilities: &ServerCapabilities,
        instructions: Option<&str>,
        discover: CacheHints,
    ) -> Self {
        let server_info = ServerInfo::new(implementation);
        let discover = result_tail(|out| {
            modern::discover(out, capabilities, instructions, discover, &server_info);
        });
        let initialize = LEGACY_VERSIONS.map(|version| {
            let tail = result_tail(|out| {
                legacy::initialize(out, version, implementation, capabilities, instructions);
            });
            (version, tail)
        });
        Self {
            discover,
            initialize,
            empty_modern: result_tail(|out| modern::empty(out, &server_info)),
            empty_legacy: result_tail(legacy::empty),
            server_info,
        }
    }

    /// Answers `server/discover`. Modern only (M-DISC-02, R22).
    #[must_use]
    pub fn discover(&self, id: &RequestId) -> Rendered {
        Rendered::shared(id, &self.discover)
    }

    /// Answers `initialize` with the version that was agreed on, see
    /// [`negotiate`]. Legacy only (L-INIT-01).
    #[must_use]
    pub fn initialize(&self, id: &RequestId, version: &str) -> Rendered {
        let version = negotiate(version);
        let [(_, newest), _] = &self.initialize;
        let tail = self
            .initialize
            .iter()
            .find_map(|(known, tail)| (*known == version).then_some(tail));
        Rendered::shared(id, tail.unwrap_or(newest))
    }

    /// Answers with nothing but success: exactly `{}` in the legacy era
    /// (L-METH-02); with what every result carries in the modern one (M-RPC-12).
    #[must_use]
    pub fn empty(&self, era: Era, id: &RequestId) -> Rendered {
        let tail = match era {
            Era::Modern => &self.empty_modern,
            Era::Legacy => &self.empty_legacy,
        };
        Rendered::shared(id, tail)
    }

    /// Answers `tools/call` with a result (M-TOOL-03, L-METH-08).
    ///
    /// Legacy clients see structured content that is an object, and no other
    /// (table 5.0).
    #[must_use]
    pub fn call(&self, era: Era, id: &RequestId, result: &ToolResult) -> Rendered {
        whole(id, |out| match era {
            Era::Modern => modern::call(out, result, &self.server_info),
            Era::Legacy => legacy::call(out, result),
        })
    }

    /// Answers `resources/read` with a result (M-RES-02, L-METH-08).
    ///
    /// Without hints of its own, a modern client may not keep it (R17).
    #[must_use]
    pub fn read(&self, era: Era, id: &RequestId, result: &ReadResult) -> Rendered {
        whole(id, |out| match era {
            Era::Modern => modern::read(out, result, &self.server_info),
            Era::Legacy => legacy::read(out, result),
        })
    }

    /// Answers `prompts/get` with a result (M-PROMPT-01, C-PROMPT-03).
    #[must_use]
    pub fn prompt(&self, era: Era, id: &RequestId, result: &PromptResult) -> Rendered {
        whole(id, |out| match era {
            Era::Modern => modern::prompt(out, result, &self.server_info),
            Era::Legacy => legacy::prompt(out, result),
        })
    }

    /// Answers `completion/complete` with a result (C-COMP-02).
    #[must_use]
    pub fn complete(&self, era: Era, id: &RequestId, result: &Completion) -> Rendered {
        whole(id, |out| match era {
            Era::Modern => modern::completion(out, result, &self.server_info),
            Era::Legacy => legacy::completion(out, result),
        })
    }

    /// Answers a request with whatever became of it.
    ///
    /// Input and tasks are refused here: whether they are possible, and under which
    /// state or id, is for the caller to find out, who then shapes them itself with
    /// [`input_required`](Self::input_required) or [`task_created`](Self::task_created).
    #[must_use]
    pub fn outcome<T: Shaped>(&self, era: Era, id: &RequestId, outcome: &Outcome<T>) -> Rendered {
        match outcome {
            Outcome::Complete(result) => result.shape(self, era, id),
            Outcome::Refused(refusal) => error(Some(id), refusal),
            Outcome::InputRequired(_) => error(Some(id), &WireError::input_not_possible()),
            Outcome::Task(_) => error(Some(id), &WireError::task_not_possible()),
        }
    }

    /// Answers the `subscriptions/listen` of this id, which ends its stream. Modern
    /// only (M-SUB-11, R18).
    #[must_use]
    pub fn listen_end(&self, id: &RequestId) -> Rendered {
        whole(id, |out| modern::listen_end(out, id, &self.server_info))
    }
}

// === Behind the handle ===

/// Room for the result of an ordinary call, so that it is written without growing.
const ROOM: usize = 384;

/// An answer with a result of its own.
pub(super) fn whole(id: &RequestId, write: impl FnOnce(&mut Vec<u8>)) -> Rendered {
    let mut out = result_head(id, ROOM);
    write(&mut out);
    out.push(b'}');
    Rendered::whole(out.into())
}

/// The `_meta` of every modern result, but for its end (M-RPC-13).
#[derive(Clone, Debug)]
pub(super) struct ServerInfo {
    open: Arc<str>,
}

impl ServerInfo {
    fn new(implementation: &Implementation) -> Self {
        let mut json = Vec::new();
        put(&mut json, implementation);
        let json = String::from_utf8_lossy(&json);
        Self {
            open: format!(r#"{{"{}":{json}"#, keys::SERVER_INFO).into(),
        }
    }

    /// Writes `_meta` with the author's members after ours.
    pub(super) fn write(&self, object: &mut Object<'_>, author: Option<&Meta>) {
        let members = author.map_or("", Meta::members);
        let comma = if members.is_empty() { "" } else { "," };
        object.pieces("_meta", [&*self.open, comma, members, "}"]);
    }

    /// Writes `_meta` with the subscription that the result is about.
    pub(super) fn write_with_subscription(&self, object: &mut Object<'_>, id: &RequestId) {
        let key = keys::SUBSCRIPTION_ID;
        object.pieces("_meta", [&*self.open, ",\"", key, "\":", id.as_json(), "}"]);
    }
}
