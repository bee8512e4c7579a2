//! The arguments of a call, as text.

use std::borrow::Cow;

use bytes::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The JSON text of a call's arguments, not looked at yet.
///
/// Parsing is the work's first step, so that large arguments cost the worker
/// and not the loop that serves the connections. Cloning is cheap.
///
/// As what a handler takes, it is any valid arguments: their JSON, in which
/// white space and the order of members may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments(Bytes);

/// What a handler takes that takes no arguments; any are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}

impl Arguments {
    /// Takes the text of an object. What is not an object, or not JSON at all, is
    /// found out when a tool reads it.
    #[must_use]
    pub const fn new(text: Bytes) -> Self {
        Self(text)
    }

    /// Returns `{}`, which is what a call without arguments means.
    #[must_use]
    pub const fn none() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// Returns the text.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Returns the text where it is.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Self::none()
    }
}

impl From<Bytes> for Arguments {
    fn from(text: Bytes) -> Self {
        Self(text)
    }
}

impl From<Box<RawValue>> for Arguments {
    fn from(text: Box<RawValue>) -> Self {
        Self(Bytes::from(String::from(Box::<str>::from(text))))
    }
}

impl From<&RawValue> for Arguments {
    fn from(text: &RawValue) -> Self {
        Self(Bytes::copy_from_slice(text.get().as_bytes()))
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

impl JsonSchema for Arguments {
    fn schema_name() -> Cow<'static, str> {
        "Arguments".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object"})
    }
}

/// As short as it can be said (C-TYPE-12).
impl JsonSchema for NoArguments {
    fn schema_name() -> Cow<'static, str> {
        "NoArguments".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "additionalProperties": false})
    }
}
