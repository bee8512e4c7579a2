//! Prompts with content of each kind.

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::{
    Content, Context, NoArguments, PromptBuilder, PromptMessage, ResourceContents, ToolError, form,
    prompt,
};

use crate::content::PNG;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Two {
    /// The first argument.
    arg1: String,
    /// The second argument.
    arg2: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde", rename_all = "camelCase")]
#[schemars(crate = "conduit::schemars")]
struct Embed {
    /// The URI of the resource to embed.
    resource_uri: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct UserContext {
    context: String,
}

pub(crate) fn prompts() -> [PromptBuilder; 5] {
    [
        prompt(
            "test_simple_prompt",
            "Says something.",
            |_: NoArguments, _| async { "This is a simple prompt for testing." },
        ),
        prompt(
            "test_prompt_with_arguments",
            "Repeats two arguments.",
            with_arguments,
        )
        .suggest("arg1", ["paris", "park", "party"]),
        prompt(
            "test_prompt_with_embedded_resource",
            "Shows a resource.",
            with_resource,
        ),
        prompt("test_prompt_with_image", "Shows a picture.", with_image),
        prompt(
            "test_input_required_result_prompt",
            "Asks for a context, and repeats it.",
            with_context,
        ),
    ]
}

async fn with_arguments(arguments: Two, _context: Context) -> String {
    let Two { arg1, arg2 } = arguments;
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

async fn with_resource(arguments: Embed, _context: Context) -> [PromptMessage; 2] {
    let resource = ResourceContents::Text {
        uri: arguments.resource_uri,
        text: "Embedded resource content for testing.".to_owned(),
        mime_type: Some("text/plain".to_owned()),
        meta: None,
    };
    [
        PromptMessage::user(Content::resource(resource)),
        PromptMessage::user(Content::text("Please process the embedded resource above.")),
    ]
}

async fn with_image(_: NoArguments, _context: Context) -> [PromptMessage; 2] {
    [
        PromptMessage::user(Content::image(PNG, "image/png")),
        PromptMessage::user(Content::text("Please analyze the image above.")),
    ]
}

async fn with_context(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let question = form::<UserContext>("user_context", "What context should the prompt use?");
    let context = context.ask(question)?.accepted()?.context;
    Ok(format!("Use this context: {context}"))
}
