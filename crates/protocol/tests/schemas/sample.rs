//! Things with every member that they can have.

use conduit_protocol::{
    Annotations, CacheHints, CacheScope, Content, Face, Icon, Implementation, Lists, Meta, Prompt,
    PromptArgument, RequestId, Resource, ResourceContents, ResourceTemplate, Resources, Role,
    ServerCapabilities, Theme, Tool, ToolAnnotations, ToolName,
};
use serde_json::value::RawValue;
use serde_json::{Map, json};

pub(crate) fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).expect("valid JSON")
}

pub(crate) fn meta() -> Meta {
    Meta::new(Map::from_iter([("com.example/a".to_owned(), json!([1]))]))
}

pub(crate) fn icon() -> Icon {
    Icon {
        mime_type: Some("image/png".into()),
        sizes: vec!["48x48".into(), "any".into()],
        theme: Some(Theme::Dark),
        ..Icon::new("https://example.com/a.png")
    }
}

pub(crate) fn annotations() -> Box<Annotations> {
    Box::new(Annotations {
        audience: vec![Role::User, Role::Assistant],
        priority: Some(0.5),
        last_modified: Some("2026-01-12T15:00:58Z".into()),
    })
}

pub(crate) fn face() -> Face {
    let implementation = Implementation {
        title: Some("Demo".into()),
        description: Some("Shows things.".into()),
        website_url: Some("https://example.com/".into()),
        icons: vec![icon()],
        ..Implementation::new("demo", "1.0.0")
    };
    let capabilities = ServerCapabilities {
        tools: Some(Lists { list_changed: true }),
        resources: Some(Resources {
            subscribe: true,
            list_changed: false,
        }),
        prompts: Some(Lists::default()),
        completions: true,
        logging: true,
        tasks: true,
        extensions: Map::from_iter([("com.example/x".to_owned(), json!({}))]),
    };
    let hints = CacheHints {
        ttl_ms: 60_000,
        scope: CacheScope::Public,
    };
    Face::new(&implementation, &capabilities, Some("Be brief."), hints)
}

pub(crate) fn id() -> RequestId {
    RequestId::from(7)
}

fn full_tool() -> Tool {
    let input = raw(
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}"#,
    );
    let output =
        raw(r#"{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}"#);
    let tool = Tool::new(ToolName::new("add").expect("a name"), input).expect("a tool");
    let mut tool = tool.with_output_schema(output).expect("a schema");
    tool.title = Some("Add".into());
    tool.description = Some("Adds numbers.".into());
    tool.icons = vec![icon()];
    tool.meta = Some(meta());
    tool.annotations = Some(ToolAnnotations {
        title: Some("Add".into()),
        read_only_hint: Some(true),
        destructive_hint: Some(false),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    });
    tool
}

pub(crate) fn tools() -> Vec<Tool> {
    let plain = Tool::new(
        ToolName::new("plain").expect("a name"),
        raw(r#"{"type":"object"}"#),
    );
    let list = plain.clone().expect("a tool");
    let list = list.with_output_schema(raw(r#"{"type":"array","items":{"type":"integer"}}"#));
    vec![full_tool(), plain.expect("a tool"), list.expect("a schema")]
}

pub(crate) fn blocks() -> Vec<Content> {
    let mut text = Content::text("hello");
    if let Content::Text(block) = &mut text {
        block.annotations = Some(annotations());
        block.meta = Some(meta());
    }
    let mut link = Content::resource_link("mem://a", "a");
    if let Content::ResourceLink(link) = &mut link {
        link.title = Some("A".into());
        link.description = Some("The first.".into());
        link.mime_type = Some("text/plain".into());
        link.size = Some(5);
        link.icons = vec![icon()];
        link.meta = Some(meta());
    }
    vec![
        text,
        Content::image(&[1, 2, 3], "image/png"),
        Content::audio(&[1, 2, 3], "audio/wav"),
        link,
        Content::resource(ResourceContents::text("mem://a", "x")),
        Content::resource(ResourceContents::Blob {
            uri: "mem://b".into(),
            blob: "eA==".into(),
            mime_type: Some("application/octet-stream".into()),
            meta: Some(meta()),
        }),
    ]
}

pub(crate) fn resources() -> Vec<Resource> {
    let full = Resource {
        title: Some("A".into()),
        description: Some("The first.".into()),
        mime_type: Some("text/plain".into()),
        size: Some(5),
        icons: vec![icon()],
        annotations: Some(annotations()),
        meta: Some(meta()),
        ..Resource::new("mem://a", "a")
    };
    vec![full, Resource::new("mem://b", "b")]
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let full = ResourceTemplate {
        title: Some("Item".into()),
        description: Some("Any of them.".into()),
        mime_type: Some("text/plain".into()),
        icons: vec![icon()],
        annotations: Some(annotations()),
        meta: Some(meta()),
        ..ResourceTemplate::new("mem://{id}", "item")
    };
    vec![full, ResourceTemplate::new("file:///{+path}", "file")]
}

pub(crate) fn prompts() -> Vec<Prompt> {
    let who = PromptArgument {
        title: Some("Who".into()),
        description: Some("Whom to greet.".into()),
        ..PromptArgument::required("who")
    };
    let full = Prompt {
        title: Some("Greet".into()),
        description: Some("Greets somebody.".into()),
        arguments: vec![who, PromptArgument::optional("how")],
        icons: vec![icon()],
        meta: Some(meta()),
        ..Prompt::new("greet")
    };
    vec![full, Prompt::new("bye")]
}
