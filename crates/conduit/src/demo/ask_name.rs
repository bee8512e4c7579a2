//! `ask_name`: asks who is there by a form, and greets.

use conduit_server::{Context, Elicited, NoArguments, ToolBuilder, ToolError, form};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Visitor {
    /// What you would like to be called.
    #[schemars(length(min = 1, max = 64))]
    name: String,
}

pub(super) fn tool() -> ToolBuilder {
    conduit_server::tool(
        "ask_name",
        "Asks the user for a name by a form, and greets. Needs a client that can show forms.",
        ask_name,
    )
    .title("Ask for a name")
    .read_only(true)
    .open_world(false)
}

async fn ask_name(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let question = form::<Visitor>("visitor", "What may I call you?");
    Ok(match context.ask(question)? {
        Elicited::Accepted(Visitor { name }) => format!("Hello, {name}!"),
        Elicited::Declined => "Hello to you, who would rather not say!".to_owned(),
        Elicited::Cancelled => "Hello! The question was left open.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use conduit_server::{IntoOutcome, Outcome};
    use serde_json::{Value, json};

    use super::super::trial;
    use super::*;

    async fn check(answer: Value, greeting: &str) {
        let context = trial::answered("visitor", &answer);

        let greeted = ask_name(NoArguments::default(), context).await;

        assert_eq!(greeted.ok().as_deref(), Some(greeting), "{answer}");
    }

    #[tokio::test]
    async fn whoever_is_there_is_asked_first() {
        let answer = ask_name(NoArguments::default(), trial::context()).await;

        let Outcome::InputRequired(required) = answer.into_outcome() else {
            panic!("a question");
        };
        let keys: Vec<_> = required.requests.iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["visitor"]);
    }

    #[tokio::test]
    async fn each_answer_has_its_greeting() {
        check(
            json!({ "action": "accept", "content": { "name": "Ada" } }),
            "Hello, Ada!",
        )
        .await;
        check(
            json!({ "action": "decline" }),
            "Hello to you, who would rather not say!",
        )
        .await;
        check(
            json!({ "action": "cancel" }),
            "Hello! The question was left open.",
        )
        .await;
    }
}
