//! The whole filter tree on one screen.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Buf;
use conduit_runtime::Gateway;
use conduit_telemetry::{RefusedReason, Telemetry};
use futures_util::Stream;
use http::HeaderValue;
use http::header::{CONNECTION, ORIGIN};
use warp::Filter;
use warp::reply::Response;

use crate::body::{Budget, Limits};
use crate::client::TrustedProxies;
use crate::entrance::Entry;
use crate::front::Refused;
use crate::keep_alive::KeepAlive;
use crate::{Front, Options, post, refusal, session};

/// What every request handler knows.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) gateway: Gateway,
    pub(crate) telemetry: Telemetry,
    pub(crate) front: Front,
    pub(crate) trusted: TrustedProxies,
    pub(crate) limits: Limits,
    pub(crate) keep_alive: KeepAlive,
    closing: Arc<AtomicBool>,
    paths: Vec<String>,
}

/// The other end of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

impl State {
    pub(crate) fn new(
        gateway: Gateway,
        telemetry: Telemetry,
        options: Options,
        closing: &Arc<AtomicBool>,
    ) -> Self {
        Self {
            gateway,
            telemetry,
            front: options.front,
            trusted: options.trusted_proxies,
            limits: Limits {
                most: options.max_body,
                timeout: options.body_timeout,
                budget: Budget::new(options.body_budget),
            },
            keep_alive: KeepAlive::new(options.keep_alive),
            closing: Arc::clone(closing),
            paths: options.paths,
        }
    }

    /// Whether a server is at this path.
    pub(crate) fn serves(&self, path: &str) -> bool {
        self.server_at(path).is_some()
    }

    fn server_at(&self, path: &str) -> Option<usize> {
        let path = path
            .strip_suffix('/')
            .filter(|rest| !rest.is_empty())
            .unwrap_or(path);
        self.paths.iter().position(|known| known == path)
    }
}

/// Every request to this gateway, by path and method.
pub(crate) fn routes(
    state: &Arc<State>,
    peer: Peer,
) -> impl Filter<Extract = (Response,), Error = Infallible> + Clone + use<> {
    let state = Arc::clone(state);
    let request = Request { state, peer };
    warp::any()
        .map(move || request.clone())
        .and(warp::method())
        .and(warp::path::full())
        .and(warp::ext::get::<Entry>())
        .and(warp::body::stream())
        .then(answer)
        .recover(refusal::recover)
        .unify()
}

/// One request's surroundings.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) state: Arc<State>,
    pub(crate) peer: Peer,
}

/// Answers one request; the only way in.
pub(crate) async fn answer(
    request: Request,
    method: http::Method,
    path: warp::path::FullPath,
    entry: Entry,
    body: impl Stream<Item = Result<impl Buf, warp::Error>> + Send + Sync + 'static,
) -> Response {
    let state = Arc::clone(&request.state);
    let mut response = respond(request, method, path, entry, body).await;
    if state.closing.load(Ordering::Relaxed) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    response
}

async fn respond(
    Request { state, peer }: Request,
    method: http::Method,
    path: warp::path::FullPath,
    Entry { headers, has_path }: Entry,
    body: impl Stream<Item = Result<impl Buf, warp::Error>> + Send + Sync + 'static,
) -> Response {
    use http::Method;
    if !has_path {
        state.telemetry.refused(RefusedReason::Malformed);
        return refusal::no_path();
    }
    // R13: `OPTIONS` before everything else.
    if method == Method::OPTIONS {
        return refusal::options(&state.front, &headers);
    }
    let Some(server) = state.server_at(path.as_str()) else {
        state.telemetry.refused(RefusedReason::Path);
        return refusal::plain(404, "nothing is served at this path");
    };
    if let Err(refused) = state.front.check(&headers) {
        state.telemetry.refused(match refused {
            Refused::Host => RefusedReason::Host,
            Refused::Origin => RefusedReason::Origin,
        });
        return refusal::forbidden(refused);
    }
    let origin = headers.get(ORIGIN).cloned();
    let mut response = match method {
        Method::POST => post::answer(&state, server, peer.0, headers, body).await,
        Method::GET => session::open_stream(&state, server, &headers).await,
        Method::DELETE => session::end(&state, server, &headers).await,
        _ => {
            state.telemetry.refused(RefusedReason::HttpMethod);
            refusal::method_not_allowed()
        }
    };
    refusal::share(&state.front, origin.as_ref(), &mut response);
    response
}
