//! The levels of log messages to a client.

use std::fmt;

/// How grave a log message is; ordered from `debug` to `emergency`.
///
/// Source: C-TYPE-14.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LogLevel {
    /// Details for who looks for a fault.
    Debug,
    /// What went as it should.
    Info,
    /// Normal, but worth a look.
    Notice,
    /// May become a problem.
    Warning,
    /// Something failed.
    Error,
    /// A part is broken.
    Critical,
    /// Somebody has to act now.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LogLevel {
    /// All levels, ascending.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Finds the level of this name; names are lower case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_found_by_its_name() {
        for level in LogLevel::ALL {
            assert_eq!(LogLevel::parse(level.as_str()), Some(level));
        }
    }

    #[test]
    fn other_names_are_no_level() {
        for name in ["verbose", "DEBUG", "", "warn"] {
            assert_eq!(LogLevel::parse(name), None, "{name}");
        }
    }

    #[test]
    fn levels_ascend_from_debug_to_emergency() {
        assert!(LogLevel::ALL.is_sorted());
    }
}
