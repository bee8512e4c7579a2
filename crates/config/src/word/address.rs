//! Addresses to listen at.

use std::net::SocketAddr;

use toml_edit::Value;

use super::{Bounds, Word, Written, Wrong};

impl Word for SocketAddr {
    fn read(written: Written<'_>, _bounds: Bounds) -> Result<Self, Wrong> {
        const EXPECTED: &str = "an IP address and a port, such as \"127.0.0.1:8080\"";
        let text = written.text(EXPECTED)?;
        text.parse().map_err(|_error| written.wrong(EXPECTED))
    }

    fn write(&self) -> Value {
        self.to_string().into()
    }
}
