//! The handle of a gateway, and how it starts and ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use conduit_actor::{Seat, SpawnFailed, Tree, TreeOptions};
use conduit_auth::Sealer;
use conduit_link::{FromStore, Links, ShardMap, Slot, TaskQuestion};
use conduit_protocol::{Message, WireError, parse, peek_id};
use conduit_server::Changes;
use conduit_telemetry::{RefusedReason, StreamKind, Telemetry};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tracing::{debug, info};
use uuid::Uuid;

use crate::admission::{Admission, Admitted};
use crate::bridge::Bridge;
use crate::call;
use crate::cancellation::{self, AddressScope, Registry, Sweeper};
use crate::dispatcher::{self, Dispatcher};
use crate::ears::{Ears, StoreEars};
use crate::exchange::{Dispatch, Head, MessageReply, Reply};
use crate::hosted::Hosted;
use crate::interest::Interest;
use crate::mail::PostOffice;
use crate::outbox::Events;
use crate::publish::{self, Publisher};
use crate::replays::Replays;
use crate::resume::Holder;
use crate::sessions::{self, Keeper, Sessions};
use crate::store::{LocalStore, StoreDoor};
use crate::stream_limits::{OpenStreams, Refused, StreamOptions};
use crate::streams::{self, Courier, Streams};
use crate::tasks::{self, Executor, Foreman, Waiting, Watch};
use crate::watchdog::{self, Mark};
use crate::workers::{self, Workers};
use crate::{live, route};

/// How often overdue calls are looked for.
const SWEEP: Duration = Duration::from_secs(1);
/// How often used sessions are told to the store.
const FLUSH: Duration = Duration::from_secs(10);
/// How long cancelled calls get to end by themselves when the process ends.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a gateway is started with.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Which of the gateways this is, from zero.
    pub index: u16,
    /// The most messages inside at once; one more is refused with 503.
    pub in_flight: usize,
    /// The longest that a message may wait for the dispatcher.
    pub dispatch_patience: Duration,
    /// The longest that one actor waits for another.
    pub actor_patience: Duration,
    /// Threads for async callbacks.
    pub worker_threads: usize,
    /// The most blocking callbacks at once.
    pub blocking: usize,
    /// Sessions that are kept in memory; the others are looked up in the store.
    pub sessions_cached: usize,
    /// The longest that the store may take.
    pub store_patience: Duration,
    /// The longest that the hub may take to note what somebody listens to.
    pub hub_patience: Duration,
    /// Whether a legacy request has to name a session (R12).
    pub require_session: bool,
    /// What a cancel without session and principal may reach (R4).
    pub address_scope: AddressScope,
    /// The most cancelled calls of one scope that have not ended yet.
    pub cancelled_per_scope: usize,
    /// How long a cancel may look for its call at other gateways.
    pub mail_deadline: Duration,
    /// The most rounds in which one request asks its client for input.
    pub input_rounds: u32,
    /// Whether the clients of legacy sessions are asked on the stream of the call (R6).
    pub bridge_input: bool,
    /// How long such a client may take to answer.
    pub bridge_patience: Duration,
    /// What holds for streams of changes.
    pub streams: StreamOptions,
    /// What holds for tasks.
    pub tasks: tasks::Options,
}

/// Answers requests; cheap to clone.
#[derive(Clone, Debug)]
pub struct Gateway {
    shared: Arc<Shared>,
    dispatcher: Seat<dispatcher::Message>,
    tree: Arc<Tree>,
    store_ears: StoreEars,
    /// Where its tasks run.
    runtime: Handle,
    /// Ticks, watchdog and publisher; they end with the last clone.
    _background: Arc<Vec<AbortOnDropHandle<()>>>,
}

/// What the actors and tasks of one gateway share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) hosted: Vec<Arc<Hosted>>,
    pub(crate) telemetry: Telemetry,
    pub(crate) registry: Registry,
    pub(crate) store: StoreDoor,
    pub(crate) sessions: Sessions,
    pub(crate) post: PostOffice,
    pub(crate) publisher: Publisher,
    /// The work of tasks that is done here.
    pub(crate) executor: Executor,
    /// The requests that wait for a task to end.
    pub(crate) waiting: Waiting,
    /// Seals what modern clients carry from round to round.
    pub(crate) sealer: Sealer,
    /// What legacy clients are asked.
    pub(crate) bridge: Bridge,
    pub(crate) streams: Seat<streams::Message>,
    pub(crate) open_streams: OpenStreams,
    pub(crate) replays: Replays,
    pub(crate) interest: Interest,
    pub(crate) workers: Arc<Workers>,
    pub(crate) mark: Arc<Mark>,
    /// Answers that take time; each holds its place in the admission.
    pub(crate) tasks: TaskTracker,
    admission: Admission,
}

