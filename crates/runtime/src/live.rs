//! How streams of changes begin, and how they follow what their clients want.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use conduit_actor::AskError;
use conduit_link::{Answerer, Mail, SessionRecord};
use conduit_telemetry::StreamKind;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::debug;
use uuid::Uuid;

use crate::event::{EventId, StreamName};
use crate::exchange::Pipe;
use crate::gateway::{SessionError, Shared};
use crate::hosted::Hosted;
use crate::interest::{Full, MOST, Unheard};
use crate::outbox::{Events, Outbox};
use crate::sessions::Session;
use crate::streams::{Attached, End, Listener, Message, Place, REPEAT};
use crate::{resume, sessions};

/// The longest that the first answer of a session waits for the hub. Usually the hub knows
/// what every session is told of, see `sessions.rs`.
const FIRST: Duration = Duration::from_millis(200);

/// Why nobody can listen now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unable {
    /// As many topics are listened to as may be.
    #[error("this gateway's clients listen to {MOST} topics already")]
    Full,
    /// The hub has no room for what is to be listened to.
    #[error("the subscription hub has as many topics as may be")]
    Refused,
    /// The actor, or the hub, does not answer.
    #[error("the subscription hub is not available")]
    Unavailable,
}

/// Puts a stream on the list; every change is heard when this returns (R30).
pub(crate) async fn attach(shared: &Shared, listener: Listener) -> Result<Place, Unable> {
    let patience = shared.options.actor_patience;
    let Attached { place, topics } = shared
        .streams
        .ask(patience, |reply| Message::Attach { listener, reply })
        .await
        .map_err(no_answer)??;
    topics.heard(shared.options.hub_patience).await?;
    Ok(place)
}

/// Begins a session: it is durable when this returns, and what changes is kept until it
/// has a stream.
pub(crate) async fn begin(shared: &Shared, record: SessionRecord) -> Result<(), sessions::Error> {
    let (id, server) = (record.id, record.server.clone());
    let parked = park(shared, id, &server);
    let ((), stored) = tokio::join!(parked, shared.sessions.open(record));
    if stored.is_err() {
        unpark(shared, id);
    }
    stored
}

/// Keeps what changes for a session that begins now and has no stream (R25). Where that
/// is not possible, the session will hear that everything may have changed.
async fn park(shared: &Shared, session: Uuid, server: &str) {
    let Some(hosted) = shared.hosted_of(server) else {
        return;
    };
    let patience = shared.options.actor_patience;
    let topics = hosted.session_topics(&[]);
    let wanted = shared
        .streams
        .ask(patience, |reply| Message::Park {
            session,
            topics,
            reply,
        })
        .await;
    let heard = match wanted {
        Ok(Ok(wanted)) => wanted.heard(FIRST).await.is_ok(),
        Ok(Err(Full)) => false,
        Err(error) => {
            debug!(%error, "no answer from the streams");
            false
        }
    };
    if !heard {
        unpark(shared, session);
    }
}

/// Keeps nothing any more for a session without a stream.
fn unpark(shared: &Shared, session: Uuid) {
    if shared.streams.cast(Message::Unpark { session }).is_err() {
        debug!("no streams, nothing is parked");
    }
}

/// Lets the streams of a session here follow what it wants to hear of.
pub(crate) async fn retopic(shared: &Shared, session: &Session) -> Result<(), Unable> {
    retopic_late(shared, session, false).await
}

/// The same; `missed` says whether what is new to them may have changed already.
async fn retopic_late(shared: &Shared, session: &Session, missed: bool) -> Result<(), Unable> {
    let Some(hosted) = shared.hosted_of(&session.server) else {
        return Ok(());
    };
    let patience = shared.options.actor_patience;
    let topics = hosted.session_topics(&session.subscriptions);
    let session = session.id;
    let wanted = shared
        .streams
        .ask(patience, |reply| Message::Retopic {
            session,
            topics,
            missed,
            reply,
        })
        .await
        .map_err(no_answer)??;
    match wanted {
        Some(wanted) => Ok(wanted.heard(shared.options.hub_patience).await?),
        None => Ok(()),
    }
}

/// Follows sessions that have changed, and tells the store that it is done.
pub(crate) async fn follow(shared: Arc<Shared>, ids: Vec<Uuid>, answerer: Answerer) {
    let patience = shared.options.actor_patience;
    let open = shared
        .streams
        .ask(patience, |reply| Message::WhichSessions { ids, reply })
        .await
        .unwrap_or_default();
    for id in open {
        let followed = match shared.sessions.look(id).await {
            Ok(Some(session)) => retopic(&shared, &session).await.map_err(|unable| {
                debug!(%unable, "a session's stream does not follow it");
            }),
            Ok(None) => Ok(()),
            Err(error) => {
                debug!(%error, "a session's stream does not follow it");
                Err(())
            }
        };
        if followed.is_err() {
            // If it has no stream, it hears of everything instead.
            unpark(&shared, id);
        }
    }
    answerer.answer(conduit_link::Answer::Done);
}

