//! From the text of arguments, or of an answer, to what a handler takes. Pure.

use serde::de::DeserializeOwned;
use serde_json::{Number, Value};
use serde_path_to_error::Segment;

use crate::Arguments;
use crate::scan::scan;
use crate::schema::Schema;
use crate::violation::{Violations, push_token};

/// Integers nearer to zero than this are exact as `f64`, and as `i64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads arguments: within our limits, valid by their schema, and of the type.
pub(crate) fn read<T: DeserializeOwned>(
    arguments: &Arguments,
    schema: &Schema,
) -> Result<T, Violations> {
    read_text(arguments.as_bytes(), schema)
}

/// Reads any JSON in the same way, such as what somebody filled in.
pub(crate) fn read_text<T: DeserializeOwned>(
    text: &[u8],
    schema: &Schema,
) -> Result<T, Violations> {
    let mut violations = Violations::default();
    scan(text, &mut violations);
    if !violations.is_empty() {
        return Err(violations);
    }
    let value = parse(text)?;
    schema.check(&value, &mut violations);
    if !violations.is_empty() {
        return Err(violations);
    }
    T::deserialize(value).or_else(|_| read_again(parse(text)?))
}

/// Reads what is valid by its schema already.
pub(crate) fn read_value<T: DeserializeOwned>(value: Value) -> Result<T, Violations> {
    T::deserialize(&value).or_else(|_| read_again(value))
}

// === Behind the handle ===

fn parse(text: &[u8]) -> Result<Value, Violations> {
    serde_json::from_slice(text).map_err(|error| {
        let mut violations = Violations::default();
        violations.push("", format!("cannot be read: {error}"));
        violations
    })
}

/// Reads what is valid by its schema, but not of the type. The type may be
/// stricter; but to JSON Schema `5.0` is an integer, and to serde it is none.
fn read_again<T: DeserializeOwned>(mut value: Value) -> Result<T, Violations> {
    make_integers(&mut value);
    serde_path_to_error::deserialize(value).map_err(|error| {
        let mut pointer = String::new();
        for segment in error.path() {
            match segment {
                Segment::Seq { index } => push_token(&mut pointer, &index.to_string()),
                Segment::Map { key } => push_token(&mut pointer, key),
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        let mut violations = Violations::default();
        violations.push(pointer, error.inner().to_string());
        violations
    })
}

/// Writes numbers such as `5.0` as `5`. The recursion is bounded by what the
/// parser lets through.
fn make_integers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(integer) = to_integer(number) {
                *number = integer;
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(make_integers),
        Value::Object(members) => members.values_mut().for_each(make_integers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn to_integer(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    if float.fract() != 0.0 || float.abs() >= EXACT {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it has no fraction, and is exact in both types"
    )]
    let integer = float as i64;
    Some(Number::from(integer))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Order {
        count: i8,
        #[serde(default)]
        sizes: Vec<f64>,
    }

    #[track_caller]
    fn order(text: &str) -> Result<Order, String> {
        let schema = json!({
            "type": "object",
            "properties": {
                "count": {"type": "integer"},
                "sizes": {"type": "array", "items": {"type": "number"}},
            },
            "required": ["count"],
        });
        let schema = Schema::compile_input(&schema.to_string()).expect("a schema");
        let arguments = Arguments::new(Bytes::copy_from_slice(text.as_bytes()));
        read(&arguments, &schema).map_err(|violations| violations.to_string())
    }

    #[test]
    fn valid_arguments_become_the_type() {
        assert_eq!(
            order(r#"{"count":3,"sizes":[1,2.5]}"#),
            Ok(Order {
                count: 3,
                sizes: vec![1.0, 2.5]
            })
        );
    }

    #[test]
    fn unknown_members_are_ignored() {
        assert!(order(r#"{"count":3,"color":"red"}"#).is_ok());
    }

    #[test]
    fn an_integer_may_be_written_as_a_decimal() {
        assert_eq!(order(r#"{"count":3.0}"#).map(|order| order.count), Ok(3));
    }

    #[test]
    fn the_schema_speaks_first() {
        assert_eq!(
            order(r#"{"count":"3"}"#),
            Err("- /count: \"3\" is not of type \"integer\"".to_owned())
        );
    }

    #[test]
    fn what_only_the_type_refuses_is_pointed_at() {
        assert_eq!(
            order(r#"{"count":300}"#),
            Err("- /count: invalid value: integer `300`, expected i8".to_owned())
        );
    }

    #[test]
    fn an_integer_beyond_64_bits_is_refused_and_not_rounded() {
        let refusal = order(r#"{"count":1,"sizes":[18446744073709551616]}"#).expect_err("too wide");

        assert!(refusal.starts_with("- /sizes/0: "), "{refusal}");
        assert!(refusal.contains("64 bits"), "{refusal}");
    }

    #[test]
    fn an_integer_too_large_for_any_float_is_refused_in_the_same_words() {
        let refusal = order(&format!("{{\"count\":{}}}", "9".repeat(1000))).expect_err("too wide");

        assert!(refusal.starts_with("- /count: "), "{refusal}");
        assert!(refusal.contains("64 bits"), "{refusal}");
    }

    #[test]
    fn nesting_without_end_is_refused() {
        let refusal =
            order(&format!("{{\"count\":{}", "[".repeat(1_000_000))).expect_err("too deep");

        assert!(refusal.contains("nested deeper"), "{refusal}");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["[]", "null", "1", "\"{}\"", "", "{", "\u{0}"] {
            assert!(order(text).is_err(), "{text}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_refused() {
        assert!(order(r#"{"count":1,"x":"\ud800"}"#).is_err());
    }
}
