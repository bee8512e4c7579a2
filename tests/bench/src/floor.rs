//! The floor: bare hyper, one typed parse of the envelope, fixed answers.
//!
//! It checks nothing and knows nothing: what it costs is what every server on hyper
//! and `serde_json` pays before it does work of its own.

mod streams;

use std::borrow::Cow;
use std::convert::Infallible;
use std::fs;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Context as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use crate::args::FloorOptions;

use self::streams::{Answer, Streams};

const CALL: &str = r#"{"content":[{"type":"text","text":"hello"}],"resultType":"complete"}"#;
const INITIALIZE: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"0"}}"#;
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Serves until the process is killed, at the latest when the bench ends.
pub(crate) fn serve(options: &FloorOptions) -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot end with the bench")?;
    let list = match &options.list {
        Some(path) => fs::read_to_string(path)
            .with_context(|| format!("cannot read the list of tools in {}", path.display()))?,
        None => r#"{"tools":[]}"#.to_owned(),
    };
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(accept(list.into()))
}

// === Behind the floor ===

/// What is read of a request; the rest stays as it came.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    /// Found, but not looked into.
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl Envelope<'_> {
    /// Says whether it calls the tool that tells all streams of a change.
    fn touches(&self) -> bool {
        let params = self.params.map_or("", RawValue::get);
        params.contains(r#""name":"touch""#)
    }
}

async fn accept(list: Arc<str>) -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .context("cannot bind the floor's socket")?;
    let address = listener.local_addr().context("cannot ask for the port")?;
    writeln!(std::io::stdout(), "endpoint http://{address}/mcp")?;
    let streams = Arc::new(Streams::default());
    let mut connections = JoinSet::new();
    loop {
        let (stream, _peer) = listener.accept().await.context("cannot accept")?;
        while connections.try_join_next().is_some() {}
        let (list, streams) = (Arc::clone(&list), Arc::clone(&streams));
        connections.spawn(async move {
            // Who hangs up has what they wanted.
            drop(connection(stream, &list, &streams).await);
        });
    }
}

async fn connection(stream: TcpStream, list: &str, streams: &Streams) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let service = service_fn(|request| answer(request, list, streams));
    http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await?;
    Ok(())
}

async fn answer(
    request: Request<Incoming>,
    list: &str,
    streams: &Streams,
) -> Result<Response<Answer>, Infallible> {
    if *request.method() == Method::GET {
        return Ok(streams.open().await);
    }
    if *request.method() != Method::POST {
        return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
    }
    let Ok(body) = request.into_body().collect().await else {
        return Ok(empty(StatusCode::BAD_REQUEST));
    };
    let body = body.to_bytes();
    let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(&body) else {
        return Ok(empty(StatusCode::BAD_REQUEST));
    };
    let Some(id) = envelope.id.map(RawValue::get) else {
        return Ok(empty(StatusCode::ACCEPTED));
    };
    Ok(match &*envelope.method {
        "subscriptions/listen" => streams.open().await,
        "tools/call" => {
            if envelope.touches() {
                streams.update().await;
            }
            json(id, CALL)
        }
        "tools/list" => json(id, list),
        "initialize" => {
            let mut response = json(id, INITIALIZE);
            let session = HeaderValue::from_static("floor");
            response.headers_mut().insert(SESSION, session);
            response
        }
        _ => json(id, "{}"),
    })
}

fn json(id: &str, result: &str) -> Response<Answer> {
    let (begin, middle, end) = (r#"{"jsonrpc":"2.0","id":"#, r#","result":"#, "}");
    let length = begin.len() + id.len() + middle.len() + result.len() + end.len();
    let mut body = String::with_capacity(length);
    for part in [begin, id, middle, result, end] {
        body.push_str(part);
    }
    let mut response = Response::new(Answer::Whole(Full::new(body.into())));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn empty(status: StatusCode) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(Full::default()));
    *response.status_mut() = status;
    response
}
