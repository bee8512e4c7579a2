//! What is demanded of members: to be there, once, and of a type.
//!
//! Each refusal is -32602 and names the key, never its value.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::members::{self, Slot};
use crate::raw;
use crate::wire_error::WireError;

/// Takes a member that may be missing.
pub(crate) fn once<'a>(slot: Slot<'a>, key: &str) -> Result<Option<&'a RawValue>, WireError> {
    if slot.is_twice() {
        return Err(WireError::invalid_params(format!("`{key}` occurs twice")));
    }
    Ok(slot.one())
}

/// Takes a member that has to be a string.
pub(crate) fn string<'a>(slot: Slot<'a>, key: &str) -> Result<Cow<'a, str>, WireError> {
    once(slot, key)?
        .and_then(raw::string)
        .ok_or_else(|| mistyped(key, "a string"))
}

/// Takes the members called `names` of a member that has to be an object.
pub(crate) fn object<'a, const N: usize>(
    slot: Slot<'a>,
    key: &str,
    names: &[&str; N],
) -> Result<[Slot<'a>; N], WireError> {
    once(slot, key)?
        .and_then(|raw| members::read(raw.get(), names).ok())
        .ok_or_else(|| mistyped(key, "an object"))
}

/// Refuses a member of another type.
pub(crate) fn mistyped(key: &str, expected: &str) -> WireError {
    WireError::invalid_params(format!("`{key}` has to be {expected}"))
}
