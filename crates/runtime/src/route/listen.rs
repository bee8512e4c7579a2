//! `subscriptions/listen`: a stream of changes in place of an answer (modern).

use std::sync::Arc;
use std::time::Duration;

use conduit_link::{Asker, Subject, TaskEra, Topic};
use conduit_protocol::{
    ClientCapabilities, Code, Context, Filter, ListenParams, Params, RequestId, WireError,
    acknowledged,
};
use conduit_telemetry::{RefusedReason, ServerMetrics, StreamKind};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};
use tracing::debug;
use uuid::Uuid;

use super::later::Later;
use super::request::Exchange;
use crate::admission::Admitted;
use crate::cancellation::{Entry, Scope, Tracked};
use crate::exchange::{Dispatch, Pipe};
use crate::gateway::Shared;
use crate::hosted::Hosted;
use crate::live;
use crate::outbox::{Events, Outbox};
use crate::responder::Responder;
use crate::sessions::session_id;
use crate::stream_limits::Berth;
use crate::streams::{End, Listener, Place};
use crate::{store, tasks};

/// The most tasks of one request that are looked up at once.
const AT_ONCE: usize = 32;
/// Between two looks whether a reader has caught up, or the store has come back.
const AGAIN: Duration = Duration::from_millis(100);

impl Exchange<'_> {
    pub(super) fn listen(self, dispatch: Dispatch, params: &Params<'_>, context: Context) {
        let (accepts, has_headers) = (dispatch.head.accepts, dispatch.head.headers.is_some());
        let pipe = dispatch.head.pipe.clone();
        let later = Later::of(self, dispatch, context);
        let filter = match ListenParams::read(params) {
            Ok(params) => params.filter,
            Err(error) => return later.fail(&error),
        };
        if let Err(error) = check_tasks(&filter, later.context.capabilities.as_ref()) {
            return later.fail(&error);
        }
        if let Err(error) = filter.check_length(self.shared.options.streams.topics) {
            return later.fail(&error);
        }
        if !accepts.events {
            return refuse_without_stream(later, has_headers);
        }
        // Nobody knows yet whose it is.
        let berth = match self.shared.open_streams.enter(None) {
            Ok(berth) => berth,
            Err(refused) => {
                self.shared.telemetry.refused(RefusedReason::Streams);
                return later.busy(refused.to_string());
            }
        };
        let shared = Arc::clone(self.shared);
        let opening = open(shared, later, filter, pipe, berth);
        self.shared.tasks.spawn(opening);
    }
}

/// `taskIds` need the extension (M-SUB-15).
fn check_tasks(filter: &Filter, client: Option<&ClientCapabilities>) -> Result<(), WireError> {
    let declares = client.is_some_and(ClientCapabilities::declares_tasks);
    if filter.task_ids.is_none() || declares {
        return Ok(());
    }
    Err(WireError::tasks_undeclared())
}

/// Over HTTP a client has to accept event streams (M-HTTP-05); a caller without any
/// transport cannot listen at all (SUB-05).
fn refuse_without_stream(later: Later, has_headers: bool) {
    if has_headers {
        let error = WireError::invalid_request("the Accept header has no text/event-stream");
        later.fail_with(406, &error);
    } else {
        let error = WireError::new(
            Code::METHOD_NOT_FOUND,
            "subscriptions/listen needs a transport that can hold a stream open",
        );
        later.fail(&error);
    }
}

/// Opens the stream: it is registered before its acknowledgement leaves (R30).
async fn open(
    shared: Arc<Shared>,
    later: Later,
    filter: Filter,
    pipe: Option<Arc<Pipe>>,
    berth: Berth,
) {
    let hosted = Arc::clone(&later.hosted);
    let mut honoured = filter.honoured(&hosted.offered);
    let asker = asker(&hosted);
    if let Some(ids) = honoured.task_ids.take() {
        match known(&shared, &asker, ids).await {
            Ok(known) => honoured.task_ids = Some(known),
            Err(unable) => {
                shared.telemetry.refused(RefusedReason::Store);
                return later.busy(unable.to_string());
            }
        }
    }
    let id = later.id.clone();
    let first = acknowledged(&id, &honoured).into();
    let outbox = Arc::new(Outbox::of_changes(None, Some(id.clone()), Some(first)));
    let farewell = hosted.face.listen_end(&id);
    let is_empty = honoured.is_empty();
    let place = if is_empty {
        // R19: there is nothing to wait for.
        outbox.finish(Some(farewell.clone()));
        None
    } else {
        let listener = Listener {
            outbox: Arc::clone(&outbox),
            session: None,
            opened: 0,
            topics: hosted.topics(&honoured),
            asker: honoured.task_ids.is_some().then(|| asker.clone()),
            missed: false,
            end: End::Finish(Some(farewell.clone())),
        };
        match live::attach(&shared, listener).await {
            Ok(place) => Some(place),
            Err(unable) => {
                shared.telemetry.refused(RefusedReason::Streams);
                return later.busy(unable.to_string());
            }
        }
    };
    let (reply, call) = later.into_reply();
    // It lasts for as long as the client likes, and is no work.
    call.leave();
    let subscription = Subscription::start(&hosted.metrics, &id, is_empty, &outbox);
    let responder = Responder::new(reply, call.clone(), None);
    let stop = pipe
        .is_some()
        .then(|| call.token().clone().cancelled_owned());
    let tracked = pipe.map(|_| Box::new((track(&shared, &responder, &id), call)));
    let held = shared.telemetry.streams(StreamKind::Listen).hold();
    let kept = Kept {
        _place: place,
        _subscription: subscription,
        _tracked: tracked,
    };
    let events = Events::of_changes(Arc::clone(&outbox), kept, stop, Some(held));
    let events = events.within(berth, Some(farewell));
    responder.open_changes(Arc::clone(&outbox), events);
    tell_tasks(&shared, &hosted, asker, &honoured, &outbox).await;
}

