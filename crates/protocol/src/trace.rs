//! The trace context of a request.
//!
//! Values that are not well formed are dropped, and never fail the request
//! (C-META-04; seeds, era page).

use crate::limits::{TRACE_LIST_BYTES, TRACEPARENT_BYTES};

/// What a request says about the trace that it belongs to, as far as it is well
/// formed. Read from `_meta` in both eras.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext {
    /// The W3C `traceparent`.
    pub traceparent: Option<Box<str>>,
    /// The W3C `tracestate`.
    pub tracestate: Option<Box<str>>,
    /// The W3C `baggage`.
    pub baggage: Option<Box<str>>,
}

/// Returns `value` if it is a well-formed `traceparent`: 55 characters of the
/// shape `00-<32 hex>-<16 hex>-<2 hex>`, lower case, ids not zero, version not `ff`.
///
/// ```
/// let value = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// assert_eq!(conduit_protocol::traceparent(value), Some(value));
/// ```
///
/// Source: seeds, era page.
#[must_use]
pub fn traceparent(value: &str) -> Option<&str> {
    if value.len() != TRACEPARENT_BYTES {
        return None;
    }
    let mut parts = value.split('-');
    let parts = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    let [version, trace_id, parent_id, _flags] = parts;
    let shaped = parts.map(str::len) == [2, 32, 16, 2]
        && parts.into_iter().all(is_lower_hex)
        && version != "ff"
        && !is_zero(trace_id)
        && !is_zero(parent_id);
    shaped.then_some(value)
}

/// Returns `value` if it can be a `tracestate` or `baggage`: at most
/// [`TRACE_LIST_BYTES`] bytes of printable ASCII.
///
/// Source: seeds, era page.
#[must_use]
pub fn trace_list(value: &str) -> Option<&str> {
    let printable = |byte: u8| matches!(byte, b' '..=b'~');
    (value.len() <= TRACE_LIST_BYTES && value.bytes().all(printable)).then_some(value)
}

// === Behind the handle ===

fn is_lower_hex(part: &str) -> bool {
    part.bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_zero(part: &str) -> bool {
    part.bytes().all(|byte| byte == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_well_formed_traceparent_is_kept() {
        assert_eq!(traceparent(VALID), Some(VALID));
    }

    #[test]
    fn a_traceparent_of_a_later_version_is_kept() {
        for version in ["01", "cc"] {
            let value = VALID.replacen("00", version, 1);
            assert_eq!(traceparent(&value), Some(&*value));
        }
    }

    #[test]
    fn a_traceparent_that_is_not_well_formed_is_dropped() {
        for value in [
            "",
            "bad",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4Bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-012",
            "00-gbf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b-7-1",
        ] {
            assert_eq!(traceparent(value), None, "{value}");
        }
    }

    #[test]
    fn a_list_of_512_printable_bytes_is_kept() {
        let value = "~".repeat(512);

        assert_eq!(trace_list(&value), Some(&*value));
        assert_eq!(trace_list("a=1, b=2"), Some("a=1, b=2"));
    }

    #[test]
    fn a_list_that_is_too_long_or_not_printable_is_dropped() {
        for value in [
            "a".repeat(513),
            "\u{7f}".into(),
            "é".into(),
            "a\tb".into(),
            "\n".into(),
        ] {
            assert_eq!(trace_list(&value), None, "{value:?}");
        }
    }
}
