//! The accept loop, and how it ends.
//!
//! The listening socket is shared with the other gateways and stays open in the
//! supervisor; here it is only accepted from. The end has an order: take what
//! waits in the backlog, stop accepting, serve on for a moment (a client that has
//! just connected has not sent its request yet), let each connection finish what
//! it is doing, then close.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use conduit_runtime::Gateway;
use conduit_telemetry::Telemetry;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::net::{SocketFlags, acceptfrom_with};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use crate::routes::{self, Peer, State};
use crate::{Balance, Options, refusal};

/// How long an over-average gateway lets the others accept first.
const YIELD: Duration = Duration::from_millis(1);
/// How long connections are served after accepting has stopped.
const LINGER: Duration = Duration::from_millis(300);
/// After an accept that failed for want of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Head and write buffers of one connection never grow beyond this.
const BUFFER: usize = 128 * 1024;

/// MCP over HTTP at one listening socket.
#[derive(Debug)]
pub struct Endpoint {
    stop: CancellationToken,
    finish: CancellationToken,
    connections: TaskTracker,
    accepting: tokio::task::JoinHandle<()>,
}

/// The endpoint could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The socket could not be watched.
    #[error("cannot watch the listening socket")]
    Watch {
        /// What the operating system said.
        source: io::Error,
    },
}

impl Endpoint {
    /// Starts to accept connections on the current runtime.
    ///
    /// # Errors
    ///
    /// [`StartError::Watch`] when the socket is not a listening one.
    pub fn start(
        listener: TcpListener,
        balance: Option<Balance>,
        gateway: Gateway,
        telemetry: Telemetry,
        options: Options,
    ) -> Result<Self, StartError> {
        let watch = |source| StartError::Watch { source };
        listener.set_nonblocking(true).map_err(watch)?;
        let listener = watched(listener).map_err(watch)?;
        let (stop, finish) = (CancellationToken::new(), CancellationToken::new());
        let connections = TaskTracker::new();
        let acceptor = Acceptor {
            open: Open::new(balance, telemetry.clone()),
            header_timeout: options.header_timeout,
            max_connections: options.max_connections,
            state: Arc::new(State::new(gateway, telemetry, options)),
            connections: connections.clone(),
            finish: finish.clone(),
        };
        let until = stop.clone();
        let accepting = connections.spawn(async move {
            acceptor.run(&listener, &until).await;
        });
        Ok(Self {
            stop,
            finish,
            connections,
            accepting,
        })
    }

    /// Stops accepting and serves on for a moment; resolves when the gateway may
    /// drain its calls.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves accepting stopped; call it again to wait.
    pub async fn close(&mut self) {
        self.stop.cancel();
        if (&mut self.accepting).await.is_err() {
            debug!("the accept loop had ended before");
        }
        sleep(LINGER).await;
    }

    /// Lets every connection finish what it is doing, for at most `grace`.
    /// Returns how many were still open then.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves connections to finish by themselves.
    pub async fn finish(self, grace: Duration) -> usize {
        self.finish.cancel();
        self.connections.close();
        match timeout(grace, self.connections.wait()).await {
            Ok(()) => 0,
            Err(_elapsed) => self.connections.len(),
        }
    }
}

// === Behind the endpoint ===

struct Acceptor {
    state: Arc<State>,
    open: Open,
    header_timeout: Duration,
    max_connections: usize,
    connections: TaskTracker,
    finish: CancellationToken,
}

impl Acceptor {
    async fn run(&self, listener: &AsyncFd<TcpListener>, until: &CancellationToken) {
        loop {
            let ready = tokio::select! {
                biased;
                () = until.cancelled() => break,
                ready = listener.readable() => ready,
            };
            let Ok(mut ready) = ready else {
                warn!("the listening socket can no longer be watched");
                break;
            };
            if self.open.should_wait() {
                sleep(YIELD).await;
            }
            match ready.try_io(|listener| accept(listener.get_ref())) {
                Ok(Ok((stream, peer))) => self.take(stream, peer),
                Ok(Err(error)) => self.pause(&error).await,
                Err(_another_gateway_took_it) => {}
            }
        }
        self.drain(listener.get_ref());
    }

    /// Takes what waits in the backlog, so that nobody is reset.
    fn drain(&self, listener: &TcpListener) {
        let mut taken = 0;
        while taken < self.max_connections
            && let Ok((stream, peer)) = accept(listener)
        {
            self.take(stream, peer);
            taken += 1;
        }
        info!(taken, "stopped accepting");
    }

