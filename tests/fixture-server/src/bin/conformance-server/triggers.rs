//! Tools that tell of changes.

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::{Context, NoArguments, ToolBuilder, tool};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Touch {
    /// The resource that has changed.
    uri: String,
}

pub(crate) fn tools() -> [ToolBuilder; 3] {
    [
        tool(
            "test_trigger_tool_change",
            "Tells that the list of tools has changed.",
            tools_changed,
        ),
        tool(
            "test_trigger_prompt_change",
            "Tells that the list of prompts has changed.",
            prompts_changed,
        ),
        tool(
            "tour_touch_resource",
            "Tells that a resource has changed.",
            touch,
        ),
    ]
}

async fn tools_changed(_: NoArguments, context: Context) -> &'static str {
    context.changes().tools().await;
    "The list of tools has changed."
}

async fn prompts_changed(_: NoArguments, context: Context) -> &'static str {
    context.changes().prompts().await;
    "The list of prompts has changed."
}

async fn touch(arguments: Touch, context: Context) -> String {
    let uri = arguments.uri;
    context.changes().resource_updated(uri.as_str()).await;
    format!("The resource {uri} has changed.")
}
