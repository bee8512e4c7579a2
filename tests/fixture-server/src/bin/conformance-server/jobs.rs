//! Tools of the tasks extension, and of the tasks of 2025-11-25.

use std::time::Duration;

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::{
    Cancelled, Context, NewTask, NoArguments, TaskSupport, ToolBuilder, ToolError, WireCode,
    WireError, form, tool,
};

/// How long a task is kept: for as long as a suite runs, and some more.
const KEPT: Duration = Duration::from_mins(10);

/// When to look again: soon, because clients that are told so do wait.
const POLL: Duration = Duration::from_millis(100);

/// How long `failing_job` works before it fails.
const EFFORT: Duration = Duration::from_secs(1);

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Greet {
    /// Who is to be greeted.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Compute {
    /// How long it takes.
    #[schemars(range(min = 0, max = 3600))]
    seconds: f64,
    /// What it is called.
    label: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Delete {
    /// What is to be deleted.
    filename: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Confirmation {
    confirm: bool,
}

pub(crate) fn tools() -> impl Iterator<Item = ToolBuilder> {
    let call = tool("greet", "Greets somebody, at once.", greet).read_only(true);
    let jobs = [
        tool("slow_compute", "Takes its time.", slow_compute)
            .read_only(true)
            .task(TaskSupport::Optional),
        tool("failing_job", "Fails after a while.", fail).task(TaskSupport::Required),
        tool(
            "protocol_error_job",
            "Ends with a protocol error.",
            break_protocol,
        )
        .task(TaskSupport::Optional),
        tool(
            "confirm_delete",
            "Deletes nothing, and asks whether it may.",
            confirm_delete,
        )
        .task(TaskSupport::Optional),
        tool("multi_input", "Asks for two things at once.", ask_for_two)
            .task(TaskSupport::Optional),
        tool(
            "test_tool_with_task",
            "Asks for a name, and greets in a task.",
            greet_later,
        )
        .task(TaskSupport::Required)
        .asks_first(),
    ];
    let kept = jobs.map(|job| job.task_ttl(KEPT).task_poll(POLL));
    std::iter::once(call).chain(kept)
}

async fn greet(arguments: Greet, _context: Context) -> String {
    format!("Hello, {}!", arguments.name)
}

async fn slow_compute(arguments: Compute, context: Context) -> Result<String, Cancelled> {
    let Compute { seconds, label } = arguments;
    if let Some(task) = context.task() {
        task.status(format!("computing {label}"));
    }
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    context.sleep(time).await?;
    Ok(format!("Computed {label} in {seconds} s."))
}

async fn fail(_: NoArguments, context: Context) -> Result<(), ToolError> {
    context.sleep(EFFORT).await?;
    Err(ToolError::new("This job always fails."))
}

async fn break_protocol(_: NoArguments, _context: Context) -> Result<(), WireError> {
    Err(WireError::new(WireCode(-32000), "This job breaks."))
}

async fn confirm_delete(arguments: Delete, context: Context) -> Result<String, ToolError> {
    let Delete { filename } = arguments;
    let question = format!("Do you want to delete {filename}?");
    let answer = context.ask(form::<Confirmation>("confirm", question))?;
    Ok(match answer.ok() {
        Some(Confirmation { confirm: true }) => format!("Deleted {filename}."),
        Some(Confirmation { confirm: false }) | None => format!("Kept {filename}."),
    })
}

async fn ask_for_two(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let name = form::<Name>("name", "What is your name?");
    let confirmation = form::<Confirmation>("confirmation", "Is that so?");
    let (name, confirmation) = context.ask((name, confirmation))?;
    let (Name { name }, Confirmation { confirm }) = (name.accepted()?, confirmation.accepted()?);
    Ok(format!("name={name}, confirm={confirm}"))
}

async fn greet_later(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let question = form::<Name>("user_name", "What is your name?");
    let name = context.ask(question)?.accepted()?.name;
    let task = context.become_task(NewTask::new())?;
    task.status(format!("greeting {name}"));
    Ok(format!("Hello, {name}!"))
}