/// On whose behalf a listen stream asks for tasks.
fn asker(hosted: &Hosted) -> Asker {
    Asker {
        server: hosted.name.to_string(),
        era: TaskEra::Modern,
        principal: None,
        session: None,
    }
}

/// Picks the tasks that there are and that the client may see (T-TASK-24).
async fn known(
    shared: &Shared,
    asker: &Asker,
    ids: Vec<String>,
) -> Result<Vec<String>, store::Error> {
    let patience = shared.options.store_patience;
    let mut known = Vec::with_capacity(ids.len());
    for some in ids.chunks(AT_ONCE) {
        let looks = some.iter().map(async |text| {
            let Some(id) = session_id(text.as_bytes()) else {
                return Ok(None);
            };
            let task = tasks::look(&shared.store, patience, id, asker.clone()).await?;
            Ok(task.map(|_| text.clone()))
        });
        for look in join_all(looks).await {
            known.extend(look?);
        }
    }
    Ok(known)
}

/// Tells a stream that has just been acknowledged what its tasks are now: what has
/// happened before it was registered nobody else tells it (T-TASK-26). Waits for its
/// reader, and for the store; ends with the stream.
async fn tell_tasks(
    shared: &Shared,
    hosted: &Hosted,
    asker: Asker,
    honoured: &Filter,
    outbox: &Outbox,
) {
    let patience = shared.options.store_patience;
    let ids = honoured.task_ids.iter().flatten();
    for id in ids.filter_map(|id| Uuid::try_parse(id).ok()) {
        let topic = Arc::new(Topic {
            server: hosted.name.to_string(),
            subject: Subject::Task(id),
        });
        while !outbox.is_finished() {
            if outbox.is_full_of_tasks() {
                sleep(AGAIN).await;
                continue;
            }
            match tasks::look(&shared.store, patience, id, asker.clone()).await {
                Ok(Some(record)) => match outbox.task(&topic, tasks::news(record)) {
                    Ok(()) => break,
                    Err(_overflow) => {}
                },
                Ok(None) => break,
                Err(error) => debug!(%error, "a listener does not hear of a task yet"),
            }
            sleep(AGAIN).await;
        }
    }
}

/// On a pipe a client ends it with a cancel (M-SUB-10).
fn track(shared: &Shared, responder: &Arc<Responder>, id: &RequestId) -> Tracked {
    let entry = Entry {
        responder: Arc::clone(responder),
        callback: "subscriptions/listen".into(),
        loose: false,
        overdue_at: None,
    };
    shared.registry.track(Scope::Pipe, id.clone(), entry)
}

/// What goes with the stream.
struct Kept {
    _place: Option<Place>,
    _subscription: Subscription,
    /// What a pipe's client can cancel.
    _tracked: Option<Box<(Tracked, Admitted)>>,
}

/// Tells telemetry of the stream's life.
struct Subscription {
    metrics: ServerMetrics,
    id: RequestId,
    is_empty: bool,
    started: Instant,
    outbox: Arc<Outbox>,
}

impl Subscription {
    fn start(
        metrics: &ServerMetrics,
        id: &RequestId,
        is_empty: bool,
        outbox: &Arc<Outbox>,
    ) -> Self {
        metrics.subscription_started(id.as_json());
        Self {
            metrics: metrics.clone(),
            id: id.clone(),
            is_empty,
            started: Instant::now(),
            outbox: Arc::clone(outbox),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let reason = match (self.is_empty, self.outbox.is_finished()) {
            (true, _) => "empty",
            (false, true) => "drain",
            (false, false) => "client",
        };
        let lasted: Duration = self.started.elapsed();
        self.metrics
            .subscription_stopped(self.id.as_json(), reason, lasted);
    }
}