    fn take(&self, stream: TcpStream, peer: SocketAddr) {
        let place = self.open.enter();
        if self.open.count() > self.max_connections {
            self.open.refused();
            self.connections.spawn(async move {
                turn_away(stream).await;
                drop(place);
            });
            return;
        }
        let filters = warp::service(routes::routes(&self.state, Peer(peer.ip())));
        let service = Entrance(TowerToHyperService::new(filters));
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.header_timeout)
            .max_buf_size(BUFFER)
            .serve_connection(TokioIo::new(stream), service);
        let finish = self.finish.clone();
        self.connections.spawn(async move {
            let mut serving = std::pin::pin!(serving);
            let ended = tokio::select! {
                biased;
                ended = serving.as_mut() => ended,
                () = finish.cancelled() => {
                    serving.as_mut().graceful_shutdown();
                    serving.await
                }
            };
            if let Err(error) = ended {
                debug!(%error, "connection ended early");
            }
            drop(place);
        });
    }

    async fn pause(&self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
        if !matches!(
            error.kind(),
            ConnectionAborted | ConnectionReset | Interrupted
        ) {
            warn!(%error, "cannot accept, pausing");
            sleep(ACCEPT_PAUSE).await;
        }
    }
}

#[expect(
    unsafe_code,
    reason = "a socket can be watched before it is accepted from in no other way"
)]
fn watched(listener: TcpListener) -> io::Result<AsyncFd<TcpListener>> {
    // SAFETY: a `TcpListener` owns its descriptor: it is open, and the same, for as
    // long as the value lives.
    unsafe { AsyncFd::register_with_interest(listener, Interest::READABLE) }
        .map_err(|refused| refused.into_parts().1)
}

/// Takes the head apart before the filters see it, so that nobody copies it.
struct Entrance<S>(S);

impl<S: Service<Request<Incoming>>> Service<Request<Incoming>> for Entrance<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, mut request: Request<Incoming>) -> S::Future {
        let headers = Arc::new(std::mem::take(request.headers_mut()));
        request.extensions_mut().insert(headers);
        self.0.call(request)
    }
}

fn accept(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (descriptor, peer) = acceptfrom_with(listener, flags)?;
    let stream = std::net::TcpStream::from(descriptor);
    stream.set_nodelay(true)?;
    let peer = peer
        .and_then(|peer| SocketAddr::try_from(peer).ok())
        .ok_or(io::ErrorKind::ConnectionAborted)?;
    Ok((TcpStream::from_std(stream)?, peer))
}

/// Answers one connection too many, without reading from it.
pub(crate) async fn turn_away(mut stream: TcpStream) {
    const PATIENCE: Duration = Duration::from_secs(1);
    let answer = async {
        stream
            .write_all(refusal::TOO_MANY_CONNECTIONS.as_bytes())
            .await?;
        stream.shutdown().await
    };
    if !matches!(timeout(PATIENCE, answer).await, Ok(Ok(()))) {
        debug!("a refused connection did not take its answer");
    }
}

/// How many connections are open, for the limit, the metric and the other gateways.
#[derive(Clone)]
struct Open {
    shared: Arc<Count>,
}

struct Count {
    open: AtomicUsize,
    balance: Option<Balance>,
    telemetry: Telemetry,
}

/// One open connection.
struct Place(Open);

impl Open {
    fn new(balance: Option<Balance>, telemetry: Telemetry) -> Self {
        Self {
            shared: Arc::new(Count {
                open: AtomicUsize::new(0),
                balance,
                telemetry,
            }),
        }
    }

    fn count(&self) -> usize {
        self.shared.open.load(Ordering::Relaxed)
    }

    fn should_wait(&self) -> bool {
        let Count { open, balance, .. } = &*self.shared;
        balance
            .as_ref()
            .is_some_and(|balance| balance.should_wait(open.load(Ordering::Relaxed)))
    }

    fn enter(&self) -> Place {
        let open = self.shared.open.fetch_add(1, Ordering::Relaxed) + 1;
        self.shared.telemetry.connection_opened();
        self.publish(open);
        Place(self.clone())
    }

    fn refused(&self) {
        self.shared.telemetry.connection_refused();
    }

    fn publish(&self, open: usize) {
        if let Some(balance) = &self.shared.balance {
            balance.publish(open);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let open = self.0.shared.open.fetch_sub(1, Ordering::Relaxed) - 1;
        self.0.shared.telemetry.connection_closed();
        self.0.publish(open);
    }
}
