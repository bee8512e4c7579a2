//! What asks its client for something before it answers: tools, and a resource.
//!
//! All of them serve both eras: modern clients bring the answers with their next
//! request, legacy ones are asked while the call goes on.

mod forms;

use conduit::schemars::JsonSchema;
use conduit::serde::{Deserialize, Serialize};
use conduit::serde_json::json;
use conduit::{
    Context, Elicited, Form, LogLevel, NoArguments, ResourceBuilder, Sample, ToolBuilder,
    ToolError, form, resource, roots, sample, tool, visit,
};

/// What stands in a state that has come back as it went out.
const ASKED: &str = "asked";

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
struct Confirmation {
    ok: bool,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Account {
    username: String,
    email: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Prompt {
    /// What the model is told.
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Message {
    /// What the person is told.
    message: String,
}

pub(crate) fn tools() -> impl Iterator<Item = ToolBuilder> {
    let rounds = [
        tool(
            "test_input_required_result_elicitation",
            "Asks for a name, and greets.",
            greet,
        ),
        tool(
            "test_input_required_result_sampling",
            "Asks the client's model.",
            ask_model,
        ),
        tool(
            "test_input_required_result_list_roots",
            "Asks for the client's roots.",
            list_roots,
        ),
        tool(
            "test_input_required_result_request_state",
            "Asks for a confirmation, and remembers that it did.",
            confirm,
        ),
        tool(
            "test_input_required_result_tampered_state",
            "Asks for a confirmation, with a state that nobody can change.",
            confirm,
        ),
        tool(
            "test_input_required_result_multiple_inputs",
            "Asks for three things at once.",
            ask_for_all,
        ),
        tool(
            "test_input_required_result_multi_round",
            "Asks for one thing after the other.",
            ask_twice,
        ),
        tool(
            "test_input_required_result_capabilities",
            "Asks only for what the client says that it can do.",
            ask_for_what_is_declared,
        ),
        tool(
            "test_missing_capability",
            "Works only for clients that can sample a model.",
            ask_model,
        ),
        tool(
            "test_streaming_elicitation",
            "Says something, and then asks for a name.",
            announce,
        ),
    ];
    let words = [
        tool(
            "test_sampling",
            "Asks the client's model what it is told to.",
            ask_model_for,
        ),
        tool(
            "test_elicitation",
            "Asks for a name and an address, and tells what came back.",
            ask_for_account,
        ),
        tool(
            "tour_visit",
            "Asks to visit a page, and tells what came back.",
            ask_to_visit,
        ),
    ];
    rounds.into_iter().chain(words).chain(forms::tools())
}

/// Asks in the middle of `resources/read`.
pub(crate) fn asking_resource() -> ResourceBuilder {
    resource("tour://welcome", "welcome", |context| async move {
        let name = context.ask(user_name())?.accepted()?.name;
        Ok::<_, ToolError>(format!("Welcome, {name}!"))
    })
    .description("A text for whoever reads it, whom it asks for a name.")
}

async fn greet(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let name = context.ask(user_name())?.accepted()?.name;
    Ok(format!("Hello, {name}!"))
}

async fn ask_model(_: NoArguments, context: Context) -> Result<String, ToolError> {
    Ok(context.ask(capital_question())?.text())
}

async fn list_roots(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let roots = context.ask(roots("client_roots"))?;
    let uris: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
    Ok(format!("Roots: {}", uris.join(", ")))
}

async fn confirm(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let is_back = context.recall::<String>().as_deref() == Some(ASKED);
    context.remember(ASKED)?;
    let question = form::<Confirmation>("confirm", "Please confirm");
    let ok = context.ask(question)?.accepted()?.ok;
    let state = if is_back { "state-ok" } else { "state-lost" };
    Ok(format!("{state}, confirmed: {ok}"))
}

async fn ask_for_all(_: NoArguments, context: Context) -> Result<String, ToolError> {
    context.remember(ASKED)?;
    let greeting = sample("greeting")
        .user("Generate a greeting")
        .max_tokens(50);
    let all = (user_name(), greeting, roots("client_roots"));
    let (name, greeting, roots) = context.ask(all)?;
    let (name, greeting) = (name.accepted()?.name, greeting.text());
    Ok(format!("{name}, in {} roots: {greeting}", roots.len()))
}

async fn ask_twice(_: NoArguments, context: Context) -> Result<String, ToolError> {
    context.remember(1)?;
    let first = form::<Name>("step1", "Step 1: What is your name?");
    let name = context.ask(first)?.accepted()?.name;
    context.remember(2)?;
    let second = form::<Color>("step2", "Step 2: What is your favorite color?");
    let color = context.ask(second)?.accepted()?.color;
    Ok(format!("{name} likes {color}."))
}

async fn ask_for_what_is_declared(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let client = context.client_capabilities();
    match (client.elicits_forms(), client.samples()) {
        (true, true) => {
            let (name, capital) = context.ask((user_name(), capital_question()))?;
            Ok(format!("{}: {}", name.accepted()?.name, capital.text()))
        }
        (true, false) => Ok(context.ask(user_name())?.accepted()?.name),
        (false, true) => Ok(context.ask(capital_question())?.text()),
        (false, false) => Ok("There is nothing to ask for.".to_owned()),
    }
}

async fn announce(nothing: NoArguments, context: Context) -> Result<String, ToolError> {
    context.progress(1.0, Some(2.0), Some("There is a question."));
    context.log(LogLevel::Info, None, "There is a question.");
    greet(nothing, context).await
}

async fn ask_model_for(arguments: Prompt, context: Context) -> Result<String, ToolError> {
    let question = sample("answer").user(arguments.prompt).max_tokens(100);
    Ok(format!("LLM response: {}", context.ask(question)?.text()))
}

async fn ask_for_account(arguments: Message, context: Context) -> Result<String, ToolError> {
    let answer = context.ask(form::<Account>("account", arguments.message))?;
    let response = json!({ "action": action(&answer), "content": answer.ok() });
    Ok(format!("User response: {response}"))
}

async fn ask_to_visit(_: NoArguments, context: Context) -> Result<String, ToolError> {
    let page = visit(
        "page",
        "Please look at this page.",
        "https://example.com/tour",
    );
    let answer = context.ask(page)?;
    Ok(format!("Visit: {}", action(&answer)))
}

fn user_name() -> Form<Name> {
    form("user_name", "What is your name?")
}

fn capital_question() -> Sample {
    sample("capital_question")
        .user("What is the capital of France?")
        .max_tokens(100)
}

/// What a person has done, in the word of the protocol.
const fn action<T>(answer: &Elicited<T>) -> &'static str {
    match answer {
        Elicited::Accepted(_) => "accept",
        Elicited::Declined => "decline",
        Elicited::Cancelled => "cancel",
    }
}
