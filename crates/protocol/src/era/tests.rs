use super::*;
use crate::wire_error::Code;

const PV: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
const CAPS: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
const MODERN: Option<&str> = Some("2026-07-28");

fn of(method: &str, params: &str, header: Option<&str>) -> Result<Context, WireError> {
    let params: Option<&RawValue> =
        (!params.is_empty()).then(|| serde_json::from_str(params).expect("valid JSON"));
    classify(method, params, header)
}

fn with_meta(members: &[&str]) -> String {
    format!(r#"{{"_meta":{{{}}}}}"#, members.join(","))
}

#[track_caller]
fn check(method: &str, members: &[&str], header: Option<&str>, expected: Era) -> Context {
    let context = of(method, &with_meta(members), header).expect("an era");

    assert_eq!(context.era, expected, "{method} {members:?} {header:?}");
    context
}

#[track_caller]
fn refused(method: &str, members: &[&str], header: Option<&str>, part: &str) {
    let error = of(method, &with_meta(members), header).expect_err("a refusal");

    assert_eq!(error.code, Code::INVALID_PARAMS);
    assert!(error.message.contains(part), "{}", error.message);
}

#[test]
fn both_keys_make_any_request_modern() {
    for method in ["tools/list", "initialize", "server/discover", "foo/bar"] {
        for header in [None, MODERN, Some("2025-11-25")] {
            let context = check(method, &[PV, CAPS], header, Era::Modern);
            assert_eq!(context.version.as_deref(), Some("2026-07-28"));
            assert!(context.capabilities.is_some());
        }
    }
}

#[test]
fn one_key_alone_is_refused_for_any_method() {
    for method in ["tools/list", "initialize", "server/discover"] {
        refused(method, &[PV], None, "clientCapabilities");
        refused(method, &[CAPS], None, "protocolVersion");
    }
}

#[test]
fn a_discover_without_keys_is_modern_and_has_no_version() {
    for header in [None, Some("2025-11-25"), Some("2031-01-01")] {
        let context = check("server/discover", &[], header, Era::Modern);
        assert_eq!(context.version, None);
        assert!(check_version(&context).is_ok());
    }
}

#[test]
fn anything_else_without_keys_is_legacy() {
    for params in [
        "",
        "{}",
        r#"{"_meta":{}}"#,
        r#"{"_meta":"x"}"#,
        r#"{"_meta":[{}]}"#,
    ] {
        let context = of("tools/list", params, None).expect("an era");
        assert_eq!(context.era, Era::Legacy, "{params}");
    }
}

#[test]
fn a_request_without_keys_under_a_modern_header_is_refused() {
    for method in ["tools/list", "server/discover"] {
        refused(method, &[], MODERN, "protocolVersion");
    }
    assert!(of("tools/list", "", MODERN).is_err());
}

#[test]
fn initialize_without_keys_is_legacy_whatever_the_header_says() {
    check("initialize", &[], MODERN, Era::Legacy);
}

#[test]
fn a_legacy_request_takes_its_version_from_the_header() {
    let context = check("ping", &[], Some("2025-06-18"), Era::Legacy);
    assert_eq!(context.version.as_deref(), Some("2025-06-18"));

    let context = check("ping", &[], Some("2031-01-01"), Era::Legacy);
    assert_eq!(context.version, None);
}

#[test]
fn a_version_that_is_not_a_string_is_refused() {
    for value in ["20260728", "null", "{\"k\":\"SECRET\"}", "[]"] {
        let pv = format!(r#""io.modelcontextprotocol/protocolVersion":{value}"#);
        refused(
            "tools/list",
            &[&pv, CAPS],
            None,
            "io.modelcontextprotocol/protocolVersion",
        );
    }
}

#[test]
fn capabilities_that_are_no_object_are_refused() {
    for value in ["[]", "\"x\"", "1", "true", "null"] {
        let caps = format!(r#""io.modelcontextprotocol/clientCapabilities":{value}"#);
        refused("tools/list", &[PV, &caps], None, "clientCapabilities");
    }
}

#[test]
fn client_info_is_optional_and_has_to_be_an_object() {
    for value in ["\"me\"", "[]", "null"] {
        let info = format!(r#""io.modelcontextprotocol/clientInfo":{value}"#);
        refused("tools/list", &[PV, CAPS, &info], None, "clientInfo");
    }
    let info = r#""io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}"#;
    let context = check("tools/list", &[PV, CAPS, info], None, Era::Modern);
    assert_eq!(
        context.client_info.expect("a client").get(),
        r#"{"name":"c","version":"1"}"#
    );
}

#[test]
fn a_log_level_has_to_be_one_of_the_eight() {
    for value in ["\"verbose\"", "\"DEBUG\"", "\"\"", "3", "null", "{}"] {
        let level = format!(r#""io.modelcontextprotocol/logLevel":{value}"#);
        refused("tools/list", &[PV, CAPS, &level], None, "logLevel");
    }
    let level = r#""io.modelcontextprotocol/logLevel":"warning""#;
    let context = check("tools/list", &[PV, CAPS, level], None, Era::Modern);
    assert_eq!(context.log_level, Some(LogLevel::Warning));
}

#[test]
fn modern_keys_mean_nothing_in_the_legacy_era() {
    let level = r#""io.modelcontextprotocol/logLevel":"verbose""#;
    let context = check("tools/list", &[level], None, Era::Legacy);

    assert_eq!(context.log_level, None);
}

#[test]
fn a_refusal_never_repeats_a_value() {
    let pv = r#""io.modelcontextprotocol/protocolVersion":{"k":"SECRET-7f3"}"#;
    let error = of("tools/list", &with_meta(&[pv, CAPS]), None).expect_err("a refusal");

    assert!(!error.to_string().contains("SECRET"));
    assert!(error.data().is_none());
}

#[test]
fn a_progress_token_is_a_string_or_an_integer_in_both_eras() {
    for value in ["{}", "true", "1.5", "null"] {
        let token = format!(r#""progressToken":{value}"#);
        refused("tools/call", &[PV, CAPS, &token], None, "progressToken");
        refused("tools/list", &[&token], None, "progressToken");
    }
    for value in ["0", "\"\"", "\"abc\"", "9007199254740993"] {
        let token = format!(r#""progressToken":{value}"#);
        let context = check("tools/call", &[&token], None, Era::Legacy);
        assert_eq!(context.progress_token.expect("a token").as_json(), value);
    }
}

#[test]
fn keys_that_occur_twice_are_refused() {
    refused("tools/list", &[PV, PV, CAPS], None, "twice");
    let twice = r#"{"_meta":{},"_meta":{}}"#;
    assert!(of("tools/list", twice, None).is_err());
}

#[test]
fn a_trace_is_read_in_both_eras() {
    let parent = r#""traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01""#;
    let rest = r#""tracestate":"a=1","baggage":"k=v""#;
    for (members, era) in [
        (vec![parent, rest], Era::Legacy),
        (vec![PV, CAPS, parent, rest], Era::Modern),
    ] {
        let trace = check("tools/list", &members, None, era).trace;
        assert!(trace.traceparent.is_some());
        assert_eq!(trace.tracestate.as_deref(), Some("a=1"));
        assert_eq!(trace.baggage.as_deref(), Some("k=v"));
    }
}

#[test]
fn a_malformed_trace_is_dropped() {
    let trace = r#""traceparent":"bad","tracestate":"\n","baggage":5"#;

    let context = check("tools/list", &[PV, CAPS, trace], None, Era::Modern);

    assert_eq!(context.trace, TraceContext::default());
}

#[test]
fn a_trace_that_occurs_twice_is_dropped() {
    let context = check(
        "tools/list",
        &[r#""baggage":"a=1","baggage":"b=2""#],
        None,
        Era::Legacy,
    );

    assert_eq!(context.trace.baggage, None);
}

fn notification(method: &str, params: &str, header: Option<&str>) -> Result<Era, WireError> {
    let params: Option<&RawValue> =
        (!params.is_empty()).then(|| serde_json::from_str(params).expect("valid JSON"));
    classify_notification(method, params, header).map(|context| context.era)
}

#[test]
fn a_notification_without_keys_follows_the_header() {
    for (header, expected) in [
        (None, Era::Legacy),
        (Some("2025-11-25"), Era::Legacy),
        (MODERN, Era::Modern),
    ] {
        for params in ["", "{}", "[1]", "null"] {
            let era = notification("notifications/cancelled", params, header);
            assert_eq!(era.expect("an era"), expected, "{header:?} {params}");
        }
    }
}

#[test]
fn a_notification_with_both_keys_is_modern() {
    let era = notification("notifications/initialized", &with_meta(&[PV, CAPS]), None);

    assert_eq!(era.expect("an era"), Era::Modern);
}

#[test]
fn a_notification_with_one_key_is_refused() {
    for members in [[PV], [CAPS]] {
        let error = notification("notifications/initialized", &with_meta(&members), MODERN)
            .expect_err("a refusal");
        assert_eq!(error.code, Code::INVALID_PARAMS);
    }
}

#[test]
fn a_modern_version_that_is_not_served_is_refused_with_those_that_are() {
    for version in ["v999.0.0", "2025-11-25"] {
        let pv = format!(r#""io.modelcontextprotocol/protocolVersion":"{version}""#);
        let context = check("tools/list", &[&pv, CAPS], None, Era::Modern);

        let error = check_version(&context).expect_err("a refusal");

        assert_eq!(error.code, Code::UNSUPPORTED_VERSION);
        let data = error.data().expect("data");
        assert_eq!(
            data.get(),
            format!(r#"{{"supported":["2026-07-28"],"requested":"{version}"}}"#)
        );
    }
}

#[test]
fn a_legacy_message_has_no_version_to_check() {
    assert!(check_version(&Context::new(Era::Legacy)).is_ok());
}
