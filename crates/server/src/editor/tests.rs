use bytes::Bytes;
use conduit_protocol::Outcome;

use super::*;
use crate::trial::{builder, built, context, listen, read, run};
use crate::{
    Arguments, NoArguments, PromptArguments, ResourceBuilder, Server, ToolBuilder, ToolError,
    prompt, resource, template, tool,
};

fn say(name: &str) -> ToolBuilder {
    let text = name.to_owned();
    tool(name, "Says its name", move |_: NoArguments, _| {
        let text = text.clone();
        async move { text }
    })
}

fn page(uri: &str) -> ResourceBuilder {
    resource(uri, "page", |_| async { "text" })
}

fn tool_names(server: &impl Server) -> Vec<String> {
    let catalog = server.catalog();
    let tools = catalog.entries().tools.iter();
    tools.map(|tool| tool.definition.name.to_string()).collect()
}

#[tokio::test]
async fn an_edit_changes_what_there_is_and_tells_it() {
    let mut builder = builder()
        .tool(say("a"))
        .tool(say("b"))
        .resource(page("x://a"));
    let editor = builder.editor();
    let toolbox = built(builder);
    let heard = listen(&toolbox);
    let before = toolbox.catalog();

    let edit = Edit::new()
        .without_tool("a")
        .tool(say("c"))
        .template(template("x://{id}", "x", |id: String, _| async { id }))
        .prompt(prompt("p", "", |_: PromptArguments, _| async { "p" }));
    editor.apply(edit).expect("an edit").await;

    assert_eq!(tool_names(&toolbox), ["b", "c"]);
    assert_eq!(read(&toolbox.catalog(), "x://b").await[0]["text"], "b");
    assert!(toolbox.catalog().version() > before.version());
    drop(toolbox);
    assert_eq!(
        heard.iter().collect::<Vec<_>>(),
        [Change::Tools, Change::Resources, Change::Prompts]
    );
}

#[tokio::test]
async fn what_was_listed_before_an_edit_stays_what_it_was() {
    let mut builder = builder().tool(say("a"));
    let editor = builder.editor();
    let toolbox = built(builder);
    let before = toolbox.catalog();

    editor
        .apply(Edit::new().without_tool("a"))
        .expect("an edit")
        .await;

    let entry = before.tool("a").expect("a tool");
    let outcome = run(entry.call(Arguments::none(), context())).await;
    assert!(matches!(outcome, Outcome::Complete(_)), "{outcome:?}");
    assert!(toolbox.catalog().tool("a").is_none());
}

#[test]
fn an_edit_that_cannot_be_served_changes_nothing() {
    let mut builder = builder().tool(say("a"));
    let editor = builder.editor();
    let toolbox = built(builder);
    let heard = listen(&toolbox);

    for edit in [
        Edit::new().tool(say("b")).tool(say("a")),
        Edit::new().tool(say("b")).resource(page("no uri")),
        Edit::new().without_tool("a").tool(say("no name")),
    ] {
        editor.apply(edit).expect_err("a mistake");
    }

    assert_eq!(tool_names(&toolbox), ["a"]);
    drop(toolbox);
    assert_eq!(heard.iter().count(), 0);
}

#[test]
fn a_thing_can_be_replaced_in_one_edit() {
    let mut builder = builder().resource(page("x://a"));
    let editor = builder.editor();
    let toolbox = built(builder);

    let edit = Edit::new()
        .without_resource("x://a")
        .resource(page("x://a").title("New"));
    editor.apply(edit).expect("an edit");

    let catalog = toolbox.catalog();
    let title = catalog
        .resource("x://a")
        .expect("it")
        .definition
        .title
        .clone();
    assert_eq!(title.as_deref(), Some("New"));
}

#[test]
fn what_is_not_there_leaves_without_a_word() {
    let mut builder = builder();
    let editor = builder.editor();
    let toolbox = built(builder);
    let heard = listen(&toolbox);
    let before = toolbox.catalog().version();

    let edit = Edit::new()
        .without_tool("a")
        .without_resource("x://a")
        .without_template("x://{id}")
        .without_prompt("p");
    editor.apply(edit).expect("an edit");

    assert_eq!(toolbox.catalog().version(), before);
    drop(toolbox);
    assert_eq!(heard.iter().count(), 0);
}

#[tokio::test]
async fn a_tool_edits_the_server_that_it_is_of() {
    let mut builder = builder();
    let editor = builder.editor();
    let toolbox = built(
        builder.tool(tool("learn", "Learns", move |_: NoArguments, _| {
            let editor = editor.clone();
            async move {
                editor.apply(Edit::new().tool(say("new")))?.await;
                Ok::<_, ToolError>("learned")
            }
        })),
    );

    let work = toolbox.catalog().entries().tools[0]
        .call(Arguments::new(Bytes::from_static(b"{}")), context());
    let outcome = run(work).await;

    assert!(matches!(outcome, Outcome::Complete(_)), "{outcome:?}");
    assert_eq!(tool_names(&toolbox), ["learn", "new"]);
}

#[test]
fn what_watches_the_world_starts_once_when_the_server_does() {
    let toolbox = built(builder().when_served(|editor| {
        editor
            .apply(Edit::new().tool(say("seen")))
            .expect("an edit");
    }));
    assert_eq!(tool_names(&toolbox), [""; 0]);

    let heard = listen(&toolbox);
    listen(&toolbox);

    assert_eq!(tool_names(&toolbox), ["seen"]);
    drop(toolbox);
    assert_eq!(heard.iter().collect::<Vec<_>>(), [Change::Tools]);
}

#[test]
fn an_editor_outlives_its_server_to_no_effect() {
    let mut builder = builder();
    let editor = builder.editor();
    drop(built(builder));

    assert!(editor.apply(Edit::new().tool(say("late"))).is_ok());
}

#[test]
fn edits_at_the_same_time_are_all_made() {
    let mut builder = builder();
    let editor = builder.editor();
    let toolbox = built(builder);

    std::thread::scope(|scope| {
        for thread in 0..4 {
            let editor = editor.clone();
            scope.spawn(move || {
                for number in 0..10 {
                    let edit = Edit::new().tool(say(&format!("t{thread}-{number}")));
                    editor.apply(edit).expect("an edit");
                }
            });
        }
    });

    assert_eq!(tool_names(&toolbox).len(), 40);
}
