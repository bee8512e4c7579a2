//! Results of 2026-07-28: each says that it is complete and who answers.

use serde_json::{Map, Value};

use crate::call::ToolResult;
use crate::capability::{ServerCapabilities, TASKS_EXTENSION};
use crate::complete::Completion;
use crate::get_prompt::PromptResult;
use crate::id::RequestId;
use crate::read::ReadResult;
use crate::shape::face::{CacheHints, ServerInfo};
use crate::shape::json::Object;
use crate::shape::page::{Dialect, Listed};
use crate::version::MODERN_VERSIONS;

/// M-DISC-02: no `serverInfo` but in `_meta`; cacheable. Tasks are an extension
/// (T-TASK-02).
pub(super) fn discover(
    out: &mut Vec<u8>,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
    hints: CacheHints,
    server_info: &ServerInfo,
) {
    let mut capabilities = capabilities.clone();
    if std::mem::take(&mut capabilities.tasks) {
        let settings = Value::Object(Map::new());
        capabilities
            .extensions
            .insert(TASKS_EXTENSION.to_owned(), settings);
    }
    let mut result = complete(out);
    result.value("supportedVersions", &MODERN_VERSIONS);
    result.value("capabilities", &capabilities);
    result.option("instructions", instructions);
    cacheable(&mut result, hints);
    server_info.write(&mut result, None);
    result.close();
}

/// M-RPC-12, M-RPC-13.
pub(super) fn empty(out: &mut Vec<u8>, server_info: &ServerInfo) {
    let mut result = complete(out);
    server_info.write(&mut result, None);
    result.close();
}

/// M-TOOL-03: structured content of any type; not cacheable.
pub(super) fn call(out: &mut Vec<u8>, answer: &ToolResult, server_info: &ServerInfo) {
    let mut result = complete(out);
    result.value("content", &answer.content);
    result.option("structuredContent", answer.structured_content.as_ref());
    if answer.is_error {
        result.raw("isError", "true");
    }
    server_info.write(&mut result, answer.meta.as_ref());
    result.close();
}

/// M-RES-02: cacheable, also where the author says nothing of it (M-CACHE-01).
pub(super) fn read(out: &mut Vec<u8>, answer: &ReadResult, server_info: &ServerInfo) {
    let mut result = complete(out);
    result.value("contents", &answer.contents);
    cacheable(&mut result, answer.cache.unwrap_or_default());
    server_info.write(&mut result, answer.meta.as_ref());
    result.close();
}

/// M-PROMPT-01: not cacheable.
pub(super) fn prompt(out: &mut Vec<u8>, answer: &PromptResult, server_info: &ServerInfo) {
    let mut result = complete(out);
    result.option("description", answer.description.as_deref());
    result.value("messages", &answer.messages);
    server_info.write(&mut result, answer.meta.as_ref());
    result.close();
}

/// C-COMP-02: not cacheable.
pub(super) fn completion(out: &mut Vec<u8>, answer: &Completion, server_info: &ServerInfo) {
    let mut result = complete(out);
    result.value("completion", answer);
    server_info.write(&mut result, None);
    result.close();
}

/// M-SUB-11: names the stream that ends.
pub(super) fn listen_end(out: &mut Vec<u8>, id: &RequestId, server_info: &ServerInfo) {
    let mut result = complete(out);
    server_info.write_with_subscription(&mut result, id);
    result.close();
}

/// M-LIST-04: cacheable.
pub(super) fn list<'a, T: Listed + 'a>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = &'a T>,
    next_cursor: Option<&str>,
    hints: CacheHints,
    server_info: &ServerInfo,
) {
    let mut result = complete(out);
    result.array(T::LIST, items, |out, item| item.write(Dialect::Modern, out));
    result.option("nextCursor", next_cursor);
    cacheable(&mut result, hints);
    server_info.write(&mut result, None);
    result.close();
}

// === Behind the handle ===

pub(super) fn complete(out: &mut Vec<u8>) -> Object<'_> {
    let mut result = Object::open(out);
    result.raw("resultType", r#""complete""#);
    result
}

fn cacheable(result: &mut Object<'_>, hints: CacheHints) {
    result.value("ttlMs", &hints.ttl_ms);
    result.value("cacheScope", &hints.scope);
}
