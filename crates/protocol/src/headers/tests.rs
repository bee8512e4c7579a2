use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

use super::*;
use crate::tool_name::ToolName;
use crate::tools::Tool;
use crate::wire_error::Code;

fn modern(version: Option<&'static str>) -> Context {
    let mut context = Context::new(Era::Modern);
    context.version = version.map(Cow::Borrowed);
    context
}

fn one(value: &str) -> Field<'_> {
    Field::One(value.as_bytes())
}

#[track_caller]
fn mismatch(outcome: Result<(), WireError>, part: &str) {
    let error = outcome.expect_err("a mismatch");

    assert_eq!(error.code, Code::HEADER_MISMATCH);
    assert!(error.message.contains(part), "{}", error.message);
}

#[test]
fn lines_of_one_name_are_none_one_or_many() {
    assert_eq!(Field::of([]), Field::Absent);
    assert_eq!(Field::of([&b"a"[..]]), Field::One(b"a"));
    assert_eq!(Field::of([&b"a"[..], b"a"]), Field::Many);
}

#[test]
fn white_space_around_a_value_counts_not() {
    assert_eq!(one(" \t a b \t").text(), Some("a b"));
}

#[test]
fn a_value_with_other_than_printable_ascii_has_no_text() {
    for value in ["é", "a\u{7f}", "a\u{1}b"] {
        assert_eq!(one(value).text(), None, "{value:?}");
    }
    assert_eq!(Field::One(b"\xff").text(), None);
}

#[test]
fn the_version_header_has_to_repeat_the_body() {
    let context = modern(Some("2026-07-28"));

    assert!(check_version_header(one(" 2026-07-28 "), &context).is_ok());
    mismatch(check_version_header(Field::Absent, &context), "missing");
    mismatch(check_version_header(one("2025-11-25"), &context), "match");
    mismatch(
        check_version_header(Field::Many, &context),
        "more than once",
    );
    mismatch(check_version_header(one("é"), &context), "characters");
}

#[test]
fn a_header_that_differs_from_an_unknown_version_is_a_mismatch() {
    mismatch(
        check_version_header(one("2026-07-28"), &modern(Some("v999.0.0"))),
        "MCP-Protocol-Version",
    );
}

#[test]
fn the_method_header_is_compared_letter_for_letter() {
    let context = modern(Some("2026-07-28"));

    assert!(check_method_header(one("tools/list"), &context, "tools/list").is_ok());
    mismatch(
        check_method_header(one("TOOLS/LIST"), &context, "tools/list"),
        "Mcp-Method",
    );
    mismatch(
        check_method_header(Field::Absent, &context, "tools/list"),
        "Mcp-Method",
    );
}

#[test]
fn a_probe_without_a_version_needs_no_header() {
    let context = modern(None);

    assert!(check_version_header(Field::Absent, &context).is_ok());
    assert!(check_version_header(one("2031-01-01"), &context).is_ok());
    assert!(check_method_header(Field::Absent, &context, "server/discover").is_ok());
}

#[test]
fn legacy_messages_need_no_modern_headers() {
    let context = Context::new(Era::Legacy);

    assert!(check_version_header(Field::Absent, &context).is_ok());
    assert!(check_method_header(Field::Absent, &context, "ping").is_ok());
    assert!(check_name_header(Field::Absent, &context, Some("echo")).is_ok());
}

#[test]
fn the_name_header_may_be_plain_or_encoded() {
    let context = modern(Some("2026-07-28"));

    assert!(check_name_header(one("echo"), &context, Some("echo")).is_ok());
    assert!(check_name_header(one("=?base64?ZWNobw==?="), &context, Some("echo")).is_ok());
    mismatch(
        check_name_header(one("other"), &context, Some("echo")),
        "match",
    );
    mismatch(
        check_name_header(one("=?base64?ZW?="), &context, Some("echo")),
        "Base64",
    );
    mismatch(
        check_name_header(Field::Absent, &context, Some("echo")),
        "missing",
    );
}

#[test]
fn a_name_that_is_not_in_the_body_is_left_to_the_next_step() {
    let context = modern(Some("2026-07-28"));

    assert!(check_name_header(one("echo"), &context, None).is_ok());
    mismatch(check_name_header(Field::Absent, &context, None), "missing");
}

