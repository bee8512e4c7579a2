//! Tools that change the server, or say that it has changed.

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::{Context, Edit, Editor, NoArguments, ToolBuilder, ToolError, resource, tool};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
pub(crate) struct Touch {
    /// The resource that has changed.
    uri: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Announce {
    list: List,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde", rename_all = "lowercase")]
#[schemars(crate = "conduit::schemars")]
enum List {
    Tools,
    Resources,
    Prompts,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde", rename_all = "lowercase")]
#[schemars(crate = "conduit::schemars")]
struct Change {
    /// Tools to add, which say that they did.
    #[serde(default)]
    add: Vec<String>,
    /// Tools to remove.
    #[serde(default)]
    remove: Vec<String>,
    /// Resources to add, by their URIs.
    #[serde(default)]
    publish: Vec<String>,
    /// Resources to remove.
    #[serde(default)]
    withdraw: Vec<String>,
}

pub(crate) fn tools(editor: Editor) -> [ToolBuilder; 3] {
    [
        tool(
            "touch_resource",
            "Tells that a resource has changed.",
            touch,
        ),
        tool(
            "announce_change",
            "Tells that a list has changed.",
            announce,
        ),
        tool(
            "change_server",
            "Adds and removes tools and resources, in the process that is called.",
            move |arguments: Change, _| {
                let changed = change(&editor, arguments);
                async move {
                    changed?.await;
                    Ok::<_, ToolError>("changed")
                }
            },
        ),
    ]
}

pub(crate) async fn touch(arguments: Touch, context: Context) -> &'static str {
    context.changes().resource_updated(arguments.uri).await;
    "told"
}

async fn announce(arguments: Announce, context: Context) -> &'static str {
    let changes = context.changes();
    match arguments.list {
        List::Tools => changes.tools(),
        List::Resources => changes.resources(),
        List::Prompts => changes.prompts(),
    }
    .await;
    "told"
}

fn change(editor: &Editor, change: Change) -> Result<conduit::Published, conduit::InvalidServer> {
    let mut edit = Edit::new();
    for name in change.remove {
        edit = edit.without_tool(name);
    }
    for uri in change.withdraw {
        edit = edit.without_resource(uri);
    }
    for name in change.add {
        let answer = format!("{name}: done");
        edit = edit.tool(tool(name, "Says that it did.", move |_: NoArguments, _| {
            let answer = answer.clone();
            async move { answer }
        }));
    }
    for uri in change.publish {
        let text = format!("The text of {uri}.");
        edit = edit.resource(resource(uri, "added", move |_| {
            let text = text.clone();
            async move { text }
        }));
    }
    editor.apply(edit)
}
