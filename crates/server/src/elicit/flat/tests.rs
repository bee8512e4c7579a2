use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroU8;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::*;

#[track_caller]
fn schema<T: JsonSchema>() -> Value {
    flat_schema::<T>().expect("a flat type")
}

#[track_caller]
fn property<T: JsonSchema>(name: &str) -> Value {
    schema::<T>()["properties"][name].clone()
}

#[track_caller]
fn refused<T: JsonSchema>() -> NotFlat {
    flat_schema::<T>().expect_err("not a flat type")
}

/// How large it is.
#[derive(Deserialize, Serialize, JsonSchema, Default, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
enum Size {
    #[default]
    VerySmall,
    Large,
}

#[derive(Deserialize, JsonSchema)]
enum Color {
    /// Like a rose.
    ///
    /// Or like a fire engine.
    Red,
    #[serde(rename = "GRN")]
    #[schemars(title = "Green, like grass")]
    Green,
    /// Like nothing.
    Blue,
}

#[derive(Deserialize, JsonSchema)]
enum Mixed {
    /// The first.
    One,
    Two,
}

fn seven() -> i64 {
    7
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Texts {
    /// How you are called.
    #[schemars(length(min = 1, max = 9))]
    name: String,
    /// # Your mail
    ///
    /// Never shown.
    #[schemars(email)]
    mail: Option<String>,
    #[schemars(regex(pattern = "^a"), extend("format" = "uuid"))]
    code: String,
    #[schemars(extend("format" = "date-time"))]
    when: String,
    #[serde(default)]
    note: String,
    #[serde(rename = "first-letter")]
    letter: char,
}

#[test]
fn a_text_keeps_what_a_form_knows() {
    assert_eq!(
        schema::<Texts>(),
        json!({
            "type": "object",
            "properties": {
                "name": {
                    "type": "string",
                    "description": "How you are called.",
                    "minLength": 1,
                    "maxLength": 9,
                },
                "mail": {
                    "type": "string",
                    "title": "Your mail",
                    "description": "Never shown.",
                    "format": "email",
                },
                "code": {"type": "string"},
                "when": {"type": "string", "format": "date-time"},
                "note": {"type": "string", "default": ""},
                "first-letter": {"type": "string", "minLength": 1, "maxLength": 1},
            },
            "required": ["name", "code", "when", "first-letter"],
        })
    );
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Numbers {
    #[schemars(range(min = 1, max = 5))]
    stars: u8,
    #[serde(default = "seven")]
    days: i64,
    #[schemars(range(min = -0.5, max = 0.5))]
    ratio: f64,
    factor: NonZeroU8,
    limit: Option<u32>,
    sure: bool,
    #[serde(default)]
    really: bool,
    maybe: Option<bool>,
}

#[test]
fn a_number_keeps_its_bounds() {
    assert_eq!(
        schema::<Numbers>(),
        json!({
            "type": "object",
            "properties": {
                "stars": {"type": "integer", "minimum": 1, "maximum": 5},
                "days": {"type": "integer", "default": 7},
                "ratio": {"type": "number", "minimum": -0.5, "maximum": 0.5},
                "factor": {"type": "integer", "minimum": 1, "maximum": 255},
                "limit": {"type": "integer", "minimum": 0},
                "sure": {"type": "boolean"},
                "really": {"type": "boolean", "default": false},
                "maybe": {"type": "boolean"},
            },
            "required": ["stars", "ratio", "factor", "sure"],
        })
    );
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Choices {
    size: Size,
    /// Which size you want.
    own: Option<Size>,
    #[serde(default)]
    preset: Size,
    color: Color,
    other: Option<Color>,
    mixed: Mixed,
}

#[test]
fn an_enum_is_a_choice() {
    assert_eq!(
        property::<Choices>("size"),
        json!({"type": "string", "enum": ["very_small", "large"], "description": "How large it is."})
    );
    assert_eq!(
        property::<Choices>("own"),
        json!({"type": "string", "enum": ["very_small", "large"], "description": "Which size you want."})
    );
    assert_eq!(property::<Choices>("preset")["default"], "very_small");
    let required = &schema::<Choices>()["required"];
    assert_eq!(*required, json!(["size", "color", "mixed"]));
}

#[test]
fn an_enum_with_doc_comments_is_a_choice_with_titles() {
    let colors = json!({"type": "string", "oneOf": [
        {"const": "Red", "title": "Like a rose."},
        {"const": "GRN", "title": "Green, like grass"},
        {"const": "Blue", "title": "Like nothing."},
    ]});

    assert_eq!(property::<Choices>("color"), colors);
    assert_eq!(property::<Choices>("other"), colors);
    let mixed = property::<Choices>("mixed");
    let mixed = mixed["oneOf"].as_array().expect("an array");
    assert_eq!(mixed.len(), 2);
    assert!(mixed.contains(&json!({"const": "One", "title": "The first."})));
    assert!(mixed.contains(&json!({"const": "Two", "title": "Two"})));
}

fn large() -> Vec<Size> {
    vec![Size::Large]
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Lists {
    #[schemars(length(min = 1, max = 2))]
    sizes: HashSet<Size>,
    #[serde(default = "large")]
    preset: Vec<Size>,
    colors: Option<Vec<Color>>,
}

#[test]
fn a_list_of_an_enum_is_a_choice_of_several() {
    let sizes = json!({"type": "string", "enum": ["very_small", "large"]});

    assert_eq!(
        property::<Lists>("sizes"),
        json!({"type": "array", "items": sizes, "minItems": 1, "maxItems": 2})
    );
    assert_eq!(
        property::<Lists>("preset"),
        json!({"type": "array", "items": sizes, "default": ["large"]})
    );
    let colors = property::<Lists>("colors");
    assert_eq!(colors["type"], "array");
    assert_eq!(
        colors["items"]["anyOf"][0],
        json!({"const": "Red", "title": "Like a rose."})
    );
    assert_eq!(schema::<Lists>()["required"], json!(["sizes"]));
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Part {
    x: i64,
    y: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Flattened {
    #[serde(flatten)]
    part: Part,
    z: i64,
}

#[test]
fn a_flattened_struct_is_flat() {
    assert_eq!(
        schema::<Flattened>(),
        json!({
            "type": "object",
            "properties": {
                "x": {"type": "integer"},
                "y": {"type": "integer"},
                "z": {"type": "integer"},
            },
            "required": ["x", "z"],
        })
    );
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[test]
fn a_form_may_have_no_fields_and_always_lets_clients_add_some() {
    assert_eq!(
        schema::<Nothing>(),
        json!({"type": "object", "properties": {}})
    );
}

/// Makes a struct with one field of a type that no form can show.
macro_rules! with {
    ($name:ident, $field:ty) => {
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema is looked at")]
        struct $name {
            fine: String,
            wrong: $field,
        }
    };
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Shape {
    Circle { radius: f64 },
    Point,
}

with!(OfStruct, Part);
with!(OfOption, Option<Part>);
with!(OfTexts, Vec<String>);
with!(OfOptions, Vec<Option<Size>>);
with!(OfMap, BTreeMap<String, String>);
with!(OfAnything, Value);
with!(OfUnit, ());
with!(OfDuration, Duration);
with!(OfShape, Shape);
with!(OfItself, Option<Box<OfItself>>);
with!(OfPair, (i64, i64));

#[test]
fn a_field_with_parts_is_refused_by_its_name() {
    let wrong = NotFlat::Property("wrong".to_owned());

    assert_eq!(refused::<OfStruct>(), wrong);
    assert_eq!(refused::<OfOption>(), wrong);
    assert_eq!(refused::<OfTexts>(), wrong);
    assert_eq!(refused::<OfOptions>(), wrong);
    assert_eq!(refused::<OfMap>(), wrong);
    assert_eq!(refused::<OfAnything>(), wrong);
    assert_eq!(refused::<OfUnit>(), wrong);
    assert_eq!(refused::<OfDuration>(), wrong);
    assert_eq!(refused::<OfShape>(), wrong);
    assert_eq!(refused::<OfItself>(), wrong);
    assert_eq!(refused::<OfPair>(), wrong);
}

#[test]
fn what_is_no_struct_is_refused() {
    assert_eq!(refused::<String>(), NotFlat::Whole);
    assert_eq!(refused::<()>(), NotFlat::Whole);
    assert_eq!(refused::<Value>(), NotFlat::Whole);
    assert_eq!(refused::<Vec<Nothing>>(), NotFlat::Whole);
    assert_eq!(refused::<Option<Nothing>>(), NotFlat::Whole);
    assert_eq!(refused::<BTreeMap<String, u8>>(), NotFlat::Whole);
    assert_eq!(refused::<Shape>(), NotFlat::Whole);
    assert_eq!(refused::<Size>(), NotFlat::Whole);
}
