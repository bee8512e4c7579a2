mod lists;
mod notifications;
mod results;
mod tasks;

use serde_json::{Map, Value, json};

use super::*;
use crate::call::ToolResult;
use crate::capability::{Lists, ServerCapabilities};
use crate::era::Era;
use crate::implementation::Implementation;
use crate::meta::{Meta, keys};
use crate::outcome::Outcome;
use crate::wire_error::{Code, WireError};

const INFO: &str = r#"{"io.modelcontextprotocol/serverInfo":{"name":"demo","version":"1.0.0"}"#;

fn face() -> Face {
    let capabilities = ServerCapabilities {
        tools: Some(Lists { list_changed: true }),
        extensions: Map::from_iter([("com.example/x".to_owned(), json!({}))]),
        ..ServerCapabilities::default()
    };
    Face::new(
        &Implementation::new("demo", "1.0.0"),
        &capabilities,
        Some("Be brief."),
        CacheHints::default(),
    )
}

fn id() -> RequestId {
    RequestId::from_json(r#""\u0061""#).expect("an id")
}

#[track_caller]
fn check(rendered: Rendered, expected: &str) {
    let size = rendered.size();
    let bytes = rendered.into_bytes();

    assert_eq!(str::from_utf8(&bytes).expect("text"), expected);
    assert_eq!(size, bytes.len());
}

fn answer(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"\u0061","result":{result}}}"#)
}

#[test]
fn a_discover_says_what_every_modern_result_says_and_may_be_kept() {
    let capabilities = r#"{"tools":{"listChanged":true},"extensions":{"com.example/x":{}}}"#;
    check(
        face().discover(&id()),
        &answer(&format!(
            r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{capabilities},"instructions":"Be brief.","ttlMs":0,"cacheScope":"private","_meta":{INFO}}}}}"#
        )),
    );
}

#[test]
fn an_initialize_repeats_the_version_and_knows_no_extensions() {
    for version in ["2025-11-25", "2025-06-18"] {
        check(
            face().initialize(&id(), version),
            &answer(&format!(
                r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{"listChanged":true}}}},"serverInfo":{{"name":"demo","version":"1.0.0"}},"instructions":"Be brief."}}"#
            )),
        );
    }
}

#[test]
fn an_initialize_with_another_version_offers_our_newest() {
    assert_eq!(
        face().initialize(&id(), "2031-01-01"),
        face().initialize(&id(), "2025-11-25")
    );
}

#[test]
fn an_empty_legacy_result_has_no_member_at_all() {
    check(face().empty(Era::Legacy, &id()), &answer("{}"));
}

