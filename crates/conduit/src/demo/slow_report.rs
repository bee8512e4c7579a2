//! `slow_report`: takes its time, tells how far it is, and asks something half-way.
//!
//! A task for clients that know tasks, and a call like any other for the rest.

use std::ops::Range;
use std::time::Duration;

use conduit_server::{Cancelled, Context, TaskSupport, ToolBuilder, ToolError, form};
use schemars::JsonSchema;
use serde::Deserialize;

/// What is done, in order.
const STEPS: [&str; 4] = ["collecting", "sorting", "writing", "checking"];

/// How many there are.
const ALL: u8 = 4;

/// After how many steps there is a question.
const HALF: u8 = 2;

#[derive(Deserialize, JsonSchema)]
struct Report {
    /// What the report is about.
    #[schemars(length(min = 1, max = 100))]
    topic: String,
    /// How long each of the four steps takes, in milliseconds.
    #[serde(default = "second")]
    #[schemars(range(min = 0, max = 10_000))]
    step_ms: u16,
}

/// What is asked half-way.
#[derive(Deserialize, JsonSchema)]
struct Wish {
    /// How much is to be written.
    length: Length,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Length {
    /// One line.
    Short,
    /// Everything.
    Long,
}

pub(super) fn tool() -> ToolBuilder {
    conduit_server::tool(
        "slow_report",
        "Writes a report in four steps, a second each unless told otherwise. Tells how far it \
         is, and asks half-way how long the report shall be. Runs as a task if the client knows \
         tasks, and can be cancelled.",
        slow_report,
    )
    .title("Slow report")
    .read_only(true)
    .open_world(false)
    .task(TaskSupport::Optional)
    .restartable()
}

/// Runs from its start once more when there is an answer, so it remembers what is done.
async fn slow_report(arguments: Report, context: Context) -> Result<String, ToolError> {
    let pace = Duration::from_millis(arguments.step_ms.into());
    let done = context.recall().unwrap_or(0);
    work(&context, done..HALF, pace).await?;
    context.remember(HALF)?;
    let length = ask_length(&context)?;
    work(&context, HALF..ALL, pace).await?;
    Ok(write(&arguments.topic, length))
}

// === Behind the tool ===

const fn second() -> u16 {
    1000
}

/// Does some of the steps.
async fn work(context: &Context, steps: Range<u8>, pace: Duration) -> Result<(), Cancelled> {
    for (done, step) in (0_u8..).zip(STEPS) {
        if !steps.contains(&done) {
            continue;
        }
        if let Some(task) = context.task() {
            task.status(step);
        }
        context.sleep(pace).await?;
        context.progress(f64::from(done + 1), Some(f64::from(ALL)), Some(step));
    }
    Ok(())
}

/// Asks whom it can ask; the others get the short one.
fn ask_length(context: &Context) -> Result<Length, ToolError> {
    if !context.client_capabilities().elicits_forms() {
        return Ok(Length::Short);
    }
    let question = form::<Wish>("wish", "Half of it is done. How long shall the report be?");
    let wish = context.ask(question)?.ok();
    Ok(wish.map_or(Length::Short, |wish| wish.length))
}

fn write(topic: &str, length: Length) -> String {
    match length {
        Length::Short => format!("Report on {topic}: all is well."),
        Length::Long => format!(
            "Report on {topic}: all is well. This was found by {}.",
            STEPS.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use conduit_server::{
        ClientCapabilities, ContextParts, Emission, Input, IntoOutcome, Outcome, TaskPart,
    };
    use serde_json::json;
    use serde_json::value::to_raw_value;
    use tokio::time::Instant;

    use super::super::trial;
    use super::*;

    fn tea() -> Report {
        serde_json::from_str(r#"{"topic":"tea"}"#).expect("arguments")
    }

    /// Runs it in the round after the question was answered so.
    async fn after(answer: &serde_json::Value) -> (String, Vec<Emission>) {
        let (parts, said) = trial::parts();
        let answer = to_raw_value(answer).expect("JSON");
        let input = Input::new(vec![("wish".to_owned(), answer)], Some(HALF.into()));
        let context = Context::new(ContextParts {
            input: Arc::new(input),
            ..parts
        });
        let report = slow_report(tea(), context).await.expect("a report");
        (report, said.iter().collect())
    }

    fn progress(done: f64, step: &str) -> Emission {
        Emission::Progress {
            done,
            total: Some(4.0),
            message: Some(step.to_owned()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn half_of_it_is_done_before_the_question() {
        let (parts, said) = trial::parts();
        let start = Instant::now();

        let answer = slow_report(tea(), Context::new(parts)).await;

        let Outcome::InputRequired(required) = answer.into_outcome() else {
            panic!("a question");
        };
        assert_eq!(required.requests[0].0, "wish");
        assert_eq!(required.state, Some(HALF.into()));
        assert_eq!(start.elapsed(), Duration::from_secs(2));
        assert_eq!(
            said.iter().collect::<Vec<_>>(),
            [progress(1.0, "collecting"), progress(2.0, "sorting")]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_other_half_follows_the_answer() {
        let start = Instant::now();

        let answer = json!({ "action": "accept", "content": { "length": "long" } });
        let (report, said) = after(&answer).await;

        assert_eq!(report, write("tea", Length::Long));
        assert_eq!(start.elapsed(), Duration::from_secs(2));
        assert_eq!(said, [progress(3.0, "writing"), progress(4.0, "checking")]);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_does_not_say_gets_the_short_one() {
        for action in ["decline", "cancel"] {
            let (report, _) = after(&json!({ "action": action })).await;

            assert_eq!(report, write("tea", Length::Short));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_cannot_be_asked_is_not() {
        let context = Context::new(ContextParts {
            capabilities: ClientCapabilities::default(),
            ..trial::parts().0
        });

        let report = slow_report(tea(), context).await.expect("a report");

        assert_eq!(report, write("tea", Length::Short));
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_says_what_it_is_doing() {
        let (parts, said) = trial::parts();
        let task = TaskPart {
            id: "t".into(),
            attempt: 1,
        };
        let context = Context::new(ContextParts {
            task: Some(task),
            ..parts
        });

        drop(slow_report(tea(), context).await);

        let told = said
            .iter()
            .filter(|said| matches!(said, Emission::Status { .. }));
        let status = |step: &str| Emission::Status {
            message: step.to_owned(),
        };
        assert_eq!(
            told.collect::<Vec<_>>(),
            [status("collecting"), status("sorting")]
        );
    }
}
