//! Reads the members of an object that one knows by name, in one pass.
//!
//! Values stay raw, unknown members are skipped, nothing is allocated. A name
//! that occurs twice is told apart from one that occurs once: two readers of a
//! duplicate (a proxy and we) could see different values.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// What an object holds under one name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Slot<'a> {
    /// Nothing.
    #[default]
    Absent,
    /// This value, `null` included.
    One(&'a RawValue),
    /// More than one value.
    Twice,
}

impl<'a> Slot<'a> {
    pub(crate) const fn is_absent(self) -> bool {
        matches!(self, Self::Absent)
    }

    pub(crate) const fn is_twice(self) -> bool {
        matches!(self, Self::Twice)
    }

    pub(crate) const fn one(self) -> Option<&'a RawValue> {
        match self {
            Self::One(raw) => Some(raw),
            Self::Absent | Self::Twice => None,
        }
    }

    pub(crate) const fn add(&mut self, raw: &'a RawValue) {
        *self = match self {
            Self::Absent => Self::One(raw),
            Self::One(_) | Self::Twice => Self::Twice,
        };
    }
}

/// Reads the members called `names` of the object in `text`.
///
/// An error of category *data* means that the text starts as something other
/// than an object; what follows has not been looked at then.
pub(crate) fn read<'a, const N: usize>(
    text: &'a str,
    names: &[&str; N],
) -> serde_json::Result<[Slot<'a>; N]> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let slots = deserializer.deserialize_map(Object(names))?;
    deserializer.end()?;
    Ok(slots)
}

/// Seed that reads the named members of a value if that is an object, and skips
/// the value otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IfObject<'n, const N: usize>(pub(crate) &'n [&'static str; N]);

impl<'de, const N: usize> DeserializeSeed<'de> for IfObject<'_, N> {
    type Value = [Slot<'de>; N];

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for IfObject<'_, N> {
    type Value = [Slot<'de>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        collect(map, self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok([Slot::Absent; N])
    }

    fn visit_bool<E>(self, _value: bool) -> Result<Self::Value, E> {
        Ok([Slot::Absent; N])
    }

    fn visit_i64<E>(self, _value: i64) -> Result<Self::Value, E> {
        Ok([Slot::Absent; N])
    }

    fn visit_u64<E>(self, _value: u64) -> Result<Self::Value, E> {
        Ok([Slot::Absent; N])
    }

    fn visit_f64<E>(self, _value: f64) -> Result<Self::Value, E> {
        Ok([Slot::Absent; N])
    }

    fn visit_str<E>(self, _value: &str) -> Result<Self::Value, E> {
        Ok([Slot::Absent; N])
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok([Slot::Absent; N])
    }
}

/// Seed that tells which of the names a key is, if any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Which<'n>(pub(crate) &'n [&'n str]);

impl<'de> DeserializeSeed<'de> for Which<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Which<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|name| *name == key))
    }
}

// === Behind the handle ===

struct Object<'n, const N: usize>(&'n [&'n str; N]);

impl<'de, const N: usize> Visitor<'de> for Object<'_, N> {
    type Value = [Slot<'de>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        collect(map, self.0)
    }
}

fn collect<'de, A: MapAccess<'de>, const N: usize>(
    mut map: A,
    names: &[&str; N],
) -> Result<[Slot<'de>; N], A::Error> {
    let mut slots = [Slot::Absent; N];
    while let Some(place) = map.next_key_seed(Which(names))? {
        match place.and_then(|place| slots.get_mut(place)) {
            Some(slot) => slot.add(map.next_value()?),
            None => {
                map.next_value::<IgnoredAny>()?;
            }
        }
    }
    Ok(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_found_however_its_key_is_spelt() {
        let [found] = read(r#"{"\u0061":1,"b":[{}]}"#, &["a"]).expect("an object");

        assert_eq!(found.one().map(RawValue::get), Some("1"));
    }

    #[test]
    fn a_name_that_occurs_twice_has_no_value() {
        let [found] = read(r#"{"a":1,"\u0061":2}"#, &["a"]).expect("an object");

        assert!(found.is_twice());
        assert!(found.one().is_none());
    }

    #[test]
    fn null_is_a_value() {
        let [found, missing] = read(r#"{"a":null}"#, &["a", "b"]).expect("an object");

        assert_eq!(found.one().map(RawValue::get), Some("null"));
        assert!(missing.is_absent());
    }

    #[test]
    fn very_deep_values_are_skipped_without_recursion() {
        let deep = format!(
            r#"{{"x":{}{},"a":1}}"#,
            "[".repeat(200_000),
            "]".repeat(200_000)
        );

        let [found] = read(&deep, &["a"]).expect("an object");

        assert_eq!(found.one().map(RawValue::get), Some("1"));
    }
}
