//! Where a target serves MCP, as its start says; loopback only.

use std::net::SocketAddr;

use anyhow::{Context as _, bail};

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// The address, which is a loopback one.
    pub(crate) address: SocketAddr,
    /// The path, with its slash.
    pub(crate) path: String,
}

/// Finds the endpoint of this name in one line of what a start prints; most lines have
/// none.
///
/// Fails when the line names an endpoint that is not on loopback, or none at all.
pub(crate) fn in_line(line: &str, name: &str) -> anyhow::Result<Option<Endpoint>> {
    let mut words = line.split_whitespace();
    if words.next() != Some(name) {
        return Ok(None);
    }
    let url = words.next().context("an endpoint without a URL")?;
    let endpoint = parse(url).with_context(|| format!("no endpoint to measure: {url}"))?;
    Ok(Some(endpoint))
}

// === Behind the line ===

fn parse(url: &str) -> anyhow::Result<Endpoint> {
    let rest = url.strip_prefix("http://").context("not http://")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address: SocketAddr = authority.parse().context("not an IP address and a port")?;
    if !address.ip().is_loopback() {
        bail!("not on a loopback address");
    }
    let path = format!("/{path}");
    Ok(Endpoint { address, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_endpoint_is_told_from_the_others() {
        let line = "  endpoint   http://127.0.0.1:8080/mcp";
        let found = in_line(line, "endpoint").expect("a good one");

        let endpoint = found.expect("an endpoint");
        assert_eq!(endpoint.address.port(), 8080);
        assert_eq!(endpoint.path, "/mcp");
        let admin = "  admin      http://127.0.0.1:9464  (/metrics /healthz)";
        assert_eq!(in_line(admin, "endpoint").expect("none"), None);
        let found = in_line(admin, "admin").expect("a good one");
        assert_eq!(found.expect("an endpoint").path, "/");
        assert_eq!(in_line("", "endpoint").expect("none"), None);
    }

    #[test]
    fn what_is_not_on_loopback_is_refused() {
        for url in [
            "http://10.0.0.1:80/mcp",
            "http://[::]:80/mcp",
            "https://127.0.0.1:1/x",
            "http://127.0.0.1",
        ] {
            let line = format!("endpoint {url}");
            assert!(in_line(&line, "endpoint").is_err(), "{url}");
        }
    }
}
