//! What a legacy client changes of its session: its log level, and what it hears of.

use std::sync::Arc;

use conduit_protocol::limits::SUBSCRIPTION_ENTRIES;
use conduit_protocol::{Code, Context, Params, SetLevelParams, SubscribeParams, WireError};
use conduit_telemetry::RefusedReason;

use super::later::Later;
use super::request::Exchange;
use crate::exchange::{Dispatch, Pipe};
use crate::gateway::Shared;
use crate::live;
use crate::sessions::{self, Session};

impl Exchange<'_> {
    /// Without a session there is nothing that could be changed (seeds).
    pub(super) fn set_level(
        self,
        dispatch: Dispatch,
        params: &Params<'_>,
        context: Context,
        session: Option<Arc<Session>>,
    ) {
        let pipe = dispatch.head.pipe.clone();
        let later = Later::of(self, dispatch, context);
        let SetLevelParams { level } = match SetLevelParams::read(params) {
            Ok(params) => params,
            Err(error) => return later.fail(&error),
        };
        match (session, pipe) {
            (None, _) => later.done(),
            (Some(session), Some(pipe)) => {
                pipe.open(Arc::new(session.with_level(level)));
                later.done();
            }
            (Some(session), None) => {
                let shared = Arc::clone(self.shared);
                self.shared.tasks.spawn(async move {
                    let changed = shared.sessions.set_level(session.id, level).await;
                    answer(&shared, later, changed);
                });
            }
        }
    }

    /// Begins to tell a session of a resource, or stops it.
    pub(super) fn subscribe(
        self,
        dispatch: Dispatch,
        params: &Params<'_>,
        context: Context,
        session: Option<Arc<Session>>,
        on: bool,
    ) {
        let pipe = dispatch.head.pipe.clone();
        let later = Later::of(self, dispatch, context);
        let uri = match SubscribeParams::read(params) {
            Ok(params) => params.uri.into_owned(),
            Err(error) => return later.fail(&error),
        };
        let shared = Arc::clone(self.shared);
        match (session, pipe) {
            (None, _) => later.done(),
            (Some(session), Some(pipe)) => {
                let changed = subscribe_on_pipe(shared, pipe, session, uri, on, later);
                self.shared.tasks.spawn(changed);
            }
            (Some(session), None) => {
                self.shared.tasks.spawn(async move {
                    let changed = shared.sessions.subscribe(session.id, uri, on).await;
                    answer(&shared, later, changed);
                });
            }
        }
    }
}

async fn subscribe_on_pipe(
    shared: Arc<Shared>,
    pipe: Arc<Pipe>,
    session: Arc<Session>,
    uri: String,
    on: bool,
    later: Later,
) {
    let Some(session) = session.with_subscription(&uri, on) else {
        return later.fail(&full());
    };
    let session = Arc::new(session);
    pipe.open(Arc::clone(&session));
    match live::retopic(&shared, &session).await {
        Ok(()) => later.done(),
        Err(unable) => later.busy(unable.to_string()),
    }
}

fn answer(shared: &Shared, later: Later, changed: Result<bool, sessions::Error>) {
    match changed {
        Ok(true) => later.done(),
        Ok(false) => {
            // It has ended since the request was read.
            let error =
                WireError::new(Code::INVALID_REQUEST, "Session not found; initialize again");
            later.fail_with(404, &error);
        }
        Err(sessions::Error::Full) => later.fail(&full()),
        Err(error @ sessions::Error::Unavailable) => {
            shared.telemetry.refused(RefusedReason::Store);
            later.busy(error.to_string());
        }
    }
}

fn full() -> WireError {
    WireError::invalid_params(format!(
        "`params.uri` is one too many: a session subscribes to {SUBSCRIPTION_ENTRIES} resources at most"
    ))
}
