//! MCP over HTTP, and the admin port.
//!
//! Our own accept loop around `warp::service`: `TCP_NODELAY` on every socket, a
//! limit for connections, time limits for heads and bodies, a drain without
//! resets. The filters decide nothing about MCP: they check the front door
//! (method, Host, Origin, size, media types), hand the body to the
//! [`Gateway`](conduit_runtime::Gateway) and write its reply.
//!
//! Not here: sessions, eras, header rules (they depend on the body).

mod accept;
mod admin;
mod balance;
mod body;
mod client;
mod closed;
mod embed;
mod entrance;
mod events;
mod front;
mod keep_alive;
mod lobby;
mod media;
mod open;
mod paced;
mod post;
mod refusal;
mod reply;
mod routes;
mod session;
mod watch;

pub use self::accept::{Endpoint, StartError};
pub use self::admin::{Admin, Pages};
pub use self::balance::Balance;
pub use self::client::TrustedProxies;
pub use self::closed::turn_away_all;
pub use self::embed::filter;
pub use self::front::Front;
pub use warp;

use std::time::Duration;

/// How the endpoint treats connections and requests.
#[derive(Clone, Debug)]
pub struct Options {
    /// The path of each server, in the order of the gateway's servers.
    pub paths: Vec<String>,
    /// The most connections at once; one more is answered 503 and closed.
    pub max_connections: usize,
    /// The largest body of a request, in bytes.
    pub max_body: usize,
    /// The most bytes of large bodies and answers held at once, over all connections.
    pub body_budget: usize,
    /// The longest that a request's head may take, and the longest that a
    /// connection may stay idle.
    pub header_timeout: Duration,
    /// The longest that a request's body may take.
    pub body_timeout: Duration,
    /// The longest that a client may take nothing of what is sent to it.
    pub write_timeout: Duration,
    /// The longest that an event stream says nothing: then it gets a comment.
    pub keep_alive: Duration,
    /// Which Hosts and Origins may come in.
    pub front: Front,
    /// Whose `X-Forwarded-For` is believed.
    pub trusted_proxies: TrustedProxies,
}
