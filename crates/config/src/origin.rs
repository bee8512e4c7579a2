//! Where a value was written.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Where the value of a setting comes from. Written as messages have it, such as
/// `conduit.toml:3:1`, `environment CONDUIT_HTTP_LISTEN`, `option --listen`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    #[default]
    Default,
    /// The configuration file.
    File(Place),
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// An option of the command line.
    Flag {
        /// The option, with its dashes.
        option: &'static str,
    },
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was given.
    pub path: Arc<PathBuf>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// Where each setting comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<&'static str, Origin>);

impl Origins {
    /// Returns where the setting of this path, such as `http.listen`, comes from.
    #[must_use]
    pub fn of(&self, path: &str) -> Origin {
        self.0.get(path).cloned().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, path: &'static str, origin: Origin) {
        self.0.insert(path, origin);
    }
}

impl Place {
    /// Finds the line and the column of a byte.
    pub(crate) fn of_byte(path: &Arc<PathBuf>, text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_before = before.get(line_start..).unwrap_or_default();
        Self {
            path: Arc::clone(path),
            line: before.matches('\n').count() + 1,
            column: line_before.trim_start_matches('\u{feff}').chars().count() + 1,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(place) => place.fmt(f),
            Self::Environment { variable } => write!(f, "environment {variable}"),
            Self::Flag { option } => write!(f, "option {option}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, byte: usize, expected: &str) {
        let path = Arc::new(PathBuf::from("a.toml"));

        assert_eq!(Place::of_byte(&path, text, byte).to_string(), expected);
    }

    #[test]
    fn the_first_byte_is_at_line_one_column_one() {
        check("x = 1\n", 0, "a.toml:1:1");
    }

    #[test]
    fn a_line_starts_after_the_line_break() {
        check("x = 1\ny = 2\n", 6, "a.toml:2:1");
    }

    #[test]
    fn columns_count_characters() {
        check("\"äö\" = 1", 6, "a.toml:1:5");
    }

    #[test]
    fn a_byte_order_mark_takes_no_column() {
        check("\u{feff}x = 1", 3, "a.toml:1:1");
    }

    #[test]
    fn a_byte_behind_the_end_is_at_the_end() {
        check("x", 99, "a.toml:1:2");
    }
}
