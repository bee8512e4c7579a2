//! Looks through JSON text for what a parser would round, overflow on or take for
//! something else, before one sees it. Pure, one pass, no recursion.

use std::ops::Range;

use crate::violation::{Violations, push_token};

/// The deepest nesting that is read; `serde_json` refuses one level more.
pub(crate) const MAX_DEPTH: usize = 127;

/// A member of this name makes `serde_json` parse the string behind it as JSON,
/// past all limits.
const RAW_VALUE_MEMBER: &str = "$serde_json::private::RawValue";

/// Notes integers beyond 64 bits, nesting beyond [`MAX_DEPTH`] and members whose
/// name `serde_json` keeps for itself.
///
/// Takes any bytes. What is not JSON is for the parser to find.
pub(crate) fn scan(text: &[u8], violations: &mut Violations) {
    let mut scanner = Scanner {
        text,
        path: Vec::new(),
        key_comes: false,
    };
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at = match byte {
            b'"' => scanner.string(at, violations),
            b'-' | b'0'..=b'9' => scanner.number(at, violations),
            _ => {
                scanner.structure(byte);
                at + 1
            }
        };
        if scanner.path.len() > MAX_DEPTH {
            violations.push("", format!("is nested deeper than {MAX_DEPTH} levels"));
            return;
        }
    }
}

// === Behind the handle ===

struct Scanner<'a> {
    text: &'a [u8],
    /// Where we are, outermost first. Never longer than [`MAX_DEPTH`] and one.
    path: Vec<Step>,
    /// Whether the next string is the name of a member.
    key_comes: bool,
}

enum Step {
    /// In an object, behind the name that stands here in the text, quotes included.
    Member(Range<usize>),
    /// In an array, at this element.
    Element(usize),
}

impl Scanner<'_> {
    fn structure(&mut self, byte: u8) {
        match byte {
            b'{' => {
                self.path.push(Step::Member(0..0));
                self.key_comes = true;
            }
            b'[' => {
                self.path.push(Step::Element(0));
                self.key_comes = false;
            }
            b'}' | b']' => {
                self.path.pop();
                self.key_comes = false;
            }
            b',' => match self.path.last_mut() {
                Some(Step::Element(index)) => *index += 1,
                Some(Step::Member(_)) => self.key_comes = true,
                None => {}
            },
            _ => {}
        }
    }

    /// Returns where the text goes on behind the string that starts at `start`.
    fn string(&mut self, start: usize, violations: &mut Violations) -> usize {
        let end = end_of_string(self.text, start);
        if !self.key_comes {
            return end;
        }
        self.key_comes = false;
        if let Some(Step::Member(name)) = self.path.last_mut() {
            *name = start..end;
        }
        let quoted = self.text.get(start..end).unwrap_or_default();
        if may_be_reserved(quoted) && self.name(&(start..end)) == RAW_VALUE_MEMBER {
            violations.push(self.pointer(), "has a name that cannot be used");
        }
        end
    }

    /// Returns where the text goes on behind the number that starts at `start`.
    fn number(&self, start: usize, violations: &mut Violations) -> usize {
        let rest = self.text.get(start..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|byte| !matches!(byte, b'-' | b'+' | b'.' | b'0'..=b'9' | b'e' | b'E'))
            .unwrap_or(rest.len());
        let number = rest.get(..length).unwrap_or_default();
        if is_wide(number) {
            violations.push(
                self.pointer(),
                "is an integer that does not fit into 64 bits; pass a smaller one, or a string where the tool takes one",
            );
        }
        start + length.max(1)
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.path {
            match step {
                Step::Member(name) => push_token(&mut pointer, &self.name(name)),
                Step::Element(index) => push_token(&mut pointer, &index.to_string()),
            }
        }
        pointer
    }

    fn name(&self, quoted: &Range<usize>) -> String {
        let quoted = self.text.get(quoted.clone()).unwrap_or_default();
        serde_json::from_slice(quoted)
            .unwrap_or_else(|_| String::from_utf8_lossy(quoted).into_owned())
    }
}

/// Returns the index behind the closing quote, or the end of the text.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(rest) = text.get(at..) {
        match rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
            None => break,
            Some(offset) if rest.get(offset) == Some(&b'"') => return at + offset + 1,
            Some(offset) => at += offset + 2,
        }
    }
    text.len()
}

/// Whether a quoted name is worth decoding: it is escaped, or begins as the
/// reserved ones do.
fn may_be_reserved(quoted: &[u8]) -> bool {
    quoted.contains(&b'\\') || quoted.starts_with(b"\"$s")
}

/// Whether a number is written as an integer, and is too big for `i64` and `u64`.
fn is_wide(number: &[u8]) -> bool {
    /// So many digits always fit.
    const NARROW: usize = 18;
    if number.len() <= NARROW || number.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return false;
    }
    str::from_utf8(number)
        .is_ok_and(|text| text.parse::<u64>().is_err() && text.parse::<i64>().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, pointers: &[&str]) {
        let mut violations = Violations::default();

        scan(text.as_bytes(), &mut violations);

        assert_eq!(violations.pointers(), pointers, "{text}");
    }

    #[test]
    fn the_widest_integers_pass() {
        check(
            r#"{"a":18446744073709551615,"b":-9223372036854775808}"#,
            &[],
        );
    }

    #[test]
    fn one_above_the_widest_unsigned_is_found() {
        check(r#"{"a":18446744073709551616}"#, &["/a"]);
    }

    #[test]
    fn one_below_the_widest_signed_is_found() {
        check(r#"{"a":-9223372036854775809}"#, &["/a"]);
    }

    #[test]
    fn a_decimal_of_many_digits_is_not_an_integer() {
        check(r#"{"a":18446744073709551616.5,"b":1e400}"#, &[]);
    }

    #[test]
    fn digits_in_strings_are_text() {
        check(
            r#"{"a":"99999999999999999999","99999999999999999999":1}"#,
            &[],
        );
    }

    #[test]
    fn each_is_found_where_it_stands() {
        check(
            r#" { "a" : [1, [2, 99999999999999999999], {"x/y":[], "q\"~" : 99999999999999999999}], "b":99999999999999999999 }"#,
            &["/a/1/1", "/a/2/q\"~0", "/b"],
        );
    }

    #[test]
    fn the_deepest_text_that_the_parser_takes_passes() {
        let deep = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));

        check(&deep, &[]);
        serde_json::from_str::<serde_json::Value>(&deep).expect("as deep as may be");
    }

    #[test]
    fn one_level_more_is_found() {
        check(&"[".repeat(100_000), &[""]);
    }

    #[test]
    fn a_name_that_would_smuggle_json_past_the_limits_is_found() {
        check(
            r#"{"a":{"$serde_json::private::RawValue":"[1]"},"b":{"\u0024serde_json::private::RawValue":"1"}}"#,
            &[
                "/a/$serde_json::private::RawValue",
                "/b/$serde_json::private::RawValue",
            ],
        );
    }

    #[test]
    fn text_that_is_not_json_ends_quietly() {
        for text in [
            "\"",
            "\"\\",
            "{\"a",
            "-",
            "]]]",
            "}",
            ",",
            "\u{0}",
            "{{[\"x\",,}",
        ] {
            check(text, &[]);
        }
    }
}
