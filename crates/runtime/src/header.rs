//! The header fields that messages are held against.

use conduit_protocol::Field;
use http::{HeaderMap, HeaderName, HeaderValue};

/// `MCP-Protocol-Version`.
pub(crate) static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// `Mcp-Method`.
pub(crate) static METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// `Mcp-Name`.
pub(crate) static NAME: HeaderName = HeaderName::from_static("mcp-name");
/// `Mcp-Session-Id`.
pub(crate) static SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Returns the lines of a header field.
pub(crate) fn field<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Field<'a> {
    Field::of(headers.get_all(name).iter().map(HeaderValue::as_bytes))
}
