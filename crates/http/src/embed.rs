//! MCP as a filter in a warp server of somebody else.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use conduit_runtime::Gateway;
use conduit_telemetry::Telemetry;
use http::HeaderMap;
use warp::Filter;
use warp::filters::BoxedFilter;
use warp::path::FullPath;
use warp::reply::Response;

use crate::Options;
use crate::entrance::Entry;
use crate::routes::{self, Peer, Request, State};

/// Returns a filter that serves MCP at the paths of `options`, and rejects every other
/// path as not found, so that other filters may come after it.
///
/// What the options say of connections is for whoever serves the filter.
#[must_use]
pub fn filter(
    gateway: Gateway,
    telemetry: Telemetry,
    options: Options,
) -> BoxedFilter<(Response,)> {
    let state = Arc::new(State::new(gateway, telemetry, options, &Arc::default()));
    let known = Arc::clone(&state);
    warp::path::full()
        .and_then(move |path: FullPath| {
            let known = known.serves(path.as_str());
            async move { known.then_some(path).ok_or_else(warp::reject::not_found) }
        })
        .and(warp::method())
        .and(warp::header::headers_cloned())
        .and(warp::filters::addr::remote())
        .and(warp::body::stream())
        .then(
            move |path: FullPath, method, headers: HeaderMap, peer: Option<SocketAddr>, body| {
                // A server that does not tell where a client is has one client.
                let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
                let request = Request {
                    state: Arc::clone(&state),
                    peer: Peer(peer),
                };
                let entry = Entry {
                    headers: Arc::new(headers),
                    has_path: true,
                };
                routes::answer(request, method, path, entry, body)
            },
        )
        .boxed()
}
