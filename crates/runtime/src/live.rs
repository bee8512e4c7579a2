//! How streams of changes begin, and how they follow what their clients want.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use conduit_actor::AskError;
use conduit_link::{Answerer, Mail};
use conduit_telemetry::StreamKind;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::debug;
use uuid::Uuid;

use crate::event::{EventId, StreamName};
use crate::exchange::Pipe;
use crate::gateway::{SessionError, Shared};
use crate::hosted::Hosted;
use crate::interest::{Full, MOST};
use crate::outbox::{Events, Outbox};
use crate::resume;
use crate::sessions::Session;
use crate::streams::{Attached, End, Listener, Message, Place, REPEAT};

/// Why nobody can listen now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unable {
    /// As many topics are listened to as may be.
    #[error("this gateway's clients listen to {MOST} topics already")]
    Full,
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
    if topics.heard(shared.options.hub_patience).await {
        Ok(place)
    } else {
        Err(Unable::Unavailable)
    }
}

/// Lets the streams of a session here follow what it wants to hear of.
pub(crate) async fn retopic(shared: &Shared, session: &Session) -> Result<(), Unable> {
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
            reply,
        })
        .await
        .map_err(no_answer)??;
    match wanted {
        Some(wanted) if !wanted.heard(shared.options.hub_patience).await => {
            Err(Unable::Unavailable)
        }
        Some(_) | None => Ok(()),
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
        match shared.sessions.look(id).await {
            Ok(Some(session)) => {
                if let Err(unable) = retopic(&shared, &session).await {
                    debug!(%unable, "a session's stream does not follow it");
                }
            }
            Ok(None) => {}
            Err(error) => debug!(%error, "a session's stream does not follow it"),
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
    let newest = claim(shared, id, opened).await;
    // It may have changed before it was on the list, where nobody told it.
    let now = look(shared, server, id).await?;
    if now.subscriptions != session.subscriptions {
        retopic(shared, &now)
            .await
            .map_err(|_unable| SessionError::Unavailable)?;
    }
    let held = shared.telemetry.streams(StreamKind::Session).hold();
    let kept = (place, newest);
    Ok(Events::of_changes(outbox, kept, None, Some(held)))
}

/// Tells the other gateways that the newest stream of a session is here, and goes on to
/// as long as the result lives, if one of them has an older stream (R25).
async fn claim(shared: &Arc<Shared>, session: Uuid, opened: u64) -> Option<DropGuard> {
    let claim = Mail::StreamOpened {
        session: session.to_string(),
        opened,
    };
    if shared.post.send_to_others(claim.clone()).await == Some(0) {
        return None;
    }
    let (closed, post) = (CancellationToken::new(), shared.post.clone());
    let guard = closed.clone().drop_guard();
    shared.tasks.spawn(async move {
        while closed.run_until_cancelled(sleep(REPEAT)).await.is_some() {
            post.send_to_others(claim.clone()).await;
        }
        let session = session.to_string();
        let closed = Mail::StreamClosed { session };
        if post.send_to_others(closed).await.is_none() {
            debug!("another gateway finds out by itself that a stream is closed");
        }
    });
    Some(guard)
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

impl From<Full> for Unable {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

fn no_answer(error: AskError) -> Unable {
    debug!(%error, "no answer from the streams");
    Unable::Unavailable
}
