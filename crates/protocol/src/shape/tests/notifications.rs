use super::*;
use crate::id::ProgressToken;
use crate::listen::Filter;
use crate::log_level::LogLevel;

#[track_caller]
fn check_progress(token: &str, amounts: (f64, Option<f64>), expected: &str) {
    let token = ProgressToken::from_json(token).expect("a token");

    let bytes = progress(&token, amounts.0, amounts.1, None).expect("a number");

    let expected =
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{expected}}}"#);
    assert_eq!(str::from_utf8(&bytes).expect("text"), expected);
}

#[test]
fn progress_repeats_its_token_with_its_type() {
    check_progress("0", (1.0, None), r#"{"progressToken":0,"progress":1}"#);
    check_progress(
        "\"0\"",
        (1.0, None),
        r#"{"progressToken":"0","progress":1}"#,
    );
}

#[test]
fn progress_may_have_a_total_and_fractions() {
    check_progress(
        "\"p\"",
        (0.5, Some(2.0)),
        r#"{"progressToken":"p","progress":0.5,"total":2}"#,
    );
}

#[test]
fn amounts_that_json_cannot_say_are_not_sent() {
    let token = ProgressToken::from_json("1").expect("a token");

    assert_eq!(progress(&token, f64::NAN, None, None), None);
    check_progress(
        "1",
        (1.0, Some(f64::INFINITY)),
        r#"{"progressToken":1,"progress":1}"#,
    );
}

#[test]
fn a_log_line_names_its_level() {
    let bytes = log_message(LogLevel::Info, Some("slow"), &json!("half\ndone"));

    assert_eq!(
        str::from_utf8(&bytes).expect("text"),
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"slow","data":"half\ndone"}}"#
    );
}

const TOLD: &str = r#""_meta":{"io.modelcontextprotocol/subscriptionId":"\u0061"}"#;

#[track_caller]
fn check_notification(bytes: &Bytes, method: &str, params: &str) {
    assert_eq!(
        str::from_utf8(bytes).expect("text"),
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}"{params}}}"#)
    );
}

#[test]
fn an_acknowledgement_says_what_is_honoured_and_no_more() {
    let honoured = Filter {
        tools: true,
        resource_uris: vec!["mem://a".into(), "mem://b".into()],
        task_ids: Some(Vec::new()),
        ..Filter::default()
    };
    check_notification(
        &acknowledged(&id(), &honoured),
        "subscriptions/acknowledged",
        &format!(
            r#","params":{{"notifications":{{"toolsListChanged":true,"resourceSubscriptions":["mem://a","mem://b"]}},{TOLD}}}"#
        ),
    );
    check_notification(
        &acknowledged(&RequestId::from(7), &Filter::default()),
        "subscriptions/acknowledged",
        r#","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":7}}"#,
    );
}

#[test]
fn a_filter_that_is_honoured_whole_is_repeated_whole() {
    let honoured = Filter {
        tools: true,
        prompts: true,
        resources: true,
        resource_uris: vec!["mem://a".into()],
        task_ids: Some(vec!["t".into()]),
    };

    assert_eq!(
        serde_json::to_string(&honoured).expect("JSON"),
        r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["mem://a"],"taskIds":["t"]}"#
    );
}

#[test]
fn a_changed_list_names_the_stream_that_tells_or_has_no_parameters() {
    for (kind, method) in [
        (ListKind::Tools, "tools/list_changed"),
        (ListKind::Prompts, "prompts/list_changed"),
        (ListKind::Resources, "resources/list_changed"),
    ] {
        let told = format!(r#","params":{{{TOLD}}}"#);
        check_notification(&list_changed(kind, Some(&id())), method, &told);
        check_notification(&list_changed(kind, None), method, "");
    }
}

#[test]
fn a_changed_resource_is_named_by_its_uri() {
    check_notification(
        &resource_updated("mem://\"a\"", Some(&id())),
        "resources/updated",
        &format!(r#","params":{{"uri":"mem://\"a\"",{TOLD}}}"#),
    );
    check_notification(
        &resource_updated("mem://a", None),
        "resources/updated",
        r#","params":{"uri":"mem://a"}"#,
    );
}
