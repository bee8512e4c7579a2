//! A request: era, headers, method, and then its answer or its call.

use std::sync::Arc;

use bytes::Bytes;
use conduit_link::SessionRecord;
use conduit_protocol::{
    CallParams, Context, Era, Field, InitializeParams, LEGACY_VERSIONS, ListParams, Method, Params,
    REJECTION_STATUS, Rendered, Request, RequestId, WireError, check_legacy_version_header,
    check_method_header, check_name_header_of, check_param_headers, check_version,
    check_version_header, error, http_status, negotiate,
};
use conduit_telemetry::{Outcome, RefusedReason, RequestSample, Trace};
use http::{HeaderMap, HeaderValue};
use serde_bytes::ByteBuf;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;
use uuid::Uuid;

use super::session::Unresolved;
use super::{Session, answer, session};
use crate::call::{self, Call};
use crate::exchange::{Dispatch, Head, MessageReply, Reply};
use crate::gateway::Shared;
use crate::header::{self, field};
use crate::hosted::Hosted;
use crate::sessions;

/// The most that a session keeps of what its client says about itself, in bytes.
const MOST_SAID: usize = 64 * 1024;

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
struct Exchange<'a> {
    shared: &'a Arc<Shared>,
    hosted: &'a Arc<Hosted>,
    id: &'a RequestId,
    started: Instant,
    method: &'a str,
    /// Whether we ask ourselves: that is no client's request.
    probe: bool,
}

impl Exchange<'_> {
    fn take(self, dispatch: Dispatch, body: &Bytes, request: &Request<'_>, session: Session) {
        let named = version_header(dispatch.head.headers.as_deref());
        let params = Params::read(request.params);
        let context = match params.classify(self.method, named) {
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
                Method::route(era, self.method)
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
        match Method::route(Era::Legacy, self.method) {
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
        let version = legacy_version(&context, session.as_deref());
        let message = match method {
            Method::Ping => Ok(face.empty(era, self.id)),
            Method::ServerDiscover => Ok(face.discover(self.id)),
            Method::ToolsList => self.list_tools(era, params),
            Method::Initialize => {
                return self.initialize(dispatch, params.raw(), &context);
            }
            Method::ToolsCall => {
                return self.call_tool(dispatch, body, params, context, session, version);
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

    fn list_tools(self, era: Era, params: &Params<'_>) -> Result<Rendered, WireError> {
        let params = ListParams::read(params)?;
        self.hosted
            .tools_page(era, params.cursor.as_deref(), self.id)
            .ok_or_else(|| WireError::invalid_params("params.cursor is not one of this list"))
    }

    fn call_tool(
        self,
        dispatch: Dispatch,
        body: &Bytes,
        params: &Params<'_>,
        context: Context,
        session: Option<Arc<sessions::Session>>,
        version: Option<&'static str>,
    ) {
        let params = match CallParams::read(params) {
            Ok(params) => params,
            Err(error) => return self.refuse(dispatch.reply, Some(&context), (200, error)),
        };
        let Some((index, tool)) = self.hosted.tool(&params.name) else {
            let error = WireError::unknown_tool(&params.name);
            return self.refuse(dispatch.reply, Some(&context), (200, error));
        };
        if let Some(headers) = dispatch.head.headers.as_deref() {
            let fields = |name: &str| {
                let lines = headers.get_all(name).iter();
                Field::of(lines.map(HeaderValue::as_bytes))
            };
            let definition = self.hosted.definition(index);
            let checked = definition.map_or(Ok(()), |definition| {
                check_param_headers(fields, &context, definition, params.arguments)
            });
            if let Err(error) = checked {
                let status = http_status(context.era, &error);
                return self.refuse(dispatch.reply, Some(&context), (status, error));
            }
        }
        let arguments = params
            .arguments
            .map(|arguments| body.slice_ref(arguments.get().as_bytes()));
        let call = Call {
            hosted: Arc::clone(self.hosted),
            index,
            id: self.id.clone(),
            arguments,
            context,
            session,
            version,
            accepts: dispatch.head.accepts,
            client: dispatch.head.client,
            piped: dispatch.head.pipe.is_some(),
            started: self.started,
        };
        call::start(self.shared, call, tool, dispatch.reply, dispatch.call);
    }

    fn initialize(self, dispatch: Dispatch, params: Option<&RawValue>, context: &Context) {
        let params = match InitializeParams::parse(params) {
            Ok(params) => params,
            Err(error) => return self.refuse(dispatch.reply, Some(context), (200, error)),
        };
        // Both are kept with the session.
        if params.capabilities.as_json().len() + params.client_info.get().len() > MOST_SAID {
            let error = WireError::invalid_params(
                "`params.capabilities` and `params.clientInfo` have more than 64 KiB",
            );
            return self.refuse(dispatch.reply, Some(context), (200, error));
        }
        let version = negotiate(&params.protocol_version);
        let message = self.hosted.face.initialize(self.id, version);
        if let Some(pipe) = &dispatch.head.pipe {
            // A pipe is a session by itself; a session id is for HTTP.
            let client = params.client_info.to_owned();
            pipe.open(sessions::Session::of_pipe(
                &self.hosted.name,
                version,
                client,
            ));
            return self.answer(dispatch.reply, context, MessageReply::new(200, message));
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
        let mut reply = MessageReply::new(200, message);
        reply.session = Some(record.id);
        let (sessions, id) = (self.shared.sessions.clone(), self.id.clone());
        let (metrics, started) = (self.hosted.metrics.clone(), self.started);
        let telemetry = self.shared.telemetry.clone();
        self.shared.tasks.spawn(async move {
            let (reply, outcome) = match sessions.open(record).await {
                Ok(()) => (reply, Outcome::Ok),
                Err(error) => {
                    telemetry.refused(match error {
                        sessions::Error::Full => RefusedReason::Sessions,
                        sessions::Error::Unavailable => RefusedReason::Store,
                    });
                    (answer::busy(Some(&id), error.to_string()), Outcome::Refused)
                }
            };
            metrics.request(sample(
                Method::Initialize.as_str(),
                Era::Legacy,
                outcome,
                started,
            ));
            // A client that left has its session; it will end by being idle.
            drop(dispatch.reply.send(Reply::Message(reply)));
            drop(dispatch.call);
        });
    }

    fn answer(self, reply: oneshot::Sender<Reply>, context: &Context, message: MessageReply) {
        self.count(Some(context), Outcome::Ok);
        // A client that left takes the answer with it.
        drop(reply.send(Reply::Message(message)));
    }

    fn refuse(
        self,
        reply: oneshot::Sender<Reply>,
        context: Option<&Context>,
        (status, refused): (u16, WireError),
    ) {
        self.count(context, Outcome::Error);
        let message = MessageReply::new(status, error(Some(self.id), &refused));
        drop(reply.send(Reply::Message(message)));
    }

    fn count(self, context: Option<&Context>, outcome: Outcome) {
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
fn legacy_version(context: &Context, session: Option<&sessions::Session>) -> Option<&'static str> {
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

fn trace(context: &Context) -> Trace<&str> {
    Trace {
        traceparent: context.trace.traceparent.as_deref(),
        tracestate: context.trace.tracestate.as_deref(),
        baggage: context.trace.baggage.as_deref(),
    }
}

fn sample(method: &str, of: Era, outcome: Outcome, started: Instant) -> RequestSample<'_> {
    RequestSample {
        method: Some(method),
        era: of.into(),
        version: None,
        outcome,
        took: started.elapsed(),
        trace: Trace::default(),
    }
}