/// Why a gateway could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The worker threads could not be started.
    #[error("cannot start the worker threads")]
    Workers {
        /// What the operating system said.
        source: io::Error,
    },
    /// The telemetry sink could not be started.
    #[error("cannot start the gateway's telemetry")]
    Telemetry {
        /// Why.
        source: conduit_telemetry::Error,
    },
    /// An actor could not be started.
    #[error("cannot start the gateway's actors")]
    Actors {
        /// Why.
        source: SpawnFailed,
    },
}

/// Why a session's stream or end was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// There is no such session, or no more.
    #[error("the session does not exist")]
    NotFound,
    /// The session has no such event, or no more.
    #[error("there is no such event")]
    NoSuchEvent,
    /// The store, or the hub, did not answer in time.
    #[error("the session store is not available")]
    Unavailable,
    /// As many streams are open here as may be.
    #[error("as many streams are open as may be")]
    Full,
    /// The session has as many streams as it may.
    #[error("the session has as many streams open as it may")]
    TooMany,
}

impl From<Refused> for SessionError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Full => Self::Full,
            Refused::OwnerFull => Self::TooMany,
        }
    }
}

/// How a drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Calls that were stopped because time ran out.
    pub stopped: usize,
}

impl Gateway {
    /// Starts the actors of a gateway on the current runtime.
    ///
    /// Links to the store and to the hubs open by themselves. Without `links` there
    /// are no sessions but that of a pipe, and no other gateways; tasks are then in the
    /// `local` store, whose words go to [`hear_store`](Self::hear_store). Every gateway that shall
    /// go on with what this one has begun needs the keys of its `sealer`.
    ///
    /// # Errors
    ///
    /// [`StartError`] when threads or actors cannot be started.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may leave actors that nobody reaches.
    #[expect(
        clippy::large_types_passed_by_value,
        reason = "once in the life of a process"
    )]
    pub async fn start(
        options: Options,
        hosted: Vec<Hosted>,
        sealer: Sealer,
        links: Option<&Links>,
        local: Option<Arc<dyn LocalStore>>,
        telemetry: &Telemetry,
    ) -> Result<Self, StartError> {
        let keeper = Seat::new("sessions");
        let streams = Seat::new("streams");
        let sweeper = Seat::new("cancellation");
        let dispatcher = Seat::new("dispatcher");
        let foreman = Seat::new("tasks");
        let desk = Seat::new("publisher");
        let executor = Executor::new(foreman.clone(), telemetry.tasks_running().clone());
        let store_ears = StoreEars {
            keeper: keeper.clone(),
            foreman: foreman.clone(),
            streams: streams.clone(),
            executor: executor.clone(),
        };
        let store = links.map(|links| links.connect(Slot::STORE, store_ears.clone().receiver()));
        let store = StoreDoor::new(store, local);
        let interest = Interest::new(links.is_some(), telemetry.topics().clone());
        let replays = Replays::new(options.index);
        let tasks = TaskTracker::new();
        let bridge = Bridge::default();
        let ears = Ears {
            sweeper: sweeper.clone(),
            streams: streams.clone(),
            interest: interest.clone(),
            bridge: bridge.clone(),
            holder: Holder::new(replays.clone(), tasks.clone()),
            desk: desk.clone(),
        };
        let post = PostOffice::new(links.cloned(), ears.receiver(), options.mail_deadline);
        let shared = Arc::new(Shared {
            publisher: Publisher::new(
                post.clone(),
                interest.clone(),
                streams.clone(),
                telemetry.clone(),
                tasks.clone(),
                desk.clone(),
            ),
            executor,
            waiting: Waiting::default(),
            store: store.clone(),
            sealer,
            bridge,
            streams: streams.clone(),
            open_streams: OpenStreams::new(options.streams),
            replays,
            interest: interest.clone(),
            tasks,
            options,
            hosted: hosted.into_iter().map(Arc::new).collect(),
            telemetry: telemetry.clone(),
            registry: Registry::new(
                cancellation::Options {
                    address_scope: options.address_scope,
                    per_scope: options.cancelled_per_scope,
                },
                telemetry.clone(),
            ),
            sessions: Sessions::new(
                store,
                options.store_patience,
                options.sessions_cached,
                telemetry.sessions_cached().clone(),
            ),
            post,
            workers: start_workers(&options, telemetry)?,
            mark: Mark::new(),
            admission: Admission::new(
                options.in_flight,
                telemetry.in_flight().clone(),
                telemetry.streams(StreamKind::Call).clone(),
            ),
        });
        let seats = Seats {
            dispatcher: &dispatcher,
            sweeper: &sweeper,
            keeper: &keeper,
            foreman: &foreman,
            desk: &desk,
        };
        let tree = start_actors(&shared, &interest, seats).await?;
        let background = background(&shared, sweeper, foreman);
        publish_changes(&shared);
        Ok(Self {
            shared,
            dispatcher,
            tree: Arc::new(tree),
            store_ears,
            runtime: Handle::current(),
            _background: Arc::new(background),
        })
    }

    /// Hands in one message and waits for what becomes of it.
    ///
    /// Never waits longer than [`Options::dispatch_patience`] for the dispatcher,
    /// nor longer than its tool's time limit for a call.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future says that the client is gone: it cancels a modern call
    /// (M-HTTP-20) and leaves a legacy one running (L-HTTP-08).
    pub async fn submit(&self, head: Head, body: Bytes) -> Reply {
        let call = match self.shared.admission.admit() {
            Some(call) => call,
            None if is_always_let_in(&body) => self.shared.admission.admit_exempt(),
            None => {
                return self.refuse(&body, RefusedReason::Overload, "the server is busy");
            }
        };
        let client = Client(Some(call.clone()));
        let (reply, mut answer) = oneshot::channel();
        let dispatch = Dispatch {
            head,
            body: body.clone(),
            call: call.clone(),
            reply,
        };
        let message = dispatcher::Message::Dispatch(dispatch);
        if self.dispatcher.cast(message).is_err() {
            return self.refuse(&body, RefusedReason::Stalled, "the server is restarting");
        }
        let patience = self.shared.options.dispatch_patience;
        let answered = match timeout(patience, &mut answer).await {
            Ok(answered) => answered,
            Err(_elapsed) if call.is_picked() => answer.await,
            Err(_elapsed) => {
                return self.refuse(&body, RefusedReason::Stalled, "the server is overloaded");
            }
        };
        client.stays();
        match answered {
            Ok(reply) => reply,
            Err(_lost) if call.is_picked() => lost(&body),
            Err(_lost) => self.refuse(&body, RefusedReason::Stalled, "the server is restarting"),
        }
    }

    /// Sends one request through the real pipeline; returns whether it came back.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn probe(&self) -> bool {
        const PING: &[u8] = br#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#;
        let head = Head {
            probe: true,
            ..Head::default()
        };
        let reply = self.submit(head, Bytes::from_static(PING)).await;
        matches!(reply, Reply::Message(MessageReply { status: 200, .. }))
    }

    /// Opens the stream of a live session of the server in this place, or goes on behind
    /// an event of one that it had (R25).
    ///
    /// # Errors
    ///
    /// [`SessionError`].
    ///
    /// # Cancel safety
    ///
    /// Safe: a stream that nobody receives is closed.
    pub async fn open_session_stream(
        &self,
        server: usize,
        session: Uuid,
        last_event: Option<&[u8]>,
    ) -> Result<Events, SessionError> {
        let berth = self.shared.open_streams.enter(Some(session))?;
        let events = live::open(&self.shared, server, session, last_event).await?;
        Ok(events.within(berth, None))
    }

    /// Ends a session of the server in this place; every live gateway has forgotten it
    /// when this returns (R12).
    ///
    /// # Errors
    ///
    /// [`SessionError`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the session has ended.
    pub async fn end_session(&self, server: usize, session: Uuid) -> Result<(), SessionError> {
        live::look(&self.shared, server, session).await?;
        match self.shared.sessions.end(session).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(SessionError::NotFound),
            Err(_unable) => Err(SessionError::Unavailable),
        }
    }

    /// Ends every stream of changes, each with its farewell (R18). Whoever opens another
    /// one gets it.
    pub fn end_streams(&self) {
        if self.shared.streams.cast(streams::Message::Drain).is_err() {
            debug!("no streams to end");
        }
    }

    /// Waits for nothing any more that legacy clients were asked: they cannot answer. What
    /// was handed in before still counts.
    pub fn end_questions(&self) {
        let message = dispatcher::Message::EndQuestions;
        if self.dispatcher.cast(message).is_err() {
            // What was in its mailbox is lost.
            self.shared.bridge.close();
        }
    }

    /// Takes the newest map of the hub's shards.
    pub fn take_shard_map(&self, map: ShardMap) {
        let Shared {
            interest,
            post,
            publisher,
            streams,
            ..
        } = &*self.shared;
        // Before the links, which say what they hear to whoever knows the map.
        interest.take_map(&map, post, streams, &self.runtime);
        post.take_map(map);
        publisher.hurry();
    }

    /// Takes what the local store says by itself. Never waits.
    pub fn hear_store(&self, message: FromStore) {
        self.store_ears.hear(message);
    }

    /// Waits until an actor has failed more often than it may; the process has to
    /// end then. Returns the actor's name.
    ///
    /// # Cancel safety
    ///
    /// Safe: a failure stays known.
    pub async fn failed(&self) -> &'static str {
        self.tree.failed().await
    }

    /// Lets calls and the work of tasks finish within `grace` and stops the others; each
    /// call has an answer (R43), and work is given back to the store. Session streams
    /// end. The transport has stopped taking messages.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves calls running; drain again to stop them.
    pub async fn drain(&self, grace: Duration) -> Drained {
        let Shared {
            registry,
            executor,
            store,
            ..
        } = &*self.shared;
        self.end_streams();
        executor.close();
        if !store.is_shared() {
            // Its tasks end with this process.
            executor.stop_all();
        }
        if timeout(grace, self.idle()).await.is_ok() {
            return Drained { stopped: 0 };
        }
        let cancelled = registry.cancel_all();
        let tasks = executor.stop_all();
        info!(cancelled, tasks, "grace is over, stopping calls and tasks");
        if timeout(LAST_WORDS, self.idle()).await.is_ok() {
            return Drained { stopped: cancelled };
        }
        registry.answer_all(&call::shutting_down());
        self.give_back().await;
        Drained { stopped: cancelled }
    }

    /// Waits until no call is inside, and no work of a task is done.
    async fn idle(&self) {
        tokio::join!(self.shared.admission.idle(), self.shared.executor.idle());
    }

    /// Gives the work back that does not end.
    async fn give_back(&self) {
        let held = self.shared.executor.left();
        if held.is_empty() {
            return;
        }
        let release = TaskQuestion::Release { held };
        let patience = self.shared.options.store_patience;
        if self
            .shared
            .store
            .ask_of_tasks(release, patience)
            .await
            .is_err()
        {
            debug!("tasks are not given back, their leases run out");
        }
    }

    /// Ends an actor, as a failure would.
    #[cfg(test)]
    pub(crate) fn kill(&self, actor: &str) {
        self.tree.kill(actor);
    }

    #[cfg(test)]
    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn refuse(&self, body: &[u8], reason: RefusedReason, text: &str) -> Reply {
        self.shared.telemetry.refused(reason);
        let id = peek_id(body);
        let text = format!("{text}, try again in a moment");
        Reply::Message(route::busy(id.as_ref(), text))
    }
}

