//! Results of 2026-07-28: each says that it is complete and who answers.

use crate::call::ToolResult;
use crate::capability::ServerCapabilities;
use crate::shape::face::{CacheHints, ServerInfo};
use crate::shape::json::Object;
use crate::tools::Tool;
use crate::version::MODERN_VERSIONS;

/// M-DISC-02: no `serverInfo` but in `_meta`; cacheable.
pub(super) fn discover(
    out: &mut Vec<u8>,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
    hints: CacheHints,
    server_info: &ServerInfo,
) {
    let mut result = complete(out);
    result.value("supportedVersions", &MODERN_VERSIONS);
    result.value("capabilities", capabilities);
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

/// M-LIST-04: cacheable. Output schemas of any type (table 5.0).
pub(super) fn tools<'a>(
    out: &mut Vec<u8>,
    tools: impl IntoIterator<Item = &'a Tool>,
    next_cursor: Option<&str>,
    hints: CacheHints,
    server_info: &ServerInfo,
) {
    let mut result = complete(out);
    result.array("tools", tools, |out, tool| {
        super::page::tool(out, tool, tool.output_schema());
    });
    result.option("nextCursor", next_cursor);
    cacheable(&mut result, hints);
    server_info.write(&mut result, None);
    result.close();
}

// === Behind the handle ===

fn complete(out: &mut Vec<u8>) -> Object<'_> {
    let mut result = Object::open(out);
    result.raw("resultType", r#""complete""#);
    result
}

fn cacheable(result: &mut Object<'_>, hints: CacheHints) {
    result.value("ttlMs", &hints.ttl_ms);
    result.value("cacheScope", &hints.scope);
}
