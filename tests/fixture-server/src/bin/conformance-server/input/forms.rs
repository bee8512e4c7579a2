//! Forms whose schema is the point.

use conduit::serde_json::{Value, json};
use conduit::{Context, NoArguments, ToolBuilder, ToolError, raw_form, tool};

use super::action;

pub(super) fn tools() -> [ToolBuilder; 2] {
    [
        tool(
            "test_elicitation_sep1034_defaults",
            "Shows a form whose fields are filled in.",
            async |_: NoArguments, context: Context| show(&context, &with_defaults()),
        ),
        tool(
            "test_elicitation_sep1330_enums",
            "Shows a form with a choice of each kind.",
            async |_: NoArguments, context: Context| show(&context, &with_choices()),
        ),
    ]
}

fn show(context: &Context, schema: &Value) -> Result<String, ToolError> {
    let answer = context.ask(raw_form("form", "Please look at this form.", schema))?;
    let action = action(&answer);
    let content = Value::Object(answer.ok().unwrap_or_default());
    Ok(format!(
        "Elicitation completed: action={action}, content={content}"
    ))
}

fn with_defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "A name", "default": "John Doe" },
            "age": { "type": "integer", "description": "An age", "default": 30 },
            "score": { "type": "number", "description": "A score", "default": 95.5 },
            "status": {
                "type": "string",
                "description": "A status",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {
                "type": "boolean",
                "description": "Whether somebody has looked at it",
                "default": true,
            },
        },
        "required": [],
    })
}

fn with_choices() -> Value {
    let values = ["option1", "option2", "option3"];
    let titled = json!([
        { "const": "value1", "title": "First" },
        { "const": "value2", "title": "Second" },
        { "const": "value3", "title": "Third" },
    ]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": values },
            "titledSingle": { "type": "string", "oneOf": titled },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": values } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled } },
        },
        "required": [],
    })
}