// === Behind the handle ===

/// The client as long as it may leave: dropping it before the answer hangs up.
struct Client(Option<Admitted>);

impl Client {
    fn stays(mut self) {
        self.0 = None;
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(call) = &self.0 {
            call.hang_up();
        }
    }
}

/// The dispatcher broke over this very message.
fn lost(body: &[u8]) -> Reply {
    let error = WireError::internal();
    let message = conduit_protocol::error(peek_id(body).as_ref(), &error);
    Reply::Message(MessageReply::new(200, message))
}

/// R42: any refusal of `server/discover` makes real clients fall back to another era.
/// Responses and notifications are what calls inside wait for, or what ends them; there
/// are no more of them at once than connections.
fn is_always_let_in(body: &[u8]) -> bool {
    match parse(body) {
        Ok(Message::Request(request)) => request.method == "server/discover",
        Ok(Message::Response(_) | Message::Notification(_)) => true,
        Err(_) => false,
    }
}

fn start_workers(options: &Options, telemetry: &Telemetry) -> Result<Arc<Workers>, StartError> {
    let pool = workers::Options {
        threads: options.worker_threads,
        blocking: options.blocking,
    };
    Workers::start(pool, telemetry).map_err(|source| StartError::Workers { source })
}

/// Where the actors sit, apart from the streams.
#[derive(Clone, Copy)]
struct Seats<'a> {
    dispatcher: &'a Seat<dispatcher::Message>,
    sweeper: &'a Seat<cancellation::Message>,
    keeper: &'a Seat<sessions::Message>,
    foreman: &'a Seat<tasks::Message>,
    desk: &'a Seat<publish::Message>,
}

