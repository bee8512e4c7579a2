//! Addresses and networks of addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use toml_edit::Value;

use super::{Bounds, Word, Written, Wrong};

/// A network, such as `10.0.0.0/8`; a single address is a network of its own.
///
/// An IPv4-mapped IPv6 network is the IPv4 network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    /// The first address: all bits behind the prefix are zero.
    address: IpAddr,
    /// How many leading bits all addresses share: at most 32 for IPv4, at most 128
    /// for IPv6.
    prefix: u8,
}

/// The text is neither an address nor a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an IP address or network")]
pub struct NotNetwork;

impl Network {
    /// Whether the address is inside; an IPv4-mapped one counts as IPv4.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.prefix) == self.address
    }
}

impl FromStr for Network {
    type Err = NotNetwork;

    fn from_str(text: &str) -> Result<Self, NotNetwork> {
        let (address, prefix) = match text.split_once('/') {
            None => (text, None),
            Some((address, prefix)) => {
                let digits = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
                let prefix = prefix.parse::<u8>().ok().filter(|_| digits);
                (address, Some(prefix.ok_or(NotNetwork)?))
            }
        };
        let written: IpAddr = address.parse().map_err(|_error| NotNetwork)?;
        let address = written.to_canonical();
        let mapped = written.is_ipv6() && address.is_ipv4();
        let width = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => width,
            Some(prefix) if mapped => prefix.checked_sub(96).ok_or(NotNetwork)?,
            Some(prefix) => prefix,
        };
        if prefix > width || masked(address, prefix) != address {
            return Err(NotNetwork);
        }
        Ok(Self { address, prefix })
    }
}

impl TryFrom<String> for Network {
    type Error = NotNetwork;

    fn try_from(text: String) -> Result<Self, NotNetwork> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl Word for Network {
    fn read(written: Written<'_>, _bounds: Bounds) -> Result<Self, Wrong> {
        const EXPECTED: &str =
            "an IP address, or a network whose host bits are zero, such as \"10.0.0.0/8\"";
        let text = written.text(EXPECTED)?;
        text.parse().map_err(|_error| written.wrong(EXPECTED))
    }

    fn write(&self) -> Value {
        self.to_string().into()
    }
}

// === Behind the handle ===

/// Sets all bits behind the prefix to zero.
fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let behind = 32_u32.saturating_sub(prefix.into());
            let mask = u32::MAX.checked_shl(behind).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let behind = 128_u32.saturating_sub(prefix.into());
            let mask = u128::MAX.checked_shl(behind).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(network: &str, address: &str, expected: bool) {
        let network: Network = network.parse().unwrap();

        assert_eq!(network.contains(address.parse().unwrap()), expected);
    }

    #[track_caller]
    fn refused(text: &str) {
        assert_eq!(text.parse::<Network>(), Err(NotNetwork));
    }

    #[test]
    fn a_network_contains_its_first_and_last_address() {
        check("10.0.0.0/8", "10.0.0.0", true);
        check("10.0.0.0/8", "10.255.255.255", true);
    }

    #[test]
    fn a_network_contains_no_neighbour() {
        check("10.0.0.0/8", "11.0.0.0", false);
    }

    #[test]
    fn an_address_contains_itself_alone() {
        check("192.0.2.1", "192.0.2.1", true);
        check("192.0.2.1", "192.0.2.0", false);
    }

    #[test]
    fn a_mapped_address_is_in_the_network_of_the_other_family() {
        check("10.0.0.0/8", "::ffff:10.1.2.3", true);
    }

    #[test]
    fn a_mapped_network_contains_the_addresses_of_the_other_family() {
        check("::ffff:10.0.0.0/104", "10.1.2.3", true);
    }

    #[test]
    fn everything_of_one_family_is_nothing_of_the_other() {
        check("0.0.0.0/0", "2001:db8::1", false);
        check("::/0", "2001:db8::1", true);
        check("::/0", "10.0.0.1", false);
    }

    #[test]
    fn bits_behind_the_prefix_are_refused() {
        refused("10.0.0.1/8");
    }

    #[test]
    fn a_prefix_longer_than_the_address_is_refused() {
        refused("10.0.0.0/33");
        refused("::/129");
        refused("::ffff:10.0.0.0/8");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        refused("localhost");
        refused("10.0.0.0/");
        refused("10.0.0.0/+8");
        refused("");
    }

    #[test]
    fn it_is_written_as_it_is_read() {
        let network: Network = "2001:db8::/32".parse().unwrap();

        assert_eq!(network.to_string(), "2001:db8::/32");
    }
}
