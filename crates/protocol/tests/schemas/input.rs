//! Questions to clients.

use conduit_protocol::{
    Content, IncludeContext, InputRequest, LEGACY_VERSIONS, MediaBlock, ModelHint,
    ModelPreferences, RequestId, Role, SamplingContent, SamplingMessage, SamplingRequest,
    ToolChoice, ToolChoiceMode, ToolResultBlock, ToolUseBlock,
};
use serde_json::{Map, Value, json};

use crate::sample::{blocks, face, id, meta, raw, tools};
use crate::{fits, fits_result, json_of};

const NEWEST: &str = "2025-11-25";

/// Forms with every kind of field that each of the versions knows.
fn forms() -> Vec<InputRequest> {
    let old = r#"{"type":"object","properties":{
        "s":{"type":"string","title":"S","minLength":1,"maxLength":9,"format":"email"},
        "n":{"type":"integer","minimum":1,"maximum":9},
        "b":{"type":"boolean","default":true},
        "e":{"type":"string","enum":["a","b"],"enumNames":["A","B"]}
    },"required":["s"]}"#;
    let empty = r#"{"type":"object","properties":{}}"#;
    [old, empty]
        .map(|schema| InputRequest::form("Who are you?", raw(schema)))
        .into()
}

fn new_form() -> InputRequest {
    InputRequest::form(
        "Which?",
        raw(
            r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{
                "o":{"type":"string","oneOf":[{"const":"a","title":"A"}],"default":"a"},
                "m":{"type":"array","items":{"type":"string","enum":["a"]},"minItems":1},
                "t":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"default":["a"]}
            }}"#,
        ),
    )
}

/// A sampling that every version knows.
fn plain_sampling() -> SamplingRequest {
    let media = MediaBlock {
        data: "eA==".into(),
        mime_type: "audio/wav".into(),
        annotations: None,
        meta: Some(meta()),
    };
    let messages = vec![
        SamplingMessage::user(SamplingContent::text("hi")),
        SamplingMessage::assistant(SamplingContent::Image(media.clone())),
        SamplingMessage::user(SamplingContent::Audio(media)),
    ];
    SamplingRequest {
        model_preferences: Some(ModelPreferences {
            hints: vec![
                ModelHint {
                    name: Some("m".into()),
                },
                ModelHint::default(),
            ],
            cost_priority: Some(0.0),
            speed_priority: Some(0.5),
            intelligence_priority: Some(1.0),
        }),
        system_prompt: Some("Be brief.".into()),
        include_context: Some(IncludeContext::AllServers),
        temperature: Some(0.7),
        stop_sequences: vec![".".into()],
        metadata: Some(Map::from_iter([("x".to_owned(), json!([1]))])),
        ..SamplingRequest::new(messages, 50)
    }
}

fn sampling_with_tools() -> SamplingRequest {
    let call = ToolUseBlock {
        id: "c1".into(),
        name: "add".into(),
        input: raw(r#"{"a":1}"#),
        meta: Some(meta()),
    };
    let mut content = blocks();
    content.push(Content::text("3"));
    let result = ToolResultBlock {
        tool_use_id: "c1".into(),
        content,
        structured_content: Some(Map::from_iter([("sum".to_owned(), json!(3))])),
        is_error: true,
        meta: Some(meta()),
    };
    let several = SamplingMessage {
        role: Role::User,
        content: vec![SamplingContent::text("a"), SamplingContent::text("b")],
    };
    let messages = vec![
        several,
        SamplingMessage::assistant(SamplingContent::ToolUse(call)),
        SamplingMessage::user(SamplingContent::ToolResult(result)),
    ];
    SamplingRequest {
        messages,
        tools: tools(),
        tool_choice: Some(ToolChoice {
            mode: Some(ToolChoiceMode::Auto),
        }),
        include_context: Some(IncludeContext::None),
        ..plain_sampling()
    }
}

fn url() -> InputRequest {
    InputRequest::url("Connect", "https://s.example/c?x=1")
}

/// Every kind of question, and the definition that it fits.
fn questions() -> Vec<(&'static str, InputRequest)> {
    let mut questions: Vec<_> = forms()
        .into_iter()
        .map(|form| ("ElicitRequest", form))
        .collect();
    questions.extend([
        ("ElicitRequest", new_form()),
        ("ElicitRequest", url()),
        ("CreateMessageRequest", plain_sampling().into()),
        ("CreateMessageRequest", sampling_with_tools().into()),
        ("ListRootsRequest", InputRequest::Roots),
    ]);
    questions
}

#[test]
fn a_question_fits_the_modern_version_and_the_tasks_extension() {
    for (definition, question) in questions() {
        let json: Value = serde_json::from_str(question.write_json().get()).expect("valid JSON");
        for version in ["2026-07-28", "ext-tasks-draft"] {
            fits(version, definition, &json);
            fits(version, "InputRequest", &json);
        }
    }
}

#[test]
fn a_question_that_was_kept_still_fits() {
    for (definition, question) in questions() {
        let json = question.write_json();
        let back = InputRequest::from_json(&json).expect("a question");
        assert_eq!(back.write_json().get(), json.get(), "{definition}");
    }
}

#[test]
fn a_result_with_questions_fits() {
    let requests: Vec<_> = questions()
        .into_iter()
        .enumerate()
        .map(|(place, (_, question))| (format!("q{place}"), question))
        .collect();
    for (requests, token) in [
        (&requests[..], Some("v1.sealed")),
        (&requests, None),
        (&[], Some("v1.sealed")),
    ] {
        let rendered = face().input_required(&id(), requests, token);
        fits_result("2026-07-28", "InputRequiredResult", rendered.clone());
        for response in ["CallToolResultResponse", "GetPromptResultResponse"] {
            fits("2026-07-28", response, &json_of(rendered.clone()));
        }
    }
}

#[track_caller]
fn fits_request(version: &str, definition: &str, request: &InputRequest) {
    let id = RequestId::from(7);
    for task in [None, Some(uuid::Uuid::nil())] {
        let rendered = request.server_request(&id, version, Some("e1"), task);
        let message = json_of(rendered.expect("a request"));
        fits(version, "JSONRPCMessage", &message);
        fits(version, "JSONRPCRequest", &message);
        fits(version, "ServerRequest", &message);
        fits(version, definition, &message);
    }
}

#[test]
fn what_each_legacy_version_knows_it_is_asked_in_its_shape() {
    for version in LEGACY_VERSIONS {
        for form in forms() {
            fits_request(version, "ElicitRequest", &form);
        }
        fits_request(version, "CreateMessageRequest", &plain_sampling().into());
        fits_request(version, "ListRootsRequest", &InputRequest::Roots);
    }
}

#[test]
fn what_2025_11_25_alone_knows_it_is_asked_in_its_shape() {
    for (definition, question) in questions() {
        fits_request(NEWEST, definition, &question);
    }
}
