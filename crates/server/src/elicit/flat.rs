//! The schema of a form: one level, of what a form can show. Pure.
//!
//! Source: M-ELIC-02.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// What a type's schema may say of a text, besides what everything may.
const OF_TEXT: [&str; 2] = ["minLength", "maxLength"];

/// The formats that a form knows.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// What it may say of a number.
const OF_NUMBER: [&str; 2] = ["minimum", "maximum"];

/// What it may say of a list.
const OF_LIST: [&str; 2] = ["minItems", "maxItems"];

/// Says why no form can ask for a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotFlat {
    /// It is no struct.
    #[error("only a struct with named fields can be asked for by a form")]
    Whole,
    /// A field has parts, or may be anything.
    #[error("`{0}` is no text, number, boolean, enum without data or list of such an enum")]
    Property(String),
}

/// Returns the schema of a form for a type. What a form cannot say, such as a pattern,
/// is left out: whatever reads the answer has the last word.
pub(crate) fn flat_schema<T: JsonSchema>() -> Result<Value, NotFlat> {
    let generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .for_deserialize()
        .into_generator();
    flatten(generator.into_root_schema_for::<T>().to_value())
}

// === Behind the handle ===

/// One value of an enum.
struct Choice {
    value: String,
    /// From its doc comment.
    title: Option<String>,
}

fn flatten(schema: Value) -> Result<Value, NotFlat> {
    let Value::Object(mut root) = schema else {
        return Err(NotFlat::Whole);
    };
    let listed = match root.remove("properties") {
        Some(Value::Object(listed)) => listed,
        Some(_) | None if is_open(&root) => return Err(NotFlat::Whole),
        Some(_) | None => Map::new(),
    };
    let composed = ["$ref", "allOf", "anyOf", "oneOf"];
    if root.get("type") != Some(&json!("object"))
        || composed.iter().any(|keyword| root.contains_key(*keyword))
    {
        return Err(NotFlat::Whole);
    }
    let mut properties = Map::new();
    let mut required = root.remove("required").unwrap_or_default();
    for (name, schema) in listed {
        let Some((schema, optional)) = field(schema) else {
            return Err(NotFlat::Property(name));
        };
        if let Some(required) = required.as_array_mut().filter(|_| optional) {
            required.retain(|required| *required != name);
        }
        properties.insert(name, schema.into());
    }
    let mut form = json!({"type": "object", "properties": properties});
    if required.as_array().is_some_and(|names| !names.is_empty())
        && let Some(form) = form.as_object_mut()
    {
        form.insert("required".to_owned(), required);
    }
    Ok(form)
}

/// Whether an object has members that nobody has listed: then it is a map.
fn is_open(root: &Map<String, Value>) -> bool {
    root.get("additionalProperties")
        .is_some_and(|additional| *additional != json!(false))
}

/// Returns the schema of one field, and whether it may be left out; `None` when a form
/// cannot show it.
fn field(schema: Value) -> Option<(Map<String, Value>, bool)> {
    let Value::Object(schema) = schema else {
        return None;
    };
    let (schema, optional) = without_null(schema);
    let mut flat = keep(&schema, &["title", "description"]);
    let mut default = schema.get("default").cloned();
    if let Some(choices) = choices(&schema) {
        default = default.filter(|default| is_one_of(default, &choices));
        flat.extend(select(&choices, "oneOf"));
        flat.insert("type".to_owned(), "string".into());
    } else {
        let kind = schema.get("type")?.clone();
        match kind.as_str()? {
            "string" => {
                default = default.filter(Value::is_string);
                flat.extend(keep(&schema, &OF_TEXT));
                let format = schema.get("format").and_then(Value::as_str);
                if let Some(format) = format.filter(|format| FORMATS.contains(format)) {
                    flat.insert("format".to_owned(), format.into());
                }
            }
            "number" | "integer" => {
                default = default.filter(Value::is_number);
                flat.extend(keep(&schema, &OF_NUMBER));
            }
            "boolean" => default = default.filter(Value::is_boolean),
            "array" => {
                let choices = choices(schema.get("items")?.as_object()?)?;
                let one = |value: &Value| is_one_of(value, &choices);
                default = default.filter(|default| {
                    let values = default.as_array();
                    values.is_some_and(|values| values.iter().all(one))
                });
                flat.extend(keep(&schema, &OF_LIST));
                flat.insert("items".to_owned(), select(&choices, "anyOf").into());
            }
            _ => return None,
        }
        flat.insert("type".to_owned(), kind);
    }
    if let Some(default) = default {
        flat.insert("default".to_owned(), default);
    }
    Some((flat, optional))
}

