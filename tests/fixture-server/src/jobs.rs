//! What can be done as a task, and ends as it is told.

use std::future::pending;
use std::num::NonZeroUsize;
use std::time::Duration;

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::serde_json::{self, value::RawValue};
use conduit::{
    Context, InputRequest, InputRequired, NewTask, NoArguments, Outcome, TaskSupport, ToolBuilder,
    ToolError, ToolResult, WireCode, WireError, form, tool,
};

use crate::record::{note, released};

/// How long `stuck` may go on after it was cancelled.
const GRACE: Duration = Duration::from_millis(50);

/// What `riddle` asks for.
const GUESS: &str = r#"{"type":"object","properties":{"guess":{"type":"integer"}}}"#;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Work {
    /// Under what it is recorded, and released.
    name: String,
    /// Whether it goes on until it is released.
    #[serde(default)]
    hold: bool,
    #[serde(default)]
    end: End,
    /// How long its text is.
    #[serde(default)]
    #[schemars(range(max = 16_777_216))]
    bytes: usize,
}

/// How work ends.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde", rename_all = "lowercase")]
#[schemars(crate = "conduit::schemars")]
enum End {
    #[default]
    Text,
    Failure,
    Error,
    Panic,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Named {
    /// Under what it is recorded.
    name: String,
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
struct Color {
    color: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Consent {
    ok: bool,
}

/// What `riddle` is answered with, as the client sent it.
#[derive(Deserialize)]
#[serde(crate = "conduit::serde")]
struct Answer {
    content: Guess,
}

#[derive(Deserialize)]
#[serde(crate = "conduit::serde")]
struct Guess {
    guess: i64,
}

pub(crate) fn tools() -> [ToolBuilder; 7] {
    [
        tool("work", "Works, as a task or not, and not twice.", work).task(TaskSupport::Optional),
        tool("sturdy_work", "Works as a task, and may begin again.", work)
            .task(TaskSupport::Optional)
            .restartable(),
        tool("must_work", "Works as a task alone.", work).task(TaskSupport::Required),
        tool(
            "questionnaire",
            "Asks two things at once and then a third, as a task.",
            questionnaire,
        )
        .task(TaskSupport::Optional),
        tool(
            "commission",
            "Asks whether it may, and asks again as a task.",
            commission,
        )
        .task(TaskSupport::Required)
        .asks_first(),
        tool(
            "riddle",
            "Asks the same again until it is answered `7`.",
            riddle,
        )
        .task(TaskSupport::Optional),
        tool("stuck", "Never ends, one at a time.", stuck)
            .task(TaskSupport::Optional)
            .concurrency(NonZeroUsize::MIN)
            .grace(GRACE),
    ]
}

#[expect(clippy::panic, reason = "panics when it is told to")]
async fn work(arguments: Work, context: Context) -> Result<String, ToolError> {
    let name = &arguments.name;
    let task = context.task();
    let attempt = task.as_ref().map_or(0, |task| task.attempt());
    note(&format!("{name} began in attempt {attempt}"))?;
    if let Some(task) = &task {
        task.status("at work");
    }
    if arguments.hold
        && let Err(cancelled) = released(name, &context).await
    {
        note(&format!("{name} was cancelled"))?;
        return Err(cancelled.into());
    }
    match arguments.end {
        End::Text if arguments.bytes > 0 => Ok("x".repeat(arguments.bytes)),
        End::Text => Ok(format!("{name} is done in attempt {attempt}")),
        End::Failure => Err(ToolError::new(format!("{name} has failed"))),
        End::Error => Err(ToolError::protocol(WireError::new(
            WireCode(1234),
            "it broke",
        ))),
        End::Panic => panic!("db 10.0.0.5 pw=hunter2"),
    }
}

async fn questionnaire(arguments: Named, context: Context) -> Result<String, ToolError> {
    note(&format!("{} ran", arguments.name))?;
    let name = form::<Name>("name", "What is your name?");
    let color = form::<Color>("color", "Which color do you like?");
    let (name, color) = context.ask((name, color))?;
    let (name, color) = (name.accepted()?.name, color.accepted()?.color);
    let question = format!("{name}, do you like {color}?");
    let consent = context.ask(form::<Consent>("sure", question))?.accepted()?;
    Ok(format!("{name} likes {color}: {}", consent.ok))
}

async fn commission(arguments: Named, context: Context) -> Result<String, ToolError> {
    note(&format!("{} ran", arguments.name))?;
    context.remember("asked before")?;
    let consent = context.ask(form::<Consent>("sure", "Do you want that?"))?;
    if !consent.accepted()?.ok {
        return Ok("nothing was begun".to_owned());
    }
    let task = context.become_task(NewTask::new().with_message("about to begin"))?;
    let name = task.ask(form::<Name>("name", "What is your name?"))?;
    let remembered: Option<String> = context.recall();
    let remembered = remembered.unwrap_or_default();
    Ok(format!("done for {}, {remembered}", name.accepted()?.name))
}

/// Asks by hand: what [`Context::ask`] asks again it asks for no good answer.
async fn riddle(_: NoArguments, context: Context) -> Outcome {
    let answer: Option<Answer> = context
        .answer("guess")
        .and_then(|answer| serde_json::from_str(answer.get()).ok());
    match answer {
        Some(Answer {
            content: Guess { guess: 7 },
        }) => ToolResult::text("right").into(),
        Some(_) | None => {
            let schema = RawValue::from_string(GUESS.to_owned()).unwrap_or_default();
            let question = InputRequest::form("Which number?", schema);
            InputRequired::new().with("guess", question).into()
        }
    }
}

async fn stuck(arguments: Named, context: Context) -> Result<String, ToolError> {
    note(&format!("{} began", arguments.name))?;
    context.cancelled().await;
    note(&format!("{} was cancelled", arguments.name))?;
    pending().await
}
