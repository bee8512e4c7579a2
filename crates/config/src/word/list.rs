//! Lists; outside the file their elements are separated by commas.

use toml_edit::{Array, Value};

use super::{Bounds, Word, Written, Wrong};

impl<T: Word> Word for Vec<T> {
    fn read(written: Written<'_>, bounds: Bounds) -> Result<Self, Wrong> {
        match written {
            Written::Toml(Value::Array(array)) => array
                .iter()
                .map(|element| T::read(Written::Toml(element), bounds).map_err(of_each))
                .collect(),
            Written::Toml(_) => Err(written.wrong_type("a list")),
            Written::Text(text) if text.trim().is_empty() => Ok(Self::new()),
            Written::Text(text) => text
                .split(',')
                .map(|element| T::read(Written::Text(element.trim()), bounds).map_err(of_each))
                .collect(),
        }
    }

    fn write(&self) -> Value {
        self.iter().map(Word::write).collect::<Array>().into()
    }
}

// === Behind the handle ===

fn of_each(wrong: Wrong) -> Wrong {
    Wrong {
        expected: format!("a list of which each is {}", wrong.expected),
        span: wrong.span,
    }
}
