use serde_json::value::RawValue;

use super::*;
use crate::prompts::{Prompt, PromptArgument};
use crate::resources::{Resource, ResourceTemplate};
use crate::tool_name::ToolName;
use crate::tools::{TaskSupport, Tool};

fn tool(name: &str, output: Option<&str>) -> Tool {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).expect("valid JSON");
    let tool = Tool::new(
        ToolName::new(name).expect("a name"),
        raw(r#"{"type":"object"}"#),
    );
    let tool = tool.expect("a tool");
    match output {
        Some(schema) => tool.with_output_schema(raw(schema)).expect("a schema"),
        None => tool,
    }
}

#[track_caller]
fn check_page<T: Listed>(items: &[T], next: Option<&str>, modern: &str, legacy: &str) {
    let hints = CacheHints {
        ttl_ms: 5000,
        scope: CacheScope::Public,
    };
    let page = |era| Page::render(era, items, next, hints, &face()).respond(&id());
    check(
        page(Era::Modern),
        &answer(&format!(
            r#"{{"resultType":"complete",{modern},"ttlMs":5000,"cacheScope":"public","_meta":{INFO}}}}}"#
        )),
    );
    check(page(Era::Legacy), &answer(&format!("{{{legacy}}}")));
}

#[test]
fn a_list_may_be_empty() {
    check_page::<Tool>(&[], None, r#""tools":[]"#, r#""tools":[]"#);
}

#[test]
fn a_list_keeps_its_order_and_says_where_it_goes_on() {
    let shown = concat!(
        r#""tools":[{"name":"b","inputSchema":{"type":"object"}},"#,
        r#"{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"p2""#
    );
    let tools = [tool("b", None), tool("a", None)];

    check_page(&tools, Some("p2"), shown, shown);
}

#[test]
fn an_output_schema_of_another_type_is_shown_to_modern_clients_alone() {
    let tools = [tool("n", Some(r#"{"type":"integer"}"#))];

    check_page(
        &tools,
        None,
        r#""tools":[{"name":"n","inputSchema":{"type":"object"},"outputSchema":{"type":"integer"}}]"#,
        r#""tools":[{"name":"n","inputSchema":{"type":"object"}}]"#,
    );
}

#[test]
fn an_output_schema_of_objects_is_shown_to_both_eras() {
    let tools = [tool("n", Some(r#"{"type":"object"}"#))];
    let shown = r#""tools":[{"name":"n","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]"#;

    check_page(&tools, None, shown, shown);
}

#[test]
fn a_page_is_shared_and_never_copied() {
    let page = ToolsPage::render(Era::Modern, [], None, CacheHints::default(), &face());

    let (_, first) = page.respond(&RequestId::from(1)).into_parts();
    let (_, second) = page.respond(&RequestId::from(2)).into_parts();

    let (first, second) = (first.expect("a tail"), second.expect("a tail"));
    assert_eq!(first.as_ptr(), second.as_ptr());
}

#[track_caller]
fn check_same_page<T: Listed>(items: &[T], list: &str) {
    check_page(
        items,
        Some("p2"),
        &format!(r#"{list},"nextCursor":"p2""#),
        &format!(r#"{list},"nextCursor":"p2""#),
    );
}

#[test]
fn resources_are_shown_alike_in_both_eras() {
    let sized = Resource {
        mime_type: Some("text/plain".into()),
        size: Some(5),
        ..Resource::new("mem://b", "b")
    };

    check_same_page(
        &[Resource::new("mem://a", "a"), sized],
        r#""resources":[{"uri":"mem://a","name":"a"},{"uri":"mem://b","name":"b","mimeType":"text/plain","size":5}]"#,
    );
}

#[test]
fn templates_are_shown_alike_in_both_eras() {
    check_same_page(
        &[ResourceTemplate::new("mem://{id}", "item")],
        r#""resourceTemplates":[{"uriTemplate":"mem://{id}","name":"item"}]"#,
    );
}

#[test]
fn prompts_are_shown_alike_in_both_eras() {
    let greet = Prompt {
        arguments: vec![
            PromptArgument::required("who"),
            PromptArgument::optional("how"),
        ],
        ..Prompt::new("greet")
    };

    check_same_page(
        &[greet, Prompt::new("bye")],
        r#""prompts":[{"name":"greet","arguments":[{"name":"who","required":true},{"name":"how"}]},{"name":"bye"}]"#,
    );
}

#[test]
fn a_tool_shows_its_task_support_to_one_dialect_alone() {
    for (support, shown) in [
        (TaskSupport::Forbidden, ""),
        (
            TaskSupport::Optional,
            r#","execution":{"taskSupport":"optional"}"#,
        ),
        (
            TaskSupport::Required,
            r#","execution":{"taskSupport":"required"}"#,
        ),
    ] {
        let mut tools = [tool("n", None)];
        for tool in &mut tools {
            tool.task_support = support;
        }
        let hints = CacheHints::default();
        let page = Page::render_for(Dialect::LegacyWithTasks, &tools, None, hints, &face());
        check(
            page.respond(&id()),
            &answer(&format!(
                r#"{{"tools":[{{"name":"n","inputSchema":{{"type":"object"}}{shown}}}]}}"#
            )),
        );
        for era in [Era::Modern, Era::Legacy] {
            let page = Page::render(era, &tools, None, hints, &face()).respond(&id());
            let bytes = page.into_bytes();
            let text = str::from_utf8(&bytes).expect("text");
            assert!(!text.contains("execution"), "{text}");
        }
    }
}
