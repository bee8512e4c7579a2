//! Calls of tools that become tasks: at once, or once their callback says so.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use conduit_protocol::{
    CallParams, Code, Context as Meta, Era, Message, NewTask, Params, Rendered, TaskAugmentation,
    TaskSupport, WireError, newest_legacy, parse,
};
use conduit_server::{ToolEntry, ToolName};

use super::ending::Ending;
use crate::gateway::Shared;
use crate::hosted::Hosted;
use crate::mail::millis;
use crate::rounds::Carried;
use crate::sessions::Session;
use crate::tasks::{self, Making};

/// What becomes of a call before its callback has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// It is run.
    Run,
    /// It becomes a task, which its client wants to keep for so long.
    Task {
        /// In milliseconds.
        ttl_ms: Option<u64>,
    },
}

/// Decides whether the call of a tool becomes a task at once (R8, R10).
pub(crate) fn course(
    hosted: &Hosted,
    context: &Meta,
    session: Option<&Session>,
    tool: &ToolEntry,
    params: &Params<'_>,
) -> Result<Course, WireError> {
    let policy = &tool.policy.task;
    let offered = hosted.offered.tasks;
    if context.era == Era::Modern {
        let client = context.capabilities.as_ref();
        let declared = client.is_some_and(|client| client.declares_tasks());
        let may_become = offered && declared;
        return match policy.support {
            TaskSupport::Required if !offered => Err(WireError::task_not_possible()),
            TaskSupport::Required if !declared => Err(WireError::tasks_undeclared()),
            TaskSupport::Optional | TaskSupport::Required if may_become && !policy.asks_first => {
                Ok(Course::Task { ttl_ms: None })
            }
            TaskSupport::Forbidden | TaskSupport::Optional | TaskSupport::Required => {
                Ok(Course::Run)
            }
        };
    }
    let knows_tasks = session.is_some_and(|session| session.version == newest_legacy());
    if !offered || !knows_tasks {
        return match policy.support {
            TaskSupport::Required => Err(WireError::task_not_possible()),
            TaskSupport::Forbidden | TaskSupport::Optional => Ok(Course::Run),
        };
    }
    let wish = TaskAugmentation::read(params)?;
    match (policy.support, wish) {
        (TaskSupport::Forbidden, Some(_)) => Err(unsupported(
            &tool.definition.name,
            "cannot be called as a task",
        )),
        (TaskSupport::Required, None) => Err(unsupported(
            &tool.definition.name,
            "can be called as a task only",
        )),
        (_, None) => Ok(Course::Run),
        (_, Some(TaskAugmentation { ttl_ms })) => Ok(Course::Task { ttl_ms }),
    }
}

/// Says whether a call that was run may go on as a task: the extension is on, and the
/// client has declared it (R8, T-04).
pub(super) fn check(ending: &Ending) -> Result<(), WireError> {
    let Ending { call, context, .. } = ending;
    if call.context.era == Era::Legacy || !call.hosted.offered.tasks {
        return Err(WireError::task_not_possible());
    }
    if context.allows_task() {
        Ok(())
    } else {
        Err(WireError::tasks_undeclared())
    }
}

/// Makes a task of a call that was run, with what its callback knows by then
/// (T-TASK-08).
pub(super) async fn begin(
    shared: &Arc<Shared>,
    ending: &Ending,
    new: NewTask,
) -> Result<Rendered, WireError> {
    let Ending {
        call,
        context,
        input,
        round,
        ..
    } = ending;
    let shown = call.hosted.shown();
    let Some(tool) = shown.tool(&call.subject) else {
        return Err(WireError::unknown_tool(&call.subject));
    };
    let making = Making {
        hosted: Arc::clone(&call.hosted),
        era: call.context.era,
        version: context
            .version()
            .map(|version| Cow::Owned(version.to_owned())),
        session: call.session.clone(),
        principal: None,
        request_id: call.id.clone(),
        tool: Arc::clone(&call.subject),
        arguments: arguments_of(&call.body),
        capabilities: context.client_capabilities().clone(),
        client_info: context.client_info().map(ToOwned::to_owned),
        log_level: None,
        trace: call.context.trace.clone(),
        progress_token: None,
        new: with_policy(new, &tool.entry),
        restartable: tool.entry.policy.task.restartable,
        carried: Carried::after(*round, input, None),
    };
    tasks::begin(shared, making).await
}

/// Adds what the tool says of its tasks to what is said already.
pub(crate) fn with_policy(new: NewTask, tool: &ToolEntry) -> NewTask {
    let policy = &tool.policy.task;
    NewTask {
        ttl_ms: new.ttl_ms.or_else(|| policy.ttl.map(millis)),
        poll_ms: new.poll_ms.or_else(|| policy.poll.map(millis)),
        ..new
    }
}

// === Behind the course ===

/// Source: L-TASK-03.
fn unsupported(tool: &ToolName, why: &str) -> WireError {
    WireError::new(Code::METHOD_NOT_FOUND, format!("the tool `{tool}` {why}"))
}

/// Reads a call's arguments a second time.
fn arguments_of(body: &Bytes) -> Bytes {
    const NONE: Bytes = Bytes::from_static(b"{}");
    let Ok(Message::Request(request)) = parse(body) else {
        return NONE;
    };
    let params = Params::read(request.params);
    let Ok(CallParams {
        arguments: Some(arguments),
        ..
    }) = CallParams::read(&params)
    else {
        return NONE;
    };
    body.slice_ref(arguments.get().as_bytes())
}
