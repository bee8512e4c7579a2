use super::*;
use crate::complete::Completion;
use crate::content::{Content, ResourceContents};
use crate::get_prompt::{PromptMessage, PromptResult};
use crate::read::ReadResult;

/// Checks a result in both eras: the modern members stand around those of both.
#[track_caller]
fn check_result<T: Shaped + Clone>(result: &T, both: &str, modern: &str) {
    let outcome = Outcome::from(result.clone());
    check(
        face().outcome(Era::Modern, &id(), &outcome),
        &answer(&format!(
            r#"{{"resultType":"complete",{both}{modern},"_meta":{INFO}}}}}"#
        )),
    );
    check(
        face().outcome(Era::Legacy, &id(), &outcome),
        &answer(&format!("{{{both}}}")),
    );
}

#[test]
fn a_read_without_hints_may_not_be_kept() {
    check_result(
        &ReadResult::text("mem://a", "hello"),
        r#""contents":[{"uri":"mem://a","text":"hello"}]"#,
        r#","ttlMs":0,"cacheScope":"private""#,
    );
}

#[test]
fn a_read_has_hints_of_its_own_and_several_parts() {
    let result = ReadResult {
        cache: Some(CacheHints {
            ttl_ms: 5000,
            scope: CacheScope::Public,
        }),
        ..ReadResult::new(vec![
            ResourceContents::text("mem://a", "").with_mime_type("text/plain"),
            ResourceContents::blob("mem://b", b"x"),
        ])
    };
    check_result(
        &result,
        r#""contents":[{"uri":"mem://a","text":"","mimeType":"text/plain"},{"uri":"mem://b","blob":"eA=="}]"#,
        r#","ttlMs":5000,"cacheScope":"public""#,
    );
}

#[test]
fn metadata_of_a_read_and_of_a_prompt_stands_beside_ours() {
    let meta = Some(Meta::new(Map::from_iter([("a".to_owned(), json!(1))])));
    let read = ReadResult {
        meta: meta.clone(),
        ..ReadResult::default()
    };
    let prompt = PromptResult {
        meta,
        ..PromptResult::default()
    };
    check(
        face().read(Era::Modern, &id(), &read),
        &answer(&format!(
            r#"{{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"private","_meta":{INFO},"a":1}}}}"#
        )),
    );
    check(
        face().read(Era::Legacy, &id(), &read),
        &answer(r#"{"contents":[],"_meta":{"a":1}}"#),
    );
    check(
        face().prompt(Era::Modern, &id(), &prompt),
        &answer(&format!(
            r#"{{"resultType":"complete","messages":[],"_meta":{INFO},"a":1}}}}"#
        )),
    );
    check(
        face().prompt(Era::Legacy, &id(), &prompt),
        &answer(r#"{"messages":[],"_meta":{"a":1}}"#),
    );
}

#[test]
fn a_prompt_has_messages_of_two_roles_and_no_hints() {
    let result = PromptResult {
        description: Some("Greets.".into()),
        ..PromptResult::new(vec![
            PromptMessage::user(Content::text("Hi")),
            PromptMessage::assistant(Content::image(b"x", "image/png")),
        ])
    };
    check_result(
        &result,
        r#""description":"Greets.","messages":[{"role":"user","content":{"type":"text","text":"Hi"}},{"role":"assistant","content":{"type":"image","data":"eA==","mimeType":"image/png"}}]"#,
        "",
    );
    check_result(
        &PromptResult::text("Hi"),
        r#""messages":[{"role":"user","content":{"type":"text","text":"Hi"}}]"#,
        "",
    );
}

#[test]
fn a_completion_has_values_and_no_hints() {
    check_result(
        &Completion::new(vec!["Ada".into()]),
        r#""completion":{"values":["Ada"]}"#,
        "",
    );
}

#[test]
fn the_end_of_a_listen_stream_names_the_stream() {
    check(
        face().listen_end(&id()),
        &answer(&format!(
            r#"{{"resultType":"complete","_meta":{INFO},"io.modelcontextprotocol/subscriptionId":"\u0061"}}}}"#
        )),
    );
}
