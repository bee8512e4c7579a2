//! Tools that answer at once, with content of each kind.

use conduit::{Content, NoArguments, ResourceContents, ToolBuilder, ToolError, tool};

pub(crate) const PNG: &[u8] = include_bytes!("../../../data/checkers.png");
const WAV: &[u8] = include_bytes!("../../../data/beep.wav");

pub(crate) fn tools() -> [ToolBuilder; 7] {
    [
        say(
            "test_simple_text",
            "Answers with text.",
            || "This is a simple text response for testing.",
        ),
        say("test_image_content", "Answers with a picture.", || {
            Content::image(PNG, "image/png")
        }),
        say("test_audio_content", "Answers with a sound.", || {
            Content::audio(WAV, "audio/wav")
        }),
        say(
            "test_embedded_resource",
            "Answers with a resource and its contents.",
            embedded,
        ),
        say(
            "test_multiple_content_types",
            "Answers with a text, a picture and a resource.",
            mixed,
        ),
        say("test_error_handling", "Fails.", || {
            Err::<(), _>(ToolError::new(
                "This tool intentionally returns an error for testing",
            ))
        }),
        say(
            "tour_resource_link",
            "Answers with a link to a resource.",
            || Content::resource_link("test://static-text", "static-text"),
        ),
    ]
}

fn say<O: conduit::IntoOutcome + Send + 'static>(
    name: &str,
    description: &str,
    answer: fn() -> O,
) -> ToolBuilder {
    tool(name, description, move |_: NoArguments, _| async move {
        answer()
    })
    .read_only(true)
}

fn embedded() -> Content {
    Content::resource(ResourceContents::Text {
        uri: "test://embedded-resource".to_owned(),
        text: "This is an embedded resource content.".to_owned(),
        mime_type: Some("text/plain".to_owned()),
        meta: None,
    })
}

fn mixed() -> Vec<Content> {
    vec![
        Content::text("Multiple content types test:"),
        Content::image(PNG, "image/png"),
        Content::resource(ResourceContents::Text {
            uri: "test://mixed-content-resource".to_owned(),
            text: r#"{"test":"data","value":123}"#.to_owned(),
            mime_type: Some("application/json".to_owned()),
            meta: None,
        }),
    ]
}
