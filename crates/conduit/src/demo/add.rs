//! `add`: adds two numbers, and answers with structured content.

use conduit_server::{Context, Json, ToolBuilder, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// Integers up to here are exact beside decimals.
const EXACT: u128 = 1 << 53;

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first number: an integer of up to 64 bits, or a decimal.
    a: Number,
    /// The second number: an integer of up to 64 bits, or a decimal.
    b: Number,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Sum {
    /// Both numbers together; an integer if both are.
    sum: Number,
}

pub(super) fn tool() -> ToolBuilder {
    conduit_server::tool(
        "add",
        "Adds two numbers. The sum of integers is exact; where it would not be, the call fails \
         instead.",
        add,
    )
    .title("Add")
    .read_only(true)
    .idempotent(true)
    .open_world(false)
    .inline()
}

async fn add(arguments: Add, _context: Context) -> Result<Json<Sum>, ToolError> {
    sum(&arguments.a, &arguments.b).map(|sum| Json(Sum { sum }))
}

// === Behind the tool ===

fn sum(a: &Number, b: &Number) -> Result<Number, ToolError> {
    let sum = match (a.as_i128(), b.as_i128()) {
        // Both are of 64 bits, so their sum is one of 65.
        (Some(a), Some(b)) => Number::from_i128(a + b),
        (Some(_), None) | (None, Some(_) | None) => Number::from_f64(decimal(a)? + decimal(b)?),
    };
    sum.ok_or_else(|| ToolError::new("the sum is too large for a number; use smaller numbers"))
}

fn decimal(number: &Number) -> Result<f64, ToolError> {
    let exact = number
        .as_i128()
        .is_none_or(|integer| integer.unsigned_abs() <= EXACT);
    match number.as_f64() {
        Some(decimal) if exact => Ok(decimal),
        Some(_) | None => Err(ToolError::new(format!(
            "{number} is too large to be added to a decimal without losing digits; \
             use integers only, or a smaller one"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds two numbers as they are written in JSON.
    fn add(a: &str, b: &str) -> Option<String> {
        let number = |text| serde_json::from_str::<Number>(text).expect("a number");
        let sum = sum(&number(a), &number(b)).ok()?;
        Some(sum.to_string())
    }

    #[track_caller]
    fn check(a: &str, b: &str, sum: &str) {
        assert_eq!(add(a, b).as_deref(), Some(sum));
        assert_eq!(add(b, a).as_deref(), Some(sum));
    }

    #[test]
    fn integers_make_an_integer() {
        check("2", "3", "5");
        check("-2", "3", "1");
        check("0", "0", "0");
    }

    #[test]
    fn large_integers_keep_every_digit() {
        check("9007199254740992", "1", "9007199254740993");
        check(
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615",
        );
        check(
            "18446744073709551615",
            "-9223372036854775808",
            "9223372036854775807",
        );
        check("-9223372036854775807", "-1", "-9223372036854775808");
    }

    #[test]
    fn a_sum_beyond_64_bits_fails() {
        assert_eq!(add("18446744073709551615", "1"), None);
        assert_eq!(add("-9223372036854775808", "-1"), None);
    }

    #[test]
    fn a_decimal_makes_a_decimal() {
        check("0.5", "0.25", "0.75");
        check("1", "0.5", "1.5");
        check("1.0", "2.0", "3.0");
    }

    #[test]
    fn a_sum_beyond_all_decimals_fails() {
        assert_eq!(add("1.7e308", "1.7e308"), None);
    }

    #[test]
    fn an_integer_that_a_decimal_would_round_fails() {
        check("9007199254740992", "0.0", "9007199254740992.0");
        assert_eq!(add("9007199254740993", "0.0"), None);
    }
}
