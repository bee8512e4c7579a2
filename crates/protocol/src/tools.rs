//! What a tool is, as lists show it.

mod header_param;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::implementation::Icon;
use crate::limits::SCHEMA_DEPTH;
use crate::members;
use crate::meta::Meta;
use crate::raw;
use crate::tool_name::ToolName;

pub use crate::tools::header_param::HeaderParam;

/// A tool, as lists show it.
///
/// Schemas are kept as JSON text, every keyword untouched (C-TYPE-12), but without
/// white space between their parts.
///
/// Source: C-TYPE-09.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name for programs.
    pub name: ToolName,
    /// The name for people.
    pub title: Option<String>,
    /// What it does, for people and models.
    pub description: Option<String>,
    /// What a client may assume about its effects.
    pub annotations: Option<ToolAnnotations>,
    /// Pictures to show.
    pub icons: Vec<Icon>,
    /// Whether a call of it can be a task.
    pub task_support: TaskSupport,
    /// What else is known about it.
    pub meta: Option<Meta>,
    input_schema: Box<RawValue>,
    header_params: Box<[HeaderParam]>,
    output_schema: Option<Output>,
}

/// Whether a client of 2025-11-25 can have a call of a tool run as a task. In the
/// modern era the server alone decides (T-TASK-04).
///
/// Source: L-TASK-03.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TaskSupport {
    /// Never.
    #[default]
    Forbidden,
    /// If the client asks for it.
    Optional,
    /// Always; other calls are refused.
    Required,
}

impl TaskSupport {
    /// Returns the word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Optional => "optional",
            Self::Required => "required",
        }
    }
}

/// What a client may assume about the effects of a tool. All of it is a hint.
///
/// Source: C-TYPE-10.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// The name for people, where the tool itself has no title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It changes nothing. Taken as false when not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something. Taken as true when not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Doing it twice is as good as doing it once. Taken as false when not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It deals with the world outside. Taken as true when not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// Says why a tool cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTool {
    /// Arguments are an object, and the schema has to say so.
    #[error("the input schema of a tool has to be an object with `\"type\": \"object\"`")]
    InputSchema,
    /// A schema is an object.
    #[error("the output schema of a tool has to be a JSON object")]
    OutputSchema,
    /// A header's name has letters, digits and a few signs.
    #[error("`x-mcp-header` of the property `{property}` has to be a token of RFC 9110")]
    HeaderName {
        /// The property, with those that it is in before it.
        property: String,
    },
    /// Clients could not write any other value into a header.
    #[error(
        "the property `{property}` has an `x-mcp-header`, so its `type` has to be `string`, `integer` or `boolean`"
    )]
    HeaderType {
        /// The property, with those that it is in before it.
        property: String,
    },
    /// Clients find annotations on properties, and on properties of properties.
    #[error("`x-mcp-header` may stand only on properties that other `properties` lead to")]
    HeaderPlace,
    /// Headers are told apart by their names, in any case.
    #[error("two properties of a tool cannot have the same header `{header}`")]
    HeaderTwice {
        /// The header's name, in lower case.
        header: String,
    },
    /// It would take too long to look for annotations.
    #[error("an input schema with `x-mcp-header` can be at most {SCHEMA_DEPTH} levels deep")]
    SchemaDepth,
}

impl Tool {
    /// Describes a tool by its name and the JSON Schema of its arguments.
    ///
    /// # Errors
    ///
    /// [`InvalidTool::InputSchema`] unless the schema is an object whose `type` is
    /// `object` (C-TYPE-12). [`InvalidTool::HeaderName`] and its neighbours when it
    /// annotates properties with `x-mcp-header` in a way that makes clients drop the
    /// whole tool (M-HDR-09).
    pub fn new(name: ToolName, input_schema: Box<RawValue>) -> Result<Self, InvalidTool> {
        if !says_object(&input_schema) {
            return Err(InvalidTool::InputSchema);
        }
        Ok(Self {
            header_params: header_param::find(&input_schema)?,
            name,
            title: None,
            description: None,
            annotations: None,
            icons: Vec::new(),
            task_support: TaskSupport::default(),
            meta: None,
            input_schema: raw::compact(input_schema),
            output_schema: None,
        })
    }

