//! Compares numbers by their value, whatever their size (M-HDR-07, R35).

use serde_json::value::RawValue;

use crate::raw;

/// Returns whether two texts are JSON numbers of the same value: `42` and `42.0`.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    match (Decimal::read(one), Decimal::read(other)) {
        (Some(one), Some(other)) => one == other,
        (None, _) | (_, None) => false,
    }
}

// === Behind the handle ===

/// A number as its digits, without zeros at either end, times a power of ten.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i128,
}

impl Decimal {
    /// Reads a number; `None` for another text, and for an exponent beyond 64 bits.
    fn read(text: &str) -> Option<Self> {
        let number: &RawValue = serde_json::from_str(text).ok()?;
        if !raw::is_number(number) || number.get().len() != text.len() {
            return None;
        }
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
            None => (rest, 0_i64),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        let digits = digits.trim_start_matches('0');
        let significant = digits.trim_end_matches('0');
        if significant.is_empty() {
            return Some(Self {
                negative: false,
                digits: String::new(),
                exponent: 0,
            });
        }
        let zeros = i128::try_from(digits.len() - significant.len()).ok()?;
        let places = i128::try_from(fraction.len()).ok()?;
        Some(Self {
            negative,
            digits: significant.to_owned(),
            exponent: i128::from(exponent) + zeros - places,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, expected: bool) {
        assert_eq!(is_same(one, other), expected, "{one} {other}");
        assert_eq!(is_same(other, one), expected, "{other} {one}");
    }

    #[test]
    fn a_number_is_the_same_however_it_is_written() {
        for other in [
            "42", "42.0", "42.000", "4.2e1", "4.2E+1", "420e-1", "0.042e3",
        ] {
            check("42", other, true);
        }
        check("-1", "-1.0", true);
        check("0", "-0.0", true);
        check("0", "0e99", true);
        check("100", "1e2", true);
        check("1e9223372036854775806", "0.1e9223372036854775807", true);
        check("1e9223372036854775807", "10.0e9223372036854775806", true);
    }

    #[test]
    fn different_numbers_differ_in_any_digit() {
        for other in ["-42", "4.2", "420", "42.00000000000000000000001", "42e1"] {
            check("42", other, false);
        }
        check("9007199254740993", "9007199254740992", false);
        check("123456789012345678901", "123456789012345678901.0", true);
    }

    #[test]
    fn what_json_does_not_call_a_number_is_the_same_as_nothing() {
        for text in [
            "",
            " ",
            "042",
            "+42",
            "42.",
            ".5",
            "0x2a",
            "42 ",
            " 42",
            "4 2",
            "NaN",
            "true",
            "\"42\"",
            "null",
            "[42]",
            "1e99999999999999999999",
        ] {
            check(text, "42", false);
            check(text, text, false);
        }
    }
}