#[test]
fn an_empty_modern_result_says_who_answers() {
    check(
        face().empty(Era::Modern, &id()),
        &answer(&format!(r#"{{"resultType":"complete","_meta":{INFO}}}}}"#)),
    );
}

#[track_caller]
fn check_call(result: &ToolResult, modern: &str, legacy: &str) {
    check(face().call(Era::Modern, &id(), result), &answer(modern));
    check(face().call(Era::Legacy, &id(), result), &answer(legacy));
}

#[test]
fn a_call_is_answered_in_the_shape_of_its_era() {
    check_call(
        &ToolResult::text("hi"),
        &format!(
            r#"{{"resultType":"complete","content":[{{"type":"text","text":"hi"}}],"_meta":{INFO}}}}}"#
        ),
        r#"{"content":[{"type":"text","text":"hi"}]}"#,
    );
}

#[test]
fn a_call_may_answer_with_nothing() {
    check_call(
        &ToolResult::default(),
        &format!(r#"{{"resultType":"complete","content":[],"_meta":{INFO}}}}}"#),
        r#"{"content":[]}"#,
    );
}

#[test]
fn a_failure_says_so_in_both_eras() {
    let result = ToolResult {
        content: Vec::new(),
        ..ToolResult::failure("")
    };
    check_call(
        &result,
        &format!(r#"{{"resultType":"complete","content":[],"isError":true,"_meta":{INFO}}}}}"#),
        r#"{"content":[],"isError":true}"#,
    );
}

#[track_caller]
fn check_structured(value: Value, modern: &str, legacy: &str) {
    let result = ToolResult {
        structured_content: Some(value),
        ..ToolResult::default()
    };
    check_call(
        &result,
        &format!(r#"{{"resultType":"complete","content":[]{modern},"_meta":{INFO}}}}}"#),
        &format!(r#"{{"content":[]{legacy}}}"#),
    );
}

#[test]
fn structured_content_that_is_an_object_is_shown_to_both_eras() {
    let shown = r#","structuredContent":{"sum":3}"#;

    check_structured(json!({"sum": 3}), shown, shown);
}

#[test]
fn structured_content_of_another_type_is_shown_to_modern_clients_alone() {
    check_structured(json!(3), r#","structuredContent":3"#, "");
    check_structured(json!(null), r#","structuredContent":null"#, "");
}

#[test]
fn metadata_of_the_author_stands_beside_ours() {
    let Value::Object(members) = json!({"a": 1, keys::SERVER_INFO: {"name": "forged"}}) else {
        panic!("an object");
    };
    let result = ToolResult {
        meta: Some(Meta::new(members)),
        ..ToolResult::default()
    };
    check_call(
        &result,
        &format!(r#"{{"resultType":"complete","content":[],"_meta":{INFO},"a":1}}}}"#),
        r#"{"content":[],"_meta":{"a":1}}"#,
    );
}

#[test]
fn empty_metadata_of_the_author_leaves_ours_alone() {
    let result = ToolResult {
        meta: Some(Meta::new(Map::new())),
        ..ToolResult::default()
    };
    check_call(
        &result,
        &format!(r#"{{"resultType":"complete","content":[],"_meta":{INFO}}}}}"#),
        r#"{"content":[],"_meta":{}}"#,
    );
}

#[test]
fn an_error_repeats_the_id_or_has_none() {
    let refusal = WireError::unknown_tool("x");

    check(
        error(Some(&id()), &refusal),
        r#"{"jsonrpc":"2.0","id":"\u0061","error":{"code":-32602,"message":"Unknown tool: x"}}"#,
    );
    check(
        error(None, &refusal),
        r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"Unknown tool: x"}}"#,
    );
}

#[test]
fn a_refused_cancellation_has_the_id_null() {
    check(
        error_with_null_id(&WireError::new(Code::CANCELLATION_LIMIT, "Too many")),
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Too many"}}"#,
    );
}

#[test]
fn an_outcome_that_is_refused_keeps_its_code_message_and_data() {
    let refusal = WireError::new(Code(1234), "m").with_data(&json!({"a": 1}));

    for era in [Era::Modern, Era::Legacy] {
        check(
            face().outcome(era, &id(), &Outcome::<ToolResult>::from(refusal.clone())),
            r#"{"jsonrpc":"2.0","id":"\u0061","error":{"code":1234,"message":"m","data":{"a":1}}}"#,
        );
    }
}

#[track_caller]
fn check_status(code: Code, modern: u16, legacy: u16) {
    let error = WireError::new(code, "x");

    assert_eq!(http_status(Era::Modern, &error), modern, "{code:?}");
    assert_eq!(http_status(Era::Legacy, &error), legacy, "{code:?}");
}

#[test]
fn an_unknown_method_is_404_in_the_modern_era_only() {
    check_status(Code::METHOD_NOT_FOUND, 404, 200);
}

#[test]
fn ordinary_errors_are_200() {
    for code in [
        Code::INVALID_PARAMS,
        Code::INTERNAL_ERROR,
        Code::CANCELLATION_LIMIT,
        Code(1234),
        Code(40_000),
    ] {
        check_status(code, 200, 200);
    }
}

#[test]
fn faults_of_envelope_headers_and_version_are_400() {
    for code in [
        Code::PARSE_ERROR,
        Code::INVALID_REQUEST,
        Code::HEADER_MISMATCH,
        Code::MISSING_CLIENT_CAPABILITY,
        Code::UNSUPPORTED_VERSION,
    ] {
        check_status(code, 400, 400);
    }
}

#[test]
fn a_refusal_has_its_status_in_its_code() {
    for status in [401, 403, 404, 405, 406, 408, 413, 415, 429, 503] {
        check_status(Code::refusal(status), status, status);
    }
}
