//! What must hold between two settings.

use std::net::SocketAddr;

use crate::load::{Error, Loaded};

/// Finds the first pair of settings that do not go together.
pub(crate) fn together(loaded: &Loaded) -> Result<(), Error> {
    let settings = &loaded.settings;
    let (supervisor, limits) = (&settings.supervisor, &settings.limits);
    let rules = [
        (
            !collide(settings.http.listen, settings.admin.listen),
            "http.listen",
            "be another address than",
            "admin.listen",
        ),
        (
            supervisor.dead_after_ms > supervisor.heartbeat_ms,
            "supervisor.dead_after_ms",
            "be more than",
            "supervisor.heartbeat_ms",
        ),
        (
            supervisor.stall_limit_ms > supervisor.heartbeat_ms,
            "supervisor.stall_limit_ms",
            "be more than",
            "supervisor.heartbeat_ms",
        ),
        (
            supervisor.backoff_most_ms >= supervisor.backoff_first_ms,
            "supervisor.backoff_most_ms",
            "not be less than",
            "supervisor.backoff_first_ms",
        ),
        (
            limits.dispatch_patience_ms <= limits.request_timeout_ms,
            "limits.dispatch_patience_ms",
            "not be more than",
            "limits.request_timeout_ms",
        ),
        (
            settings.http.body_budget_bytes >= settings.http.max_body_bytes,
            "http.body_budget_bytes",
            "not be less than",
            "http.max_body_bytes",
        ),
        (
            settings.tasks.ttl_ms <= settings.tasks.max_ttl_ms,
            "tasks.ttl_ms",
            "not be more than",
            "tasks.max_ttl_ms",
        ),
        (
            settings.tasks.lease_ms > supervisor.dead_after_ms,
            "tasks.lease_ms",
            "be more than",
            "supervisor.dead_after_ms",
        ),
    ];
    for (holds, path, relation, other) in rules {
        if !holds {
            return Err(Error::Conflict {
                path,
                origin: loaded.origins.of(path),
                relation,
                other,
                other_origin: loaded.origins.of(other),
            });
        }
    }
    Ok(())
}

// === Behind the handle ===

/// Whether two sockets of one machine cannot have both addresses.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let overlap = one.ip() == other.ip()
        || one.is_ipv4() == other.is_ipv4()
            && (one.ip().is_unspecified() || other.ip().is_unspecified());
    one.port() == other.port() && one.port() != 0 && overlap
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, expected: bool) {
        let (one, other) = (one.parse().unwrap(), other.parse().unwrap());

        assert_eq!(collide(one, other), expected);
        assert_eq!(collide(other, one), expected);
    }

    #[test]
    fn the_same_address_twice_collides() {
        check("127.0.0.1:80", "127.0.0.1:80", true);
    }

    #[test]
    fn all_addresses_collide_with_one_of_them() {
        check("0.0.0.0:80", "127.0.0.1:80", true);
    }

    #[test]
    fn other_ports_do_not_collide() {
        check("127.0.0.1:80", "127.0.0.1:81", false);
    }

    #[test]
    fn free_ports_do_not_collide() {
        check("127.0.0.1:0", "127.0.0.1:0", false);
    }

    #[test]
    fn other_addresses_do_not_collide() {
        check("127.0.0.1:80", "127.0.0.2:80", false);
        check("0.0.0.0:80", "[::1]:80", false);
    }
}
