//! Holds every message against the official schema of its version.
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
    for (definition, part) in parts(message, version, method) {
        let validator = validator(version, definition);
        let faults: Vec<String> = validator
            .iter_errors(part)
            .map(|fault| format!("{} at {}", fault, fault.instance_path()))
            .collect();
        assert!(
            faults.is_empty(),
            "not a {definition} of {}: {}\n{message}",
            version.as_str(),
            faults.join("\n")
        );
    }
}

// === Behind the check ===

type Key = (Version, &'static str);

static VALIDATORS: LazyLock<Mutex<HashMap<Key, Arc<Validator>>>> = LazyLock::new(Mutex::default);

fn is_exception(message: &Value, version: Version, method: Option<&str>) -> bool {
    let is_error = message.get("error").is_some();
    let without_id = is_error && version == Version::June2025 && message.get("id").is_none();
    let cancellation =
        is_error && method == Some("notifications/cancelled") && message["id"].is_null();
    without_id || cancellation
}

/// Which definitions a message has to meet, and with which part.
fn parts<'m>(
    message: &'m Value,
    version: Version,
    method: Option<&str>,
) -> Vec<(&'static str, &'m Value)> {
    let old = version == Version::June2025;
    if let Some(method) = message.get("method").and_then(Value::as_str) {
        let envelope = if message.get("id").is_some() {
            "JSONRPCRequest"
        } else {
            "JSONRPCNotification"
        };
        let mut parts = vec![(envelope, message)];
        parts.extend(notification(method).map(|definition| (definition, message)));
        parts
    } else if message.get("error").is_some() {
        vec![(
            if old {
                "JSONRPCError"
            } else {
                "JSONRPCErrorResponse"
            },
            message,
        )]
    } else {
        let envelope = if old {
            "JSONRPCResponse"
        } else {
            "JSONRPCResultResponse"
        };
        let mut parts = vec![(envelope, message)];
        parts.extend(
            method
                .and_then(result)
                .map(|definition| (definition, &message["result"])),
        );
        parts
    }
}

fn result(method: &str) -> Option<&'static str> {
    match method {
        "initialize" => Some("InitializeResult"),
        "server/discover" => Some("DiscoverResult"),
        "ping" | "logging/setLevel" => Some("EmptyResult"),
        "tools/list" => Some("ListToolsResult"),
        "tools/call" => Some("CallToolResult"),
        "resources/list" => Some("ListResourcesResult"),
        "resources/templates/list" => Some("ListResourceTemplatesResult"),
        "resources/read" => Some("ReadResourceResult"),
        "prompts/list" => Some("ListPromptsResult"),
        "prompts/get" => Some("GetPromptResult"),
        "completion/complete" => Some("CompleteResult"),
        _ => None,
    }
}

fn notification(method: &str) -> Option<&'static str> {
    match method {
        "notifications/progress" => Some("ProgressNotification"),
        "notifications/message" => Some("LoggingMessageNotification"),
        _ => None,
    }
}

fn validator(version: Version, definition: &'static str) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock();
    let built = validators
        .entry((version, definition))
        .or_insert_with(|| Arc::new(build(version, definition)));
    Arc::clone(built)
}

fn build(version: Version, definition: &str) -> Validator {
    let file = format!("../../tests/schema/mcp-{}.json", version.as_str());
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
        "{} has no {definition}",
        version.as_str()
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
