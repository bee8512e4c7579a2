//! Who may be asked for, and who may ask from a browser.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use toml_edit::Value;

use super::{Bounds, Word, Written, Wrong};

/// What a `Host` header may say: `example.com`, `example.com:8443`, `[::1]:80`.
///
/// Lower case. Without a port it stands for all ports.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostName(String);

/// What an `Origin` header may say: `https://app.example.com`, with a port where
/// it is not the scheme's own.
///
/// Lower case, without a path. Never `null`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WebOrigin(String);

impl HostName {
    /// Returns it as it stands in the header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl WebOrigin {
    /// Returns it as it stands in the header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Word for HostName {
    fn read(written: Written<'_>, _bounds: Bounds) -> Result<Self, Wrong> {
        const EXPECTED: &str = "a host as a `Host` header names it, such as \"mcp.example.com\"";
        let host = written.text(EXPECTED)?.to_ascii_lowercase();
        if is_authority(&host) {
            Ok(Self(host))
        } else {
            Err(written.wrong(EXPECTED))
        }
    }

    fn write(&self) -> Value {
        self.0.as_str().into()
    }
}

impl Word for WebOrigin {
    fn read(written: Written<'_>, _bounds: Bounds) -> Result<Self, Wrong> {
        const EXPECTED: &str = "an origin without a path, such as \"https://app.example.com\"";
        let origin = written.text(EXPECTED)?.to_ascii_lowercase();
        if is_origin(&origin) {
            Ok(Self(origin))
        } else {
            Err(written.wrong(EXPECTED))
        }
    }

    fn write(&self) -> Value {
        self.0.as_str().into()
    }
}

// === Behind the handle ===

/// A scheme is a letter and then letters, digits, `+`, `-` and `.` (RFC 3986,
/// section 3.1): browser extensions have schemes of their own.
fn is_origin(origin: &str) -> bool {
    origin.split_once("://").is_some_and(|(scheme, rest)| {
        scheme.starts_with(|first: char| first.is_ascii_lowercase())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            && is_authority(rest)
    })
}

/// A host name or an address, and perhaps a port.
fn is_authority(authority: &str) -> bool {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        Some(_) | None => (authority, None),
    };
    is_host(host) && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[') {
        return inner
            .strip_suffix(']')
            .is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    if host.parse::<Ipv4Addr>().is_ok() {
        return true;
    }
    host.len() <= 253
        && host.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_host(text: &str, expected: bool) {
        let outcome = HostName::read(Written::Text(text), Bounds::ANY);

        assert_eq!(outcome.is_ok(), expected, "{text}");
    }

    #[track_caller]
    fn check_origin(text: &str, expected: bool) {
        let outcome = WebOrigin::read(Written::Text(text), Bounds::ANY);

        assert_eq!(outcome.is_ok(), expected, "{text}");
    }

    #[test]
    fn a_name_is_a_host() {
        check_host("mcp.example.com", true);
    }

    #[test]
    fn a_name_with_a_port_is_a_host() {
        check_host("localhost:8443", true);
    }

    #[test]
    fn addresses_are_hosts() {
        check_host("192.0.2.1:80", true);
        check_host("[2001:db8::1]", true);
        check_host("[2001:db8::1]:80", true);
    }

    #[test]
    fn an_address_without_its_brackets_is_no_host() {
        check_host("2001:db8::1", false);
    }

    #[test]
    fn a_url_is_no_host() {
        check_host("https://example.com", false);
        check_host("example.com/mcp", false);
    }

    #[test]
    fn a_pattern_is_no_host() {
        check_host("*", false);
        check_host("*.example.com", false);
    }

    #[test]
    fn nothing_is_no_host() {
        check_host("", false);
        check_host(":80", false);
    }

    #[test]
    fn a_port_out_of_range_is_no_port() {
        check_host("example.com:0", false);
        check_host("example.com:65536", false);
        check_host("example.com:", false);
    }

    #[test]
    fn a_scheme_and_a_host_are_an_origin() {
        check_origin("https://app.example.com", true);
        check_origin("http://localhost:6274", true);
        check_origin("vscode-webview://abc", true);
    }

    #[test]
    fn an_origin_has_no_path() {
        check_origin("https://app.example.com/", false);
    }

    #[test]
    fn null_is_no_origin() {
        check_origin("null", false);
    }

    #[test]
    fn capitals_become_small() {
        let host = HostName::read(Written::Text("MCP.Example.com"), Bounds::ANY).unwrap();

        assert_eq!(host.as_str(), "mcp.example.com");
    }
}
