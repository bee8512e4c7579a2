use std::borrow::Cow;

use super::*;
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
