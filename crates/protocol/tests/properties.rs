//! What holds for any bytes: nothing panics, and what is written is read back.

#![allow(clippy::expect_used, reason = "a test may fail this way")]
#![allow(clippy::panic, reason = "a test may fail this way")]

use conduit_protocol::{
    CallParams, CancelledParams, Code, CompleteParams, Completion, Content, Context, Era, Face,
    Field, GetPromptParams, Implementation, InitializeParams, InputAnswer, InputRequest, ListKind,
    ListParams, ListenParams, Message, Method, Params, ReadParams, ReadResult, RequestId, Retry,
    ServerCapabilities, SetLevelParams, SubscribeParams, TaskAugmentation, TaskParams, Tool,
    ToolName, ToolResult, UpdateTaskParams, WireError, acknowledged, check_method_header,
    check_name_header, check_name_header_of, check_param_headers, check_version,
    check_version_header, classify, classify_notification, decode_header_text, encode_header_text,
    error, limits, list_changed, parse, reflected, resource_updated, trace_list, traceparent,
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
            "uri",
            "ref",
            "argument",
            "context",
            "level",
            "notifications",
            "resourceSubscriptions",
            "protocolVersion",
            "type",
            "properties",
            "items",
            "x-mcp-header",
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
        Ok(Message::Response(_)) => return,
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
    drop(CancelledParams::parse(params));
    drop(InitializeParams::parse(params));
    let params = Params::read(params);
    for method in Method::methods() {
        drop(params.salient(*method));
        drop(check_name_header_of(
            Field::One(b"x"),
            &modern(),
            *method,
            &params,
        ));
    }
    drop(CallParams::read(&params));
    drop(CompleteParams::read(&params));
    drop(GetPromptParams::read(&params));
    drop(ListParams::read(&params));
    drop(ListenParams::read(&params));
    drop(ReadParams::read(&params));
    drop(SetLevelParams::read(&params));
    drop(SubscribeParams::read(&params));
    drop(Retry::read(&params));
    drop(TaskAugmentation::read(&params));
    drop(TaskParams::read(&params));
    drop(UpdateTaskParams::read(&params));
}

fn modern() -> Context {
    let mut context = Context::new(Era::Modern);
    context.version = Some("2026-07-28".into());
    context
}

/// A tool whose argument `a` of this type is repeated in `mcp-param-a`.
fn annotated(kind: &str) -> Tool {
    let schema = format!(
        r#"{{"type":"object","properties":{{"a":{{"type":"{kind}","x-mcp-header":"A"}}}}}}"#
    );
    tool(&schema).expect("a tool")
}

fn tool(schema: &str) -> Option<Tool> {
    let name = ToolName::new("t").expect("a name");
    let schema = RawValue::from_string(schema.to_owned()).expect("valid JSON");
    Tool::new(name, schema).ok()
}

