use serde_json::json;

use super::*;
use crate::content::{Content, MediaBlock, ResourceContents, Role};
use crate::meta::Meta;
use crate::tool_name::ToolName;
use crate::tools::{Tool, ToolAnnotations};
use crate::wire_error::Code;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("valid JSON")
}

fn form() -> InputRequest {
    InputRequest::form(
        "Name?",
        raw("{\n \"type\": \"object\", \"properties\": {} }"),
    )
}

fn url() -> InputRequest {
    InputRequest::url("Connect", "https://s.example/c")
}

fn sampling() -> SamplingRequest {
    SamplingRequest::new(vec![SamplingMessage::user(SamplingContent::text("hi"))], 50)
}

fn with_tools() -> SamplingRequest {
    let tool = Tool::new(
        ToolName::new("add").expect("a name"),
        raw(r#"{"type":"object"}"#),
    );
    SamplingRequest {
        tools: vec![tool.expect("a tool")],
        ..sampling()
    }
}

fn with_context(context: IncludeContext) -> SamplingRequest {
    SamplingRequest {
        include_context: Some(context),
        ..sampling()
    }
}

#[test]
fn a_question_may_be_asked_where_all_that_it_needs_is_declared() {
    let choice = SamplingRequest {
        tool_choice: Some(ToolChoice::default()),
        ..sampling()
    };
    for (request, declared, undeclared) in [
        (
            form(),
            r#"{"elicitation":{}}"#,
            r#"{"elicitation":{"url":{}}}"#,
        ),
        (form(), r#"{"elicitation":{"form":{},"url":{}}}"#, "{}"),
        (
            url(),
            r#"{"elicitation":{"url":{}}}"#,
            r#"{"elicitation":{}}"#,
        ),
        (
            sampling().into(),
            r#"{"sampling":{}}"#,
            r#"{"elicitation":{}}"#,
        ),
        (
            with_tools().into(),
            r#"{"sampling":{"tools":{}}}"#,
            r#"{"sampling":{}}"#,
        ),
        (
            choice.into(),
            r#"{"sampling":{"tools":{}}}"#,
            r#"{"sampling":{"context":{}}}"#,
        ),
        (
            with_context(IncludeContext::ThisServer).into(),
            r#"{"sampling":{"context":{}}}"#,
            r#"{"sampling":{"tools":{}}}"#,
        ),
        (
            with_context(IncludeContext::None).into(),
            r#"{"sampling":{}}"#,
            "{}",
        ),
        (
            InputRequest::Roots,
            r#"{"roots":{"listChanged":true}}"#,
            "{}",
        ),
    ] {
        let client = |text| ClientCapabilities::from_json(text).expect("an object");
        assert!(request.is_declared(&client(declared)), "{declared}");
        assert!(!request.is_declared(&client(undeclared)), "{undeclared}");
    }
}

#[test]
fn what_is_missing_is_named_all_at_once() {
    let all_servers = with_context(IncludeContext::AllServers);
    let (form, url, roots) = (form(), url(), InputRequest::Roots);
    let (plain, tools, context) = (
        InputRequest::from(sampling()),
        InputRequest::from(with_tools()),
        InputRequest::from(all_servers),
    );
    for (undeclared, expected) in [
        (vec![], json!({})),
        (vec![&form], json!({"elicitation": {}})),
        (vec![&url], json!({"elicitation": {"url": {}}})),
        (
            vec![&url, &form],
            json!({"elicitation": {"form": {}, "url": {}}}),
        ),
        (vec![&plain], json!({"sampling": {}})),
        (vec![&plain, &tools], json!({"sampling": {"tools": {}}})),
        (
            vec![&context, &tools],
            json!({"sampling": {"tools": {}, "context": {}}}),
        ),
        (
            vec![&form, &plain, &form, &roots],
            json!({"elicitation": {}, "sampling": {}, "roots": {}}),
        ),
    ] {
        let required = InputRequest::required_capabilities(&undeclared);

        assert_eq!(required, expected);
    }
}

#[test]
fn what_is_required_is_enough() {
    let requests = [
        form(),
        url(),
        with_tools().into(),
        with_context(IncludeContext::ThisServer).into(),
        InputRequest::Roots,
    ];

    let required = InputRequest::required_capabilities(&requests.each_ref());

    let client = ClientCapabilities::from_json(&required.to_string()).expect("an object");
    for request in &requests {
        assert!(request.is_declared(&client), "{request:?}");
    }
}

#[track_caller]
fn written(request: &InputRequest, expected: &str) {
    let json = request.write_json();

    assert_eq!(json.get(), expected);
    let back = InputRequest::from_json(&json).expect("a question");
    assert_eq!(back.write_json().get(), expected);
}

#[test]
fn a_question_is_read_back_as_it_was_written() {
    written(
        &form(),
        r#"{"method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"type":"object","properties":{}}}}"#,
    );
    written(
        &url(),
        r#"{"method":"elicitation/create","params":{"mode":"url","message":"Connect","url":"https://s.example/c"}}"#,
    );
    written(
        &sampling().into(),
        r#"{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":50}}"#,
    );
    written(&InputRequest::Roots, r#"{"method":"roots/list"}"#);
}

/// A sampling with every member that it can have.
pub(crate) fn full_sampling() -> SamplingRequest {
    let meta = || Meta::from_raw(raw(r#"{"a":1.50}"#)).ok();
    let mut tool = Tool::new(
        ToolName::new("add").expect("a name"),
        raw(r#"{"type":"object"}"#),
    )
    .and_then(|tool| tool.with_output_schema(raw(r#"{"type":"object"}"#)))
    .expect("a tool");
    tool.title = Some("Add".into());
    tool.description = Some("Adds.".into());
    tool.annotations = Some(ToolAnnotations {
        read_only_hint: Some(true),
        ..ToolAnnotations::default()
    });
    tool.meta = meta();
    let media = MediaBlock {
        data: "eA==".into(),
        mime_type: "image/png".into(),
        annotations: None,
        meta: meta(),
    };
    let call = ToolUseBlock {
        id: "c1".into(),
        name: "add".into(),
        input: raw("{\n \"n\": 123456789012345678901 }"),
        meta: meta(),
    };
    let result = ToolResultBlock {
        tool_use_id: "c1".into(),
        content: vec![
            Content::text("3"),
            Content::audio(b"x", "audio/wav"),
            Content::resource_link("mem://a", "a"),
            Content::resource(ResourceContents::text("mem://a", "x")),
            Content::resource(ResourceContents::blob("mem://b", b"x").with_mime_type("x/y")),
        ],
        structured_content: Some(Map::from_iter([("sum".to_owned(), json!(3))])),
        is_error: true,
        meta: meta(),
    };
    SamplingRequest {
        messages: vec![
            SamplingMessage {
                role: Role::User,
                content: vec![
                    SamplingContent::text("hi"),
                    SamplingContent::Image(media.clone()),
                    SamplingContent::Audio(media),
                ],
            },
            SamplingMessage::assistant(SamplingContent::ToolUse(call)),
            SamplingMessage::user(SamplingContent::ToolResult(result)),
        ],
        model_preferences: Some(ModelPreferences {
            hints: vec![ModelHint {
                name: Some("m".into()),
            }],
            cost_priority: Some(0.0),
            speed_priority: Some(0.5),
            intelligence_priority: Some(1.0),
        }),
        system_prompt: Some("Be brief.".into()),
        include_context: Some(IncludeContext::ThisServer),
        temperature: Some(0.7),
        stop_sequences: vec![".".into()],
        metadata: Some(Map::from_iter([("x".to_owned(), json!([1]))])),
        tools: vec![tool],
        tool_choice: Some(ToolChoice {
            mode: Some(ToolChoiceMode::Required),
        }),
        ..sampling()
    }
}

#[test]
fn a_sampling_with_every_member_loses_none_on_its_way_through_a_record() {
    let request = InputRequest::from(full_sampling());

    let json = request.write_json();

    let back = InputRequest::from_json(&json).expect("a question");
    assert_eq!(back.write_json().get(), json.get());
    assert!(
        json.get()
            .contains(r#""input":{"n":123456789012345678901}"#)
    );
    assert!(!json.get().contains('\n'));
}

#[test]
fn other_json_is_no_question() {
    for text in [
        "null",
        "{}",
        r#"{"method":"tools/list"}"#,
        r#"{"method":"elicitation/create"}"#,
        r#"{"method":"elicitation/create","params":{"message":"x"}}"#,
        r#"{"method":"elicitation/create","params":{"message":"x","requestedSchema":[]}}"#,
        r#"{"method":"elicitation/create","params":{"mode":"url","message":"x"}}"#,
        r#"{"method":"elicitation/create","params":{"mode":"novel","message":"x","url":"y"}}"#,
        r#"{"method":"sampling/createMessage","params":{"messages":[]}}"#,
    ] {
        assert!(InputRequest::from_json(&raw(text)).is_none(), "{text}");
    }
}

fn id() -> crate::id::RequestId {
    crate::id::RequestId::from_json("\"q1\"").expect("an id")
}

#[track_caller]
fn asks(request: &InputRequest, version: &str, params: Option<&str>) {
    let rendered = request.server_request(&id(), version, Some("e1"), None);

    let text =
        rendered.map(|rendered| String::from_utf8(rendered.into_bytes().to_vec()).expect("text"));
    let expected = params.map(|params| {
        let method = request.method();
        format!(r#"{{"jsonrpc":"2.0","id":"q1","method":"{method}"{params}}}"#)
    });
    assert_eq!(text, expected);
}

#[test]
fn a_form_says_its_mode_where_there_is_another() {
    let rest = r#""message":"Name?","requestedSchema":{"type":"object","properties":{}}}"#;

    asks(
        &form(),
        "2025-11-25",
        Some(&format!(r#","params":{{"mode":"form",{rest}"#)),
    );
    asks(
        &form(),
        "2025-06-18",
        Some(&format!(r#","params":{{{rest}"#)),
    );
}

#[test]
fn a_url_is_asked_with_an_id_and_in_one_version_alone() {
    asks(
        &url(),
        "2025-11-25",
        Some(
            r#","params":{"mode":"url","message":"Connect","url":"https://s.example/c","elicitationId":"e1"}"#,
        ),
    );
    asks(&url(), "2025-06-18", None);
    let without = url().server_request(&id(), "2025-11-25", None, None);
    assert!(without.is_none());
}

#[test]
fn a_sampling_is_asked_as_far_as_the_version_knows_it() {
    let plain = r#","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":50}"#;
    asks(&sampling().into(), "2025-11-25", Some(plain));
    asks(&sampling().into(), "2025-06-18", Some(plain));
    let two_blocks = SamplingRequest {
        messages: vec![SamplingMessage {
            role: Role::User,
            content: vec![SamplingContent::text("a"), SamplingContent::text("b")],
        }],
        ..sampling()
    };
    for request in [two_blocks, with_tools(), full_sampling()] {
        let request = InputRequest::from(request);
        let asked = |version| request.server_request(&id(), version, None, None);
        assert!(asked("2025-11-25").is_some());
        assert!(asked("2025-06-18").is_none());
    }
}

#[test]
fn roots_are_asked_for_without_parameters() {
    asks(&InputRequest::Roots, "2025-11-25", Some(""));
    asks(&InputRequest::Roots, "2025-06-18", Some(""));
}

#[test]
fn a_version_without_such_requests_has_none() {
    for request in [form(), sampling().into(), InputRequest::Roots] {
        asks(&request, "2026-07-28", None);
        asks(&request, "2024-11-05", None);
    }
}

#[test]
fn a_task_that_asks_is_named() {
    let task = uuid::Uuid::nil();
    let expected = json!({"io.modelcontextprotocol/related-task": {"taskId": task}});
    for request in [form(), url(), sampling().into(), InputRequest::Roots] {
        let rendered = request.server_request(&id(), "2025-11-25", Some("e1"), Some(task));

        let bytes = rendered.expect("a request").into_bytes();
        let message: Value = serde_json::from_slice(&bytes).expect("valid JSON");
        assert_eq!(message["params"]["_meta"], expected);
    }
}

fn answer(request: &InputRequest, text: &str) -> Result<InputAnswer, crate::WireError> {
    InputAnswer::read(request, &raw(text))
}

#[test]
fn an_accepted_form_is_read_with_what_was_filled_in() {
    let read = answer(
        &form(),
        r#"{"action":"accept","content":{"n": 1.50},"_meta":{}}"#,
    );

    let Ok(InputAnswer::Elicited(elicited)) = read else {
        panic!("an answer");
    };
    assert_eq!(elicited.action, ElicitAction::Accept);
    let content = elicited.content.expect("content");
    assert_eq!(content.get(), r#"{"n": 1.50}"#);
}

#[test]
fn only_an_accepted_form_has_content() {
    for (request, text, action) in [
        (form(), r#"{"action":"decline"}"#, ElicitAction::Decline),
        (
            form(),
            r#"{"action":"cancel","content":null}"#,
            ElicitAction::Cancel,
        ),
        (url(), r#"{"action":"accept"}"#, ElicitAction::Accept),
        (
            url(),
            r#"{"action":"accept","content":{"a":1}}"#,
            ElicitAction::Accept,
        ),
    ] {
        let Ok(InputAnswer::Elicited(elicited)) = answer(&request, text) else {
            panic!("an answer: {text}");
        };
        assert_eq!(elicited.action, action);
        assert!(elicited.content.is_none(), "{text}");
    }
}

#[test]
fn what_a_model_said_is_read_in_one_block_or_several() {
    let one = r#"{"role":"assistant","content":{"type":"text","text":"hello"},"model":"m"}"#;
    let Ok(InputAnswer::Sampled(sampled)) = answer(&sampling().into(), one) else {
        panic!("an answer");
    };
    assert_eq!((sampled.role, &*sampled.model), (Role::Assistant, "m"));
    assert!(matches!(&*sampled.content, [SamplingContent::Text(block)] if block.text == "hello"));
    assert_eq!(sampled.stop_reason, None);

    let two = r#"{"role":"assistant","model":"m","stopReason":"toolUse","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"c","name":"add","input":{"n":123456789012345678901},"_meta":{"sig":1}}]}"#;
    let Ok(InputAnswer::Sampled(sampled)) = answer(&sampling().into(), two) else {
        panic!("an answer");
    };
    let [_, SamplingContent::ToolUse(call)] = &*sampled.content else {
        panic!("two blocks");
    };
    assert_eq!(call.input.get(), r#"{"n":123456789012345678901}"#);
    assert_eq!(call.meta.as_ref().map(Meta::as_json), Some(r#"{"sig":1}"#));
    assert_eq!(sampled.stop_reason.as_deref(), Some("toolUse"));
}

#[test]
fn roots_are_read_with_their_names() {
    let text = r#"{"roots":[{"uri":"file:///w","name":"W"},{"uri":"file:///x","novel":1}]}"#;

    let Ok(InputAnswer::Roots(roots)) = answer(&InputRequest::Roots, text) else {
        panic!("an answer");
    };

    let expected = [("file:///w", Some("W")), ("file:///x", None)];
    let found = roots.iter().map(|root| (&*root.uri, root.name.as_deref()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn an_answer_of_another_shape_is_refused_and_never_repeated() {
    let sampling = InputRequest::from(sampling());
    let said = |content: &str| format!(r#"{{"role":"user","model":"m","content":{content}}}"#);
    for (request, text, place) in [
        (&form(), "\"secret\"", "an object"),
        (&form(), "[]", "an object"),
        (&form(), "{}", "`action`"),
        (&form(), r#"{"action":"secret"}"#, "`action`"),
        (&form(), r#"{"action":true}"#, "`action`"),
        (&form(), r#"{"action":"accept"}"#, "`content`"),
        (
            &form(),
            r#"{"action":"accept","content":"secret"}"#,
            "`content`",
        ),
        (
            &form(),
            r#"{"action":"accept","content":null}"#,
            "`content`",
        ),
        (
            &form(),
            r#"{"action":"accept","content":{},"content":{}}"#,
            "`content`",
        ),
        (&url(), r#"{"action":"secret"}"#, "`action`"),
        (&sampling, "{}", "`role`"),
        (&sampling, r#"{"role":"secret"}"#, "`role`"),
        (&sampling, r#"{"role":"user","model":"m"}"#, "`content`"),
        (&sampling, &said("\"secret\""), "`content`"),
        (&sampling, &said(r#"{"type":"secret"}"#), "`content`"),
        (&sampling, &said(r#"[{"type":"text"}]"#), "`content`"),
        (
            &sampling,
            &said(r#"{"type":"resource_link","uri":"secret","name":"x"}"#),
            "`content`",
        ),
        (
            &sampling,
            &said(r#"{"type":"tool_use","id":"c","name":"x","input":"secret"}"#),
            "`content`",
        ),
        (
            &sampling,
            r#"{"role":"user","content":[],"model":5}"#,
            "`model`",
        ),
        (
            &sampling,
            r#"{"role":"user","content":[],"model":"m","stopReason":5}"#,
            "`stopReason`",
        ),
        (&InputRequest::Roots, "{}", "`roots`"),
        (&InputRequest::Roots, r#"{"roots":{}}"#, "`roots`"),
        (&InputRequest::Roots, r#"{"roots":["secret"]}"#, "`roots`"),
        (
            &InputRequest::Roots,
            r#"{"roots":[{"name":"secret"}]}"#,
            "`roots`",
        ),
    ] {
        let error = answer(request, text).expect_err("a refusal");

        assert_eq!(error.code, Code::INVALID_PARAMS, "{text}");
        assert!(error.message.contains(place), "{text}: {}", error.message);
        assert!(!error.message.contains("secret"), "{}", error.message);
    }
}
