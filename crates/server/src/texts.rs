//! Reads named texts, such as the variables of a URI or the arguments of a prompt,
//! into what a handler takes. Pure.
//!
//! A struct or a map gets them by name, a tuple in order, and anything else the only
//! one there is. Numbers and the like are parsed.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, Expected, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_path_to_error::Segment;

/// What is wrong with texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The name of the text, unless it is not about one of them.
    pub(crate) name: Option<String>,
    pub(crate) reason: String,
    /// Whether other names, or another number of texts, are expected: then no texts
    /// with these names are ever read.
    pub(crate) is_never_met: bool,
}

/// Reads texts, which are pairs of a name and a value.
pub(crate) fn read<T: DeserializeOwned>(texts: &[(&str, &str)]) -> Result<T, Mismatch> {
    serde_path_to_error::deserialize(Texts(texts)).map_err(|error| {
        let segment = error.path().iter().next();
        let name = match segment {
            Some(Segment::Map { key }) => Some(key.as_str()),
            Some(Segment::Seq { index }) => texts.get(*index).map(|(name, _)| *name),
            Some(Segment::Enum { .. } | Segment::Unknown) | None => match texts {
                [(name, _)] => Some(*name),
                _ => None,
            },
        };
        Mismatch {
            name: name.map(str::to_owned),
            reason: error.inner().to_string(),
            is_never_met: error.inner().is_never_met,
        }
    })
}

/// Says why texts with these names will never be read, as far as that can be seen
/// without their values.
pub(crate) fn never_met<T: DeserializeOwned>(names: &[&str]) -> Option<String> {
    let texts: Vec<_> = names.iter().map(|name| (*name, "1")).collect();
    let mismatch = read::<T>(&texts).err()?;
    mismatch.is_never_met.then_some(mismatch.reason)
}

/// Returns the names of the fields of a struct, in the order in which it has them;
/// none of anything else, and none of a struct into which others are flattened.
pub(crate) fn field_names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &[&str] = &[];
    // It is always refused, as soon as it has told the names.
    drop(T::deserialize(FieldNames(&mut names)));
    names
}

// === Behind the handle ===

#[derive(Clone, Copy)]
struct Texts<'a>(&'a [(&'a str, &'a str)]);

#[derive(Clone, Copy)]
struct Text<'a>(&'a str);

#[derive(Debug)]
struct Error {
    reason: String,
    is_never_met: bool,
}

impl Error {
    fn never_met(reason: impl fmt::Display) -> Self {
        Self {
            is_never_met: true,
            ..Self::custom(reason)
        }
    }
}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self {
            reason: reason.to_string(),
            is_never_met: false,
        }
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::never_met(format_args!("{expected} is expected, not {length} texts"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::never_met(format_args!("`{field}` is missing"))
    }

    fn unknown_field(field: &str, _expected: &'static [&'static str]) -> Self {
        Self::never_met(format_args!("`{field}` is not expected"))
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl<'a> Texts<'a> {
    fn only(self) -> Result<Text<'a>, Error> {
        match self.0 {
            [(_, value)] => Ok(Text(value)),
            texts => Err(Error::never_met(format_args!(
                "one text is expected, not {}",
                texts.len()
            ))),
        }
    }
}

/// Hands what is about a single text to that text.
macro_rules! deserialize_the_only_one {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                self.only()?.$method(visitor)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for Texts<'_> {
    type Error = Error;

    deserialize_the_only_one! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char deserialize_str
        deserialize_string deserialize_bytes deserialize_byte_buf deserialize_identifier
        deserialize_option
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let texts = self.0.iter().map(|(name, value)| (*name, Text(value)));
        visitor.visit_map(MapDeserializer::new(texts))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let texts = self.0.iter().map(|(_, value)| Text(value));
        visitor.visit_seq(SeqDeserializer::new(texts))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.0.len() != length {
            return Err(Error::invalid_length(self.0.len(), &visitor));
        }
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.only()?.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { map struct ignored_any }
}

impl IntoDeserializer<'_, Error> for Text<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Parses the text into what the type wants to see.
macro_rules! deserialize_parsed {
    ($($method:ident $visit:ident $type:literal)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                visitor.$visit(self.parse($type)?)
            }
        )*
    };
}

impl Text<'_> {
    fn parse<T: FromStr>(self, wanted: &str) -> Result<T, Error> {
        let refused = |_| Error::custom(format_args!("is not {wanted}"));
        self.0.parse().map_err(refused)
    }
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = Error;

    deserialize_parsed! {
        deserialize_bool visit_bool "`true` or `false`"
        deserialize_i8 visit_i8 "an integer of this size"
        deserialize_i16 visit_i16 "an integer of this size"
        deserialize_i32 visit_i32 "an integer of this size"
        deserialize_i64 visit_i64 "an integer of this size"
        deserialize_i128 visit_i128 "an integer of this size"
        deserialize_u8 visit_u8 "a positive integer of this size"
        deserialize_u16 visit_u16 "a positive integer of this size"
        deserialize_u32 visit_u32 "a positive integer of this size"
        deserialize_u64 visit_u64 "a positive integer of this size"
        deserialize_u128 visit_u128 "a positive integer of this size"
        deserialize_f32 visit_f32 "a number"
        deserialize_f64 visit_f64 "a number"
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

struct FieldNames<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("no struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        Err(Error::custom("seen enough"))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
