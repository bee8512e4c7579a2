//! Bounds on what a peer can make us keep or repeat.
//!
//! Bytes of a whole message are bounded by whoever reads it from its transport.
//! Depth needs no bound here: nothing in this crate walks foreign JSON by
//! recursion (see [`parse`](crate::parse)).

/// Longest string, in bytes, that may name a request to cancel.
///
/// Source: seeds, handler page (`requestId`).
pub const CANCEL_ID_BYTES: usize = 256;

/// Longest reason of a cancellation that is kept, in characters.
///
/// Source: inventory C-13.
pub const REASON_CHARS: usize = 200;

/// Longest piece of client text in one of our messages, in characters (SEC-01).
pub const REFLECTED_CHARS: usize = 200;

/// Longest version string of a client in one of our messages, in characters (SEC-01).
pub const REFLECTED_VERSION_CHARS: usize = 40;

/// Longest `tracestate` and `baggage`, in bytes.
///
/// Source: seeds, era page.
pub const TRACE_LIST_BYTES: usize = 512;

/// Length of a `traceparent`, in bytes.
///
/// Source: seeds, era page.
pub const TRACEPARENT_BYTES: usize = 55;

/// Longest name of a tool, in characters (R32).
pub const TOOL_NAME_CHARS: usize = 64;

/// Longest URI of a client in one of our messages, in characters (SEC-01).
pub const REFLECTED_URI_CHARS: usize = 2048;

/// Most entries of one kind in the filter of a `subscriptions/listen`.
pub const SUBSCRIPTION_ENTRIES: usize = 1000;

/// Longest URI, or id, that can be subscribed to, in bytes. It is kept for as
/// long as the subscription lasts.
pub const SUBSCRIPTION_ENTRY_BYTES: usize = 8 * 1024;

/// Most values in the answer to `completion/complete`.
///
/// Source: C-COMP-02.
pub const COMPLETION_VALUES: usize = 100;

/// Deepest place in the input schema of a tool that repeats arguments in headers.
pub const SCHEMA_DEPTH: usize = 128;

/// Most answers that one retry of a request may carry (M-MRTR-13).
pub const INPUT_RESPONSES: usize = 64;

/// Longest state that comes back with a retry, in bytes (R16).
pub const REQUEST_STATE: usize = 16 * 1024;
