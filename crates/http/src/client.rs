//! Where a client is, also behind proxies that we trust (R4).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use http::HeaderMap;

/// Tells which proxies' `X-Forwarded-For` is believed.
#[derive(Clone)]
pub struct TrustedProxies(Option<Arc<dyn Fn(IpAddr) -> bool + Send + Sync>>);

impl TrustedProxies {
    /// Believes nobody.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Believes a proxy whose address `trusts` says so of.
    pub fn of(trusts: impl Fn(IpAddr) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(trusts)))
    }

    /// Returns the client's address: the peer's, or behind trusted proxies the
    /// right-most forwarded address that is not itself trusted.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if !self.trusts(client) {
            return client;
        }
        let forwarded: Vec<&str> = headers
            .get_all("x-forwarded-for")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .collect();
        for text in forwarded.into_iter().rev() {
            let Ok(address) = IpAddr::from_str(text) else {
                return client;
            };
            client = address.to_canonical();
            if !self.trusts(client) {
                return client;
            }
        }
        client
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.as_ref().is_some_and(|trusts| trusts(address))
    }
}

impl fmt::Debug for TrustedProxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "TrustedProxies(some)"
        } else {
            "TrustedProxies(none)"
        })
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(peer: &str, forwarded: &'static str, expected: &str) {
        let trusted = TrustedProxies::of(|address| match address {
            IpAddr::V4(address) => address.octets()[0] == 10,
            IpAddr::V6(address) => address.octets()[0] == 0xfd,
        });
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", HeaderValue::from_static(forwarded));
        let client = trusted.client(peer.parse().expect("an address"), &headers);
        assert_eq!(client.to_string(), expected);
    }

    #[test]
    fn a_stranger_is_its_own_address_whatever_it_forwards() {
        check("192.0.2.1", "198.51.100.7", "192.0.2.1");
    }

    #[test]
    fn behind_a_trusted_proxy_the_right_most_stranger_counts() {
        check(
            "10.0.0.1",
            "203.0.113.9, 198.51.100.7, 10.1.1.1",
            "198.51.100.7",
        );
        check("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7");
        check("fd00::1", "2001:db8::1", "2001:db8::1");
    }

    #[test]
    fn a_forwarded_text_that_is_no_address_ends_the_walk() {
        check("10.0.0.1", "198.51.100.7, unknown", "10.0.0.1");
    }
}
