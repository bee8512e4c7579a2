//! The methods that run a callback: what they ask for, and what there is to prepare.

use std::sync::Arc;

use bytes::Bytes;
use conduit_protocol::{
    CallParams, CompleteParams, Completion, Context, Era, Field, GetPromptParams, Method, NewTask,
    Outcome, Params, PromptResult, ReadParams, ReadResult, ToolResult, WireError,
    check_param_headers, http_status,
};
use conduit_server::{Arguments, CompletionRequest, Job, PromptArguments};
use conduit_telemetry::Outcome as Label;
use http::HeaderValue;

use super::later::Later;
use super::request::{Exchange, legacy_version};
use crate::call::{self, Asked, Call, Course, Prepare};
use crate::exchange::{Dispatch, MessageReply};
use crate::hosted::HostedTool;
use crate::rounds::{Carried, Rounds};
use crate::sessions::Session;
use crate::tasks::{self, Making};
use crate::watchdog::Named;

/// A request that asks for a callback.
pub(super) struct Asking<'a> {
    pub(super) dispatch: Dispatch,
    pub(super) body: &'a Bytes,
    pub(super) params: &'a Params<'a>,
    pub(super) context: Context,
    pub(super) session: Option<Arc<Session>>,
}

impl Exchange<'_> {
    pub(super) fn call_tool(self, asking: Asking<'_>) {
        let params = match CallParams::read(asking.params) {
            Ok(params) => params,
            Err(error) => return self.refuse_asking::<ToolResult>(asking, None, error),
        };
        let shown = self.hosted.shown();
        let Some(tool) = shown.tool(&params.name) else {
            let error = WireError::unknown_tool(&params.name);
            return self.refuse_asking::<ToolResult>(asking, Some(&params.name), error);
        };
        if let Err(error) = check_arguments(&asking, tool, &params) {
            return self.refuse_asking::<ToolResult>(asking, Some(&params.name), error);
        }
        let arguments = params
            .arguments
            .map(|arguments| asking.body.slice_ref(arguments.get().as_bytes()))
            .map_or_else(Arguments::none, Arguments::new);
        let HostedTool { entry, named } = tool;
        let session = asking.session.as_deref();
        let course = call::course(self.hosted, &asking.context, session, entry, asking.params);
        let ttl_ms = match course {
            Ok(Course::Run) => None,
            Ok(Course::Task { ttl_ms }) => Some(ttl_ms),
            Err(error) => {
                return self.refuse_asking::<ToolResult>(asking, Some(&params.name), error);
            }
        };
        if let Some(ttl_ms) = ttl_ms {
            return self.begin_task(asking, tool, arguments, ttl_ms);
        }
        let (name, entry) = (Arc::clone(&named.callback), Arc::clone(entry));
        self.start(asking, Arc::clone(&name), named, move |context| {
            Ok(Job {
                name: Arc::clone(&name),
                policy: entry.policy.clone(),
                permits: entry.permits().cloned(),
                work: entry.call(arguments.clone(), context),
            })
        });
    }

    /// Answers a call with the task that it becomes.
    fn begin_task(
        self,
        asking: Asking<'_>,
        tool: &HostedTool,
        arguments: Arguments,
        ttl_ms: Option<u64>,
    ) {
        let Asking {
            dispatch,
            mut context,
            session,
            ..
        } = asking;
        let (client_info, capabilities) = match session.as_deref() {
            Some(session) => (session.client.clone(), session.capabilities.clone()),
            None => (
                context.client_info.take(),
                context.capabilities.clone().unwrap_or_default(),
            ),
        };
        let version = match legacy_version(&context, session.as_deref()) {
            Some(version) => Some(version.into()),
            None => context.version.clone(),
        };
        let new = NewTask {
            ttl_ms,
            ..NewTask::default()
        };
        let making = Making {
            hosted: Arc::clone(self.hosted),
            era: context.era,
            version,
            session,
            principal: None,
            request_id: self.id.clone(),
            tool: Arc::clone(&tool.named.callback),
            arguments: arguments.into_bytes(),
            capabilities,
            client_info,
            log_level: context.log_level,
            trace: context.trace.clone(),
            progress_token: context.progress_token.clone(),
            new: call::with_policy(new, &tool.entry),
            restartable: tool.entry.policy.task.restartable,
            carried: Carried::default(),
        };
        let subject = Arc::clone(&tool.named.callback);
        let (started, shared) = (self.started, Arc::clone(self.shared));
        let later = Later::of(self, dispatch, context);
        self.shared.tasks.spawn(async move {
            let begun = tasks::begin(&shared, making).await;
            if begun.is_err() {
                // Otherwise each run of the task's work is counted.
                let metrics = &later.hosted.metrics;
                ToolResult::count(metrics, Some(&subject), Label::Error, started.elapsed());
            }
            match begun {
                Ok(message) => later.answer(MessageReply::new(200, message)),
                Err(refused) => later.fail(&refused),
            }
        });
    }

    pub(super) fn read_resource(self, asking: Asking<'_>) {
        let ReadParams { uri } = match ReadParams::read(asking.params) {
            Ok(params) => params,
            Err(error) => return self.refuse_asking::<ReadResult>(asking, None, error),
        };
        let (server, era) = (Arc::clone(&self.hosted.server), asking.context.era);
        let named = self.hosted.named(Method::ResourcesRead);
        let subject = Arc::from(&*uri);
        let uri = uri.into_owned();
        self.start(asking, subject, &named, move |context| {
            let job = server.read_resource(&uri, context);
            job.ok_or_else(|| WireError::resource_not_found(era, &uri).into())
        });
    }

    pub(super) fn get_prompt(self, asking: Asking<'_>) {
        let params = match GetPromptParams::read(asking.params) {
            Ok(params) => params,
            Err(error) => return self.refuse_asking::<PromptResult>(asking, None, error),
        };
        let GetPromptParams { name, arguments } = params;
        let server = Arc::clone(&self.hosted.server);
        let named = self.hosted.named(Method::PromptsGet);
        let subject = Arc::from(&*name);
        let (name, arguments) = (name.into_owned(), PromptArguments::new(arguments));
        self.start(asking, subject, &named, move |context| {
            let job = server.get_prompt(&name, arguments.clone(), context);
            job.ok_or_else(|| WireError::unknown_prompt(&name).into())
        });
    }

    pub(super) fn complete(self, asking: Asking<'_>) {
        let params = match CompleteParams::read(asking.params) {
            Ok(params) => params,
            Err(error) => return self.refuse_asking::<Completion>(asking, None, error),
        };
        let request = CompletionRequest::from(params);
        let server = Arc::clone(&self.hosted.server);
        let named = self.hosted.named(Method::CompletionComplete);
        let subject = Arc::clone(&named.callback);
        self.start(asking, subject, &named, move |context| {
            let job = server.complete(request.clone(), context);
            job.ok_or_else(|| Outcome::Complete(Completion::default()))
        });
    }

    fn start<T: Asked>(
        self,
        asking: Asking<'_>,
        subject: Arc<str>,
        named: &Arc<Named>,
        prepare: impl Prepare<T>,
    ) {
        // Only modern requests bring anything back (M-MRTR-05).
        let rounds = if T::ASKS && asking.context.era == Era::Modern {
            Rounds::read(self.shared, self.hosted, T::METHOD, asking.params)
        } else {
            Ok(Rounds::default())
        };
        let rounds = match rounds {
            Ok(rounds) => rounds,
            Err(error) => return self.refuse_asking::<T>(asking, Some(&subject), error),
        };
        let Asking {
            dispatch,
            body,
            context,
            session,
            ..
        } = asking;
        let Dispatch {
            head, call, reply, ..
        } = dispatch;
        let version = legacy_version(&context, session.as_deref());
        let asked = Call {
            hosted: Arc::clone(self.hosted),
            subject,
            id: self.id.clone(),
            context,
            session,
            version,
            accepts: head.accepts,
            client: head.client,
            server: head.server,
            piped: head.pipe.is_some(),
            started: self.started,
            body: body.clone(),
            rounds,
        };
        call::start(self.shared, asked, named, reply, call, prepare);
    }

    /// Refuses before anything was prepared. It counts as a call all the same.
    fn refuse_asking<T: Asked>(self, asking: Asking<'_>, subject: Option<&str>, error: WireError) {
        let took = self.started.elapsed();
        T::count(&self.hosted.metrics, subject, Label::Error, took);
        let status = http_status(asking.context.era, &error);
        let reply = asking.dispatch.reply;
        self.refuse(reply, Some(&asking.context), (status, error));
    }
}

/// Holds what arguments say against the headers that repeat them (M-HDR-06).
fn check_arguments(
    asking: &Asking<'_>,
    tool: &HostedTool,
    params: &CallParams<'_>,
) -> Result<(), WireError> {
    let Some(headers) = asking.dispatch.head.headers.as_deref() else {
        return Ok(());
    };
    let fields = |name: &str| {
        let lines = headers.get_all(name).iter();
        Field::of(lines.map(HeaderValue::as_bytes))
    };
    let definition = &tool.entry.definition;
    check_param_headers(fields, &asking.context, definition, params.arguments)
}
