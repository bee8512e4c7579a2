//! What holds for any bytes: nothing panics, and what is written is read back.

#![allow(clippy::expect_used, reason = "a test may fail this way")]
#![allow(clippy::panic, reason = "a test may fail this way")]

use conduit_protocol::{
    CallParams, CancelledParams, Code, Content, Era, Face, Field, Implementation, InitializeParams,
    ListParams, Message, RequestId, ServerCapabilities, ToolResult, WireError, check_method_header,
    check_name_header, check_version, check_version_header, classify, classify_notification,
    decode_header_text, encode_header_text, error, limits, parse, reflected, trace_list,
    traceparent,
};
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Any JSON, a few levels deep.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            hash_map(key(), inner, 0..6).prop_map(|members| Map::from_iter(members).into()),
        ]
    })
}

/// Keys that mean something, and others.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "_meta",
            "io.modelcontextprotocol/protocolVersion",
            "io.modelcontextprotocol/clientCapabilities",
            "io.modelcontextprotocol/clientInfo",
            "io.modelcontextprotocol/logLevel",
            "progressToken",
            "traceparent",
            "name",
            "arguments",
            "requestId",
            "reason",
            "cursor",
            "protocolVersion",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ]
}

/// Something like a message: known members with any values.
fn envelope() -> impl Strategy<Value = Value> {
    let member = prop::sample::select(vec![
        "jsonrpc", "id", "method", "params", "result", "error", "extra",
    ]);
    let value = prop_oneof![
        json(),
        Just(Value::from("2.0")),
        Just(Value::from("tools/call")),
    ];
    vec((member, value), 0..8).prop_map(|members| {
        let members = members
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        Map::from_iter(members).into()
    })
}

/// Does everything with a message that a transport would do before routing it.
fn take_in(bytes: &[u8], header: Option<&str>) {
    let (method, params) = match parse(bytes) {
        Ok(Message::Request(request)) => (request.method, request.params),
        Ok(Message::Notification(notification)) => (notification.method, notification.params),
        Ok(Message::Response) => return,
        Err(malformed) => {
            let rendered = error(malformed.id.as_ref(), &malformed.error).into_bytes();
            serde_json::from_slice::<Value>(&rendered).expect("valid JSON");
            return;
        }
    };
    if let Ok(context) = classify(&method, params, header) {
        drop(check_version(&context));
        let field = header.map_or(Field::Absent, |value| Field::One(value.as_bytes()));
        drop(check_version_header(field, &context));
        drop(check_method_header(field, &context, &method));
        drop(check_name_header(field, &context, Some(&method)));
    }
    drop(classify_notification(&method, params, header));
    drop(CallParams::parse(params));
    drop(CancelledParams::parse(params));
    drop(InitializeParams::parse(params));
    drop(ListParams::parse(params));
}

fn with_params(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
}

