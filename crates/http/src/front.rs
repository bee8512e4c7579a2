//! The front door: which `Host` and which `Origin` may come in (R13).
//!
//! A browser on the operator's machine can be made to send requests to loopback
//! addresses; it cannot be made to lie about these two headers.

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderValue};

/// The rules of the door; pure.
#[derive(Clone, Debug, Default)]
pub struct Front {
    /// Whether the endpoint is bound to a loopback address.
    pub loopback: bool,
    /// Hosts that may be named besides loopback ones, in lower case: `name` for
    /// any port, or `name:port`.
    pub hosts: Vec<String>,
    /// Origins that may come in besides loopback ones: `https://name[:port]`.
    pub origins: Vec<String>,
}

/// Who is turned away, and which setting would let them in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// `Host` is missing, unreadable, repeated or not on the list.
    #[error("this Host may not be used here; the setting http.allowed_hosts lists those that may")]
    Host,
    /// `Origin` is not on the list.
    #[error("this Origin may not come in; the setting http.allowed_origins lists those that may")]
    Origin,
}

impl Front {
    /// Lets a request in, or says why not.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Refused> {
        self.check_host(headers)?;
        self.check_origin(headers)
    }

    /// Like [`check`](Self::check), but a request need not name a host: browsers always
    /// do, health checks in HTTP/1.0 do not.
    pub(crate) fn check_if_named(&self, headers: &HeaderMap) -> Result<(), Refused> {
        if headers.contains_key(HOST) {
            self.check_host(headers)?;
        }
        self.check_origin(headers)
    }

    /// Returns whether a page of this origin may read our answers.
    pub(crate) fn knows_origin(&self, origin: &HeaderValue) -> bool {
        origin.to_str().is_ok_and(|origin| {
            self.origins
                .iter()
                .any(|known| known.eq_ignore_ascii_case(origin))
                || (self.loopback && is_loopback_origin(origin))
        })
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), Refused> {
        if !self.loopback && self.hosts.is_empty() {
            return Ok(());
        }
        let mut values = headers.get_all(HOST).iter();
        let (Some(host), None) = (values.next(), values.next()) else {
            return Err(Refused::Host);
        };
        let Ok(host) = host.to_str() else {
            return Err(Refused::Host);
        };
        let Some(name) = host_name(host) else {
            return Err(Refused::Host);
        };
        let listed = self
            .hosts
            .iter()
            .any(|known| known.eq_ignore_ascii_case(host) || known.eq_ignore_ascii_case(name));
        if listed || (self.loopback && is_loopback_name(name)) {
            Ok(())
        } else {
            Err(Refused::Host)
        }
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => Ok(()),
            (Some(origin), None) if self.knows_origin(origin) => Ok(()),
            (Some(_), _) => Err(Refused::Origin),
        }
    }
}

/// Cuts the port off a host, also off a bracketed IPv6 address. `None` when it is
/// more, or less, than a host and perhaps a port: `localhost:80@evil` is no name of
/// ours.
fn host_name(host: &str) -> Option<&str> {
    let end = match host.strip_prefix('[') {
        Some(inner) => inner.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, rest) = host.split_at_checked(end)?;
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte));
    (is_name && is_port(rest)).then_some(name)
}

/// Whether this is nothing, or a colon and a port.
fn is_port(text: &str) -> bool {
    let Some(port) = text.strip_prefix(':') else {
        return text.is_empty();
    };
    (1..=5).contains(&port.len())
        && port.bytes().all(|byte| byte.is_ascii_digit())
        && port.parse::<u16>().is_ok()
}

fn is_loopback_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]"
}