/// Takes the `null` out of what an `Option` may be, and says whether there was one.
fn without_null(mut schema: Map<String, Value>) -> (Map<String, Value>, bool) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        let all = types.len();
        types.retain(|kind| kind != "null");
        let optional = types.len() < all;
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
        if let Some(Value::Array(values)) = schema.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        return (schema, optional);
    }
    if let Some(Value::Array(branches)) = schema.get("anyOf") {
        let is_null = |branch: &Value| branch.get("type") == Some(&json!("null"));
        let mut others = branches.iter().filter(|branch| !is_null(branch));
        if let (true, Some(Value::Object(only)), None) =
            (branches.iter().any(is_null), others.next(), others.next())
        {
            let mut only = only.clone();
            schema.remove("anyOf");
            // What is said of the field comes before what is said of its type.
            only.extend(schema);
            return (without_null(only).0, true);
        }
    }
    (schema, false)
}

/// Returns the values of an enum without data, if it is one.
fn choices(schema: &Map<String, Value>) -> Option<Vec<Choice>> {
    if let Some(branches) = schema.get("oneOf").or_else(|| schema.get("anyOf")) {
        let mut all = Vec::new();
        for branch in branches.as_array()? {
            all.extend(choices(branch.as_object()?)?);
        }
        return Some(all).filter(|all| !all.is_empty());
    }
    if let Some(value) = schema.get("const") {
        let said = schema.get("title").or_else(|| schema.get("description"));
        let said = said.and_then(Value::as_str);
        return Some(vec![Choice {
            value: value.as_str()?.to_owned(),
            title: said.and_then(|said| said.lines().next()).map(str::to_owned),
        }]);
    }
    let values = schema.get("enum")?.as_array()?.iter();
    let choice = |value: &Value| {
        Some(Choice {
            value: value.as_str()?.to_owned(),
            title: None,
        })
    };
    let all: Vec<Choice> = values.map(choice).collect::<Option<_>>()?;
    Some(all).filter(|all| !all.is_empty())
}

/// Writes what there is to choose from: with titles, below a keyword, if one has any.
fn select(choices: &[Choice], titled: &str) -> Map<String, Value> {
    if choices.iter().all(|choice| choice.title.is_none()) {
        let values: Vec<Value> = choices
            .iter()
            .map(|choice| choice.value.as_str().into())
            .collect();
        return Map::from_iter([
            ("type".to_owned(), "string".into()),
            ("enum".to_owned(), values.into()),
        ]);
    }
    let titles = choices.iter().map(
        |Choice { value, title }| json!({"const": value, "title": title.as_ref().unwrap_or(value)}),
    );
    Map::from_iter([(titled.to_owned(), titles.collect())])
}

fn is_one_of(value: &Value, choices: &[Choice]) -> bool {
    choices.iter().any(|choice| *value == choice.value)
}

fn keep(schema: &Map<String, Value>, keywords: &[&str]) -> Map<String, Value> {
    let kept = keywords
        .iter()
        .filter_map(|keyword| Some(((*keyword).to_owned(), schema.get(*keyword)?.clone())));
    kept.collect()
}
