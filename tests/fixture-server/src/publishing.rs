//! Tools that publish many changes at once, and one that changes its state many times.

use std::collections::VecDeque;
use std::time::Duration;

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::{Cancelled, Context, Published, TaskSupport, ToolBuilder, ToolError, form, tool};

use crate::durable::Word;
use crate::slow::let_others_run;

/// How many changes of `publish_many` are on their way at once.
const UNDER_WAY: usize = 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Touches {
    /// The resources that have changed.
    #[schemars(length(max = 1000))]
    uris: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Flood {
    /// How many changes.
    #[schemars(range(max = 100_000_000))]
    count: usize,
    /// Of how many resources, in turns: `{prefix}0`, `{prefix}1` and so on.
    #[schemars(range(min = 1, max = 1_000_000))]
    topics: usize,
    /// How their URIs begin.
    prefix: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Course {
    /// What to answer with.
    tag: String,
    /// How often it says what it does, before it asks for a word and after.
    #[schemars(range(max = 10_000))]
    steps: u32,
    /// How long each step takes, in milliseconds.
    #[schemars(range(max = 60_000))]
    ms: u64,
}

pub(crate) fn tools() -> [ToolBuilder; 3] {
    [
        tool(
            "touch_many",
            "Tells that resources have changed, all at once.",
            touch_many,
        ),
        tool(
            "publish_many",
            "Tells of changes as fast as it can, and how many microseconds that took.",
            publish_many,
        ),
        tool(
            "busy_task",
            "Works in steps, asks for a word half-way, and is started again.",
            work,
        )
        .task(TaskSupport::Optional)
        .restartable(),
    ]
}

async fn touch_many(arguments: Touches, context: Context) -> &'static str {
    let changes = context.changes();
    let uris = arguments.uris.into_iter();
    let all: Published = uris.map(|uri| changes.resource_updated(uri)).collect();
    all.await;
    "told"
}

#[expect(
    clippy::disallowed_types,
    reason = "authors have no other clock, and nobody pauses this one"
)]
async fn publish_many(arguments: Flood, context: Context) -> Result<String, Cancelled> {
    let Flood {
        count,
        topics,
        prefix,
    } = arguments;
    let uris: Vec<String> = (0..topics.min(count))
        .map(|number| format!("{prefix}{number}"))
        .collect();
    let changes = context.changes();
    let mut under_way = VecDeque::with_capacity(UNDER_WAY);
    let start = std::time::Instant::now();
    for (number, uri) in uris.iter().cycle().take(count).enumerate() {
        if under_way.len() == UNDER_WAY
            && let Some(oldest) = under_way.pop_front()
        {
            context.unless_cancelled(oldest).await?;
        }
        if number % UNDER_WAY == 0 {
            // What has happened at once lets nobody else run.
            context.unless_cancelled(let_others_run()).await?;
        }
        under_way.push_back(changes.resource_updated(uri));
    }
    context
        .unless_cancelled(under_way.into_iter().collect::<Published>())
        .await?;
    Ok(start.elapsed().as_micros().to_string())
}

async fn work(course: Course, context: Context) -> Result<String, ToolError> {
    course.run(&context, "before").await?;
    let question = form::<Word>("word", format!("What is the word of {}?", course.tag));
    let word = context.ask(question)?.accepted()?.word;
    course.run(&context, "after").await?;
    Ok(format!("{}: {word}", course.tag))
}

impl Course {
    async fn run(&self, context: &Context, part: &str) -> Result<(), Cancelled> {
        for step in 0..self.steps {
            context.status(format!("step {step} {part} the word"));
            context.sleep(Duration::from_millis(self.ms)).await?;
        }
        Ok(())
    }
}