#[track_caller]
fn legacy(field: Field<'_>, method: &str, expected: Result<Option<&str>, Code>) {
    let found = check_legacy_version_header(field, method).map_err(|error| error.code);

    assert_eq!(found, expected);
}

#[test]
fn a_legacy_version_header_is_optional() {
    legacy(Field::Absent, "ping", Ok(None));
    legacy(one("2025-06-18"), "ping", Ok(Some("2025-06-18")));
}

#[test]
fn a_legacy_version_header_has_to_name_a_version_that_is_served() {
    for value in ["2031-01-01", "2025-03-26", "2026-07-28", "", "é"] {
        legacy(one(value), "ping", Err(Code::INVALID_REQUEST));
    }
    legacy(Field::Many, "ping", Err(Code::INVALID_REQUEST));
}

#[test]
fn initialize_is_exempt_from_the_version_header() {
    legacy(one("2031-01-01"), "initialize", Ok(None));
}

#[track_caller]
fn check_name_of(method: Method, header: Option<&str>, agrees: bool) {
    let params = serde_json::from_str(r#"{"name":"n","uri":"u"}"#).expect("valid JSON");
    let params = Params::read(Some(params));
    let field = header.map_or(Field::Absent, one);

    let outcome = check_name_header_of(field, &modern(Some("2026-07-28")), method, &params);

    assert_eq!(outcome.is_ok(), agrees, "{method:?} {header:?}");
}

#[test]
fn the_name_header_repeats_what_the_method_is_about() {
    for method in [Method::ToolsCall, Method::PromptsGet] {
        check_name_of(method, Some("n"), true);
        check_name_of(method, Some("=?base64?bg==?="), true);
        check_name_of(method, Some("u"), false);
        check_name_of(method, None, false);
    }
    check_name_of(Method::ResourcesRead, Some("u"), true);
    check_name_of(Method::ResourcesRead, Some("n"), false);
}

#[test]
fn a_method_without_a_name_has_no_such_header() {
    for method in [
        Method::ToolsList,
        Method::CompletionComplete,
        Method::SubscriptionsListen,
    ] {
        check_name_of(method, None, true);
        check_name_of(method, Some("anything"), true);
    }
}

fn annotated() -> Tool {
    let schema = r#"{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},
        "level":{"type":"integer","x-mcp-header":"Level"},
        "where":{"type":"object","properties":{"dry":{"type":"boolean","x-mcp-header":"Dry"}}},
        "other":{"type":"string"}}}"#;
    let schema = RawValue::from_string(schema.to_owned()).expect("valid JSON");
    Tool::new(ToolName::new("t").expect("a name"), schema).expect("a tool")
}

fn check_params(arguments: &str, headers: &[(&str, &str)]) -> Result<(), WireError> {
    let headers: HashMap<&str, &str> = headers.iter().copied().collect();
    let arguments: Option<&RawValue> =
        (!arguments.is_empty()).then(|| serde_json::from_str(arguments).expect("valid JSON"));
    let fields = |name: &str| headers.get(name).map_or(Field::Absent, |value| one(value));
    check_param_headers(fields, &modern(Some("2026-07-28")), &annotated(), arguments)
}

const REGION: &str = "mcp-param-region";
const LEVEL: &str = "mcp-param-level";
const DRY: &str = "mcp-param-dry";

