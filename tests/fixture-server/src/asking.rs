//! What asks its client, or becomes a task: a tool, a resource and a prompt that do by
//! hand what `Context::ask` does for others, and a job.

use conduit::serde::{Deserialize, Serialize};
use conduit::serde_json::json;
use conduit::serde_json::value::to_raw_value;
use conduit::{
    Content, Context, InputRequest, InputRequired, NewTask, NoArguments, Outcome, PromptBuilder,
    PromptMessage, PromptResult, ReadResult, ResourceBuilder, ResourceContents, TaskSupport,
    ToolBuilder, ToolResult, prompt, resource, tool,
};

const RESOURCE: &str = "ask://r";

/// Under which the answer comes back.
const KEY: &str = "who";

/// What is remembered from one round to the next.
#[derive(Deserialize, Serialize)]
#[serde(crate = "conduit::serde")]
struct State {
    step: u8,
}

pub(crate) fn tools() -> [ToolBuilder; 2] {
    [
        tool("ask", "Asks who is there, and shows the answer.", ask),
        tool("job", "Becomes a task, whoever calls.", job)
            .task(TaskSupport::Optional)
            .asks_first(),
    ]
}

pub(crate) fn resource_that_asks() -> ResourceBuilder {
    resource(RESOURCE, "r", read).description("Asks who is there before it is read.")
}

pub(crate) fn prompt_that_asks() -> PromptBuilder {
    prompt("askp", "Asks who is there before it is filled in.", fill)
}

async fn ask(_: NoArguments, context: Context) -> Outcome {
    answered(&context, ToolResult::text)
}

async fn read(context: Context) -> Outcome<ReadResult> {
    answered(&context, |text| ReadResult {
        contents: vec![ResourceContents::text(RESOURCE, text)],
        ..ReadResult::default()
    })
}

async fn fill(_: NoArguments, context: Context) -> Outcome<PromptResult> {
    answered(&context, |text| PromptResult {
        messages: vec![PromptMessage::user(Content::text(text))],
        ..PromptResult::default()
    })
}

/// What its answer means for a client that knows no tasks is for the runtime to say.
async fn job(_: NoArguments, context: Context) -> Outcome {
    match context.task() {
        Some(task) => task.complete("done"),
        None => NewTask::new().with_message("about to begin").into(),
    }
}

fn answered<T>(context: &Context, with: impl FnOnce(String) -> T) -> Outcome<T> {
    match (context.recall::<State>(), context.answer(KEY)) {
        (Some(State { step }), Some(answer)) => {
            Outcome::Complete(with(format!("step {step}: {}", answer.get())))
        }
        (None, _) | (_, None) => question().into(),
    }
}

fn question() -> InputRequired {
    let form = json!({
        "type": "object",
        "properties": { "name": { "type": "string" } },
        "required": ["name"],
    });
    let form = to_raw_value(&form).unwrap_or_default();
    InputRequired::new()
        .with(KEY, InputRequest::form("Who is there?", form))
        .with_state(json!(State { step: 1 }))
}
