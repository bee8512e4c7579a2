use super::*;
use crate::wire_error::Code;

#[track_caller]
fn request(text: &str) -> (String, String, Option<String>) {
    let Ok(Message::Request(request)) = parse(text.as_bytes()) else {
        panic!("a request");
    };
    (
        request.id.as_json().to_owned(),
        request.method.into_owned(),
        request.params.map(|params| params.get().to_owned()),
    )
}

#[track_caller]
fn refused(text: &str, code: Code, id: Option<&str>) {
    let malformed = parse(text.as_bytes()).expect_err("no message");

    assert_eq!(malformed.error.code, code, "{text}");
    assert_eq!(malformed.id.as_ref().map(RequestId::as_json), id, "{text}");
}

#[test]
fn a_request_keeps_its_parameters_raw() {
    let (id, method, params) =
        request(r#" {"params": {"a": 1.0} ,"id":7,"method":"tools/call","jsonrpc":"2.0"} "#);

    assert_eq!((&*id, &*method), ("7", "tools/call"));
    assert_eq!(params.as_deref(), Some(r#"{"a": 1.0}"#));
}

#[test]
fn a_request_needs_no_parameters() {
    let (_, _, params) = request(r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#);

    assert_eq!(params, None);
}

#[test]
fn a_method_is_read_however_it_is_spelt() {
    let (_, method, _) = request(r#"{"jsonrpc":"2.0","id":1,"method":"\u0070ing"}"#);

    assert_eq!(method, "ping");
}

#[test]
fn unknown_members_are_ignored() {
    let (id, _, _) = request(r#"{"x":[],"x":{},"jsonrpc":"2.0","id":1,"method":"ping"}"#);

    assert_eq!(id, "1");
}

#[test]
fn a_message_without_an_id_is_a_notification() {
    let bytes = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}"#;

    let Ok(Message::Notification(notification)) = parse(bytes) else {
        panic!("a notification");
    };

    assert_eq!(notification.method, "notifications/cancelled");
    assert_eq!(notification.params.map(RawValue::get), Some("[1]"));
}

#[test]
fn a_result_or_an_error_without_a_method_is_a_response() {
    for text in [
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#,
    ] {
        assert!(
            matches!(parse(text.as_bytes()), Ok(Message::Response(_))),
            "{text}"
        );
    }
}

#[test]
fn bytes_that_are_not_json_are_a_parse_error_without_id() {
    for text in [
        "",
        " ",
        "{",
        "nope",
        "[1,",
        "{]",
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}x"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#,
        r#"{"id":01}"#,
    ] {
        refused(text, Code::PARSE_ERROR, None);
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_a_parse_error() {
    let malformed = parse(b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\"}").expect_err("no message");

    assert_eq!(malformed.error.code, Code::PARSE_ERROR);
}

#[test]
fn a_batch_is_an_invalid_request_without_id() {
    for text in ["[]", r#"[{"jsonrpc":"2.0","id":8,"method":"ping"}]"#] {
        refused(text, Code::INVALID_REQUEST, None);
    }
}

#[test]
fn other_json_than_an_object_is_an_invalid_request() {
    for text in ["1", "null", "\"x\"", "true", "1e999", r#""\ud800""#] {
        refused(text, Code::INVALID_REQUEST, None);
    }
}

#[test]
fn a_member_whose_name_is_no_text_is_an_invalid_request() {
    refused(
        r#"{"\ud800":1,"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        Code::INVALID_REQUEST,
        None,
    );
}

#[test]
fn an_id_that_is_neither_string_nor_integer_is_refused_without_id() {
    for id in [
        "null",
        "1.5",
        "1.0",
        "1e2",
        "true",
        "{\"a\":1}",
        "[1]",
        r#""\udc00""#,
    ] {
        refused(
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
            Code::INVALID_REQUEST,
            None,
        );
    }
}

#[test]
fn a_readable_id_is_repeated_whatever_else_is_wrong() {
    for text in [
        r#"{"jsonrpc":"1.0","id":9,"method":"ping"}"#,
        r#"{"id":9,"method":"ping"}"#,
        r#"{"jsonrpc":2.0,"id":9,"method":"ping"}"#,
        r#"{"id":9,"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":null}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"\ud800"}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"ping","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"ping","params":{},"params":{}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"ping","result":{}}"#,
    ] {
        refused(text, Code::INVALID_REQUEST, Some("9"));
    }
}

#[test]
fn an_id_that_occurs_twice_is_not_readable() {
    refused(
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        Code::INVALID_REQUEST,
        None,
    );
}

#[test]
fn parameters_of_a_request_have_to_be_an_object() {
    for params in ["null", "[1]", "\"x\"", "5", "true"] {
        refused(
            &format!(r#"{{"jsonrpc":"2.0","id":"p","method":"ping","params":{params}}}"#),
            Code::INVALID_PARAMS,
            Some("\"p\""),
        );
    }
}

#[test]
fn depth_is_no_matter() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));

    let (id, _, _) = request(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{deep}}}}}"#
    ));

    assert_eq!(id, "1");
}

#[test]
fn only_what_wants_an_answer_has_an_id_to_peek_at() {
    for (text, expected) in [
        (r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#, Some("9")),
        (r#"{"jsonrpc":"1.0","id":9,"method":"ping"}"#, Some("9")),
        (r#"{"jsonrpc":"2.0","method":"ping"}"#, None),
        (r#"{"jsonrpc":"2.0","id":9,"result":{}}"#, None),
        ("nope", None),
    ] {
        let id = peek_id(text.as_bytes());
        assert_eq!(id.as_ref().map(RequestId::as_json), expected, "{text}");
    }
}

#[track_caller]
fn response(text: &str, id: Option<&str>, answer: Result<&str, &str>) {
    let Ok(Message::Response(response)) = parse(text.as_bytes()) else {
        panic!("a response: {text}");
    };

    assert_eq!(response.id.as_ref().map(RequestId::as_json), id, "{text}");
    let found = response.answer.map(RawValue::get).map_err(RawValue::get);
    assert_eq!(found, answer, "{text}");
}

#[test]
fn a_response_says_what_it_answers_and_how() {
    response(
        r#"{"jsonrpc":"2.0","id":"q1","result":{"n": 1.50}}"#,
        Some("\"q1\""),
        Ok(r#"{"n": 1.50}"#),
    );
    response(
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}"#,
        Some("7"),
        Err(r#"{"code":-1,"message":"no"}"#),
    );
}

#[test]
fn a_response_that_cannot_be_read_answers_nothing() {
    for id in ["", r#""id":null,"#, r#""id":1.5,"#, r#""id":{},"#] {
        let text = format!(r#"{{"jsonrpc":"2.0",{id}"result":{{}}}}"#);
        response(&text, None, Ok("{}"));
    }
    response(
        r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#,
        None,
        Err("{}"),
    );
}

#[test]
fn the_id_of_a_response_is_no_id_to_answer() {
    assert_eq!(peek_id(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#), None);
}
