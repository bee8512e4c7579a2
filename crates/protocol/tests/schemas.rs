//! Every kind of message that is rendered fits the published schema of its version.
//!
//! Exceptions (R28): an error without an id does not fit 2025-06-18, whose schema
//! demands one (OPEN-12); an error with `"id": null` fits none (R2).

#![allow(clippy::expect_used, reason = "a test may fail this way")]
#![allow(clippy::indexing_slicing, reason = "a test may fail this way")]
#![allow(clippy::panic, reason = "a test may fail this way")]

use std::fs;
use std::path::Path;

use conduit_protocol::{
    Annotations, CacheHints, CacheScope, Code, Content, Era, Face, Icon, Implementation,
    LEGACY_VERSIONS, Lists, LogLevel, MODERN_VERSIONS, Meta, ProgressToken, Rendered, RequestId,
    ResourceContents, Resources, Role, ServerCapabilities, Theme, Tool, ToolAnnotations, ToolName,
    ToolResult, ToolsPage, WireError, error, error_with_null_id, log_message, progress,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The versions, each with its era.
fn versions() -> impl Iterator<Item = (Era, &'static str)> {
    let modern = MODERN_VERSIONS.map(|version| (Era::Modern, version));
    let legacy = LEGACY_VERSIONS.map(|version| (Era::Legacy, version));
    modern.into_iter().chain(legacy)
}

/// What is wrong with `instance`, held against one definition of a schema.
fn faults(version: &str, definition: &str, instance: &Value) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/schema")
        .join(format!("mcp-{version}.json"));
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

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("valid JSON")
}

fn meta() -> Meta {
    Meta::new(Map::from_iter([("com.example/a".to_owned(), json!([1]))]))
}

fn icon() -> Icon {
    Icon {
        mime_type: Some("image/png".into()),
        sizes: vec!["48x48".into(), "any".into()],
        theme: Some(Theme::Dark),
        ..Icon::new("https://example.com/a.png")
    }
}

fn face() -> Face {
    let implementation = Implementation {
        title: Some("Demo".into()),
        description: Some("Shows things.".into()),
        website_url: Some("https://example.com/".into()),
        icons: vec![icon()],
        ..Implementation::new("demo", "1.0.0")
    };
    let capabilities = ServerCapabilities {
        tools: Some(Lists { list_changed: true }),
        resources: Some(Resources {
            subscribe: true,
            list_changed: false,
        }),
        prompts: Some(Lists::default()),
        completions: true,
        logging: true,
        extensions: Map::from_iter([("com.example/x".to_owned(), json!({}))]),
    };
    let hints = CacheHints {
        ttl_ms: 60_000,
        scope: CacheScope::Public,
    };
    Face::new(&implementation, &capabilities, Some("Be brief."), hints)
}

fn id() -> RequestId {
    RequestId::from(7)
}

fn full_tool() -> Tool {
    let input = raw(
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}"#,
    );
    let output =
        raw(r#"{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}"#);
    let tool = Tool::new(ToolName::new("add").expect("a name"), input).expect("a tool");
    let mut tool = tool.with_output_schema(output).expect("a schema");
    tool.title = Some("Add".into());
    tool.description = Some("Adds numbers.".into());
    tool.icons = vec![icon()];
    tool.meta = Some(meta());
    tool.annotations = Some(ToolAnnotations {
        title: Some("Add".into()),
        read_only_hint: Some(true),
        destructive_hint: Some(false),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    });
    tool
}

