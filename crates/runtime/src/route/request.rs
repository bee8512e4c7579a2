//! A request: era, headers, method, and then its answer or its call.

use std::sync::Arc;

use bytes::Bytes;
use conduit_protocol::{
    Context, Dialect, Era, LEGACY_VERSIONS, ListParams, Method, Params, REJECTION_STATUS, Rendered,
    Request, RequestId, WireError, check_legacy_version_header, check_method_header,
    check_name_header_of, check_version, check_version_header, error, http_status, newest_legacy,
};
use conduit_telemetry::{Outcome, RequestSample, Trace};
use http::HeaderMap;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::callback::Asking;
use super::session::Unresolved;
use super::{Session, session};
use crate::exchange::{Dispatch, Head, MessageReply, Reply};
use crate::gateway::Shared;
use crate::header::{self, field};
use crate::hosted::{Hosted, List};
use crate::sessions;

/// Takes a request and sees to it that it is answered.
pub(super) fn take(
    shared: &Arc<Shared>,
    hosted: &Arc<Hosted>,
    dispatch: Dispatch,
    request: &Request<'_>,
    session: Session,
) {
    let exchange = Exchange {
        shared,
        hosted,
        id: &request.id,
        started: Instant::now(),
        method: &request.method,
        probe: dispatch.head.probe,
    };
    let body = dispatch.body.clone();
    exchange.take(dispatch, &body, request, session);
}

/// The version header, where it is there once and readable.
pub(super) fn version_header(headers: Option<&HeaderMap>) -> Option<&str> {
    field(headers?, &header::PROTOCOL_VERSION).text()
}

// === One request ===

/// A request that is being routed.
#[derive(Clone, Copy)]
pub(super) struct Exchange<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) hosted: &'a Arc<Hosted>,
    pub(super) id: &'a RequestId,
    pub(super) started: Instant,
    pub(super) method: &'a str,
    /// Whether we ask ourselves: that is no client's request.
    probe: bool,
}

