//! Results of 2025-11-25 and 2025-06-18: no `resultType`, no cache hints, no
//! `serverInfo` but in the answer to `initialize` (L-RPC-14).

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::call::ToolResult;
use crate::capability::ServerCapabilities;
use crate::complete::Completion;
use crate::get_prompt::PromptResult;
use crate::implementation::Implementation;
use crate::meta::keys;
use crate::read::ReadResult;
use crate::shape::json::Object;
use crate::shape::page::{Dialect, Listed};

/// L-INIT-01. Extensions are not defined here (L-INIT-08), tasks in one version alone
/// (R10).
pub(super) fn initialize(
    out: &mut Vec<u8>,
    version: &str,
    implementation: &Implementation,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
) {
    let capabilities = ServerCapabilities {
        tasks: capabilities.tasks && version == TASKS_VERSION,
        extensions: Map::new(),
        ..capabilities.clone()
    };
    let mut result = Object::open(out);
    result.value("protocolVersion", version);
    result.value("capabilities", &capabilities);
    result.value("serverInfo", implementation);
    result.option("instructions", instructions);
    result.close();
}

/// L-METH-02: any member at all would be one too many.
pub(super) fn empty(out: &mut Vec<u8>) {
    Object::open(out).close();
}

/// L-METH-08: structured content has to be an object (table 5.0).
pub(super) fn call(out: &mut Vec<u8>, answer: &ToolResult) {
    let mut result = call_without_meta(out, answer);
    result.option("_meta", answer.meta.as_ref());
    result.close();
}

/// L-TASK-07: what a task came to says which task that was.
pub(super) fn call_of_task(out: &mut Vec<u8>, answer: &ToolResult, task: Uuid) {
    let mut result = call_without_meta(out, answer);
    let mut meta = result.object("_meta");
    related_task(&mut meta, task);
    meta.members(answer.meta.as_ref());
    meta.close();
    result.close();
}

/// Says which task a message belongs to (L-TASK-12).
pub(super) fn related_task(meta: &mut Object<'_>, task: Uuid) {
    let mut related = meta.object(keys::RELATED_TASK);
    related.value("taskId", &task);
    related.close();
}

/// L-METH-08.
pub(super) fn read(out: &mut Vec<u8>, answer: &ReadResult) {
    let mut result = Object::open(out);
    result.value("contents", &answer.contents);
    result.option("_meta", answer.meta.as_ref());
    result.close();
}

/// L-METH-08, C-PROMPT-03.
pub(super) fn prompt(out: &mut Vec<u8>, answer: &PromptResult) {
    let mut result = Object::open(out);
    result.option("description", answer.description.as_deref());
    result.value("messages", &answer.messages);
    result.option("_meta", answer.meta.as_ref());
    result.close();
}

/// L-METH-08, C-COMP-02.
pub(super) fn completion(out: &mut Vec<u8>, answer: &Completion) {
    let mut result = Object::open(out);
    result.value("completion", answer);
    result.close();
}

/// L-METH-08.
pub(super) fn list<'a, T: Listed + 'a>(
    dialect: Dialect,
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = &'a T>,
    next_cursor: Option<&str>,
) {
    let mut result = Object::open(out);
    result.array(T::LIST, items, |out, item| item.write(dialect, out));
    result.option("nextCursor", next_cursor);
    result.close();
}

// === Behind the handle ===

/// The one legacy version that has tasks.
const TASKS_VERSION: &str = "2025-11-25";

fn call_without_meta<'b>(out: &'b mut Vec<u8>, answer: &ToolResult) -> Object<'b> {
    let structured = answer.structured_content.as_ref().filter(|v| v.is_object());
    let mut result = Object::open(out);
    result.value("content", &answer.content);
    result.option::<Value>("structuredContent", structured);
    if answer.is_error {
        result.raw("isError", "true");
    }
    result
}
