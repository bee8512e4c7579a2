//! Tools whose input schema is the point.

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::serde_json::Value;
use conduit::serde_json::value::RawValue;
use conduit::{Context, Tool, ToolBuilder, ToolName, raw_tool, tool};

/// Every keyword of it has to be listed as it stands here.
const DIALECT: &str = include_str!("../../../data/json_schema_2020_12.json");

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Routed {
    /// Where to run it; a proxy may route on it.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
    /// How hard to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    level: Option<i64>,
}

pub(crate) fn tools() -> [ToolBuilder; 2] {
    [
        dialect(),
        tool(
            "test_x_mcp_header",
            "Tells the region, which is in a header too.",
            routed,
        )
        .read_only(true),
    ]
}

#[expect(clippy::expect_used, reason = "the file is part of the program")]
fn dialect() -> ToolBuilder {
    let schema = RawValue::from_string(DIALECT.to_owned()).expect("JSON");
    let name = ToolName::new("json_schema_2020_12_tool").expect("a name");
    let mut definition = Tool::new(name, schema).expect("a tool");
    definition.description = Some("Has a schema with many keywords of 2020-12.".to_owned());
    raw_tool(definition, |arguments: Value, _: Context| async move {
        format!("JSON Schema 2020-12 tool called with: {arguments}")
    })
}

async fn routed(arguments: Routed, _context: Context) -> String {
    let Routed { region, level } = arguments;
    match level {
        Some(level) => format!("region={region}, level={level}"),
        None => format!("region={region}"),
    }
}
