use std::time::Duration;

use bytes::Bytes;
use conduit_protocol::{Content, InvalidTool, Lists, Outcome, TaskSupport, Tool, ToolName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::trial::{context, run};
use crate::{
    Arguments, InvalidSchema, Json, NoArguments, Policy, Run, TaskPolicy, ToolError, blocking_tool,
    prompt, raw_tool, tool,
};

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first.
    a: i64,
    /// The second.
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

async fn add(arguments: Add, _context: Context) -> Result<Json<Sum>, ToolError> {
    match arguments.a.checked_add(arguments.b) {
        Some(sum) => Ok(Json(Sum { sum })),
        None => Err(ToolError::new("too large")),
    }
}

fn nothing(name: &str) -> ToolBuilder {
    tool(name, "Does nothing", |_: NoArguments, _| async {})
}

async fn call(toolbox: &Toolbox, tool: usize, arguments: &str) -> Outcome {
    let arguments = Arguments::new(Bytes::copy_from_slice(arguments.as_bytes()));
    run(toolbox.catalog().entries().tools[tool].call(arguments, context())).await
}

#[track_caller]
fn text(outcome: &Outcome) -> &str {
    let Outcome::Complete(result) = outcome else {
        panic!("{outcome:?}");
    };
    let [Content::Text(block)] = result.content.as_slice() else {
        panic!("{result:?}");
    };
    &block.text
}

#[track_caller]
fn refused(tools: impl IntoIterator<Item = ToolBuilder>) -> InvalidServer {
    Toolbox::builder("test", "1")
        .tools(tools)
        .build()
        .expect_err("a mistake")
}

#[tokio::test]
async fn a_typed_tool_lists_its_schemas_and_answers() {
    let toolbox = Toolbox::builder("test", "1")
        .tool(tool("add", "Adds", add).title("Add"))
        .build()
        .expect("a toolbox");

    let outcome = call(&toolbox, 0, r#"{"a":1,"b":2,"c":"ignored"}"#).await;

    let catalog = toolbox.catalog();
    let definition = &catalog.entries().tools[0].definition;
    assert_eq!(definition.title.as_deref(), Some("Add"));
    assert_eq!(
        definition.input_schema().get(),
        concat!(
            r#"{"properties":{"a":{"description":"The first.","type":"integer"},"#,
            r#""b":{"description":"The second.","type":"integer"}},"#,
            r#""required":["a","b"],"type":"object"}"#
        )
    );
    assert_eq!(
        definition.output_schema().map(RawValue::get),
        Some(r#"{"properties":{"sum":{"type":"integer"}},"required":["sum"],"type":"object"}"#)
    );
    assert_eq!(text(&outcome), r#"{"sum":3}"#);
}

#[tokio::test]
async fn arguments_that_break_the_schema_never_reach_the_function() {
    let toolbox = Toolbox::builder("test", "1")
        .tool(tool("never", "Panics", |_: Add, _| async {
            panic!("called") as String
        }))
        .build()
        .expect("a toolbox");

    let outcome = call(&toolbox, 0, r#"{"a":1}"#).await;

    assert!(text(&outcome).ends_with("\n- /b: is required, and missing"));
}

#[tokio::test]
async fn a_tool_without_arguments_refuses_any() {
    let toolbox = Toolbox::builder("test", "1")
        .tool(nothing("nothing"))
        .build()
        .expect("a toolbox");

    assert_eq!(
        toolbox.catalog().entries().tools[0]
            .definition
            .input_schema()
            .get(),
        r#"{"additionalProperties":false,"type":"object"}"#
    );
    assert!(text(&call(&toolbox, 0, r#"{"a":1}"#).await).contains("- /a: is not expected"));
    assert!(matches!(
        call(&toolbox, 0, "{}").await,
        Outcome::Complete(_)
    ));
}

#[tokio::test]
async fn a_raw_tool_is_listed_as_it_is_and_held_to_its_schema() {
    let schema = r#"{"type":"object","properties":{"z":{"const":1},"a":true},"required":["z"]}"#;
    let schema = RawValue::from_string(schema.to_owned()).expect("JSON");
    let name = ToolName::new("raw").expect("a name");
    let definition = Tool::new(name, schema.clone()).expect("a definition");
    let toolbox = Toolbox::builder("test", "1")
        .tool(raw_tool(definition.clone(), |value: Value, _| async move {
            value.to_string()
        }))
        .build()
        .expect("a toolbox");

    assert_eq!(
        toolbox.catalog().entries().tools[0]
            .definition
            .input_schema()
            .get(),
        schema.get()
    );
    assert_eq!(text(&call(&toolbox, 0, r#"{"z":1}"#).await), r#"{"z":1}"#);
    assert!(text(&call(&toolbox, 0, r#"{"z":2}"#).await).contains("- /z: 1 was expected"));
}

#[tokio::test]
async fn a_function_can_have_its_arguments_as_text() {
    let toolbox = Toolbox::builder("test", "1")
        .tool(blocking_tool("raw", "Shows", |arguments: Arguments, _| {
            String::from_utf8_lossy(arguments.as_bytes()).into_owned()
        }))
        .build()
        .expect("a toolbox");

    let outcome = call(&toolbox, 0, r#"{ "b": 18446744073709551615 }"#).await;

    assert_eq!(text(&outcome), r#"{"b":18446744073709551615}"#);
}

#[test]
fn a_tool_says_how_it_is_to_be_treated() {
    let second = Duration::from_secs(1);
    let toolbox = Toolbox::builder("test", "1")
        .tool(nothing("default"))
        .tool(
            nothing("own")
                .inline()
                .time_limit(second)
                .concurrency(NonZeroUsize::MIN)
                .grace(second),
        )
        .tool(blocking_tool("blocking", "Blocks", |_: NoArguments, _| ()).never_aborted())
        .build()
        .expect("a toolbox");

    let catalog = toolbox.catalog();
    let tools = catalog.entries().tools.iter();
    let policies: Vec<_> = tools.map(|entry| &entry.policy).collect();
    assert_eq!(
        policies,
        [
            &Policy::new(Run::Pool),
            &Policy {
                run: Run::Inline,
                time_limit: Some(second),
                concurrency: Some(NonZeroUsize::MIN),
                grace: Some(second),
                streams: false,
                once: false,
                task: TaskPolicy::default(),
            },
            &Policy {
                grace: None,
                ..Policy::new(Run::Blocking)
            },
        ]
    );
}

#[test]
fn hints_are_only_listed_when_they_were_given() {
    let toolbox = Toolbox::builder("test", "1")
        .tool(nothing("silent"))
        .tool(nothing("open").read_only(true).open_world(false))
        .build()
        .expect("a toolbox");

    let catalog = toolbox.catalog();
    let tools = catalog.entries().tools.iter();
    let hints: Vec<_> = tools
        .map(|entry| serde_json::to_value(&entry.definition.annotations).expect("JSON"))
        .collect();
    assert_eq!(
        hints,
        [
            json!(null),
            json!({"readOnlyHint": true, "openWorldHint": false})
        ]
    );
}

#[test]
fn a_name_that_is_none_is_refused() {
    assert!(matches!(
        refused([nothing("no spaces")]),
        InvalidServer::Name(_)
    ));
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let mistake = refused([nothing("a"), nothing("b"), nothing("a")]);

    assert_eq!(mistake.to_string(), "two tools are called `a`");
}

#[test]
fn arguments_that_are_no_object_are_refused() {
    let mistake = refused([tool("list", "", |_: Vec<u8>, _| async {})]);

    assert!(matches!(
        mistake,
        InvalidServer::InputSchema {
            source: InvalidSchema::NotAnObject,
            ..
        }
    ));
}

#[test]
fn a_schema_that_refers_elsewhere_is_refused() {
    let schema = r#"{"type":"object","$ref":"https://example.com/schema"}"#;
    let schema = RawValue::from_string(schema.to_owned()).expect("JSON");
    let name = ToolName::new("raw").expect("a name");
    let definition = Tool::new(name, schema).expect("a definition");

    let mistake = refused([raw_tool(definition, |_: Value, _| async {})]);

    assert!(
        matches!(mistake, InvalidServer::InputSchema { .. }),
        "{mistake}"
    );
}

#[test]
fn an_output_schema_that_cannot_be_used_is_refused() {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).expect("JSON");
    let definition = Tool::new(
        ToolName::new("raw").expect("a name"),
        raw(r#"{"type":"object"}"#),
    )
    .and_then(|tool| tool.with_output_schema(raw(r#"{"type":"nonsense"}"#)))
    .expect("a definition");

    let mistake = refused([raw_tool(definition, |_: Value, _| async {})]);

    assert!(
        matches!(mistake, InvalidServer::OutputSchema { .. }),
        "{mistake}"
    );
}

#[test]
fn what_becomes_a_server_may_still_be_a_builder() {
    fn serve(server: impl IntoServer) -> usize {
        server
            .into_server()
            .expect("a server")
            .catalog()
            .entries()
            .tools
            .len()
    }

    let builder = || Toolbox::builder("test", "1").tool(nothing("a"));

    assert_eq!(serve(builder()), 1);
    assert_eq!(serve(builder().build()), 1);
    assert_eq!(serve(builder().build().expect("a toolbox")), 1);
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Routed {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

#[test]
fn an_argument_may_go_into_a_header_too() {
    let toolbox = Toolbox::builder("test", "1")
        .tool(tool("near", "", |_: Routed, _| async {}))
        .build()
        .expect("a toolbox");

    let catalog = toolbox.catalog();
    let schema = catalog.entries().tools[0].definition.input_schema().get();
    assert!(schema.contains(r#""x-mcp-header":"Region""#), "{schema}");
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Misrouted {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: Vec<String>,
}

#[test]
fn an_argument_that_fits_into_no_header_is_refused() {
    let mistake = refused([tool("near", "", |_: Misrouted, _| async {})]);

    assert!(
        matches!(
            mistake,
            InvalidServer::Definition {
                source: InvalidTool::HeaderType { .. },
                ..
            }
        ),
        "{mistake}"
    );
}

#[test]
fn a_toolbox_offers_what_it_has_and_what_its_author_says() {
    let ask = || prompt("a", "", |_: NoArguments, _| async { "x" }).optional("b", "");
    let offers = |builder: ToolboxBuilder| builder.build().expect("a toolbox").offers();
    let builder = || Toolbox::builder("test", "1");

    assert_eq!(offers(builder().prompt(ask())), Offers::default());
    assert_eq!(
        offers(
            builder()
                .prompt(ask().suggest("b", ["c"]))
                .logging()
                .resource_updates()
                .list_changes()
        ),
        Offers {
            completions: true,
            logging: true,
            subscribe: true,
            tasks: false,
            lists: Lists { list_changed: true },
        }
    );
    assert!(
        offers(builder().when_served(drop)).lists.list_changed,
        "what can be edited may change"
    );
}

#[test]
fn a_toolbox_offers_tasks_if_a_tool_has_some_or_its_author_says_so() {
    let offered = |builder: ToolboxBuilder| {
        let toolbox = builder.build().expect("a toolbox");
        toolbox.offers().overlay(toolbox.capabilities()).tasks
    };
    let builder = || Toolbox::builder("test", "1").tool(nothing("call"));
    let task = || nothing("task").task(TaskSupport::Optional);
    let declared = || ServerCapabilities {
        tools: Some(Lists::default()),
        tasks: true,
        ..ServerCapabilities::default()
    };

    assert!(!offered(builder()));
    assert!(offered(builder().tool(task())));
    assert!(offered(builder().tasks(true)));
    assert!(!offered(builder().tool(task()).tasks(false)));
    assert!(offered(builder().capabilities(declared())));
    assert!(!offered(builder().capabilities(declared()).tasks(false)));
}

#[test]
fn an_edit_does_not_change_whether_there_are_tasks() {
    let mut builder = Toolbox::builder("test", "1");
    let editor = builder.editor();
    let toolbox = builder.build().expect("a toolbox");

    let task = nothing("task").task(TaskSupport::Required);
    drop(editor.apply(Edit::new().tool(task)).expect("an edit"));

    assert!(toolbox.catalog().has_tasks());
    assert!(!toolbox.offers().tasks);
}

#[test]
fn a_tool_says_how_its_calls_are_tasks() {
    let minute = Duration::from_mins(1);
    let toolbox = Toolbox::builder("test", "1")
        .tool(
            nothing("long")
                .task(TaskSupport::Required)
                .asks_first()
                .restartable()
                .task_ttl(minute)
                .task_poll(minute)
                .once(),
        )
        .build()
        .expect("a toolbox");

    let catalog = toolbox.catalog();
    let tool = &catalog.entries().tools[0];
    assert!(tool.policy.once);
    assert_eq!(
        tool.policy.task,
        TaskPolicy {
            support: TaskSupport::Required,
            asks_first: true,
            restartable: true,
            ttl: Some(minute),
            poll: Some(minute),
        }
    );
    assert_eq!(tool.definition.task_support, TaskSupport::Required);
}

#[test]
fn a_raw_tool_is_a_task_as_its_definition_says() {
    let schema = RawValue::from_string(r#"{"type":"object"}"#.to_owned()).expect("JSON");
    let name = ToolName::new("raw").expect("a name");
    let mut definition = Tool::new(name, schema).expect("a definition");
    definition.task_support = TaskSupport::Optional;

    let toolbox = Toolbox::builder("test", "1")
        .tool(raw_tool(definition, |_: Value, _| async {}))
        .build()
        .expect("a toolbox");

    let catalog = toolbox.catalog();
    let tool = &catalog.entries().tools[0];
    assert_eq!(tool.policy.task.support, TaskSupport::Optional);
    assert_eq!(tool.definition.task_support, TaskSupport::Optional);
}