async fn start_actors(
    shared: &Arc<Shared>,
    interest: &Interest,
    seats: Seats<'_>,
) -> Result<Tree, StartError> {
    let tree = Tree::start(TreeOptions::default())
        .await
        .map_err(actors_failed)?;
    shared
        .telemetry
        .start_in(&tree)
        .await
        .map_err(|source| StartError::Telemetry { source })?;
    let (seat, interest) = (shared.streams.clone(), interest.clone());
    let telemetry = shared.telemetry.clone();
    let courier = Courier {
        post: shared.post.clone(),
        patience: shared.options.mail_deadline,
        tracker: shared.tasks.clone(),
    };
    let watch = Watch {
        store: shared.store.clone(),
        patience: shared.options.store_patience,
        tracker: shared.tasks.clone(),
        waiting: shared.waiting.clone(),
    };
    tree.start_at(&shared.streams, move || {
        let (seat, interest) = (seat.clone(), interest.clone());
        Streams::new(seat, interest, watch.clone(), courier.clone(), &telemetry)
    })
    .await
    .map_err(actors_failed)?;
    let publisher = shared.publisher.clone();
    tree.start_at(seats.desk, move || publisher.desk())
        .await
        .map_err(actors_failed)?;
    let all = Arc::clone(shared);
    tree.start_at(seats.foreman, move || Foreman::new(Arc::clone(&all)))
        .await
        .map_err(actors_failed)?;
    let all = Arc::clone(shared);
    tree.start_at(seats.keeper, move || Keeper::new(Arc::clone(&all)))
        .await
        .map_err(actors_failed)?;
    let registry = shared.registry.clone();
    tree.start_at(seats.sweeper, move || Sweeper::new(registry.clone()))
        .await
        .map_err(actors_failed)?;
    let all = Arc::clone(shared);
    tree.start_at(seats.dispatcher, move || Dispatcher::new(Arc::clone(&all)))
        .await
        .map_err(actors_failed)?;
    Ok(tree)
}