    /// Adds the JSON Schema of its structured content.
    ///
    /// # Errors
    ///
    /// [`InvalidTool::OutputSchema`] unless it is an object.
    pub fn with_output_schema(mut self, schema: Box<RawValue>) -> Result<Self, InvalidTool> {
        if !raw::is_object(&schema) {
            return Err(InvalidTool::OutputSchema);
        }
        self.output_schema = Some(Output {
            says_object: says_object(&schema),
            schema: raw::compact(schema),
        });
        Ok(self)
    }

    /// Reads a tool that [`Listed`](crate::Listed) has written. `None` when it is none.
    pub(crate) fn from_raw(raw: &RawValue) -> Option<Self> {
        let parts: Parts = serde_json::from_str(raw.get()).ok()?;
        let name = ToolName::new(&parts.name).ok()?;
        let mut tool = Self::new(name, parts.input_schema).ok()?;
        if let Some(schema) = parts.output_schema {
            tool = tool.with_output_schema(schema).ok()?;
        }
        Some(Self {
            title: parts.title,
            description: parts.description,
            annotations: parts.annotations,
            icons: parts.icons,
            meta: parts.meta,
            ..tool
        })
    }

    /// Returns the JSON Schema of its arguments.
    #[must_use]
    pub fn input_schema(&self) -> &RawValue {
        &self.input_schema
    }

    /// Returns the arguments that clients repeat in headers.
    #[must_use]
    pub fn header_params(&self) -> &[HeaderParam] {
        &self.header_params
    }

    /// Returns the JSON Schema of its structured content.
    #[must_use]
    pub fn output_schema(&self) -> Option<&RawValue> {
        Some(&*self.output_schema.as_ref()?.schema)
    }

    /// The output schema as far as legacy clients can read it: one whose `type` is
    /// `object` (table 5.0).
    pub(crate) fn object_output_schema(&self) -> Option<&RawValue> {
        let output = self.output_schema.as_ref()?;
        output.says_object.then_some(&*output.schema)
    }
}

// === Behind the handle ===

/// A tool as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parts {
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Box<RawValue>,
    output_schema: Option<Box<RawValue>>,
    annotations: Option<ToolAnnotations>,
    #[serde(default)]
    icons: Vec<Icon>,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

#[derive(Clone, Debug)]
struct Output {
    schema: Box<RawValue>,
    says_object: bool,
}

fn says_object(schema: &RawValue) -> bool {
    members::read(schema.get(), &["type"])
        .ok()
        .and_then(|[slot]| slot.one())
        .and_then(raw::string)
        .is_some_and(|kind| kind == "object")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("valid JSON")
    }

    fn tool(schema: &str) -> Result<Tool, InvalidTool> {
        Tool::new(ToolName::new("t").expect("a name"), raw(schema))
    }

    #[test]
    fn every_keyword_of_a_schema_is_kept() {
        let schema = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"a":{"$anchor":"x"}},"allOf":[true],"maximum":1e400}"#;

        assert_eq!(tool(schema).expect("a tool").input_schema().get(), schema);
    }

    #[test]
    fn a_schema_loses_its_line_breaks() {
        let tool = tool("{\n  \"type\": \"object\"\n}").expect("a tool");

        assert_eq!(tool.input_schema().get(), r#"{"type":"object"}"#);
    }

    #[test]
    fn arguments_have_to_be_an_object() {
        for schema in [
            "{}",
            "true",
            r#"{"type":"string"}"#,
            r#"{"type":["object"]}"#,
            "null",
        ] {
            assert_eq!(
                tool(schema).err(),
                Some(InvalidTool::InputSchema),
                "{schema}"
            );
        }
    }

    #[test]
    fn an_output_schema_may_be_of_any_type_but_has_to_be_a_schema_object() {
        let tool = tool(r#"{"type":"object"}"#).expect("a tool");

        let other = tool.clone().with_output_schema(raw(r#"{"type":"array"}"#));
        let none = tool.with_output_schema(raw("true"));

        let other = other.expect("a tool");
        assert!(other.output_schema().is_some());
        assert!(other.object_output_schema().is_none());
        assert_eq!(none.err(), Some(InvalidTool::OutputSchema));
    }
}
