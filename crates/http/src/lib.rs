//! MCP over HTTP, and the admin port.