impl Exchange<'_> {
    fn take(self, mut dispatch: Dispatch, body: &Bytes, request: &Request<'_>, session: Session) {
        let named = version_header(dispatch.head.headers.as_deref());
        let params = Params::read(request.params);
        let given = dispatch.head.context.take();
        let classify = || params.classify(self.method, named);
        let context = match given.map_or_else(classify, |context| Ok(*context)) {
            Ok(context) => context,
            Err(error) => return self.refuse(dispatch.reply, None, (REJECTION_STATUS, error)),
        };
        match context.era {
            Era::Modern => self.take_modern(dispatch, body, &params, context),
            Era::Legacy => self.take_legacy(dispatch, body, &params, context, session),
        }
    }

    fn take_modern(self, dispatch: Dispatch, body: &Bytes, params: &Params<'_>, context: Context) {
        let era = Era::Modern;
        dispatch.call.stop_with_client();
        let headers = dispatch.head.headers.as_deref();
        let routed = headers
            .map_or(Ok(()), |headers| {
                check_version_header(field(headers, &header::PROTOCOL_VERSION), &context)
            })
            .and_then(|()| check_version(&context))
            .and_then(|()| {
                headers.map_or(Ok(()), |headers| {
                    check_method_header(field(headers, &header::METHOD), &context, self.method)
                })
            })
            .and_then(|()| {
                self.hosted
                    .route(era, self.method)
                    .ok_or_else(|| WireError::method_not_found(self.method))
            })
            .and_then(|method| {
                let named = headers.map_or(Ok(()), |headers| {
                    check_name_header_of(field(headers, &header::NAME), &context, method, params)
                });
                named.map(|()| method)
            });
        match routed {
            Ok(method) => self.run(dispatch, body, params, context, method, None),
            Err(error) => {
                let status = http_status(era, &error);
                self.refuse(dispatch.reply, Some(&context), (status, error));
            }
        }
    }

    fn take_legacy(
        self,
        dispatch: Dispatch,
        body: &Bytes,
        params: &Params<'_>,
        context: Context,
        session: Session,
    ) {
        let initializes = self.method == Method::Initialize.as_str();
        let session = if initializes {
            None
        } else {
            match self.session(&dispatch.head, session) {
                Ok(session) => session,
                Err(Unresolved::Absent(status, error)) => {
                    return self.refuse(dispatch.reply, Some(&context), (status, error));
                }
                Err(Unresolved::Ask(id)) => {
                    return session::resolve(self.shared, dispatch, id, Some(self.id.clone()));
                }
            }
        };
        if !initializes
            && let Some(headers) = &dispatch.head.headers
            && let Err(error) =
                check_legacy_version_header(field(headers, &header::PROTOCOL_VERSION), self.method)
        {
            return self.refuse(dispatch.reply, Some(&context), (REJECTION_STATUS, error));
        }
        match self.hosted.route(Era::Legacy, self.method) {
            Some(method) => self.run(dispatch, body, params, context, method, session),
            None => {
                let error = WireError::method_not_found(self.method);
                self.refuse(dispatch.reply, Some(&context), (200, error));
            }
        }
    }

    /// Finds the session that the head names (R12).
    fn session(
        self,
        head: &Head,
        known: Session,
    ) -> Result<Option<Arc<sessions::Session>>, Unresolved> {
        let session = session::of(self.shared, head, known)?;
        match session {
            Some(session) if *session.server != *self.hosted.name => {
                Err(session::not_found(self.shared))
            }
            None if self.shared.options.require_session && head.headers.is_some() => {
                let error = WireError::invalid_request("the Mcp-Session-Id header is missing");
                Err(Unresolved::Absent(400, error))
            }
            session => Ok(session),
        }
    }

    fn run(
        self,
        dispatch: Dispatch,
        body: &Bytes,
        params: &Params<'_>,
        context: Context,
        method: Method,
        session: Option<Arc<sessions::Session>>,
    ) {
        let era = context.era;
        let face = &self.hosted.face;
        let dialect = self.dialect(era, session.as_deref());
        let asking = |dispatch, context, session| Asking {
            dispatch,
            body,
            params,
            context,
            session,
        };
        let message = match method {
            Method::Ping => Ok(face.empty(era, self.id)),
            Method::ServerDiscover => Ok(face.discover(self.id)),
            Method::ToolsList => self.list(dialect, List::Tools, params),
            Method::ResourcesList => self.list(dialect, List::Resources, params),
            Method::ResourceTemplatesList => self.list(dialect, List::Templates, params),
            Method::PromptsList => self.list(dialect, List::Prompts, params),
            Method::Initialize => {
                return self.initialize(dispatch, params.raw(), context);
            }
            Method::LoggingSetLevel => {
                return self.set_level(dispatch, params, context, session);
            }
            Method::ResourcesSubscribe => {
                return self.subscribe(dispatch, params, context, session, true);
            }
            Method::ResourcesUnsubscribe => {
                return self.subscribe(dispatch, params, context, session, false);
            }
            Method::SubscriptionsListen => return self.listen(dispatch, params, context),
            Method::ToolsCall => return self.call_tool(asking(dispatch, context, session)),
            Method::ResourcesRead => {
                return self.read_resource(asking(dispatch, context, session));
            }
            Method::PromptsGet => return self.get_prompt(asking(dispatch, context, session)),
            Method::CompletionComplete => {
                return self.complete(asking(dispatch, context, session));
            }
            Method::TasksGet
            | Method::TasksUpdate
            | Method::TasksCancel
            | Method::TasksResult
            | Method::TasksList => {
                return self.task(dispatch, params, context, method, session);
            }
            // Notifications are not routed here, and the list may grow.
            Method::Initialized | Method::Cancelled | _ => {
                Err(WireError::method_not_found(self.method))
            }
        };
        match message {
            Ok(message) => self.answer(dispatch.reply, &context, MessageReply::new(200, message)),
            Err(error) => {
                let status = http_status(era, &error);
                self.refuse(dispatch.reply, Some(&context), (status, error));
            }
        }
    }

    /// In whose language lists are written (R10).
    fn dialect(self, era: Era, session: Option<&sessions::Session>) -> Dialect {
        let knows_tasks = session.is_some_and(|session| session.version == newest_legacy());
        if knows_tasks && self.hosted.offered.tasks {
            Dialect::LegacyWithTasks
        } else {
            era.into()
        }
    }

    fn list(
        self,
        dialect: Dialect,
        list: List,
        params: &Params<'_>,
    ) -> Result<Rendered, WireError> {
        let params = ListParams::read(params)?;
        self.hosted
            .shown()
            .page(list, dialect, params.cursor.as_deref(), self.id)
            .ok_or_else(|| WireError::invalid_params("params.cursor is not one of this list"))
    }

    pub(super) fn answer(
        self,
        reply: oneshot::Sender<Reply>,
        context: &Context,
        message: MessageReply,
    ) {
        self.count(Some(context), Outcome::Ok);
        // A client that left takes the answer with it.
        drop(reply.send(Reply::Message(message)));
    }

    pub(super) fn refuse(
        self,
        reply: oneshot::Sender<Reply>,
        context: Option<&Context>,
        (status, refused): (u16, WireError),
    ) {
        self.count(context, Outcome::Error);
        let message = MessageReply::new(status, error(Some(self.id), &refused));
        drop(reply.send(Reply::Message(message)));
    }

    pub(super) fn count(self, context: Option<&Context>, outcome: Outcome) {
        if self.probe {
            return;
        }
        let trace = context.map_or_else(Trace::default, |context| trace(context));
        self.hosted.metrics.request(RequestSample {
            method: Some(self.method),
            era: context.map_or(conduit_telemetry::Era::Unknown, |context| {
                context.era.into()
            }),
            version: context.and_then(|context| context.version.as_deref()),
            outcome,
            took: self.started.elapsed(),
            trace,
        });
    }
}

/// The legacy version that is spoken: the session's, else the header's, else the
/// oldest that has the header at all (L-HTTP-22). `None` in the modern era.
pub(super) fn legacy_version(
    context: &Context,
    session: Option<&sessions::Session>,
) -> Option<&'static str> {
    let known = || {
        LEGACY_VERSIONS
            .iter()
            .copied()
            .find(|known| Some(*known) == context.version.as_deref())
    };
    match (context.era, session) {
        (Era::Modern, _) => None,
        (Era::Legacy, Some(session)) => Some(session.version),
        (Era::Legacy, None) => known().or_else(|| LEGACY_VERSIONS.last().copied()),
    }
}

pub(super) fn trace(context: &Context) -> Trace<&str> {
    Trace {
        traceparent: context.trace.traceparent.as_deref(),
        tracestate: context.trace.tracestate.as_deref(),
        baggage: context.trace.baggage.as_deref(),
    }
}