#[test]
fn arguments_that_headers_repeat_pass() {
    for (arguments, headers) in [
        ("", &[][..]),
        ("{}", &[]),
        (r#"{"region":"eu"}"#, &[(REGION, "eu")]),
        (r#"{"region":""}"#, &[(REGION, "")]),
        (r#"{"region":"\u0065u"}"#, &[(REGION, " eu ")]),
        (
            r#"{"region":"Zürich"}"#,
            &[(REGION, "=?base64?WsO8cmljaA==?=")],
        ),
        (
            r#"{"region":"=?BASE64?eu?="}"#,
            &[(REGION, "=?BASE64?eu?=")],
        ),
        (r#"{"level":42}"#, &[(LEVEL, "42")]),
        (r#"{"level":42.0}"#, &[(LEVEL, "42")]),
        (r#"{"level":42}"#, &[(LEVEL, "42.0")]),
        (r#"{"level":-7}"#, &[(LEVEL, "=?base64?LTc=?=")]),
        (r#"{"where":{"dry":true}}"#, &[(DRY, "true")]),
        (
            r#"{"region":"eu","level":1,"where":{"dry":false}}"#,
            &[(REGION, "eu"), (LEVEL, "1"), (DRY, "false")],
        ),
    ] {
        assert!(check_params(arguments, headers).is_ok(), "{arguments}");
    }
}

#[test]
fn an_argument_without_its_header_is_a_mismatch() {
    mismatch(check_params(r#"{"region":"eu"}"#, &[]), "is missing");
    mismatch(check_params(r#"{"level":0}"#, &[]), "is missing");
    mismatch(
        check_params(r#"{"where":{"dry":false}}"#, &[]),
        "is missing",
    );
}

#[test]
fn an_argument_that_is_missing_or_null_has_no_header() {
    for arguments in [
        "",
        "{}",
        r#"{"region":null}"#,
        r#"{"other":"eu"}"#,
        r#"{"where":{}}"#,
        r#"{"where":null}"#,
        r#"{"where":"dry"}"#,
    ] {
        assert!(check_params(arguments, &[]).is_ok(), "{arguments}");
        mismatch(check_params(arguments, &[(REGION, "eu")]), "match");
        mismatch(check_params(arguments, &[(DRY, "")]), "match");
    }
}

#[test]
fn a_header_with_another_value_is_a_mismatch() {
    for (arguments, headers) in [
        (r#"{"region":"eu"}"#, (REGION, "EU")),
        (r#"{"region":"true"}"#, (REGION, "false")),
        (r#"{"region":"42"}"#, (REGION, "42.0")),
        (r#"{"region":["eu"]}"#, (REGION, r#"["eu"]"#)),
        (r#"{"region":"eu","region":"eu"}"#, (REGION, "eu")),
        (r#"{"level":42}"#, (LEVEL, "43")),
        (r#"{"level":42}"#, (LEVEL, "042")),
        (r#"{"level":9007199254740993}"#, (LEVEL, "9007199254740992")),
        (r#"{"where":{"dry":true}}"#, (DRY, "TRUE")),
        (r#"{"where":{"dry":true}}"#, (DRY, "1")),
        (r#"{"where":{},"where":{"dry":true}}"#, (DRY, "true")),
    ] {
        mismatch(check_params(arguments, &[headers]), "match");
    }
}

#[test]
fn a_header_that_cannot_be_decoded_or_occurs_twice_is_a_mismatch() {
    for value in ["=?base64?ZXU?=", "=?base64?_w==?=", "=?base64?/w==?="] {
        mismatch(
            check_params(r#"{"region":"eu"}"#, &[(REGION, value)]),
            "Base64",
        );
    }
    let arguments = serde_json::from_str(r#"{"region":"eu"}"#).expect("valid JSON");
    let many = |_: &str| Field::Many;

    let outcome = check_param_headers(
        many,
        &modern(Some("2026-07-28")),
        &annotated(),
        Some(arguments),
    );

    assert!(outcome.is_err());
}

#[test]
fn headers_that_no_property_asks_for_are_ignored() {
    let headers = [("mcp-param-other", "x"), ("mcp-param-novel", "x")];

    assert!(check_params(r#"{"other":"eu"}"#, &headers).is_ok());
}

#[test]
fn arguments_of_a_legacy_call_need_no_headers() {
    let arguments = serde_json::from_str(r#"{"region":"eu"}"#).expect("valid JSON");
    let legacy = Context::new(Era::Legacy);

    let outcome = check_param_headers(|_| Field::Absent, &legacy, &annotated(), Some(arguments));

    assert!(outcome.is_ok());
}

#[test]
fn a_request_about_a_task_may_leave_its_name_out_and_may_not_lie() {
    let context = modern(Some("2026-07-28"));
    let raw: &RawValue = serde_json::from_str(r#"{"taskId":"t1"}"#).expect("valid JSON");
    let params = Params::read(Some(raw));
    for method in [Method::TasksGet, Method::TasksUpdate, Method::TasksCancel] {
        let check = |field| check_name_header_of(field, &context, method, &params);

        assert!(check(Field::Absent).is_ok());
        assert!(check(one("t1")).is_ok());
        mismatch(check(one("t2")), "match");
        mismatch(check(Field::Many), "more than once");
    }
}
