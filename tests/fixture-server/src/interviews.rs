//! What asks its client with [`Context::ask`], in each way that there is.

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::serde_json::json;
use conduit::{
    CacheHints, CacheScope, Completion, CompletionRequest, Context, Elicited, Form, InputRequired,
    LogLevel, NewTask, NoArguments, Outcome, PromptBuilder, PromptResult, ReadResult,
    ResourceBuilder, ToolBuilder, ToolError, ToolResult, form, prompt, resource, roots, sample,
    tool, visit,
};

use crate::record::note;

/// What anybody may keep, and for how long.
const SHARED: CacheHints = CacheHints {
    ttl_ms: 60_000,
    scope: CacheScope::Public,
};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct About {
    about: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Name {
    #[schemars(length(min = 2))]
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
struct Pick {
    what: String,
}

pub(crate) fn tools() -> [ToolBuilder; 10] {
    [
        tool(
            "interview",
            "Asks one thing after the other, and counts its runs.",
            interview,
        ),
        tool("hello", "Asks for a name, and remembers nothing.", hello),
        tool("vote", "Asks for a name, and takes it once.", vote).once(),
        tool(
            "quick_vote",
            "Asks for a name, and takes it once, at once.",
            vote,
        )
        .once()
        .inline(),
        tool("trio", "Asks for three things at once.", trio),
        tool("excursion", "Asks to visit a page.", excursion),
        tool(
            "announced",
            "Says something, and then asks for a name.",
            announced,
        ),
        tool("nag", "Asks again whatever it is answered.", nag),
        tool(
            "pause",
            "Asks its client to come again, and nothing else.",
            pause,
        ),
        tool("hoard", "Remembers more than there is room for.", hoard),
    ]
}

pub(crate) fn resources() -> [ResourceBuilder; 2] {
    [
        resource("card://me", "card", card)
            .description("Asks for a name, and may be kept by anybody.")
            .cache(SHARED),
        resource("task://r", "task", read_later).description("Wants to become a task."),
    ]
}

pub(crate) fn prompts() -> [PromptBuilder; 2] {
    [
        prompt("pick", "Has a completion that asks.", pick).complete("what", suggest),
        prompt("taskp", "Wants to become a task.", fill_later),
    ]
}

async fn interview(arguments: About, context: Context) -> Result<String, ToolError> {
    note("interview")?;
    let round = context.recall::<u32>().unwrap_or_default() + 1;
    context.remember(round)?;
    let name = context.ask(name())?.accepted()?.name;
    let color = context.ask(form::<Color>("color", "Which color do you like?"))?;
    let color = color.accepted()?.color;
    let about = arguments.about.unwrap_or_default();
    Ok(format!("{about}: {name} likes {color}, in round {round}"))
}

async fn hello(_: NoArguments, context: Context) -> Result<String, ToolError> {
    Ok(format!("Hello, {}!", context.ask(name())?.accepted()?.name))
}

async fn vote(_: NoArguments, context: Context) -> Result<String, ToolError> {
    context.remember("asked")?;
    let name = context.ask(name())?.accepted()?.name;
    note(&format!("vote for {name}"))?;
    Ok(format!("one vote for {name}"))
}

async fn trio(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let model = sample("model").user("Say something.").max_tokens(10);
    let (name, said, roots) = context.ask((name(), model, roots("roots")))?;
    let name = name.accepted()?.name;
    Ok(format!("{name}, {} roots: {}", roots.len(), said.text()))
}

async fn excursion(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let page = visit("page", "Please sign in.", "https://example.com/sign-in");
    Ok(match context.ask(page)? {
        Elicited::Accepted(()) => "accepted",
        Elicited::Declined => "declined",
        Elicited::Cancelled => "cancelled",
    }
    .to_owned())
}

async fn announced(nothing: NoArguments, context: Context) -> Result<String, ToolError> {
    context.progress(1.0, Some(2.0), None);
    context.log(LogLevel::Info, None, "there is a question");
    hello(nothing, context).await
}

async fn nag(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let round = context.recall::<u32>().unwrap_or_default() + 1;
    context.remember(round)?;
    context.ask(form::<Name>(format!("again-{round}"), "What is your name?"))?;
    Ok("satisfied".to_owned())
}

async fn pause(_: NoArguments, context: Context) -> Outcome {
    match context.recall::<bool>() {
        Some(true) => ToolResult::text("you are back").into(),
        _ => InputRequired::new().with_state(json!(true)).into(),
    }
}

async fn hoard(_: NoArguments, context: Context) -> Result<String, ToolError> {
    context.remember("x".repeat(20_000))?;
    Ok(context.ask(name())?.accepted()?.name)
}

async fn card(context: Context) -> Result<String, ToolError> {
    Ok(format!(
        "The card of {}.",
        context.ask(name())?.accepted()?.name
    ))
}

async fn read_later(_context: Context) -> Outcome<ReadResult> {
    Outcome::Task(NewTask::new())
}

async fn pick(arguments: Pick, _context: Context) -> String {
    arguments.what
}

async fn suggest(_: CompletionRequest, context: Context) -> Outcome<Completion> {
    drop(context);
    Outcome::InputRequired(InputRequired::new().with_state(json!(true)))
}

async fn fill_later(_: NoArguments, _context: Context) -> Outcome<PromptResult> {
    Outcome::Task(NewTask::new())
}

fn name() -> Form<Name> {
    form("name", "What is your name?")
}
