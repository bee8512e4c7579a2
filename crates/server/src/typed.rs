//! The JSON Schema of a Rust type, as lists show it. Pure.

use schemars::generate::SchemaSettings;
use schemars::transform::{ReplaceBoolSchemas, RestrictFormats, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Returns the schema of arguments: of what is read, and always of an object.
///
/// Enums and maps say nothing of an object by themselves, or say it in each
/// branch only; a type that is none keeps its own `type`, and is refused later.
pub(crate) fn input_schema<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .for_deserialize()
        .into_generator();
    let mut schema = tidy(generator.into_root_schema_for::<T>());
    if schema.get("type").is_none() {
        schema.insert("type".to_owned(), "object".into());
    }
    schema.to_value()
}

/// Returns the schema of structured content: of what is written.
pub(crate) fn output_schema<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    tidy(generator.into_root_schema_for::<T>()).to_value()
}

// === Behind the handle ===

/// Leaves out what tells a reader nothing: the dialect, which is the default one,
/// the name of the Rust type, and formats that JSON Schema does not know (`uint32`). What
/// may be anything is `{}` rather than `true`, which legacy clients refuse as a property.
fn tidy(mut schema: Schema) -> Schema {
    RestrictFormats::default().transform(&mut schema);
    let mut objects = ReplaceBoolSchemas::default();
    objects.skip_additional_properties = true;
    objects.transform(&mut schema);
    schema.ensure_object();
    schema.remove("$schema");
    schema.remove("title");
    schema
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Order {
        /// How many.
        count: u32,
        note: Option<String>,
    }

    #[derive(JsonSchema)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Shape {
        Circle { radius: f64 },
    }

    #[test]
    fn a_struct_is_an_object_with_its_documentation() {
        assert_eq!(
            input_schema::<Order>(),
            json!({
                "type": "object",
                "properties": {
                    "count": {"type": "integer", "minimum": 0, "description": "How many."},
                    "note": {"type": ["string", "null"]},
                },
                "required": ["count"],
            })
        );
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Box {
        anything: Value,
    }

    #[test]
    fn a_property_that_may_be_anything_is_an_object_too() {
        assert_eq!(
            output_schema::<Box>()["properties"],
            json!({"anything": {}})
        );
    }

    #[test]
    fn an_enum_of_objects_is_an_object() {
        let schema = input_schema::<Shape>();

        assert_eq!(schema["type"], "object");
        assert!(schema["oneOf"].is_array());
    }

    #[test]
    fn any_value_is_any_object() {
        assert_eq!(input_schema::<Value>(), json!({"type": "object"}));
    }

    #[test]
    fn what_is_no_object_stays_none() {
        assert_eq!(input_schema::<Vec<u8>>()["type"], "array");
        assert_eq!(input_schema::<()>()["type"], "null");
    }

    #[test]
    fn an_output_may_be_anything() {
        assert_eq!(output_schema::<()>(), json!({"type": "null"}));
        assert_eq!(
            output_schema::<HashMap<String, bool>>(),
            json!({"type": "object", "additionalProperties": {"type": "boolean"}})
        );
    }
}
