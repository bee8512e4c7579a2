//! Holds every message against the official schema of its version, and what belongs to
//! the tasks extension against the draft of that.
//!
//! The exceptions (R28): an error without an id fits nothing in 2025-06-18, whose
//! schema cannot express one; and the answer to a malformed cancellation has
//! `"id": null` in the legacy era (R2), which no schema allows.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use jsonschema::Validator;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::Version;

/// Panics unless `message` is what the version's schema allows; `method` is that
/// of the request that it may be the answer to.
pub fn check(message: &Value, version: Version, method: Option<&str>) {
    if is_exception(message, version, method) {
        return;
    }
    for (schema, definition, part) in parts(message, version, method) {
        let validator = validator(schema, definition);
        let faults: Vec<String> = validator
            .iter_errors(part)
            .map(|fault| format!("{} at {}", fault, fault.instance_path()))
            .collect();
        assert!(
            faults.is_empty(),
            "not a {definition} of {schema}: {}\n{message}",
            faults.join("\n")
        );
    }
}

// === Behind the check ===

type Key = (&'static str, &'static str);

/// A schema, one of its definitions, and what has to meet it.
type Part<'m> = (&'static str, &'static str, &'m Value);

/// The schema of the tasks extension.
const TASKS: &str = "ext-tasks-draft";

static VALIDATORS: LazyLock<Mutex<HashMap<Key, Arc<Validator>>>> = LazyLock::new(Mutex::default);

fn is_exception(message: &Value, version: Version, method: Option<&str>) -> bool {
    let is_error = message.get("error").is_some();
    let without_id = is_error && version == Version::June2025 && message.get("id").is_none();
    let cancellation =
        is_error && method == Some("notifications/cancelled") && message["id"].is_null();
    without_id || cancellation
}

/// Which definitions a message has to meet, and with which part.
fn parts<'m>(message: &'m Value, version: Version, method: Option<&str>) -> Vec<Part<'m>> {
    let old = version == Version::June2025;
    let schema = version.as_str();
    if let Some(method) = message.get("method").and_then(Value::as_str) {
        let (envelope, definition) = if message.get("id").is_some() {
            ("JSONRPCRequest", request(method))
        } else {
            ("JSONRPCNotification", notification(method))
        };
        let own = definition.map(|definition| (schema, definition, message));
        let of_tasks =
            (method == "notifications/tasks").then_some((TASKS, "TaskStatusNotification", message));
        let parts = [Some((schema, envelope, message)), own, of_tasks];
        parts.into_iter().flatten().collect()
    } else if message.get("error").is_some() {
        let envelope = if old {
            "JSONRPCError"
        } else {
            "JSONRPCErrorResponse"
        };
        vec![(schema, envelope, message)]
    } else {
        let envelope = if old {
            "JSONRPCResponse"
        } else {
            "JSONRPCResultResponse"
        };
        let answer = &message["result"];
        let own = method.and_then(|method| result(version, method, answer));
        let own = own.map(|(schema, definition)| (schema, definition, answer));
        let parts = [Some((schema, envelope, message)), own];
        parts.into_iter().flatten().collect()
    }
}

fn result(version: Version, method: &str, result: &Value) -> Option<Key> {
    let schema = version.as_str();
    if version == Version::July2026 {
        match (result["resultType"].as_str(), method) {
            (Some("input_required"), _) => return Some((schema, "InputRequiredResult")),
            (Some("task"), _) => return Some((TASKS, "CreateTaskResult")),
            (_, "tasks/get") => return Some((TASKS, "GetTaskResult")),
            (_, "tasks/update") => return Some((TASKS, "UpdateTaskResult")),
            (_, "tasks/cancel") => return Some((TASKS, "CancelTaskResult")),
            _ => {}
        }
    }
    let definition = match method {
        "initialize" => "InitializeResult",
        "server/discover" => "DiscoverResult",
        "ping" | "logging/setLevel" => "EmptyResult",
        "tools/list" => "ListToolsResult",
        "tools/call" if result.get("task").is_some() => "CreateTaskResult",
        "tools/call" | "tasks/result" => "CallToolResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" => "ReadResourceResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "completion/complete" => "CompleteResult",
        "tasks/get" => "GetTaskResult",
        "tasks/list" => "ListTasksResult",
        "tasks/cancel" => "CancelTaskResult",
        _ => return None,
    };
    Some((schema, definition))
}

/// What a server asks a legacy client.
fn request(method: &str) -> Option<&'static str> {
    match method {
        "elicitation/create" => Some("ElicitRequest"),
        "sampling/createMessage" => Some("CreateMessageRequest"),
        "roots/list" => Some("ListRootsRequest"),
        _ => None,
    }
}

fn notification(method: &str) -> Option<&'static str> {
    match method {
        "notifications/progress" => Some("ProgressNotification"),
        "notifications/message" => Some("LoggingMessageNotification"),
        "notifications/tasks/status" => Some("TaskStatusNotification"),
        _ => None,
    }
}

fn validator(schema: &'static str, definition: &'static str) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock();
    let built = validators
        .entry((schema, definition))
        .or_insert_with(|| Arc::new(build(schema, definition)));
    Arc::clone(built)
}

fn build(name: &str, definition: &str) -> Validator {
    let prefix = if name == TASKS { "" } else { "mcp-" };
    let file = format!("../../tests/schema/{prefix}{name}.json");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text =
        fs::read_to_string(&path).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
    let mut schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
    let home = if schema.get("$defs").is_some() {
        "$defs"
    } else {
        "definitions"
    };
    assert!(
        schema[home].get(definition).is_some(),
        "{name} has no {definition}"
    );
    schema["$ref"] = json!(format!("#/{home}/{definition}"));
    jsonschema::validator_for(&schema).expect("the schema holds together")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;
    use crate::Version;

    #[test]
    fn a_good_result_passes_in_each_version() {
        let tool = json!({ "name": "add", "inputSchema": { "type": "object" } });
        let modern = json!({ "resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private" });
        let legacy = json!({ "tools": [tool] });

        for (version, result) in [
            (Version::July2026, &modern),
            (Version::November2025, &legacy),
            (Version::June2025, &legacy),
        ] {
            let message = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
            check(&message, version, Some("tools/list"));
        }
    }

    #[test]
    #[should_panic(expected = "not a ListToolsResult")]
    fn a_modern_list_without_its_cache_hints_fails() {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "result": { "resultType": "complete", "tools": [] } });

        check(&message, Version::July2026, Some("tools/list"));
    }

    #[test]
    #[should_panic(expected = "not a JSONRPCErrorResponse")]
    fn a_null_id_fails() {
        let message =
            json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "no" } });

        check(&message, Version::November2025, None);
    }
}
