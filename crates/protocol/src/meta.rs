//! The keys of `_meta`, and what an author may put there.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::raw;

/// The reserved keys of `_meta` that this crate reads or writes (C-META-03).
pub mod keys {
    /// The version that a modern request is to be served by.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// What the sender of a modern request can do.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Who sent a modern request.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// The lowest level of log messages that a modern request wants to hear.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// Names the progress of a request, in both eras.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// W3C trace context, in both eras.
    pub const TRACEPARENT: &str = "traceparent";
    /// W3C trace context, in both eras.
    pub const TRACESTATE: &str = "tracestate";
    /// W3C baggage, in both eras.
    pub const BAGGAGE: &str = "baggage";
    /// Which listen stream tells, in its notifications and its result.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// Who answers, in modern results.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// Which task a message belongs to, in 2025-11-25.
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
}

/// The `_meta` of something that an author made: a JSON object, kept as text.
///
/// Members called [`keys::SERVER_INFO`] and [`keys::RELATED_TASK`] are left out; the
/// shapers write their own.
#[derive(Clone, Debug)]
pub struct Meta(Box<RawValue>);

/// Says that a value cannot be `_meta`, because it is not an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`_meta` has to be a JSON object")]
pub struct NotAnObject;

impl Meta {
    /// Takes members that were built in memory.
    #[must_use]
    pub fn new(mut members: Map<String, Value>) -> Self {
        members.retain(|key, _value| !is_ours(key));
        Self(to_raw_value(&members).unwrap_or_else(|_| empty()))
    }

    /// Takes JSON text, such as that of another server, digit for digit (R35).
    ///
    /// # Errors
    ///
    /// [`NotAnObject`] when it is something else.
    pub fn from_raw(raw: Box<RawValue>) -> Result<Self, NotAnObject> {
        if !raw::is_object(&raw) {
            return Err(NotAnObject);
        }
        let raw = raw::compact(raw);
        let mut deserializer = serde_json::Deserializer::from_str(raw.get());
        match deserializer.deserialize_map(WithoutOurs) {
            Ok(None) => Ok(Self(raw)),
            Ok(Some(text)) => Ok(Self(
                RawValue::from_string(text).unwrap_or_else(|_| empty()),
            )),
            Err(_) => Err(NotAnObject),
        }
    }

    /// Returns the object as JSON.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.0.get()
    }

    /// Returns the members without the braces around them.
    pub(crate) fn members(&self) -> &str {
        let text = self.0.get();
        text.strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or_default()
    }
}

impl Serialize for Meta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_raw(raw).map_err(de::Error::custom)
    }
}

// === Behind the handle ===

fn empty() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Whether the shapers write this member themselves.
fn is_ours(key: &str) -> bool {
    matches!(key, keys::SERVER_INFO | keys::RELATED_TASK)
}

/// Writes the object anew if it has a member that is ours; else yields nothing.
struct WithoutOurs;

impl<'de> Visitor<'de> for WithoutOurs {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut kept = String::from("{");
        let mut found = false;
        while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
            if is_ours(&key) {
                found = true;
                continue;
            }
            if kept.len() > 1 {
                kept.push(',');
            }
            kept.push_str(&Value::String(key).to_string());
            kept.push(':');
            kept.push_str(value.get());
        }
        kept.push('}');
        Ok(found.then_some(kept))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn from_text(text: &str) -> Result<Meta, NotAnObject> {
        Meta::from_raw(RawValue::from_string(text.to_owned()).expect("valid JSON"))
    }

    #[test]
    fn text_of_others_is_kept_digit_for_digit() {
        let meta = from_text("{\n\"n\": 123456789012345678901 }").expect("an object");

        assert_eq!(meta.as_json(), r#"{"n":123456789012345678901}"#);
    }

    #[test]
    fn our_own_member_is_left_out() {
        for ours in [keys::SERVER_INFO, keys::RELATED_TASK] {
            let text = format!(r#"{{"a":1.50,"{ours}":{{}},"b\"":[]}}"#);

            let meta = from_text(&text).expect("an object");

            assert_eq!(meta.as_json(), r#"{"a":1.50,"b\"":[]}"#);
        }
    }

    #[test]
    fn our_own_member_is_left_out_of_built_ones() {
        let Value::Object(members) = json!({"a": 1, keys::SERVER_INFO: {}, keys::RELATED_TASK: {}})
        else {
            panic!("an object");
        };

        assert_eq!(Meta::new(members).as_json(), r#"{"a":1}"#);
    }

    #[test]
    fn other_json_than_an_object_is_refused() {
        for text in ["[]", "null", "\"x\"", "1"] {
            assert_eq!(from_text(text).err(), Some(NotAnObject), "{text}");
        }
    }
}
