//! Conduit inside a program that has a transport of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use conduit_config::{Flag, Sources};
use conduit_http::Front;
use conduit_http::warp::filters::BoxedFilter;
use conduit_http::warp::reply::Response;
use conduit_protocol::{Era, Method};
use conduit_runtime::{Gateway, Head, Hosted, Reply};
use conduit_telemetry::Telemetry;
use futures_util::StreamExt;

use crate::failure::Failure;
use crate::role::own_store::OwnStore;
use crate::role::{keys, settings};
use crate::servers::{Servers, paths};

/// Answers MCP messages, whatever brings them; cheap to clone.
///
/// It has the actors of one gateway and none of the other processes: no supervisor and no
/// hub. So a legacy client gets no session over HTTP, and changes reach the clients of
/// this process alone; tasks are in a temporary database, and end with the handler.
/// [`run`](crate::run) has all of that.
///
/// ```
/// use conduit::{Context, Handler, NoArguments, Servers, Toolbox, tool};
///
/// # let runtime = tokio::runtime::Runtime::new()?;
/// # runtime.block_on(async {
/// let hello = tool("hello", "Greets", |_: NoArguments, _: Context| async { "hello" });
/// let servers = Servers::new().with(Toolbox::builder("greeter", "1.0.0").tool(hello));
/// let handler = Handler::start(servers).await?;
///
/// let ping = r#"{"jsonrpc":"2.0","id":60,"method":"ping"}"#;
/// let pong = handler.handle_request(ping).await;
/// assert_eq!(pong.as_deref(), Some(&br#"{"jsonrpc":"2.0","id":60,"result":{}}"#[..]));
/// # Ok::<(), conduit::NotStarted>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Handler {
    gateway: Gateway,
    telemetry: Telemetry,
    http: conduit_http::Options,
    _store: Arc<OwnStore>,
}

/// A [`Handler`] could not start: a server has a mistake, or there are no threads.
pub struct NotStarted(Failure);

impl Handler {
    /// Starts the actors on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// [`NotStarted`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may leave actors that nobody reaches.
    pub async fn start(servers: Servers) -> Result<Self, NotStarted> {
        Self::try_start(servers).await.map_err(NotStarted)
    }

    /// Returns every method that is routed in either era, notifications included.
    #[must_use]
    pub const fn methods() -> &'static [Method] {
        Method::methods()
    }

    /// Returns the methods that one era routes, notifications included.
    pub fn methods_of(era: Era) -> impl Iterator<Item = Method> {
        Method::methods_of(era)
    }

    /// Takes one message: a reply, a stream of events that ends with the reply, or
    /// nothing to say.
    ///
    /// The era is that of the message, unless the head has a context already. What the
    /// head does not say is not checked: without headers there are no header rules, and
    /// a client that cannot read events gets no stream.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future, or the stream before its end, says that the client is gone:
    /// that cancels a modern call and leaves a legacy one running.
    pub async fn dispatch(&self, message: impl Into<Bytes>, head: Head) -> Reply {
        self.gateway.submit(head, message.into()).await
    }

    /// Takes one message and returns the answer, or nothing for a notification that was
    /// taken and for a response.
    ///
    /// What precedes an answer is dropped, and `subscriptions/listen`, which has none, is
    /// refused with -32601. A malformed `notifications/cancelled` is answered, with an
    /// `id` of null.
    ///
    /// # Cancel safety
    ///
    /// As [`dispatch`](Self::dispatch).
    pub async fn handle_request(&self, message: impl Into<Bytes>) -> Option<Bytes> {
        let answer = match self.dispatch(message, Head::default()).await {
            Reply::Accepted => None,
            Reply::Message(reply) => Some(reply.message),
            Reply::Stream(events) => {
                let messages = events.filter_map(async |event| event.message);
                messages.fold(None, async |_, message| Some(message)).await
            }
        };
        answer.map(conduit_protocol::Rendered::into_bytes)
    }

    /// Returns a warp filter that serves MCP at the servers' paths, `/mcp` or
    /// `/NAME/mcp`, and lets every other path through to whatever comes after it.
    ///
    /// `front` says which Hosts and Origins may come in (R13). Limits are those of the
    /// defaults of the configuration; what concerns connections is for whoever serves
    /// the filter.
    #[must_use]
    pub fn filter(&self, front: Front) -> BoxedFilter<(Response,)> {
        let options = conduit_http::Options {
            front,
            ..self.http.clone()
        };
        conduit_http::filter(self.gateway.clone(), self.telemetry.clone(), options)
    }

    /// Returns what is counted and told of: metrics, and events as they happen.
    #[must_use]
    pub const fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// Lets calls finish within `grace`, stops the others, each with an answer, and ends
    /// the streams. Whoever serves it has stopped to hand messages in.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves calls running.
    pub async fn stop(&self, grace: Duration) {
        let drained = self.gateway.drain(grace).await;
        tracing::info!(stopped = drained.stopped, "stopped");
    }

    async fn try_start(servers: Servers) -> Result<Self, Failure> {
        // Nothing is kept, so it does not matter where.
        let nowhere = Flag {
            option: "state.dir",
            path: "state.dir".to_owned(),
            text: "/nonexistent".to_owned(),
        };
        let sources = Sources {
            flags: vec![nowhere],
            ..Sources::default()
        };
        let settings = conduit_config::load(&sources)?.settings;
        let telemetry = Telemetry::new("embedded");
        let servers = servers.build()?;
        let paths = paths(&servers);
        let time_limit = settings.limits.request_timeout_ms.duration();
        let hosted = servers
            .into_iter()
            .map(|server| Hosted::new(server, &telemetry, time_limit).with_tasks(true))
            .collect();
        let options = settings::gateway(&settings, 0);
        let sealer = keys::own_sealer(&settings);
        let store = OwnStore::start(&settings, &telemetry).await?;
        let door = Some(store.door());
        let gateway = Gateway::start(options, hosted, sealer, None, door, &telemetry)
            .await
            .map_err(Failure::of("cannot start the handler"))?;
        store.tell(&gateway);
        Ok(Self {
            gateway,
            _store: Arc::new(store),
            telemetry,
            http: settings::http(&settings, paths, false),
        })
    }
}

impl fmt::Debug for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for NotStarted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}
