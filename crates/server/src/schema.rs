//! A JSON Schema that is held to: compiled once, asked at every call. Pure.
//!
//! Not here: fetching. A schema that refers to another document is refused.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};

use crate::violation::{MAX_VIOLATIONS, Violations, push_token};

/// The longest text of a schema, in bytes.
pub(crate) const MAX_SCHEMA: usize = 64 * 1024;

/// The deepest nesting of a schema.
pub(crate) const MAX_SCHEMA_DEPTH: usize = 64;

/// How often a pattern may try again before the value counts as wrong.
const MAX_BACKTRACKS: usize = 10_000;

/// The largest compiled pattern, in bytes.
const MAX_PATTERN: usize = 1024 * 1024;

/// The longest text value that a message repeats, in bytes.
const MAX_SHOWN: usize = 64;

/// How many values there may be in a value that is explained: the library makes an
/// error for each of them that is wrong, before it tells us the first.
const MAX_EXPLAINED: usize = 10_000;

/// What is said of a value in which there are more.
const TOO_LARGE: &str = "does not match the schema; it has too many values to say which are wrong";

/// What is said of a member that the schema does not allow.
const UNEXPECTED: &str = "is not expected here; leave it out";

/// A compiled schema.
#[derive(Clone, Debug)]
pub(crate) struct Schema(Validator);

/// Says why a schema cannot be held to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSchema {
    /// Arguments are an object, and the schema has to say so.
    #[error("arguments are an object, so the schema has to say `\"type\": \"object\"` at its root")]
    NotAnObject,
    /// The text is too long.
    #[error("a schema of {bytes} bytes is longer than {MAX_SCHEMA}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Schemas within schemas within schemas.
    #[error("a schema may be nested {MAX_SCHEMA_DEPTH} levels deep, and no deeper")]
    TooDeep,
    /// No JSON, a keyword that is misused, a reference that leads nowhere or to
    /// another document, or a dialect that nobody here speaks.
    #[error("not a usable JSON Schema: {reason}")]
    Unusable {
        /// What is wrong with it.
        reason: String,
    },
}

impl Schema {
    /// Compiles the text of a schema, in the dialect that it declares, else in
    /// 2020-12.
    pub(crate) fn compile(text: &str) -> Result<Self, InvalidSchema> {
        Self::build(&parse(text)?)
    }

    /// Compiles the text of a schema of arguments.
    pub(crate) fn compile_input(text: &str) -> Result<Self, InvalidSchema> {
        let schema = parse(text)?;
        if schema.get("type") != Some(&Value::from("object")) {
            return Err(InvalidSchema::NotAnObject);
        }
        Self::build(&schema)
    }

    /// Compiles the text of the schema of a form. Unlike others it is held to its
    /// formats: a person typed what is checked.
    pub(crate) fn compile_form(text: &str) -> Result<Self, InvalidSchema> {
        let schema = parse(text)?;
        if schema.get("type") != Some(&Value::from("object")) {
            return Err(InvalidSchema::NotAnObject);
        }
        Self::build_with(&schema, true)
    }

    /// Notes what is wrong with a value.
    pub(crate) fn check(&self, value: &Value, violations: &mut Violations) {
        if self.0.is_valid(value) {
            return;
        }
        if is_larger_than(value, &mut { MAX_EXPLAINED }) {
            violations.push("", TOO_LARGE);
            return;
        }
        for error in self.0.iter_errors(value) {
            note(&error, value, violations);
            if violations.is_cut() {
                return;
            }
        }
    }
}

// === Behind the handle ===

impl Schema {
    fn build(schema: &Value) -> Result<Self, InvalidSchema> {
        Self::build_with(schema, false)
    }

    fn build_with(schema: &Value, formats: bool) -> Result<Self, InvalidSchema> {
        let mut options = jsonschema::options().with_pattern_options(
            PatternOptions::fancy_regex()
                .backtrack_limit(MAX_BACKTRACKS)
                .size_limit(MAX_PATTERN)
                .dfa_size_limit(MAX_PATTERN),
        );
        if formats {
            options = options.should_validate_formats(true);
        }
        if schema.get("$schema").is_none() {
            options = options.with_draft(Draft::Draft202012);
        }
        options
            .build(schema)
            .map(Self)
            .map_err(|error| InvalidSchema::Unusable {
                reason: error.to_string(),
            })
    }
}

