//! Where a client is, also behind proxies that we trust (R4).

use std::net::IpAddr;
use std::str::FromStr;

use http::HeaderMap;

/// The proxies whose `X-Forwarded-For` is believed: addresses and networks.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies {
    networks: Vec<(IpAddr, u8)>,
}

/// A text is neither an address nor a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("neither an IP address nor a network such as 10.0.0.0/8")]
pub struct NotANetwork;

impl TrustedProxies {
    /// Reads addresses (`10.0.0.1`) and networks (`10.0.0.0/8`, `fd00::/8`).
    ///
    /// # Errors
    ///
    /// [`NotANetwork`] for the first text that is neither.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, NotANetwork> {
        let networks = texts.into_iter().map(network).collect::<Result<_, _>>()?;
        Ok(Self { networks })
    }

    /// Returns the client's address: the peer's, or behind trusted proxies the
    /// right-most forwarded address that is not itself trusted.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if self.networks.is_empty() || !self.trusts(client) {
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
        self.networks.iter().any(|&(network, bits)| within(address, network, bits))
    }
}

fn network(text: &str) -> Result<(IpAddr, u8), NotANetwork> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address = IpAddr::from_str(address.trim()).map_err(|_| NotANetwork)?.to_canonical();
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = match bits {
        Some(bits) => bits.trim().parse().map_err(|_| NotANetwork)?,
        None => most,
    };
    if bits > most {
        return Err(NotANetwork);
    }
    Ok((address, bits))
}

fn within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let same = |a: u128, b: u128, width: u32| {
        let shift = width.saturating_sub(u32::from(bits));
        bits == 0 || a >> shift == b >> shift
    };
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(peer: &str, forwarded: &'static str, expected: &str) {
        let trusted = TrustedProxies::parse(["10.0.0.0/8", "fd00::/8"]).expect("networks");
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
        check("10.0.0.1", "203.0.113.9, 198.51.100.7, 10.1.1.1", "198.51.100.7");
        check("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7");
        check("fd00::1", "2001:db8::1", "2001:db8::1");
    }

    #[test]
    fn a_forwarded_text_that_is_no_address_ends_the_walk() {
        check("10.0.0.1", "198.51.100.7, unknown", "10.0.0.1");
    }

    #[test]
    fn nonsense_is_no_network() {
        for text in ["", "10.0.0.0/33", "ten", "::/129"] {
            assert!(TrustedProxies::parse([text]).is_err(), "{text}");
        }
    }
}