/// Whether a header with this text repeats this argument.
fn repeats(kind: &str, argument: &str, header: &str) -> bool {
    let arguments = RawValue::from_string(format!(r#"{{"a":{argument}}}"#)).expect("valid JSON");
    let fields = |_: &str| Field::One(header.as_bytes());
    check_param_headers(fields, &modern(), &annotated(kind), Some(&arguments)).is_ok()
}

fn face() -> Face {
    Face::new(
        &Implementation::new("demo", "1"),
        &ServerCapabilities::base(),
        None,
        <_>::default(),
    )
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
    fn an_argument_of_text_is_repeated_by_its_header_and_by_no_other(text: String, other: String) {
        let argument = Value::from(text.clone()).to_string();
        prop_assert!(repeats("string", &argument, &encode_header_text(&text)));
        let same = repeats("string", &argument, &encode_header_text(&other));
        prop_assert_eq!(same, text == other);
    }

    #[test]
    fn a_whole_number_is_repeated_however_it_is_written(number: i64, other: i64, zeros in 0_usize..30) {
        let (argument, padding) = (number.to_string(), "0".repeat(zeros));
        for header in [
            format!("{number}.0{padding}"),
            format!("{number}{padding}e-{zeros}"),
            format!("{number}.{padding}0E+0"),
        ] {
            prop_assert!(repeats("integer", &argument, &header), "{}", header);
        }
        let same = repeats("integer", &argument, &other.to_string());
        prop_assert_eq!(same, number == other);
    }

    #[test]
    fn any_header_is_held_against_any_argument(argument in json(), header: String) {
        repeats("string", &argument.to_string(), &header);
    }

    #[test]
    fn any_schema_makes_a_tool_or_is_refused(properties in json(), rest in json()) {
        let schema = format!(r#"{{"type":"object","properties":{properties},"x":{rest}}}"#);
        for param in tool(&schema).iter().flat_map(Tool::header_params) {
            prop_assert!(param.header().starts_with("mcp-param-"));
            prop_assert!(param.path().count() > 0);
        }
    }

    #[test]
    fn arguments_of_a_prompt_are_read_back_as_they_were_written(
        arguments in hash_map(any::<String>(), any::<String>(), 0..6),
    ) {
        let written = serde_json::to_string(&arguments).expect("JSON");
        let text = format!(r#"{{"name":"greet","arguments":{written}}}"#);
        let params = Params::read(Some(serde_json::from_str(&text).expect("valid JSON")));
        let read = GetPromptParams::read(&params).expect("parameters");
        prop_assert_eq!(read.arguments.into_iter().collect::<std::collections::HashMap<_, _>>(), arguments);
    }

    #[test]
    fn a_filter_is_acknowledged_as_it_was_asked_for(
        flags: [bool; 3],
        uris in vec(any::<String>(), 0..6),
    ) {
        let text = serde_json::json!({"notifications": {
            "toolsListChanged": flags[0],
            "promptsListChanged": flags[1],
            "resourcesListChanged": flags[2],
            "resourceSubscriptions": uris,
        }});
        let text = text.to_string();
        let asked = Params::read(Some(serde_json::from_str(&text).expect("valid JSON")));
        let asked = ListenParams::read(&asked).expect("a filter");
        let bytes = acknowledged(&RequestId::from(1), &asked.filter);
        let Ok(Message::Notification(notification)) = parse(&bytes) else {
            panic!("a notification");
        };
        let told = ListenParams::read(&Params::read(notification.params));
        prop_assert_eq!(told.expect("a filter"), asked);
    }

    #[test]
    fn what_changed_is_told_in_one_line_that_names_the_stream(uri: String, id: String) {
        let id = RequestId::from_json(&Value::from(id).to_string()).expect("an id");
        for bytes in [
            resource_updated(&uri, Some(&id)),
            list_changed(ListKind::Tools, Some(&id)),
        ] {
            prop_assert!(!bytes.contains(&b'\n'));
            let message: Value = serde_json::from_slice(&bytes).expect("valid JSON");
            let named = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
            prop_assert_eq!(named.to_string(), id.as_json());
        }
    }

    #[test]
    fn a_resource_and_a_completion_are_read_back_as_they_were_written(text: String) {
        let face = face();
        for era in [Era::Modern, Era::Legacy] {
            let id = RequestId::from(1);
            let read = face.read(era, &id, &ReadResult::text(text.clone(), text.clone()));
            let message: Value = serde_json::from_slice(&read.into_bytes()).expect("valid JSON");
            prop_assert_eq!(&message["result"]["contents"][0]["uri"], &Value::from(text.clone()));
            prop_assert_eq!(&message["result"]["contents"][0]["text"], &Value::from(text.clone()));
            let completion = Completion::new(vec![text.clone()]);
            let complete = face.complete(era, &id, &completion);
            let message: Value =
                serde_json::from_slice(&complete.into_bytes()).expect("valid JSON");
            let value = &message["result"]["completion"]["values"][0];
            prop_assert_eq!(value, &Value::from(text.clone()));
        }
    }

    #[test]
    fn a_retry_asks_the_same_in_any_layout_and_nothing_else_does(one in json(), other in json()) {
        let salient = |arguments: &str| {
            let text = format!(r#"{{"name":"a","arguments":{arguments}}}"#);
            let raw: &RawValue = serde_json::from_str(&text).expect("valid JSON");
            Params::read(Some(raw)).salient(Method::ToolsCall)
        };
        let pretty = serde_json::to_string_pretty(&one).expect("JSON");
        let (plain, different) = (one.to_string(), other.to_string());
        prop_assert_eq!(salient(&plain), salient(&pretty));
        prop_assert_eq!(salient(&plain) == salient(&different), one == other);
    }

    #[test]
    fn any_answer_to_any_question_is_read_or_refused(question in json(), answer in json()) {
        let raw = |value: &Value| RawValue::from_string(value.to_string()).expect("valid JSON");
        drop(InputRequest::from_json(&raw(&question)));
        for question in [
            InputRequest::form("x", raw(&serde_json::json!({"x": question}))),
            InputRequest::url("x", "y"),
            InputRequest::Roots,
        ] {
            drop(InputAnswer::read(&question, &raw(&answer)));
            let json = question.write_json();
            prop_assert!(InputRequest::from_json(&json).is_some());
        }
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
        let result = ToolResult {
            content: vec![Content::text(text.clone())],
            structured_content: Some(value.clone()),
            ..ToolResult::default()
        };
        let bytes = face().call(Era::Modern, &RequestId::from(1), &result).into_bytes();
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
            WireError::unknown_prompt(&text),
            WireError::resource_not_found(Era::Modern, &text),
            WireError::unsupported_version(&text),
        ] {
            let bytes = error(None, &refusal).into_bytes();
            prop_assert!(!bytes.contains(&b'\n'));
            prop_assert!(serde_json::from_slice::<Value>(&bytes).is_ok());
        }
    }
}
