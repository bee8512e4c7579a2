//! MCP on the wire: envelope, eras, shapers; no clock, no I/O.
//!
//! A message travels through this crate twice. On the way in, [`parse`] tells the
//! kinds apart, [`classify`] finds the era, the `check_…` functions hold the
//! headers against the body, and the `…Params` types read what a method needs.
//! On the way out, a [`Face`] and its neighbours shape an era-neutral [`Outcome`]
//! into bytes.
//!
//! Deliberately not here: sessions, HTTP, deadlines, and any `Value` that does
//! not belong to an author. Identifiers in brackets (M-…, L-…, C-…, R…) are those
//! of the protocol digest and of the rulings that this crate implements.

mod call;
mod cancel;
mod capability;
mod content;
mod envelope;
mod era;
mod handshake;
mod headers;
mod id;
mod implementation;
pub mod limits;
mod list;
mod log_level;
mod members;
mod meta;
mod method;
mod outcome;
mod raw;
mod reflected;
mod shape;
mod tool_name;
mod tools;
mod trace;
mod version;
mod wire_error;

pub use crate::call::{CallParams, ToolResult};
pub use crate::cancel::CancelledParams;
pub use crate::capability::{ClientCapabilities, Lists, Resources, ServerCapabilities};
pub use crate::content::{
    Annotations, Content, MediaBlock, ResourceBlock, ResourceContents, ResourceLink, Role,
    TextBlock,
};
pub use crate::envelope::{Malformed, Message, Notification, Request, parse, peek_id};
pub use crate::era::{Context, Era, check_version, classify, classify_notification};
pub use crate::handshake::InitializeParams;
pub use crate::headers::{
    Field, check_legacy_version_header, check_method_header, check_name_header,
    check_version_header, decode_header_text, encode_header_text,
};
pub use crate::id::{InvalidId, ProgressToken, RequestId};
pub use crate::implementation::{Icon, Implementation, Theme};
pub use crate::list::ListParams;
pub use crate::log_level::LogLevel;
pub use crate::meta::{Meta, NotAnObject, keys};
pub use crate::method::Method;
pub use crate::outcome::Outcome;
pub use crate::reflected::reflected;
pub use crate::shape::{
    CacheHints, CacheScope, Face, REJECTION_STATUS, Rendered, ToolsPage, error, error_with_null_id,
    http_status, log_message, progress,
};
pub use crate::tool_name::{InvalidToolName, ToolName};
pub use crate::tools::{InvalidTool, Tool, ToolAnnotations};
pub use crate::trace::{TraceContext, trace_list, traceparent};
pub use crate::version::{LEGACY_VERSIONS, MODERN_VERSIONS, negotiate, newest_legacy};
pub use crate::wire_error::{Code, WireError};