fn parse(text: &str) -> Result<Value, InvalidSchema> {
    if text.len() > MAX_SCHEMA {
        return Err(InvalidSchema::TooLong { bytes: text.len() });
    }
    let schema = serde_json::from_str(text).map_err(|error| InvalidSchema::Unusable {
        reason: error.to_string(),
    })?;
    if is_deeper_than(&schema, MAX_SCHEMA_DEPTH) {
        return Err(InvalidSchema::TooDeep);
    }
    Ok(schema)
}

fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let deeper = |child: &Value| is_deeper_than(child, levels - 1);
    match value {
        Value::Array(elements) => levels == 0 || elements.iter().any(deeper),
        Value::Object(members) => levels == 0 || members.values().any(deeper),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether there are more values in a value than `left`, which is used up.
fn is_larger_than(value: &Value, left: &mut usize) -> bool {
    let Some(less) = left.checked_sub(1) else {
        return true;
    };
    *left = less;
    match value {
        Value::Array(elements) => elements.iter().any(|child| is_larger_than(child, left)),
        Value::Object(members) => members.values().any(|child| is_larger_than(child, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Words an error for a model: it points at the member to add or to leave out,
/// and repeats a value only when it is short.
fn note(error: &ValidationError<'_>, whole: &Value, violations: &mut Violations) {
    let pointer = error.instance_path().as_str();
    let member = |name: &str| {
        let mut pointer = pointer.to_owned();
        push_token(&mut pointer, name);
        pointer
    };
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the library's own words do for the other thirty"
    )]
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            violations.push(member(name), "is required, and missing");
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            for name in unexpected.iter().take(MAX_VIOLATIONS + 1) {
                violations.push(member(name), UNEXPECTED);
            }
        }
        ValidationErrorKind::FalseSchema if forbids_members(error) => {
            let members = whole.pointer(pointer).and_then(Value::as_object);
            for name in members
                .into_iter()
                .flat_map(Map::keys)
                .take(MAX_VIOLATIONS + 1)
            {
                violations.push(member(name), UNEXPECTED);
            }
        }
        ValidationErrorKind::FalseSchema => violations.push(pointer, UNEXPECTED),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            match constants(context) {
                Some(constants) => violations.push(pointer, format!("must be one of {constants}")),
                None => violations.push(pointer, words(error)),
            }
        }
        _ => violations.push(pointer, words(error)),
    }
}

/// Whether an object may have no members at all. Of those that it has, the
/// library then tells of one, and not of which.
fn forbids_members(error: &ValidationError<'_>) -> bool {
    let keyword = error.schema_path().as_str();
    keyword.ends_with("/additionalProperties")
        && !keyword.ends_with("/properties/additionalProperties")
}

fn words(error: &ValidationError<'_>) -> String {
    match error.instance().as_ref() {
        Value::String(text) if text.len() > MAX_SHOWN => error.masked_with("the text").to_string(),
        Value::Array(_) => error.masked_with("the array").to_string(),
        Value::Object(_) => error.masked_with("the object").to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => error.to_string(),
    }
}

