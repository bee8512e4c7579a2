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

/// Finds the endpoint in one line of what a start prints; most lines have none.
///
/// Fails when the line names an endpoint that is not on loopback, or none at all.
pub(crate) fn in_line(line: &str) -> anyhow::Result<Option<Endpoint>> {
    let mut words = line.split_whitespace();
    if words.next() != Some("endpoint") {
        return Ok(None);
    }
    let url = words.next().context("an endpoint without a URL")?;
    let endpoint = parse(url).with_context(|| format!("no endpoint to measure: {url}"))?;
    Ok(Some(endpoint))
}

// === Behind the line ===

fn parse(url: &str) -> anyhow::Result<Endpoint> {
    let rest = url.strip_prefix("http://").context("not http://")?;
    let (authority, path) = rest.split_once('/').context("a path is missing")?;
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
        let found = in_line("  endpoint   http://127.0.0.1:8080/mcp").expect("a good one");

        let endpoint = found.expect("an endpoint");
        assert_eq!(endpoint.address.port(), 8080);
        assert_eq!(endpoint.path, "/mcp");
        assert_eq!(
            in_line("  admin  http://127.0.0.1:9464").expect("none"),
            None
        );
        assert_eq!(in_line("").expect("none"), None);
    }

    #[test]
    fn what_is_not_on_loopback_is_refused() {
        for url in [
            "http://10.0.0.1:80/mcp",
            "http://[::]:80/mcp",
            "https://127.0.0.1:1/x",
            "http://127.0.0.1:1",
        ] {
            assert!(in_line(&format!("endpoint {url}")).is_err(), "{url}");
        }
    }
}
