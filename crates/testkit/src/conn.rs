//! One keep-alive connection.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::reply::Check;
use crate::{Call, Events, PATIENCE, Reply, Version};

/// A connection to a server; dropping it closes it at once.
#[derive(Debug)]
pub struct Conn {
    host: HeaderValue,
    sender: SendRequest<Full<Bytes>>,
    /// Holds the task that moves the bytes, and ends it with us.
    _driver: JoinSet<()>,
}

/// The connection ended before the answer was there.
#[derive(Debug)]
pub struct Broken(String);

impl Conn {
    /// Connects.
    ///
    /// # Errors
    ///
    /// Nobody listens, or nobody accepts in time.
    pub async fn try_open(address: SocketAddr) -> Result<Self, Broken> {
        let stream = timeout(PATIENCE, TcpStream::connect(address)).await??;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // Whoever waits for an answer hears of a broken connection too.
            drop(connection.await);
        });
        let host = HeaderValue::from_str(&address.to_string())?;
        Ok(Self {
            host,
            sender,
            _driver: driver,
        })
    }

    /// Connects, or panics.
    pub async fn open(address: SocketAddr) -> Self {
        Self::try_open(address)
            .await
            .unwrap_or_else(|problem| panic!("connecting to {address}: {problem}"))
    }

    /// Sends a call and reads the whole answer.
    ///
    /// # Errors
    ///
    /// The connection broke before the answer was complete. An answer that does
    /// not come at all is a panic: nothing may hang.
    pub async fn try_send(&mut self, call: &Call) -> Result<Reply, Broken> {
        let whole = async {
            let (head, body) = self.answer(call).await?.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok(Reply::new(head, body, &check(call)))
        };
        timely(call, PATIENCE, whole).await
    }

    /// Sends a call and reads the whole answer, or panics.
    pub async fn send(&mut self, call: &Call) -> Reply {
        self.try_send(call)
            .await
            .unwrap_or_else(|problem| panic!("sending {call:?}: {problem}"))
    }

    /// Sends a call and returns once the head of the answer is there.
    pub async fn stream(&mut self, call: &Call) -> Events {
        let answer = timely(call, PATIENCE, self.answer(call)).await;
        let answer = answer.unwrap_or_else(|problem| panic!("sending {call:?}: {problem}"));
        let (head, body) = answer.into_parts();
        Events::new(head, body, check(call))
    }

    /// As [`stream`](Self::stream), on a connection that nobody else needs.
    pub async fn into_stream(mut self, call: &Call) -> Events {
        let events = self.stream(call).await;
        events.holding(self)
    }

    /// Returns whether the server has closed the connection.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    async fn answer(&mut self, call: &Call) -> Result<Response<Incoming>, Broken> {
        let mut request = Request::new(Full::new(call.body()));
        *request.method_mut() = call.verb.clone();
        *request.uri_mut() = call.path.parse()?;
        *request.headers_mut() = call.headers.clone();
        request
            .headers_mut()
            .entry("host")
            .or_insert_with(|| self.host.clone());
        self.sender.ready().await?;
        Ok(self.sender.send_request(request).await?)
    }
}

impl<E: std::error::Error> From<E> for Broken {
    fn from(problem: E) -> Self {
        let mut text = problem.to_string();
        let mut cause = problem.source();
        while let Some(inner) = cause {
            text.push_str(&format!(": {inner}"));
            cause = inner.source();
        }
        Self(text)
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

// === Behind the connection ===

/// What the messages of the answer are held against.
fn check(call: &Call) -> Check {
    let method = call.method().map(str::to_owned);
    // It exists in one version alone, and is answered to those who name none.
    let is_modern = method.as_deref() == Some("server/discover");
    let version = if is_modern {
        Version::July2026
    } else {
        call.version
    };
    Check {
        version,
        method,
        is_rpc: call.is_rpc(),
    }
}

async fn timely<T>(call: &Call, within: Duration, work: impl Future<Output = T>) -> T {
    timeout(within, work)
        .await
        .unwrap_or_else(|_| panic!("no answer within {within:?} to {call:?}"))
}