proptest! {
    #[test]
    fn any_bytes_are_taken_in_or_refused(bytes in vec(any::<u8>(), 0..256), header: Option<String>) {
        take_in(&bytes, header.as_deref());
    }

    #[test]
    fn any_text_as_parameters_is_taken_in_or_refused(text in r#"[\[\]{}",:\\0-9a-z_ -]{0,64}"#) {
        take_in(with_params(&text).as_bytes(), Some("2026-07-28"));
    }

    #[test]
    fn anything_like_a_message_is_taken_in_or_refused(message in envelope(), header: Option<String>) {
        take_in(message.to_string().as_bytes(), header.as_deref());
    }

    #[test]
    fn any_parameters_are_classified_or_refused(params in json()) {
        take_in(with_params(&params.to_string()).as_bytes(), None);
    }

    #[test]
    fn a_valid_request_keeps_id_method_and_parameters(
        id in prop_oneof![any::<i64>().prop_map(Value::from), any::<String>().prop_map(Value::from)],
        method: String,
        params in hash_map(key(), json(), 0..6),
    ) {
        let params: Value = Map::from_iter(params).into();
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{params}}}"#,
            Value::from(method.clone()),
        );
        let Ok(Message::Request(request)) = parse(text.as_bytes()) else {
            panic!("a request");
        };
        prop_assert_eq!(request.id.as_json(), id.to_string());
        prop_assert_eq!(&*request.method, &*method);
        prop_assert_eq!(request.params.map(RawValue::get), Some(&*params.to_string()));
    }

    #[test]
    fn a_readable_id_of_a_bad_message_is_repeated(id in any::<i64>(), rest in json()) {
        let text = format!(r#"{{"id":{id},"jsonrpc":"1.0","method":{rest}}}"#);
        let malformed = parse(text.as_bytes()).expect_err("no message");
        prop_assert_eq!(malformed.error.code, Code::INVALID_REQUEST);
        prop_assert_eq!(malformed.id, Some(RequestId::from_json(&id.to_string()).expect("an id")));
    }

    #[test]
    fn an_id_equals_itself_however_it_is_spelt(text: String) {
        let plain = Value::from(text.clone()).to_string();
        let escaped: String = text
            .encode_utf16()
            .map(|unit| format!("\\u{unit:04x}"))
            .collect();
        let plain = RequestId::from_json(&plain).expect("an id");
        let escaped = RequestId::from_json(&format!("\"{escaped}\"")).expect("an id");
        prop_assert_eq!(plain, escaped);
    }

    #[test]
    fn an_id_is_equal_to_no_other(one: String, other: String) {
        let id = |text: &str| RequestId::from_json(&Value::from(text).to_string()).expect("an id");
        prop_assert_eq!(id(&one) == id(&other), one == other);
    }

    #[test]
    fn header_text_is_read_back_as_it_was_written(text: String) {
        let value = encode_header_text(&text).into_owned();
        let field = Field::One(value.as_bytes());
        let sent = field.text().expect("printable");
        let decoded = decode_header_text(sent).expect("decodable");
        prop_assert_eq!(decoded, text);
    }

    #[test]
    fn any_header_text_is_decoded_or_refused(value in r"(=\?base64\?)?[ -~]{0,24}(\?=)?") {
        drop(decode_header_text(&value));
    }

    #[test]
    fn what_is_reflected_is_short_and_has_no_control_characters(text: String) {
        let shown = reflected(&text, limits::REFLECTED_CHARS);
        prop_assert!(shown.chars().count() <= limits::REFLECTED_CHARS);
        prop_assert!(!shown.chars().any(char::is_control));
    }

    #[test]
    fn a_trace_is_kept_as_it_was_or_dropped(text in "[0-9a-f-]{50,60}|.{0,80}") {
        prop_assert!(traceparent(&text).is_none_or(|kept| kept == text));
        prop_assert!(trace_list(&text).is_none_or(|kept| kept == text));
    }

    #[test]
    fn a_result_is_read_back_as_it_was_written(text: String, value in json()) {
        let face = Face::new(
            &Implementation::new("demo", "1"),
            &ServerCapabilities::base(),
            None,
            <_>::default(),
        );
        let result = ToolResult {
            content: vec![Content::text(text.clone())],
            structured_content: Some(value.clone()),
            ..ToolResult::default()
        };
        let bytes = face.call(Era::Modern, &RequestId::from(1), &result).into_bytes();
        prop_assert!(!bytes.contains(&b'\n'));
        let message: Value = serde_json::from_slice(&bytes).expect("valid JSON");
        prop_assert_eq!(&message["result"]["content"][0]["text"], &Value::from(text));
        let read = message["result"]["structuredContent"].to_string();
        prop_assert_eq!(read, value.to_string());
    }

    #[test]
    fn an_error_about_any_text_is_one_line_of_json(text: String) {
        for refusal in [
            WireError::method_not_found(&text),
            WireError::unknown_tool(&text),
            WireError::unsupported_version(&text),
        ] {
            let bytes = error(None, &refusal).into_bytes();
            prop_assert!(!bytes.contains(&b'\n'));
            prop_assert!(serde_json::from_slice::<Value>(&bytes).is_ok());
        }
    }
}
