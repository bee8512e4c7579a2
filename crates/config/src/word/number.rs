//! Whole numbers within bounds.

use std::num::{NonZeroU16, NonZeroUsize};

use toml_edit::Value;

use super::{Bounds, Word, Written, Wrong};
use crate::Millis;

impl Word for u16 {
    fn read(written: Written<'_>, bounds: Bounds) -> Result<Self, Wrong> {
        whole(written, bounds, |number| number.try_into().ok())
    }

    fn write(&self) -> Value {
        i64::from(*self).into()
    }
}

impl Word for NonZeroU16 {
    fn read(written: Written<'_>, bounds: Bounds) -> Result<Self, Wrong> {
        whole(written, bounds, |number| {
            u16::try_from(number).ok().and_then(Self::new)
        })
    }

    fn write(&self) -> Value {
        self.get().write()
    }
}

impl Word for usize {
    fn read(written: Written<'_>, bounds: Bounds) -> Result<Self, Wrong> {
        whole(written, bounds, |number| number.try_into().ok())
    }

    fn write(&self) -> Value {
        i64::try_from(*self).unwrap_or(i64::MAX).into()
    }
}

impl Word for NonZeroUsize {
    fn read(written: Written<'_>, bounds: Bounds) -> Result<Self, Wrong> {
        whole(written, bounds, |number| {
            usize::try_from(number).ok().and_then(Self::new)
        })
    }

    fn write(&self) -> Value {
        self.get().write()
    }
}

impl Word for Millis {
    fn read(written: Written<'_>, bounds: Bounds) -> Result<Self, Wrong> {
        whole(written, bounds, |number| Some(Self::new(number)))
    }

    fn write(&self) -> Value {
        i64::try_from(self.get()).unwrap_or(i64::MAX).into()
    }
}

// === Behind the handle ===

fn whole<T>(
    written: Written<'_>,
    bounds: Bounds,
    narrow: impl FnOnce(u64) -> Option<T>,
) -> Result<T, Wrong> {
    let Bounds { least, most } = bounds;
    let expected = format!("a whole number from {least} to {most}");
    let number = match written {
        Written::Toml(Value::Integer(number)) => u64::try_from(*number.value()).ok(),
        Written::Toml(_) => return Err(written.wrong_type(&expected)),
        Written::Text(text) => text.parse().ok(),
    };
    number
        .filter(|number| (least..=most).contains(number))
        .and_then(narrow)
        .ok_or_else(|| written.wrong(&expected))
}
