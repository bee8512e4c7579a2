//! Within which a request id means something (R4).

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;

use uuid::Uuid;

/// The owner of a request id: the most specific thing known of the client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// A legacy session.
    Session(Uuid),
    /// An authenticated principal, at the server in this place (R37).
    Principal(usize, Arc<str>),
    /// A client address, at the server in this place; of an IPv6 address its /64
    /// network.
    Address(usize, IpAddr),
    /// A pipe, or a caller inside the process: there is only one.
    Pipe,
}

impl Scope {
    /// Picks the most specific scope.
    pub(crate) fn of(
        server: usize,
        session: Option<Uuid>,
        principal: Option<&Arc<str>>,
        client: Option<IpAddr>,
    ) -> Self {
        match (session, principal, client) {
            (Some(id), _, _) => Self::Session(id),
            (None, Some(principal), _) => Self::Principal(server, Arc::clone(principal)),
            (None, None, Some(address)) => Self::Address(server, bucket(address)),
            (None, None, None) => Self::Pipe,
        }
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (place, value) = text.split_once(':')?;
        let (server, kind) = match place.split_once('/') {
            Some((server, kind)) => (server.parse().ok()?, kind),
            None => (0, place),
        };
        match kind {
            "session" => Uuid::try_parse(value).ok().map(Self::Session),
            "principal" => Some(Self::Principal(server, value.into())),
            "ip" => {
                let address = value.strip_suffix("/64").unwrap_or(value);
                let address = IpAddr::from_str(address).ok()?;
                Some(Self::Address(server, address))
            }
            "pipe" => Some(Self::Pipe),
            _ => None,
        }
    }
}

/// The first server's scopes are written as the seeds have them, `ip:192.0.2.7`; those of
/// the others begin with their place.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Principal(server, _) | Self::Address(server, _) = self
            && *server > 0
        {
            write!(f, "{server}/")?;
        }
        match self {
            Self::Session(id) => write!(f, "session:{id}"),
            Self::Principal(_, id) => write!(f, "principal:{id}"),
            Self::Address(_, IpAddr::V4(address)) => write!(f, "ip:{address}"),
            Self::Address(_, IpAddr::V6(network)) => write!(f, "ip:{network}/64"),
            Self::Pipe => f.write_str("pipe:"),
        }
    }
}

/// IPv4-mapped addresses are unwrapped, IPv6 addresses reduced to their /64.
fn bucket(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let network = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: &str) {
        let address = IpAddr::from_str(address).expect("an address");
        let scope = Scope::of(0, None, None, Some(address));
        assert_eq!(scope.to_string(), expected);
        assert_eq!(Scope::parse(expected), Some(scope), "it reads back");
        let other = Scope::of(3, None, None, Some(address));
        assert_eq!(other.to_string(), format!("3/{expected}"));
        assert_eq!(Scope::parse(&other.to_string()), Some(other), "so does it");
    }

    #[test]
    fn an_ipv4_client_is_its_address() {
        check("192.0.2.7", "ip:192.0.2.7");
    }

    #[test]
    fn a_mapped_address_is_unwrapped() {
        check("::ffff:192.0.2.7", "ip:192.0.2.7");
    }

    #[test]
    fn an_ipv6_client_is_its_network() {
        check("2001:db8:1:2:3:4:5:6", "ip:2001:db8:1:2::/64");
    }

    #[test]
    fn a_session_is_more_specific_than_anything_else() {
        let id = Uuid::from_u128(7);
        let scope = Scope::of(
            0,
            Some(id),
            Some(&"ada".into()),
            Some(IpAddr::from([1, 2, 3, 4])),
        );
        assert_eq!(scope, Scope::Session(id));
        assert_eq!(Scope::parse(&scope.to_string()), Some(scope));
    }

    #[test]
    fn a_principal_is_more_specific_than_an_address() {
        let client = IpAddr::from([192, 0, 2, 7]);
        let scope = Scope::of(0, None, Some(&"P".into()), Some(client));

        assert_eq!(scope.to_string(), "principal:P");
        assert_eq!(Scope::parse("principal:P"), Some(scope));
    }
}
