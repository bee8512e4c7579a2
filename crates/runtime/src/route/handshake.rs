//! `initialize`: a session begins.

use std::sync::Arc;

use conduit_link::SessionRecord;
use conduit_protocol::{Context, InitializeParams, WireError, negotiate};
use conduit_telemetry::RefusedReason;
use serde_bytes::ByteBuf;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::later::Later;
use super::request::Exchange;
use crate::exchange::{Dispatch, MessageReply, Pipe};
use crate::gateway::Shared;
use crate::{live, sessions};

/// The most that a session keeps of what its client says about itself, in bytes.
const MOST_SAID: usize = 64 * 1024;

impl Exchange<'_> {
    pub(super) fn initialize(
        self,
        dispatch: Dispatch,
        params: Option<&RawValue>,
        context: Context,
    ) {
        let params = match InitializeParams::parse(params) {
            Ok(params) => params,
            Err(error) => return self.refuse(dispatch.reply, Some(&context), (200, error)),
        };
        // Both are kept with the session.
        if params.capabilities.as_json().len() + params.client_info.get().len() > MOST_SAID {
            let error = WireError::invalid_params(
                "`params.capabilities` and `params.clientInfo` have more than 64 KiB",
            );
            return self.refuse(dispatch.reply, Some(&context), (200, error));
        }
        let version = negotiate(&params.protocol_version);
        let message = self.hosted.face.initialize(self.id, version);
        let mut reply = MessageReply::new(200, message);
        let shared = Arc::clone(self.shared);
        if let Some(pipe) = dispatch.head.pipe.clone() {
            let session = Arc::new(sessions::Session::of_pipe(
                &self.hosted.name,
                version,
                params.client_info.to_owned(),
                params.capabilities.clone(),
            ));
            // What is behind it on the pipe is in the session already.
            pipe.open(Arc::clone(&session));
            let later = Later::of(self, dispatch, context);
            let open = open_on_pipe(shared, pipe, session, reply, later);
            self.shared.tasks.spawn(open);
            return;
        }
        if !self.shared.sessions.are_kept() {
            // L-HTTP-15: a server without sessions is legal.
            return self.answer(dispatch.reply, &context, reply);
        }
        let bytes = |json: &str| ByteBuf::from(json.as_bytes());
        let record = SessionRecord {
            id: Uuid::new_v4(),
            server: self.hosted.name.to_string(),
            version: version.to_owned(),
            principal: None,
            capabilities: bytes(params.capabilities.as_json()),
            client: bytes(params.client_info.get()),
            level: None,
            subscriptions: Vec::new(),
        };
        reply.session = Some(record.id);
        let later = Later::of(self, dispatch, context);
        self.shared.tasks.spawn(async move {
            match live::begin(&shared, record).await {
                // A client that left has its session; it will end by being idle.
                Ok(()) => later.answer(reply),
                Err(error) => {
                    shared.telemetry.refused(match error {
                        sessions::Error::Full => RefusedReason::Sessions,
                        sessions::Error::Unavailable => RefusedReason::Store,
                    });
                    later.busy(error.to_string());
                }
            }
        });
    }
}

/// A pipe is a session by itself; a session id is for HTTP.
async fn open_on_pipe(
    shared: Arc<Shared>,
    pipe: Arc<Pipe>,
    session: Arc<sessions::Session>,
    reply: MessageReply,
    later: Later,
) {
    match live::attach_pipe(&shared, &later.hosted, &pipe, &session).await {
        Ok(()) => later.answer(reply),
        Err(unable) => later.busy(unable.to_string()),
    }
}