/// Lets every server tell of its changes.
fn publish_changes(shared: &Arc<Shared>) {
    for hosted in &shared.hosted {
        let publish = shared.publisher.of_server(Arc::clone(&hosted.name));
        hosted.attach(Changes::new(Arc::new(publish)));
    }
}

fn actors_failed(source: SpawnFailed) -> StartError {
    StartError::Actors { source }
}

fn background(
    shared: &Arc<Shared>,
    sweeper: Seat<cancellation::Message>,
    foreman: Seat<tasks::Message>,
) -> Vec<AbortOnDropHandle<()>> {
    let tasks = &shared.tasks;
    let open_streams = shared.open_streams.clone();
    let (replays, streams) = (shared.replays.clone(), shared.streams.clone());
    let publisher = shared.publisher.clone();
    let sweeping = async move {
        let mut ticks = interval(SWEEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            replays.tidy();
            publisher.stir();
            open_streams.end_overdue();
            if streams.depth() == 0 && streams.cast(streams::Message::Sweep).is_err() {
                debug!("no streams to look at: the actor is restarting");
            }
            if sweeper.depth() == 0 && sweeper.cast(cancellation::Message::Sweep).is_err() {
                debug!("no sweep: the actor is restarting");
            }
            if foreman.depth() == 0 && foreman.cast(tasks::Message::Tick).is_err() {
                debug!("no tick: the foreman is restarting");
            }
        }
    };
    let sessions = shared.sessions.clone();
    let flushing = async move {
        let mut ticks = interval(FLUSH);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            sessions.flush().await;
        }
    };
    shared.workers.spawn(watchdog::watch(
        Arc::downgrade(&shared.mark),
        shared.telemetry.clone(),
    ));
    vec![
        AbortOnDropHandle::new(tasks.spawn(sweeping)),
        AbortOnDropHandle::new(tasks.spawn(flushing)),
    ]
}

impl Shared {
    /// Whether any server has tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.hosted.iter().any(|hosted| hosted.offered.tasks)
    }

    /// Finds a server by its name.
    pub(crate) fn hosted_of(&self, name: &str) -> Option<&Arc<Hosted>> {
        self.hosted.iter().find(|hosted| *hosted.name == *name)
    }
}

#[cfg(test)]
pub(crate) mod tests;
