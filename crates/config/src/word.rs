//! From what is written to what is meant, one kind of value a type.
//!
//! A [`Word`] says what it would accept, never what it was given: values may be
//! secrets, and they are in front of whoever wrote them.

mod address;
mod choice;
mod host;
mod list;
mod network;
mod number;

use std::ops::Range;
use std::path::PathBuf;

use toml_edit::Value;

pub use self::choice::{AddressScope, LogFormat, LogLevel};
pub use self::host::{HostName, WebOrigin};
pub use self::network::{Network, NotNetwork};

/// A type that a setting can have.
pub(crate) trait Word: Sized {
    /// Understands what was written. Only numbers have bounds.
    fn read(written: Written<'_>, bounds: Bounds) -> Result<Self, Wrong>;

    /// Writes it as the file would.
    fn write(&self) -> Value;
}

/// A value where it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Written<'a> {
    /// In the file.
    Toml(&'a Value),
    /// In an environment variable or an option.
    Text(&'a str),
}

/// The numbers that a setting may be, both ends included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

/// What a value should have been.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// What comes after "must be".
    pub(crate) expected: String,
    /// Where in the file it is, when that is not the whole value.
    pub(crate) span: Option<Range<usize>>,
}

impl Bounds {
    /// Bounds for what is not a number.
    pub(crate) const ANY: Self = Self {
        least: 0,
        most: u64::MAX,
    };
}

impl<'a> Written<'a> {
    /// Returns the text, or says that it should have been `expected`.
    fn text(self, expected: &str) -> Result<&'a str, Wrong> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Toml(Value::String(text)) => Ok(text.value()),
            Self::Toml(_) => Err(self.wrong_type(expected)),
        }
    }

    /// Says that another type was expected, and which one was found.
    fn wrong_type(self, expected: &str) -> Wrong {
        match self {
            Self::Text(_) => self.wrong(expected),
            Self::Toml(value) => self.wrong(&format!("{expected}, not {}", kind(value))),
        }
    }

    /// Says what was expected.
    fn wrong(self, expected: &str) -> Wrong {
        Wrong {
            expected: expected.to_owned(),
            span: match self {
                Self::Text(_) => None,
                Self::Toml(value) => value.span(),
            },
        }
    }
}

impl Word for bool {
    fn read(written: Written<'_>, _bounds: Bounds) -> Result<Self, Wrong> {
        const EXPECTED: &str = "true or false";
        match written {
            Written::Toml(Value::Boolean(flag)) => Ok(*flag.value()),
            Written::Text("true") => Ok(true),
            Written::Text("false") => Ok(false),
            Written::Toml(_) | Written::Text(_) => Err(written.wrong_type(EXPECTED)),
        }
    }

    fn write(&self) -> Value {
        (*self).into()
    }
}

impl Word for PathBuf {
    fn read(written: Written<'_>, _bounds: Bounds) -> Result<Self, Wrong> {
        const EXPECTED: &str = "a path";
        let path = written.text(EXPECTED)?;
        if path.contains('\0') {
            return Err(written.wrong("a path without a zero byte"));
        }
        Ok(path.into())
    }

    fn write(&self) -> Value {
        self.to_string_lossy().into_owned().into()
    }
}

// === Behind the handle ===

/// Returns how people call the type of a value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number with a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date or time",
        Value::Array(_) => "a list",
        Value::InlineTable(_) => "a table",
    }
}