fn is_loopback_origin(origin: &str) -> bool {
    let host = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    host.and_then(host_name).is_some_and(is_loopback_name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for &(name, value) in pairs {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    #[track_caller]
    fn check(front: &Front, pairs: &[(&'static str, &'static str)], expected: Result<(), Refused>) {
        assert_eq!(front.check(&headers(pairs)), expected, "{pairs:?}");
    }

    fn loopback() -> Front {
        Front {
            loopback: true,
            ..Front::default()
        }
    }

    fn public(hosts: &[&str], origins: &[&str]) -> Front {
        Front {
            loopback: false,
            hosts: hosts.iter().map(ToString::to_string).collect(),
            origins: origins.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn loopback_hosts_pass_with_any_port() {
        for host in [
            "localhost",
            "localhost:8080",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:80",
            "LOCALHOST",
        ] {
            check(&loopback(), &[("host", host)], Ok(()));
        }
    }

    #[test]
    fn a_foreign_host_is_refused_on_loopback() {
        for host in [
            "evil.example.com",
            "127.0.0.1.evil.example",
            "localhost.evil.example:80",
            "localhost:80@evil",
            "localhost@evil",
            "localhost:abc",
            "localhost:",
            "localhost:99999",
            "localhost:000080",
            "localhost:+80",
            "localhost:80:80",
            "localhost/",
            "[::1",
            "[::1]80",
            "[::1]]",
            "",
        ] {
            check(&loopback(), &[("host", host)], Err(Refused::Host));
        }
        check(&loopback(), &[], Err(Refused::Host));
    }

    #[test]
    fn where_no_host_is_needed_a_foreign_one_is_still_refused() {
        let named = |pairs| loopback().check_if_named(&headers(pairs));
        assert_eq!(named(&[]), Ok(()));
        assert_eq!(named(&[("host", "evil.com")]), Err(Refused::Host));
        assert_eq!(named(&[("origin", "null")]), Err(Refused::Origin));
    }

    #[test]
    fn two_hosts_are_one_too_many() {
        let pairs = [("host", "localhost"), ("host", "localhost")];
        check(&loopback(), &pairs, Err(Refused::Host));
    }

    #[test]
    fn loopback_origins_pass_on_loopback_only() {
        for origin in [
            "http://localhost:3000",
            "https://127.0.0.1",
            "http://[::1]:5",
        ] {
            check(
                &loopback(),
                &[("host", "localhost"), ("origin", origin)],
                Ok(()),
            );
            check(
                &public(&[], &[]),
                &[("origin", origin)],
                Err(Refused::Origin),
            );
        }
    }

    #[test]
    fn a_foreign_or_null_origin_is_refused() {
        for origin in [
            "null",
            "http://evil.example.com",
            "http://localhost.evil.example",
            "http://localhost:80@evil.com",
            "http://127.0.0.1:x",
            "http://localhost/",
            "http://",
            "localhost",
        ] {
            let pairs = [("host", "localhost"), ("origin", origin)];
            check(&loopback(), &pairs, Err(Refused::Origin));
        }
    }

    #[test]
    fn a_public_endpoint_without_a_host_list_takes_any_host() {
        check(&public(&[], &[]), &[("host", "mcp.example.com")], Ok(()));
    }

    #[test]
    fn a_host_list_is_held_to() {
        let front = public(&["mcp.example.com"], &[]);
        check(&front, &[("host", "MCP.example.com:443")], Ok(()));
        check(&front, &[("host", "localhost")], Err(Refused::Host));
    }

    #[test]
    fn a_listed_origin_passes() {
        let front = public(&[], &["https://app.example.com"]);
        check(&front, &[("origin", "https://app.example.com")], Ok(()));
        check(
            &front,
            &[("origin", "https://app.example.com:444")],
            Err(Refused::Origin),
        );
    }

    proptest! {
        #[test]
        fn nothing_but_a_port_may_follow_a_loopback_name(
            name in prop::sample::select(vec!["localhost", "127.0.0.1", "[::1]"]),
            rest in prop_oneof![
                "[ -~]{0,8}",
                ":[0-9]{0,7}",
                ":[0-9]{1,3}[ -~]{0,6}",
                any::<u32>().prop_map(|port| format!(":{port}")),
            ],
        ) {
            let port: Option<u32> = rest
                .strip_prefix(':')
                .filter(|port| port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|port| port.parse().ok());
            let good = rest.is_empty() || port.is_some_and(|port| port <= 65_535);
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_str(&format!("{name}{rest}"))?);

            prop_assert_eq!(loopback().check(&headers).is_ok(), good);

            headers.insert(HOST, HeaderValue::from_static("localhost"));
            headers.insert(ORIGIN, HeaderValue::from_str(&format!("http://{name}{rest}"))?);
            prop_assert_eq!(loopback().check(&headers).is_ok(), good);
        }
    }
}
