//! What is wrong with a value, in words that a model can act on. Pure.

use std::fmt;

/// The most violations that are reported of one value.
pub(crate) const MAX_VIOLATIONS: usize = 20;

/// The longest text of one violation, in bytes; the rest is cut off.
const MAX_TEXT: usize = 300;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// A JSON pointer; empty for the whole value.
    pub(crate) pointer: String,
    pub(crate) text: String,
}

/// All that is wrong with one value, up to [`MAX_VIOLATIONS`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Violations {
    found: Vec<Violation>,
    more: bool,
}

/// Appends one member's name or one element's number to a JSON pointer.
///
/// Source: RFC 6901, section 3.
pub(crate) fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

impl Violations {
    /// Adds one, cut to a bearable length; past the limit it is only noted that
    /// there are more.
    pub(crate) fn push(&mut self, pointer: impl Into<String>, text: impl Into<String>) {
        if self.is_full() {
            self.more = true;
            return;
        }
        let (mut pointer, mut text) = (pointer.into(), text.into());
        shorten(&mut pointer);
        shorten(&mut text);
        self.found.push(Violation { pointer, text });
    }

    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= MAX_VIOLATIONS
    }

    /// Whether there were more than could be kept.
    pub(crate) const fn is_cut(&self) -> bool {
        self.more
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns where they are.
    pub(crate) fn pointers(&self) -> Vec<&str> {
        self.found.iter().map(|v| v.pointer.as_str()).collect()
    }
}

/// A line each: the pointer, a colon, the text.
impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Violation { pointer, text }) in self.found.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            match pointer.as_str() {
                "" => write!(f, "- (the whole object): {text}")?,
                pointer => write!(f, "- {pointer}: {text}")?,
            }
        }
        if self.is_cut() {
            f.write_str("\n- and more")?;
        }
        Ok(())
    }
}

// === Behind the handle ===

fn shorten(text: &mut String) {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_escapes_what_the_pointer_syntax_uses() {
        let mut pointer = "/a".to_owned();

        push_token(&mut pointer, "b/c~d");

        assert_eq!(pointer, "/a/b~1c~0d");
    }

    #[test]
    fn the_twenty_first_violation_is_only_noted() {
        let mut violations = Violations::default();

        for index in 0..=MAX_VIOLATIONS {
            violations.push(format!("/{index}"), "is wrong");
        }

        assert_eq!(violations.pointers().len(), MAX_VIOLATIONS);
        assert!(violations.to_string().ends_with("\n- and more"));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let mut violations = Violations::default();

        violations.push("", "é".repeat(MAX_TEXT));

        let text = violations.to_string();
        assert!(text.len() < MAX_TEXT + 40, "{} bytes", text.len());
        assert!(text.ends_with('…'));
    }
}
