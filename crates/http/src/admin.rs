//! The admin port: metrics, health, readiness and status, for operators.
//!
//! Loopback by default and without authentication: whoever reaches it may read.
//! It changes nothing.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};
use warp::Filter;
use warp::reply::Response;

use crate::entrance::{Entrance, Entry};
use crate::lobby::{Guest, Lobby};
use crate::paced::Paced;
use crate::{Front, refusal};

/// The most connections to the admin port at once; for one more, the one that has
/// been idle for the longest time is closed.
const CONNECTIONS: usize = 256;
/// The most that are closing because of that; more are turned away.
const LEAVING: usize = 256;
/// How long such a one may take to finish its answer.
const LEAVE: Duration = Duration::from_secs(1);
/// The longest for a head, and the longest that a connection may be idle.
const HEADER_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest that a client may take nothing of its answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// What the admin port shows.
pub trait Pages: Send + Sync + 'static {
    /// Whether every gateway answers; else why not, one reason a line.
    ///
    /// # Errors
    ///
    /// The reasons.
    fn ready(&self) -> Result<(), String>;
    /// The tree of processes, as JSON text.
    fn status(&self) -> String;
    /// The metrics of all processes, in the Prometheus text format.
    fn metrics(&self) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;
}

/// Serves the admin port until it is stopped.
#[derive(Debug)]
pub struct Admin {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Admin {
    /// Starts to serve at `listener`, on the current runtime.
    ///
    /// # Errors
    ///
    /// Fails when the socket cannot be watched.
    pub fn start(listener: net::TcpListener, pages: Arc<dyn Pages>) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        // A page in a browser on this machine may not read it by DNS rebinding.
        let front = Front {
            loopback: listener.local_addr()?.ip().is_loopback(),
            ..Front::default()
        };
        let desk = Desk {
            pages,
            front: Arc::new(front),
        };
        let listener = TcpListener::from_std(listener)?;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let (until, connections) = (stop.clone(), tasks.clone());
        tasks.spawn(async move {
            tokio::select! {
                () = until.cancelled() => {}
                () = accept(&listener, &desk, &connections, &until) => {}
            }
        });
        Ok(Self { stop, tasks })
    }

    /// Stops serving; connections end after the answer at hand, or after a second.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves them to end by themselves.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        if timeout(Duration::from_secs(1), self.tasks.wait())
            .await
            .is_err()
        {
            debug!("admin connections are still open");
        }
    }
}

// === Behind the port ===

async fn accept(
    listener: &TcpListener,
    desk: &Desk,
    connections: &TaskTracker,
    until: &CancellationToken,
) {
    let mut lobby = Lobby::of(CONNECTIONS);
    let served = TaskTracker::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _peer)) => stream,
            Err(error) => {
                warn!(%error, "admin port cannot accept, pausing");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        if served.len() >= CONNECTIONS + LEAVING {
            debug!("too many connections to the admin port, closing one unread");
            continue;
        }
        drop(stream.set_nodelay(true));
        let guest = lobby.enter();
        let serving = serve(stream, desk.clone(), guest, until.clone());
        connections.spawn(served.track_future(serving));
    }
}

async fn serve(stream: TcpStream, desk: Desk, guest: Arc<Guest>, until: CancellationToken) {
    let filters = warp::service(routes(desk, Arc::clone(&guest)));
    let service = Entrance(TowerToHyperService::new(filters));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(Paced::new(stream, WRITE_TIMEOUT), service);
    let mut serving = std::pin::pin!(serving);
    let leaves = tokio::select! {
        ended = serving.as_mut() => return note(ended),
        () = until.cancelled() => false,
        () = guest.leave.cancelled() => true,
    };
    serving.as_mut().graceful_shutdown();
    if !leaves {
        note(serving.await);
    } else if let Ok(ended) = timeout(LEAVE, serving).await {
        note(ended);
    }
}

fn note(ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        debug!(%error, "admin connection ended early");
    }
}

/// What every request to the port needs.
#[derive(Clone)]
struct Desk {
    pages: Arc<dyn Pages>,
    front: Arc<Front>,
}

fn routes(
    desk: Desk,
    guest: Arc<Guest>,
) -> impl Filter<Extract = (Response,), Error = Infallible> + Clone {
    warp::any()
        .map(move || {
            guest.asks();
            desk.clone()
        })
        .and(warp::method())
        .and(warp::path::full())
        .and(warp::ext::get::<Entry>())
        .then(answer)
        .recover(refusal::recover)
        .unify()
}

async fn answer(
    Desk { pages, front }: Desk,
    method: Method,
    path: warp::path::FullPath,
    Entry { headers, has_path }: Entry,
) -> Response {
    if !has_path {
        return page(400, TEXT, "the request's target has no path\n");
    }
    if front.check_if_named(&headers).is_err() {
        return page(
            403,
            TEXT,
            "this Host or Origin may not read the admin port\n",
        );
    }
    if !matches!(method, Method::GET | Method::HEAD) {
        let mut response = page(405, TEXT, "only GET is offered here\n");
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match path.as_str() {
        "/healthz" => page(200, TEXT, "alive\n"),
        "/readyz" => match pages.ready() {
            Ok(()) => page(200, TEXT, "ready\n"),
            Err(reasons) => page(503, TEXT, reasons),
        },
        "/status" => page(200, "application/json", pages.status()),
        "/metrics" => match pages.metrics().await {
            Ok(text) => page(200, "text/plain; version=0.0.4; charset=utf-8", text),
            Err(reason) => page(500, TEXT, reason),
        },
        _ => page(404, TEXT, "pages: /metrics /healthz /readyz /status\n"),
    }
}

const TEXT: &str = "text/plain; charset=utf-8";

fn page(status: u16, kind: &'static str, text: impl Into<String>) -> Response {
    let mut response = Response::new(text.into().into());
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