/// Lists the values that a choice of constants (a Rust enum) offers, if it is one.
fn constants(branches: &[Vec<ValidationError<'_>>]) -> Option<String> {
    let constant = |branch: &Vec<ValidationError<'_>>| {
        let [error] = branch.as_slice() else {
            return None;
        };
        if let ValidationErrorKind::Constant { expected_value } = error.kind() {
            return Some(expected_value.to_string());
        }
        let ValidationErrorKind::Enum { options } = error.kind() else {
            return None;
        };
        let options: Vec<_> = options.as_array()?.iter().map(Value::to_string).collect();
        Some(options.join(", "))
    };
    let constants: Option<Vec<_>> = branches.iter().map(constant).collect();
    constants.map(|constants| constants.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn violations(schema: &Value, value: &Value) -> String {
        let schema = Schema::compile(&schema.to_string()).expect("a schema");
        let mut violations = Violations::default();
        schema.check(value, &mut violations);
        violations.to_string()
    }

    #[test]
    fn a_value_that_conforms_has_no_violation() {
        assert_eq!(violations(&json!({"type": "integer"}), &json!(7)), "");
    }

    #[test]
    fn all_violations_are_listed_with_their_pointers() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 3},
                "sizes": {"type": "array", "items": {"type": "integer", "maximum": 9}},
            },
            "required": ["name", "color"],
        });

        let text = violations(&schema, &json!({"name": "ab", "sizes": [1, "x", 10]}));

        let mut lines: Vec<_> = text.lines().collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "- /color: is required, and missing",
                "- /name: \"ab\" is shorter than 3 characters",
                "- /sizes/1: \"x\" is not of type \"integer\"",
                "- /sizes/2: 10 is greater than the maximum of 9",
            ]
        );
    }

    #[test]
    fn each_unexpected_member_is_pointed_at() {
        let schema = json!({"type": "object", "additionalProperties": false});

        let text = violations(&schema, &json!({"a": 1, "b/c": 2}));

        assert_eq!(
            text,
            "- /a: is not expected here; leave it out\n- /b~1c: is not expected here; leave it out"
        );
    }

    #[test]
    fn an_unexpected_member_beside_others_is_pointed_at() {
        let schema = json!({
            "properties": {"in": {"properties": {"x": true}, "additionalProperties": false}},
        });

        assert_eq!(
            violations(&schema, &json!({"in": {"x": 1, "y": 2}})),
            "- /in/y: is not expected here; leave it out"
        );
    }

    #[test]
    fn a_choice_of_constants_is_spelled_out() {
        let schema = json!({"oneOf": [{"const": "red"}, {"enum": ["green", "blue"]}]});

        assert_eq!(
            violations(&schema, &json!("pink")),
            "- (the whole object): must be one of \"red\", \"green\", \"blue\""
        );
    }

    #[test]
    fn a_long_value_is_not_repeated() {
        let text = violations(&json!({"type": "integer"}), &json!("x".repeat(500)));

        assert_eq!(
            text,
            "- (the whole object): the text is not of type \"integer\""
        );
    }

    #[test]
    fn no_more_than_twenty_violations_are_listed() {
        let schema = json!({"items": {"type": "integer"}});

        let text = violations(&schema, &json!(vec!["x"; 1000]));

        assert_eq!(text.lines().count(), 21);
    }

    #[test]
    fn a_large_value_is_refused_without_a_list() {
        let text = violations(
            &json!({"items": {"type": "integer"}}),
            &json!(vec!["x"; 100_000]),
        );

        assert_eq!(text, format!("- (the whole object): {TOO_LARGE}"));
    }

    #[test]
    fn a_large_value_that_conforms_has_no_violation() {
        let text = violations(
            &json!({"items": {"type": "string"}}),
            &json!(vec!["x"; 100_000]),
        );

        assert_eq!(text, "");
    }

    #[test]
    fn a_pattern_that_tries_too_often_makes_the_value_wrong() {
        let schema = json!({"pattern": "^(a+)+\\1$"});

        let text = violations(&schema, &json!(format!("{}b", "a".repeat(5000))));

        assert!(!text.is_empty());
    }

    #[test]
    fn a_schema_elsewhere_is_refused() {
        for elsewhere in ["https://example.com/schema.json", "file:///etc/schema.json"] {
            let fault =
                Schema::compile(&json!({"$ref": elsewhere}).to_string()).expect_err("a reference");

            assert!(matches!(fault, InvalidSchema::Unusable { .. }), "{fault}");
        }
    }

    #[test]
    fn an_unknown_dialect_is_refused() {
        let schema = json!({"$schema": "https://example.com/dialect", "type": "object"});

        assert!(Schema::compile(&schema.to_string()).is_err());
    }

    #[test]
    fn a_schema_within_a_schema_is_looked_up() {
        let schema = json!({
            "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            "$ref": "#/$defs/tree",
        });

        assert_eq!(
            violations(&schema, &json!([[], [[1]]])),
            "- /1/0/0: 1 is not of type \"array\""
        );
    }

    #[test]
    fn a_schema_that_is_too_long_is_refused() {
        let schema = json!({"description": "x".repeat(MAX_SCHEMA)});

        let fault = Schema::compile(&schema.to_string()).expect_err("too long");

        assert!(matches!(fault, InvalidSchema::TooLong { .. }), "{fault}");
    }

    #[test]
    fn a_schema_that_is_too_deep_is_refused() {
        let mut schema = json!({});
        for _ in 0..=MAX_SCHEMA_DEPTH {
            schema = json!({"not": schema});
        }

        let fault = Schema::compile(&schema.to_string()).expect_err("too deep");

        assert!(matches!(fault, InvalidSchema::TooDeep), "{fault}");
    }

    #[test]
    fn arguments_are_an_object() {
        for schema in [
            json!({}),
            json!({"type": "array"}),
            json!({"type": ["object"]}),
        ] {
            let fault = Schema::compile_input(&schema.to_string()).expect_err("not an object");

            assert!(
                matches!(fault, InvalidSchema::NotAnObject),
                "{schema}: {fault}"
            );
        }
    }
}
