//! The 100 tools of the benchmarks, listed as the file has them.

use conduit::serde::Deserialize;
use conduit::serde_json::value::RawValue;
use conduit::serde_json::{self, Value};
use conduit::{Context, Tool, ToolAnnotations, ToolBuilder, ToolName, raw_tool};

use crate::changing::touch;
use crate::plain::echo;

const CATALOGUE: &str = include_str!("../data/tools100.json");

#[derive(Deserialize)]
#[serde(
    crate = "conduit::serde",
    rename_all = "camelCase",
    deny_unknown_fields
)]
struct Listed {
    name: String,
    title: Option<String>,
    description: String,
    input_schema: Box<RawValue>,
    annotations: Option<Hints>,
}

#[derive(Deserialize)]
#[serde(
    crate = "conduit::serde",
    rename_all = "camelCase",
    deny_unknown_fields
)]
struct Hints {
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    open_world_hint: Option<bool>,
}

/// Makes the tools: `echo` and `touch` work, the others say that they did.
#[expect(clippy::expect_used, reason = "the file is part of the program")]
pub(crate) fn tools() -> impl Iterator<Item = ToolBuilder> {
    let listed: Vec<Listed> = serde_json::from_str(CATALOGUE).expect("a list of tools");
    listed.into_iter().map(|listed| {
        let definition = define(listed).expect("a tool");
        if definition.name.as_str() == "echo" {
            return raw_tool(definition, echo).inline();
        }
        if definition.name.as_str() == "touch" {
            return raw_tool(definition, touch);
        }
        let name = definition.name.clone();
        raw_tool(definition, move |_: Value, _: Context| {
            let answer = format!("{name}: done");
            async move { answer }
        })
    })
}

fn define(listed: Listed) -> Result<Tool, Box<dyn std::error::Error>> {
    let mut definition = Tool::new(ToolName::new(&listed.name)?, listed.input_schema)?;
    definition.title = listed.title;
    definition.description = Some(listed.description);
    definition.annotations = listed.annotations.map(|hints| ToolAnnotations {
        read_only_hint: hints.read_only_hint,
        destructive_hint: hints.destructive_hint,
        open_world_hint: hints.open_world_hint,
        ..ToolAnnotations::default()
    });
    Ok(definition)
}

#[cfg(test)]
mod tests {
    use conduit::{Server, Toolbox};

    use super::*;

    #[test]
    fn the_tools_are_listed_as_the_file_has_them() {
        let toolbox = Toolbox::builder("test", "1")
            .tools(tools())
            .build()
            .expect("a toolbox");

        let catalog = toolbox.catalog();
        let tools = catalog.entries().tools.iter();
        let written: Vec<String> = tools
            .map(|entry| {
                let definition = &entry.definition;
                let json = |text: &str| serde_json::to_string(text).expect("JSON");
                let mut parts = vec![format!("\"name\":{}", json(definition.name.as_str()))];
                if let Some(title) = &definition.title {
                    parts.push(format!("\"title\":{}", json(title)));
                }
                if let Some(description) = &definition.description {
                    parts.push(format!("\"description\":{}", json(description)));
                }
                parts.push(format!("\"inputSchema\":{}", definition.input_schema()));
                if let Some(hints) = &definition.annotations {
                    let hints = serde_json::to_string(hints).expect("JSON");
                    parts.push(format!("\"annotations\":{hints}"));
                }
                format!("{{{}}}", parts.join(","))
            })
            .collect();
        assert_eq!(format!("[{}]", written.join(",")), CATALOGUE.trim_end());
    }
}
