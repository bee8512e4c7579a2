//! Finds the keys of `_meta` that say how a message is to be served, in one pass
//! over its parameters.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::members::{IfObject, Slot};
use crate::meta::keys;
use crate::raw;
use crate::wire_error::WireError;

/// The keys of `_meta` that we read, each as it was written.
///
/// All are absent when there are no parameters, or no `_meta`, or when these are
/// no objects: such a message carries none of the keys (AT-010).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RequestMeta<'a> {
    pub(super) version: Slot<'a>,
    pub(super) capabilities: Slot<'a>,
    pub(super) client_info: Slot<'a>,
    pub(super) log_level: Slot<'a>,
    pub(super) progress_token: Slot<'a>,
    pub(super) traceparent: Slot<'a>,
    pub(super) tracestate: Slot<'a>,
    pub(super) baggage: Slot<'a>,
}

impl<'a> RequestMeta<'a> {
    /// Reads the metadata among the parameters of a message.
    pub(super) fn read(params: Option<&'a RawValue>) -> Result<Self, WireError> {
        let Some(params) = params.filter(|params| raw::is_object(params)) else {
            return Ok(Self::default());
        };
        let mut deserializer = serde_json::Deserializer::from_str(params.get());
        match deserializer.deserialize_map(MetaOfParams) {
            Ok(Found::Nothing) => Ok(Self::default()),
            Ok(Found::Keys(slots)) => Ok(Self::from(slots)),
            Ok(Found::Twice) => Err(WireError::invalid_params("`_meta` occurs twice")),
            Err(_) => Err(WireError::invalid_params("`params` is not readable")),
        }
    }
}

impl<'a> From<[Slot<'a>; KEYS.len()]> for RequestMeta<'a> {
    fn from(slots: [Slot<'a>; KEYS.len()]) -> Self {
        let [
            version,
            capabilities,
            client_info,
            log_level,
            progress_token,
            traceparent,
            tracestate,
            baggage,
        ] = slots;
        Self {
            version,
            capabilities,
            client_info,
            log_level,
            progress_token,
            traceparent,
            tracestate,
            baggage,
        }
    }
}

// === Behind the handle ===

const KEYS: [&str; 8] = [
    keys::PROTOCOL_VERSION,
    keys::CLIENT_CAPABILITIES,
    keys::CLIENT_INFO,
    keys::LOG_LEVEL,
    keys::PROGRESS_TOKEN,
    keys::TRACEPARENT,
    keys::TRACESTATE,
    keys::BAGGAGE,
];

enum Found<'a> {
    Nothing,
    Keys([Slot<'a>; KEYS.len()]),
    Twice,
}

struct MetaOfParams;

impl<'de> Visitor<'de> for MetaOfParams {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("parameters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = Found::Nothing;
        while let Some(key) = map.next_key::<IsMeta>()? {
            if !key.0 {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let slots = map.next_value_seed(IfObject(&KEYS))?;
            found = match found {
                Found::Nothing => Found::Keys(slots),
                Found::Keys(_) | Found::Twice => Found::Twice,
            };
        }
        Ok(found)
    }
}

/// Whether a key is `_meta`, without a copy of it.
struct IsMeta(bool);

impl<'de> serde::Deserialize<'de> for IsMeta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Key;

        impl Visitor<'_> for Key {
            type Value = IsMeta;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(IsMeta(key == "_meta"))
            }
        }

        deserializer.deserialize_identifier(Key)
    }
}