fn tools() -> Vec<Tool> {
    let plain = Tool::new(
        ToolName::new("plain").expect("a name"),
        raw(r#"{"type":"object"}"#),
    );
    let list = plain.clone().expect("a tool");
    let list = list.with_output_schema(raw(r#"{"type":"array","items":{"type":"integer"}}"#));
    vec![full_tool(), plain.expect("a tool"), list.expect("a schema")]
}

fn blocks() -> Vec<Content> {
    let annotations = Annotations {
        audience: vec![Role::User, Role::Assistant],
        priority: Some(0.5),
        last_modified: Some("2026-01-12T15:00:58Z".into()),
    };
    let mut text = Content::text("hello");
    if let Content::Text(block) = &mut text {
        block.annotations = Some(Box::new(annotations));
        block.meta = Some(meta());
    }
    let mut link = Content::resource_link("mem://a", "a");
    if let Content::ResourceLink(link) = &mut link {
        link.title = Some("A".into());
        link.description = Some("The first.".into());
        link.mime_type = Some("text/plain".into());
        link.size = Some(5);
        link.icons = vec![icon()];
        link.meta = Some(meta());
    }
    vec![
        text,
        Content::image(&[1, 2, 3], "image/png"),
        Content::audio(&[1, 2, 3], "audio/wav"),
        link,
        Content::resource(ResourceContents::text("mem://a", "x")),
        Content::resource(ResourceContents::Blob {
            uri: "mem://b".into(),
            blob: "eA==".into(),
            mime_type: Some("application/octet-stream".into()),
            meta: Some(meta()),
        }),
    ]
}

#[test]
fn a_discover_fits() {
    fits_result("2026-07-28", "DiscoverResult", face().discover(&id()));
    fits(
        "2026-07-28",
        "DiscoverResultResponse",
        &json_of(face().discover(&id())),
    );
}

#[test]
fn an_initialize_fits_each_legacy_version() {
    for version in LEGACY_VERSIONS {
        fits_result(
            version,
            "InitializeResult",
            face().initialize(&id(), version),
        );
    }
}

#[test]
fn an_empty_result_fits_each_version() {
    for (era, version) in versions() {
        fits_result(version, "EmptyResult", face().empty(era, &id()));
    }
}

#[test]
fn a_list_of_tools_fits_each_version() {
    for (era, version) in versions() {
        let tools = tools();
        let page = ToolsPage::render(era, &tools, Some("p2"), CacheHints::default(), &face());
        fits_result(version, "ListToolsResult", page.respond(&id()));
    }
}

#[test]
fn an_empty_list_of_tools_fits_each_version() {
    for (era, version) in versions() {
        let page = ToolsPage::render(era, [], None, CacheHints::default(), &face());
        fits_result(version, "ListToolsResult", page.respond(&id()));
    }
}

#[test]
fn a_call_with_every_kind_of_block_fits_each_version() {
    let result = ToolResult {
        content: blocks(),
        structured_content: Some(json!({"sum": 3})),
        is_error: false,
        meta: Some(meta()),
    };
    for (era, version) in versions() {
        fits_result(version, "CallToolResult", face().call(era, &id(), &result));
    }
}

#[test]
fn a_call_with_values_of_any_type_fits_each_version() {
    for value in [json!(3), json!(null), json!([1, "a"]), json!({"a": {}})] {
        let result = ToolResult::structured(value);
        for (era, version) in versions() {
            fits_result(version, "CallToolResult", face().call(era, &id(), &result));
        }
    }
}

#[test]
fn a_failure_and_an_empty_answer_fit_each_version() {
    for result in [ToolResult::failure("no"), ToolResult::default()] {
        for (era, version) in versions() {
            fits_result(version, "CallToolResult", face().call(era, &id(), &result));
        }
    }
}

fn errors() -> Vec<WireError> {
    vec![
        WireError::parse_error(),
        WireError::invalid_request("x"),
        WireError::method_not_found("foo/bar"),
        WireError::invalid_params("x"),
        WireError::internal(),
        WireError::header_mismatch("x"),
        WireError::missing_capability("x", &json!({"elicitation": {}})),
        WireError::unsupported_version("v999.0.0"),
        WireError::unknown_tool("x"),
        WireError::refused(503, "x").with_retry_after(std::time::Duration::from_secs(1)),
        WireError::new(Code(1234), "m").with_data(&json!([1])),
    ]
}

#[test]
fn errors_with_an_id_fit_each_version() {
    for (_, version) in versions() {
        for refusal in errors() {
            let message = json_of(error(Some(&id()), &refusal));
            let envelope = match version {
                "2025-06-18" => "JSONRPCError",
                _ => "JSONRPCErrorResponse",
            };
            fits(version, "JSONRPCMessage", &message);
            fits(version, envelope, &message);
        }
    }
}

#[test]
fn errors_without_an_id_fit_every_version_but_2025_06_18() {
    for refusal in errors() {
        let message = json_of(error(None, &refusal));
        for version in ["2025-11-25", "2026-07-28"] {
            fits(version, "JSONRPCErrorResponse", &message);
        }
        assert!(!faults("2025-06-18", "JSONRPCError", &message).is_empty());
    }
}

#[test]
fn a_refused_cancellation_fits_no_version() {
    let message = json_of(error_with_null_id(&WireError::invalid_params("x")));

    for version in ["2025-11-25", "2026-07-28"] {
        assert!(!faults(version, "JSONRPCErrorResponse", &message).is_empty());
    }
}

#[test]
fn modern_errors_fit_their_own_definitions() {
    for (definition, refusal) in [
        ("HeaderMismatchError", WireError::header_mismatch("x")),
        (
            "MissingRequiredClientCapabilityError",
            WireError::missing_capability("x", &json!({"elicitation": {"url": {}}})),
        ),
        (
            "UnsupportedProtocolVersionError",
            WireError::unsupported_version("v999.0.0"),
        ),
    ] {
        fits(
            "2026-07-28",
            definition,
            &json_of(error(Some(&id()), &refusal)),
        );
    }
}

#[test]
fn notifications_fit_each_version() {
    for (_, version) in versions() {
        for token in ["7", "\"p\""] {
            let token = ProgressToken::from_json(token).expect("a token");
            let bytes = progress(&token, 0.5, Some(2.0), Some("half")).expect("a number");
            let message = serde_json::from_slice(&bytes).expect("valid JSON");
            fits(version, "ProgressNotification", &message);
            fits(version, "JSONRPCMessage", &message);
        }
        for level in LogLevel::ALL {
            let bytes = log_message(level, Some("x"), &json!({"a": [1]}));
            let message = serde_json::from_slice(&bytes).expect("valid JSON");
            fits(version, "LoggingMessageNotification", &message);
        }
    }
}
