//! MCP on the wire: envelope, eras, shapers; no clock, no I/O.
