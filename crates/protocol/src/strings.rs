//! Reads objects and arrays whose values are all strings.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::demand::mistyped;
use crate::limits::{SUBSCRIPTION_ENTRIES, SUBSCRIPTION_ENTRY_BYTES};
use crate::wire_error::WireError;

/// Reads an object of strings; a name that occurs twice is refused.
pub(crate) fn map(raw: &RawValue, key: &str) -> Result<BTreeMap<String, String>, WireError> {
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    match deserializer.deserialize_map(Map) {
        Ok(Some(strings)) => Ok(strings),
        Ok(None) => Err(WireError::invalid_params(format!(
            "`{key}` has a name twice"
        ))),
        Err(_) => Err(mistyped(key, "an object of strings")),
    }
}

/// Reads what a subscription lists: an array of strings, each of them kept once,
/// as many and as long as [`limits`](crate::limits) lets in.
pub(crate) fn entries(raw: &RawValue, key: &str) -> Result<Vec<String>, WireError> {
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    match deserializer.deserialize_seq(List) {
        Ok(Entries::Read(entries)) => Ok(entries),
        Ok(Entries::TooMany) => Err(WireError::invalid_params(format!(
            "`{key}` has more than {SUBSCRIPTION_ENTRIES} entries"
        ))),
        Ok(Entries::TooLong) => Err(too_long(key)),
        Err(_) => Err(mistyped(key, "an array of strings")),
    }
}

/// Refuses what is too long to be subscribed to.
pub(crate) fn too_long(key: &str) -> WireError {
    WireError::invalid_params(format!(
        "`{key}` has an entry of more than {SUBSCRIPTION_ENTRY_BYTES} bytes"
    ))
}

// === Behind the handle ===

/// Yields nothing when a name occurs twice.
struct Map;

impl<'de> Visitor<'de> for Map {
    type Value = Option<BTreeMap<String, String>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut strings = BTreeMap::new();
        let mut once = true;
        while let Some((name, value)) = map.next_entry()? {
            once &= strings.insert(name, value).is_none();
        }
        Ok(once.then_some(strings))
    }
}

enum Entries {
    Read(Vec<String>),
    TooMany,
    TooLong,
}

struct List;

impl<'de> Visitor<'de> for List {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Entries, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = items.next_element::<String>()? {
            let refused = if entries.len() == SUBSCRIPTION_ENTRIES {
                Entries::TooMany
            } else if entry.len() > SUBSCRIPTION_ENTRY_BYTES {
                Entries::TooLong
            } else {
                entries.push(entry);
                continue;
            };
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(refused);
        }
        let mut seen = HashSet::with_capacity(entries.len());
        entries.retain(|entry| seen.insert(entry.clone()));
        Ok(Entries::Read(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).expect("valid JSON")
    }

    #[track_caller]
    fn refused<T: fmt::Debug>(read: Result<T, WireError>, part: &str) {
        let error = read.expect_err("a refusal");

        assert!(error.message.contains("`params.x`"), "{}", error.message);
        assert!(error.message.contains(part), "{}", error.message);
    }

    #[test]
    fn an_object_of_strings_is_read_with_its_escapes() {
        let strings = map(raw(r#"{"a":"\u0062","":""}"#), "params.x").expect("strings");

        assert_eq!(strings.get("a").map(String::as_str), Some("b"));
        assert_eq!(strings.get("").map(String::as_str), Some(""));
    }

    #[test]
    fn an_object_with_other_values_is_refused() {
        for text in ["[]", "null", "\"a\"", r#"{"a":1}"#, r#"{"a":null}"#] {
            refused(map(raw(text), "params.x"), "an object of strings");
        }
        refused(map(raw(r#"{"a":"\ud800"}"#), "params.x"), "strings");
    }

    #[test]
    fn an_object_with_a_name_twice_is_refused() {
        refused(map(raw(r#"{"a":"","\u0061":""}"#), "params.x"), "twice");
    }

    #[test]
    fn entries_keep_their_order_and_are_kept_once() {
        let entries = entries(raw(r#"["b","a","b"]"#), "params.x").expect("entries");

        assert_eq!(entries, ["b", "a"]);
    }

    #[test]
    fn anything_but_an_array_of_strings_is_refused() {
        for text in ["{}", "null", "\"a\"", "[1]", "[[]]", r#"["a",null]"#] {
            refused(entries(raw(text), "params.x"), "an array of strings");
        }
    }

    #[test]
    fn as_many_entries_as_may_be_are_taken_and_no_more() {
        let most = vec!["a"; SUBSCRIPTION_ENTRIES];
        let text = serde_json::to_string(&most).expect("JSON");
        assert_eq!(entries(raw(&text), "params.x").expect("entries"), ["a"]);

        let more = vec!["a"; SUBSCRIPTION_ENTRIES + 2];
        let text = serde_json::to_string(&more).expect("JSON");
        refused(entries(raw(&text), "params.x"), "1000 entries");
    }

    #[test]
    fn an_entry_as_long_as_may_be_is_taken_and_no_longer() {
        let entry = |size| format!(r#"["{}","b"]"#, "a".repeat(size));

        let longest = entries(raw(&entry(SUBSCRIPTION_ENTRY_BYTES)), "params.x");
        let longer = entries(raw(&entry(SUBSCRIPTION_ENTRY_BYTES + 1)), "params.x");

        assert_eq!(longest.expect("entries").len(), 2);
        refused(longer, "8192 bytes");
    }
}
