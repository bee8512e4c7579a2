//! The way of a message through the dispatcher: parse, classify, route.
//!
//! The first refusal wins, in the order of C-ERA-07. What needs no callback is
//! answered here; what waits for somebody (a session that is not in the cache, a
//! new session, a cancel that other gateways may know) becomes a task.

use std::sync::Arc;

use bytes::Bytes;
use conduit_link::{Mail, SessionRecord};
use conduit_protocol::{
    CallParams, CancelledParams, Code, Context, Era, InitializeParams, LEGACY_VERSIONS, ListParams,
    Message, Method, Notification, REJECTION_STATUS, Rendered, Request, RequestId, WireError,
    check_legacy_version_header, check_method_header, check_name_header, check_version,
    check_version_header, classify, classify_notification, error, error_with_null_id, http_status,
    negotiate, parse,
};
use conduit_telemetry::{CancelledBy, Outcome, RefusedReason, RequestSample, Trace};
use http::HeaderMap;
use serde_bytes::ByteBuf;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;
use uuid::Uuid;

use crate::call::{self, Call};
use crate::cancellation::{Cancelled, Scope};
use crate::exchange::{Dispatch, Head, MessageReply, Reply};
use crate::gateway::Shared;
use crate::header::{self, field};
use crate::hosted::Hosted;
use crate::sessions;

/// What is known of the session that a legacy message names.
#[derive(Clone, Debug)]
pub(crate) enum Session {
    /// Nobody has looked yet.
    Unresolved,
    /// This one.
    Live(Arc<sessions::Session>),
}

/// Takes one message and sees to it that it is answered.
pub(crate) fn take(shared: &Arc<Shared>, dispatch: Dispatch, session: Session) {
    let body = dispatch.body.clone();
    let Some(hosted) = shared.hosted.get(dispatch.head.server) else {
        return answer_plain(dispatch.reply, 404, error(None, &WireError::internal()));
    };
    match parse(&body) {
        Err(malformed) => {
            shared.telemetry.refused(RefusedReason::Malformed);
            let status = malformed_status(&malformed.error);
            let message = error(malformed.id.as_ref(), &malformed.error);
            answer_plain(dispatch.reply, status, message);
        }
        Ok(Message::Response) => take_response(shared, dispatch, session),
        Ok(Message::Notification(notification)) => {
            take_notification(shared, dispatch, &notification, session);
        }
        Ok(Message::Request(request)) => {
            let exchange = Exchange {
                shared,
                hosted,
                id: &request.id,
                started: Instant::now(),
                method: &request.method,
            };
            exchange.take(dispatch, &body, &request, session);
        }
    }
}

// === Requests ===

/// A request that is being routed.
#[derive(Clone, Copy)]
struct Exchange<'a> {
    shared: &'a Arc<Shared>,
    hosted: &'a Arc<Hosted>,
    id: &'a RequestId,
    started: Instant,
    method: &'a str,
}

/// The most that a session keeps of what its client says about itself, in bytes.
const MOST_SAID: usize = 64 * 1024;

/// A refusal, and the HTTP status that goes with it.
type Refused = (u16, WireError);

