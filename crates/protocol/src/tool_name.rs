//! How tools may be called.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::limits::TOOL_NAME_CHARS;

/// The name of a tool: 1 to 64 characters of `A-Z a-z 0-9 _ . -`.
///
/// Cloning is cheap, and a map of them can be searched by `&str`.
///
/// Source: R32.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName(Arc<str>);

/// Says that a text is no name of a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a tool cannot be called {0:?}: a name has 1 to {TOOL_NAME_CHARS} characters of `A-Z a-z 0-9 _ . -`"
)]
pub struct InvalidToolName(pub String);

impl ToolName {
    /// Takes `name` as it is.
    ///
    /// # Errors
    ///
    /// [`InvalidToolName`] when it is empty, too long or has other characters.
    pub fn new(name: &str) -> Result<Self, InvalidToolName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        if (1..=TOOL_NAME_CHARS).contains(&name.len()) && name.bytes().all(allowed) {
            Ok(Self(Arc::from(name)))
        } else {
            Err(InvalidToolName(name.to_owned()))
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_digits_and_three_signs_make_a_name() {
        for name in ["a", "Echo_2", "a.b-c", &"x".repeat(64)] {
            assert_eq!(ToolName::new(name).expect("a name").as_str(), name);
        }
    }

    #[test]
    fn anything_else_is_no_name() {
        for name in ["", "a b", "a/b", "é", "a\n", &"x".repeat(65)] {
            assert!(ToolName::new(name).is_err(), "{name:?}");
        }
    }
}