/// Opens the stream of a live session, or goes on with one that it had (R25).
pub(crate) async fn open(
    shared: &Arc<Shared>,
    server: usize,
    id: Uuid,
    last_event: Option<&[u8]>,
) -> Result<Events, SessionError> {
    let session = look(shared, server, id).await?;
    let missed = match last_event.map(EventId::parse) {
        None => false,
        // What came after that event may be anything.
        Some(Some(EventId {
            stream: StreamName::Live(_),
            ..
        })) => true,
        Some(Some(event)) => {
            let events = resume::open(shared, id, event).await;
            return events.ok_or(SessionError::NoSuchEvent);
        }
        Some(None) => return Err(SessionError::NoSuchEvent),
    };
    let name = session.resumes().then(|| StreamName::Live(Uuid::new_v4()));
    let outbox = Arc::new(Outbox::of_changes(name, None, None));
    let hosted = shared.hosted.get(server).ok_or(SessionError::NotFound)?;
    let opened = now();
    let listener = Listener {
        outbox: Arc::clone(&outbox),
        session: Some(id),
        opened,
        topics: hosted.session_topics(&session.subscriptions),
        asker: None,
        missed,
        end: End::Finish(None),
    };
    let place = attach(shared, listener)
        .await
        .map_err(|_unable| SessionError::Unavailable)?;
    // It may have changed before it was on the list, where nobody told it.
    if let Err(error) = catch_up(shared, server, &session).await {
        drop(place);
        unpark(shared, id);
        return Err(error);
    }
    let newest = claim(shared, id, opened).await;
    let held = shared.telemetry.streams(StreamKind::Session).hold();
    let kept = (place, newest);
    Ok(Events::of_changes(outbox, kept, None, Some(held)))
}

/// Lets the streams of a session follow what has become of it since it was looked up.
async fn catch_up(shared: &Shared, server: usize, was: &Session) -> Result<(), SessionError> {
    let now = look(shared, server, was.id).await?;
    if now.subscriptions == was.subscriptions {
        return Ok(());
    }
    let followed = retopic_late(shared, &now, true).await;
    followed.map_err(|_unable| SessionError::Unavailable)
}

/// Tells the other gateways that the newest stream of a session is here, which hand over
/// what the session was not told of; and goes on to as long as the result lives and one of
/// them has something of the session (R25).
async fn claim(shared: &Arc<Shared>, id: Uuid, opened: u64) -> Option<DropGuard> {
    let session = id.to_string();
    let claim = Mail::StreamOpened { session, opened };
    let is_settled = shared.post.send_to_others(claim.clone()).await == Some(0);
    claimed(shared, id, opened, is_settled);
    if is_settled {
        return None;
    }
    let closed = CancellationToken::new();
    let guard = closed.clone().drop_guard();
    let shared = Arc::clone(shared);
    shared.tasks.clone().spawn(async move {
        while closed.run_until_cancelled(sleep(REPEAT)).await.is_some() {
            if shared.post.send_to_others(claim.clone()).await == Some(0) {
                return claimed(&shared, id, opened, true);
            }
        }
        let session = id.to_string();
        let closed = Mail::StreamClosed { session, opened };
        match shared.post.send_to_others(closed).await {
            Some(0) => {}
            Some(_) => {
                let session = id;
                if shared.streams.cast(Message::TakenBack { session }).is_err() {
                    debug!("no streams, nothing to hand over");
                }
            }
            None => debug!("another gateway finds out by itself that a stream is closed"),
        }
    });
    Some(guard)
}

fn claimed(shared: &Shared, session: Uuid, opened: u64, is_settled: bool) {
    let claimed = Message::Claimed {
        session,
        opened,
        is_settled,
    };
    if shared.streams.cast(claimed).is_err() {
        debug!("no streams that could have been claimed");
    }
}

/// Returns what streams are ordered by: the time, in microseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}

/// Lets a pipe hear of changes, from its `initialize` on.
pub(crate) async fn attach_pipe(
    shared: &Shared,
    hosted: &Hosted,
    pipe: &Pipe,
    session: &Session,
) -> Result<(), Unable> {
    let listener = Listener {
        outbox: pipe.outbox(),
        session: Some(session.id),
        opened: now(),
        topics: hosted.session_topics(&session.subscriptions),
        asker: None,
        missed: false,
        end: End::GoOn,
    };
    pipe.keep(attach(shared, listener).await?);
    Ok(())
}

/// Finds a session of a server.
pub(crate) async fn look(
    shared: &Shared,
    server: usize,
    id: Uuid,
) -> Result<Arc<Session>, SessionError> {
    let name = shared.hosted.get(server).map(|hosted| &*hosted.name);
    match shared.sessions.look(id).await {
        Ok(Some(session)) if name == Some(&*session.server) => Ok(session),
        Ok(_) => Err(SessionError::NotFound),
        Err(_unable) => Err(SessionError::Unavailable),
    }
}

impl From<Unheard> for Unable {
    fn from(unheard: Unheard) -> Self {
        match unheard {
            Unheard::Full => Self::Refused,
            Unheard::Late => Self::Unavailable,
        }
    }
}

impl From<Full> for Unable {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

fn no_answer(error: AskError) -> Unable {
    debug!(%error, "no answer from the streams");
    Unable::Unavailable
}
