//! The gateways that are attached now, and how they forget.
//!
//! A gateway is attached from the moment its link is up until it is down. So one
//! that asked for a session before it ended is among those that are told.
//!
//! Forgetting goes on [`Lane::Data`], which answers overtake and nothing else: a
//! gateway hears what a session was always before it hears to forget it.

use std::time::Duration;

use conduit_link::{Answer, CallError, FromStore, Lane, Link, Message};
use futures_util::future::join_all;
use parking_lot::Mutex;
use tracing::{debug, warn};
use uuid::Uuid;

/// Tells gateways what to forget.
#[derive(Debug)]
pub(crate) struct Gateways {
    /// Shared with the link thread, which attaches and detaches: no more than there
    /// are links.
    attached: Mutex<Vec<Link>>,
    deadline: Duration,
}

/// Who has to forget.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Audience<'a> {
    /// Every gateway.
    All,
    /// Every gateway but this one.
    AllBut(&'a Link),
}

/// Why gateways forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The sessions are no more.
    Ended,
    /// The sessions are not what they were.
    Changed,
}

impl Gateways {
    /// A gateway that has not answered after `deadline` counts as gone: the
    /// heartbeats of its link decide about it.
    pub(crate) const fn new(deadline: Duration) -> Self {
        Self {
            attached: Mutex::new(Vec::new()),
            deadline,
        }
    }

    pub(crate) fn attach(&self, link: Link) {
        self.attached.lock().push(link);
    }

    pub(crate) fn detach(&self, link: &Link) {
        self.attached.lock().retain(|attached| attached != link);
    }

    /// Returns once every gateway of the audience has forgotten the sessions or
    /// counts as gone.
    pub(crate) async fn forget(&self, ids: &[Uuid], reason: Reason, audience: Audience<'_>) {
        if ids.is_empty() {
            return;
        }
        let told = self.attached.lock().clone();
        let told = told.iter().filter(|link| match audience {
            Audience::All => true,
            Audience::AllBut(asker) => *link != asker,
        });
        join_all(told.map(|link| self.tell(link, ids, reason))).await;
    }

    async fn tell(&self, link: &Link, ids: &[Uuid], reason: Reason) {
        let message = Message::FromStore(FromStore::ForgetSessions {
            ids: ids.to_vec(),
            ended: reason == Reason::Ended,
        });
        let gateway = link.slot();
        match link.call(Lane::Data, message, self.deadline).await {
            Ok(Answer::Done) => {}
            Ok(_refusal) => warn!(%gateway, "gateway refuses to forget sessions"),
            Err(error @ (CallError::Late | CallError::TooLarge)) => {
                warn!(%gateway, %error, "gateway did not forget sessions, going on without it");
            }
            Err(error @ (CallError::Broken | CallError::Down)) => {
                debug!(%gateway, %error, "gateway is gone, and its view of sessions with it");
            }
        }
    }
}
