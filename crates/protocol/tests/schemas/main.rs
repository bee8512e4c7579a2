//! Every kind of message that is rendered fits the published schema of its version.
//!
//! Exceptions (R28): an error without an id does not fit 2025-06-18, whose schema
//! demands one (OPEN-12); an error with `"id": null` fits none (R2).

#![allow(clippy::expect_used, reason = "a test may fail this way")]
#![allow(clippy::indexing_slicing, reason = "a test may fail this way")]
#![allow(clippy::panic, reason = "a test may fail this way")]

mod errors;
mod input;
mod lists;
mod notifications;
mod results;
mod sample;
mod tasks;

use std::fs;
use std::path::Path;

use bytes::Bytes;
use conduit_protocol::{Era, LEGACY_VERSIONS, MODERN_VERSIONS, Rendered};
use serde_json::Value;

/// The versions, each with its era.
fn versions() -> impl Iterator<Item = (Era, &'static str)> {
    let modern = MODERN_VERSIONS.map(|version| (Era::Modern, version));
    let legacy = LEGACY_VERSIONS.map(|version| (Era::Legacy, version));
    modern.into_iter().chain(legacy)
}

/// What is wrong with `instance`, held against one definition of a schema: that of a
/// version, or that of the tasks extension.
fn faults(version: &str, definition: &str, instance: &Value) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/schema")
        .join(match version {
            "ext-tasks-draft" => format!("{version}.json"),
            _ => format!("mcp-{version}.json"),
        });
    let text = fs::read_to_string(path).expect("the schema");
    let mut schema: Value = serde_json::from_str(&text).expect("valid JSON");
    let members = schema.as_object_mut().expect("an object");
    let place = ["$defs", "definitions"]
        .into_iter()
        .find(|place| members.contains_key(*place))
        .expect("definitions");
    assert!(
        members[place].get(definition).is_some(),
        "{version} defines no {definition}"
    );
    members.insert(
        "$ref".to_owned(),
        Value::String(format!("#/{place}/{definition}")),
    );
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    validator
        .iter_errors(instance)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect()
}

#[track_caller]
fn fits(version: &str, definition: &str, instance: &Value) {
    let faults = faults(version, definition, instance);

    assert!(
        faults.is_empty(),
        "{version} {definition}: {faults:#?}\n{instance:#}"
    );
}

fn json_of(rendered: Rendered) -> Value {
    let bytes = rendered.into_bytes();
    assert!(!bytes.contains(&b'\n'), "a message is one line");
    serde_json::from_slice(&bytes).expect("valid JSON")
}

/// Checks an answer as a whole, and its result.
#[track_caller]
fn fits_result(version: &str, definition: &str, rendered: Rendered) {
    let message = json_of(rendered);
    fits(version, "JSONRPCMessage", &message);
    let envelope = match version {
        "2025-06-18" => "JSONRPCResponse",
        _ => "JSONRPCResultResponse",
    };
    fits(version, envelope, &message);
    fits(version, definition, &message["result"]);
}

/// Checks a notification as a whole.
#[track_caller]
fn fits_notification(version: &str, definition: &str, bytes: &Bytes) {
    assert!(!bytes.contains(&b'\n'), "a message is one line");
    let message = serde_json::from_slice(bytes).expect("valid JSON");
    fits(version, "JSONRPCMessage", &message);
    fits(version, "JSONRPCNotification", &message);
    fits(version, definition, &message);
}
