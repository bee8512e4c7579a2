//! The methods that run a callback: what they ask for, and what there is to prepare.

use std::sync::Arc;

use bytes::Bytes;
use conduit_protocol::{
    CallParams, CompleteParams, Completion, Context, Field, GetPromptParams, Method, Outcome,
    Params, PromptResult, ReadParams, ReadResult, ToolResult, WireError, check_param_headers,
    http_status,
};
use conduit_server::{
    Arguments, CompletionRequest, Context as AuthorContext, Job, PromptArguments,
};
use conduit_telemetry::Outcome as Label;
use http::HeaderValue;

use super::request::{Exchange, legacy_version};
use crate::call::{self, Asked, Call};
use crate::exchange::Dispatch;
use crate::hosted::HostedTool;
use crate::sessions::Session;
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
        let name = Arc::clone(&named.callback);
        self.start(asking, Arc::clone(&name), named, |context| {
            Ok(Job {
                name,
                policy: entry.policy.clone(),
                permits: entry.permits().cloned(),
                work: entry.call(arguments, context),
            })
        });
    }

    pub(super) fn read_resource(self, asking: Asking<'_>) {
        let ReadParams { uri } = match ReadParams::read(asking.params) {
            Ok(params) => params,
            Err(error) => return self.refuse_asking::<ReadResult>(asking, None, error),
        };
        let (server, era) = (Arc::clone(&self.hosted.server), asking.context.era);
        let named = self.hosted.named(Method::ResourcesRead);
        self.start(asking, Arc::from(&*uri), &named, |context| {
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
        self.start(asking, Arc::from(&*name), &named, |context| {
            let job = server.get_prompt(&name, PromptArguments::new(arguments), context);
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
        self.start(asking, subject, &named, |context| {
            let job = server.complete(request, context);
            job.ok_or_else(|| Outcome::Complete(Completion::default()))
        });
    }

    fn start<T: Asked>(
        self,
        asking: Asking<'_>,
        subject: Arc<str>,
        named: &Arc<Named>,
        prepare: impl FnOnce(AuthorContext) -> Result<Job<T>, Outcome<T>>,
    ) {
        let Asking {
            dispatch,
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