impl Exchange<'_> {
    fn take(self, dispatch: Dispatch, body: &Bytes, request: &Request<'_>, session: Session) {
        let named = version_header(dispatch.head.headers.as_deref());
        let context = match classify(&request.method, request.params, named) {
            Ok(context) => context,
            Err(error) => return self.refuse(dispatch.reply, None, (REJECTION_STATUS, error)),
        };
        match context.era {
            Era::Modern => self.take_modern(dispatch, body, request, context),
            Era::Legacy => self.take_legacy(dispatch, body, request, context, session),
        }
    }

    fn take_modern(
        self,
        dispatch: Dispatch,
        body: &Bytes,
        request: &Request<'_>,
        context: Context,
    ) {
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
            });
        match routed {
            Ok(method) => self.run(dispatch, body, request, context, method, None),
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
        request: &Request<'_>,
        context: Context,
        session: Session,
    ) {
        let initializes = self.method == Method::Initialize.as_str();
        let session = if initializes {
            None
        } else {
            match self.session(&dispatch.head, session) {
                Ok(session) => session,
                Err(Unresolved::Absent(refused)) => {
                    return self.refuse(dispatch.reply, Some(&context), refused);
                }
                Err(Unresolved::Ask(id)) => {
                    return resolve(self.shared, dispatch, id, Some(self.id.clone()));
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
            Some(method) => self.run(dispatch, body, request, context, method, session),
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
        let session = match known {
            Session::Live(session) => Some(session),
            Session::Unresolved => match session_header(head) {
                Named::Nobody => None,
                Named::Nonsense => {
                    return Err(Unresolved::Absent(session_not_found(self.shared)));
                }
                Named::Session(id) => match self.shared.sessions.cached(id) {
                    Some(session) => Some(session),
                    None => return Err(Unresolved::Ask(id)),
                },
            },
        };
        match session {
            Some(session) if *session.server != *self.hosted.name => {
                Err(Unresolved::Absent(session_not_found(self.shared)))
            }
            None if self.shared.options.require_session && head.headers.is_some() => {
                let error = WireError::invalid_request("the Mcp-Session-Id header is missing");
                Err(Unresolved::Absent((400, error)))
            }
            session => Ok(session),
        }
    }

    fn run(
        self,
        dispatch: Dispatch,
        body: &Bytes,
        request: &Request<'_>,
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
            Method::ToolsList => self.list_tools(era, request.params),
            Method::Initialize => {
                return self.initialize(dispatch, request.params, &context);
            }
            Method::ToolsCall => {
                return self.call_tool(dispatch, body, request.params, context, session, version);
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

    fn list_tools(self, era: Era, params: Option<&RawValue>) -> Result<Rendered, WireError> {
        let params = ListParams::parse(params)?;
        self.hosted
            .tools_page(era, params.cursor.as_deref(), self.id)
            .ok_or_else(|| WireError::invalid_params("params.cursor is not one of this list"))
    }

    fn call_tool(
        self,
        dispatch: Dispatch,
        body: &Bytes,
        params: Option<&RawValue>,
        context: Context,
        session: Option<Arc<sessions::Session>>,
        version: Option<&'static str>,
    ) {
        let params = CallParams::parse(params);
        if context.era == Era::Modern
            && let Some(headers) = &dispatch.head.headers
            && let Err(error) = check_name_header(
                field(headers, &header::NAME),
                &context,
                params.as_ref().ok().map(|params| &*params.name),
            )
        {
            let status = http_status(Era::Modern, &error);
            return self.refuse(dispatch.reply, Some(&context), (status, error));
        }
        let params = match params {
            Ok(params) => params,
            Err(error) => return self.refuse(dispatch.reply, Some(&context), (200, error)),
        };
        let Some((index, tool)) = self.hosted.tool(&params.name) else {
            let error = WireError::unknown_tool(&params.name);
            return self.refuse(dispatch.reply, Some(&context), (200, error));
        };
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
        // A pipe is a session by itself; a session id is for HTTP.
        if dispatch.head.headers.is_none() {
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
        };
        let mut reply = MessageReply::new(200, message);
        reply.session = Some(record.id);
        let (sessions, id) = (self.shared.sessions.clone(), self.id.clone());
        let (metrics, started) = (self.hosted.metrics.clone(), self.started);
        self.shared.tasks.spawn(async move {
            let (reply, outcome) = match sessions.open(record).await {
                Ok(()) => (reply, Outcome::Ok),
                Err(error) => (unavailable(&id, error), Outcome::Refused),
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
        (status, refused): Refused,
    ) {
        self.count(context, Outcome::Error);
        let message = MessageReply::new(status, error(Some(self.id), &refused));
        drop(reply.send(Reply::Message(message)));
    }

    fn count(self, context: Option<&Context>, outcome: Outcome) {
        let trace = context.map_or_else(Trace::default, |context| trace(context));
        self.hosted.metrics.request(RequestSample {
            method: Some(self.method),
            era: context.map_or(conduit_telemetry::Era::Unknown, |context| era(context.era)),
            version: context.and_then(|context| context.version.as_deref()),
            outcome,
            took: self.started.elapsed(),
            trace,
        });
    }
}

// === Notifications and responses ===

fn take_response(shared: &Arc<Shared>, dispatch: Dispatch, session: Session) {
    match message_session(shared, &dispatch.head, session) {
        // The server asks nothing yet, so a response answers nothing (H-07).
        Ok(_) => drop(dispatch.reply.send(Reply::Accepted)),
        Err(Unresolved::Ask(id)) => resolve(shared, dispatch, id, None),
        Err(Unresolved::Absent((status, refused))) => {
            answer_plain(dispatch.reply, status, error(None, &refused));
        }
    }
}

fn take_notification(
    shared: &Arc<Shared>,
    dispatch: Dispatch,
    notification: &Notification<'_>,
    session: Session,
) {
    let named = version_header(dispatch.head.headers.as_deref());
    match classify_notification(&notification.method, notification.params, named) {
        // The modern era has no client notification over HTTP (R5).
        Ok(Context {
            era: Era::Modern, ..
        }) => {
            return drop(dispatch.reply.send(Reply::Accepted));
        }
        Ok(_legacy) => {}
        Err(refused) => {
            let message = error(None, &refused);
            return answer_plain(dispatch.reply, REJECTION_STATUS, message);
        }
    }
    let session = match message_session(shared, &dispatch.head, session) {
        Ok(session) => session,
        Err(Unresolved::Ask(id)) => return resolve(shared, dispatch, id, None),
        Err(Unresolved::Absent((status, refused))) => {
            return answer_plain(dispatch.reply, status, error(None, &refused));
        }
    };
    match Method::route_notification(Era::Legacy, &notification.method) {
        Some(Method::Cancelled) => cancel(shared, dispatch, notification.params, session),
        Some(_) | None => drop(dispatch.reply.send(Reply::Accepted)),
    }
}

/// Stops a call for its client, here or at another gateway (R2, R4).
fn cancel(
    shared: &Arc<Shared>,
    dispatch: Dispatch,
    params: Option<&RawValue>,
    session: Option<Arc<sessions::Session>>,
) {
    let null_id = |error: &WireError| error_with_null_id(error);
    let params = match CancelledParams::parse(params) {
        Ok(params) => params,
        Err(error) => return answer_plain(dispatch.reply, 200, null_id(&error)),
    };
    let Some(CancelledParams {
        request_id: id,
        reason,
    }) = params
    else {
        return drop(dispatch.reply.send(Reply::Accepted));
    };
    let scope = Scope::of(
        session.map(|session| session.id),
        None,
        dispatch.head.client,
    );
    match shared
        .registry
        .cancel(&scope, &id, reason.as_deref(), CancelledBy::Notice)
    {
        Cancelled::Stopped | Cancelled::Again => drop(dispatch.reply.send(Reply::Accepted)),
        Cancelled::Full => {
            let error = WireError::new(
                Code::CANCELLATION_LIMIT,
                "too many cancelled requests have not ended yet",
            );
            answer_plain(dispatch.reply, 200, null_id(&error));
        }
        Cancelled::Unknown => {
            let post = shared.post.clone();
            let mail = Mail::Cancel {
                scope: scope.to_string(),
                request_id: id.as_json().to_owned(),
                reason,
            };
            shared.tasks.spawn(async move {
                post.send_to_others(mail).await;
                drop(dispatch.reply.send(Reply::Accepted));
                drop(dispatch.call);
            });
        }
    }
}

// === Sessions ===

/// Why a session is not at hand.
enum Unresolved {
    /// It does not exist, or none is named where one has to be.
    Absent(Refused),
    /// The store has to be asked.
    Ask(Uuid),
}

enum Named {
    Nobody,
    Nonsense,
    Session(Uuid),
}

fn session_header(head: &Head) -> Named {
    let Some(headers) = &head.headers else {
        return Named::Nobody;
    };
    let mut values = headers.get_all(&header::SESSION).iter();
    match (values.next(), values.next()) {
        (None, _) => Named::Nobody,
        (Some(value), None) => {
            Uuid::try_parse_ascii(value.as_bytes()).map_or(Named::Nonsense, Named::Session)
        }
        (Some(_), Some(_)) => Named::Nonsense,
    }
}

fn message_session(
    shared: &Shared,
    head: &Head,
    known: Session,
) -> Result<Option<Arc<sessions::Session>>, Unresolved> {
    match known {
        Session::Live(session) => Ok(Some(session)),
        Session::Unresolved => match session_header(head) {
            Named::Nobody => Ok(None),
            Named::Nonsense => Err(Unresolved::Absent(session_not_found(shared))),
            Named::Session(id) => match shared.sessions.cached(id) {
                Some(session) => Ok(Some(session)),
                None => Err(Unresolved::Ask(id)),
            },
        },
    }
}

/// Asks the store for a session and takes the message again.
fn resolve(shared: &Arc<Shared>, dispatch: Dispatch, session: Uuid, id: Option<RequestId>) {
    let again = Arc::clone(shared);
    shared.tasks.spawn(async move {
        let reply = match again.sessions.look(session).await {
            Ok(Some(session)) => return take(&again, dispatch, Session::Live(session)),
            Ok(None) => {
                let (status, absent) = session_not_found(&again);
                MessageReply::new(status, error_for(id.as_ref(), &absent))
            }
            Err(unable) => match &id {
                Some(id) => unavailable(id, unable),
                None => unavailable_without_id(unable),
            },
        };
        drop(dispatch.reply.send(Reply::Message(reply)));
        drop(dispatch.call);
    });
}

fn session_not_found(shared: &Shared) -> Refused {
    shared.telemetry.refused(RefusedReason::Session);
    let error = WireError::new(Code::INVALID_REQUEST, "Session not found; initialize again");
    (404, error)
}

// === Answers ===

fn answer_plain(reply: oneshot::Sender<Reply>, status: u16, message: Rendered) {
    drop(reply.send(Reply::Message(MessageReply::new(status, message))));
}

fn error_for(id: Option<&RequestId>, refused: &WireError) -> Rendered {
    error(id, refused)
}

fn unavailable(id: &RequestId, unable: sessions::Error) -> MessageReply {
    refusal(Some(id), unable.to_string())
}

fn unavailable_without_id(unable: sessions::Error) -> MessageReply {
    refusal(None, unable.to_string())
}

/// A refusal that is worth another try in a moment: 503 (R34).
pub(crate) fn refusal(id: Option<&RequestId>, reason: String) -> MessageReply {
    let error = WireError::refused(503, reason).with_retry_after(RETRY);
    let mut reply = MessageReply::new(503, error_for(id, &error));
    reply.retry_after = Some(1);
    reply
}

const RETRY: std::time::Duration = std::time::Duration::from_secs(1);

fn malformed_status(error: &WireError) -> u16 {
    if error.code == Code::INVALID_PARAMS {
        200
    } else {
        400
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

/// The version header, where it is there once and readable.
fn version_header(headers: Option<&HeaderMap>) -> Option<&str> {
    field(headers?, &header::PROTOCOL_VERSION).text()
}

const fn era(era: Era) -> conduit_telemetry::Era {
    match era {
        Era::Modern => conduit_telemetry::Era::Modern,
        Era::Legacy => conduit_telemetry::Era::Legacy,
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
        era: era(of),
        version: None,
        outcome,
        took: started.elapsed(),
        trace: Trace::default(),
    }
}
