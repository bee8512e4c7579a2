//! What one client is asked: a pipe is a session once it is initialized (R6).

use serde_json::{Value, json};

use crate::client::Pipe;
use crate::{cancelled, initialize, legacy};

#[tokio::test]
async fn a_pipe_is_asked_and_answers() {
    let mut pipe = opened(json!({ "elicitation": {} })).await;
    pipe.say(&interview(1)).await;

    let name = question(&mut pipe).await;
    pipe.say(&answer(&name, json!({ "name": "Ann" }))).await;
    let color = question(&mut pipe).await;
    pipe.say(&answer(&color, json!({ "color": "red" }))).await;

    let done = pipe.next().await;
    assert_eq!(done["id"], 1, "{done}");
    assert_eq!(text(&done), "tea: Ann likes red, in round 3");
    pipe.end().await;
}

#[tokio::test]
async fn other_calls_are_answered_while_a_question_waits() {
    let mut pipe = opened(json!({ "elicitation": {} })).await;
    pipe.say(&interview(1)).await;
    let name = question(&mut pipe).await;

    pipe.say(&legacy(
        &json!(2),
        "echo",
        &json!({ "message": "meanwhile" }),
        &json!({}),
    ))
    .await;

    assert_eq!(text(&pipe.next().await), "meanwhile");
    let no = json!({ "jsonrpc": "2.0", "id": name["id"], "result": { "action": "decline" } });
    pipe.say(&no).await;
    let done = pipe.next().await;
    assert_eq!(
        (&done["id"], &done["result"]["isError"]),
        (&json!(1), &json!(true))
    );
    pipe.end().await;
}

#[tokio::test]
async fn a_pipe_that_answers_with_an_error_ends_its_call() {
    let mut pipe = opened(json!({ "elicitation": {} })).await;
    pipe.say(&interview(1)).await;
    let name = question(&mut pipe).await;

    let error = json!({ "code": -1, "message": "no" });
    pipe.say(&json!({ "jsonrpc": "2.0", "id": name["id"], "error": error }))
        .await;

    let done = pipe.next().await;
    assert_eq!(
        (&done["id"], &done["error"]["code"]),
        (&json!(1), &json!(-32603))
    );
    pipe.end().await;
}

#[tokio::test]
async fn a_pipe_is_not_asked_before_it_said_that_it_can_answer() {
    let mut pipe = Pipe::fixture();
    pipe.say(&interview(1)).await;
    is_impossible(&pipe.next().await);

    pipe.say(&initialize()).await;
    assert_eq!(pipe.next().await["id"], 0);
    pipe.say(&interview(2)).await;

    is_impossible(&pipe.next().await);
    pipe.end().await;
}

#[tokio::test]
async fn a_call_that_was_cancelled_while_it_waits_is_never_heard_of_again() {
    let mut pipe = opened(json!({ "elicitation": {} })).await;
    pipe.say(&interview(1)).await;
    let name = question(&mut pipe).await;

    pipe.say(&cancelled(&json!(1))).await;
    pipe.say(&answer(&name, json!({ "name": "Ann" }))).await;

    assert_eq!(pipe.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn the_end_of_input_ends_a_call_that_waits_for_an_answer() {
    let mut pipe = opened(json!({ "elicitation": {} })).await;
    pipe.say(&interview(1)).await;
    question(&mut pipe).await;

    let rest = pipe.end().await;

    assert!(
        !rest.iter().any(|message| message.get("result").is_some()),
        "{rest:?}"
    );
}

#[tokio::test]
async fn a_modern_client_brings_its_answers_with_its_next_request() {
    let mut pipe = Pipe::fixture();
    let mut call = interview(1);
    call["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    for (id, answers) in [
        (2, json!({ "name": accepted(json!({ "name": "Ann" })) })),
        (3, json!({ "color": accepted(json!({ "color": "red" })) })),
    ] {
        pipe.say(&call).await;
        let asked = pipe.next().await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        call["id"] = json!(id);
        call["params"]["requestState"] = asked["result"]["requestState"].clone();
        call["params"]["inputResponses"] = answers;
    }

    pipe.say(&call).await;

    assert_eq!(text(&pipe.next().await), "tea: Ann likes red, in round 3");
    pipe.end().await;
}

/// Initializes a pipe whose client can do this.
pub(crate) async fn opened(capabilities: Value) -> Pipe {
    let mut pipe = Pipe::fixture();
    let mut handshake = initialize();
    handshake["params"]["capabilities"] = capabilities;
    pipe.say(&handshake).await;
    assert_eq!(pipe.next().await["id"], 0);
    pipe
}

fn interview(id: u64) -> Value {
    legacy(
        &json!(id),
        "interview",
        &json!({ "about": "tea" }),
        &json!({}),
    )
}

async fn question(pipe: &mut Pipe) -> Value {
    let asked = pipe.next().await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    asked
}

pub(crate) fn accepted(content: Value) -> Value {
    let mut answer = json!({ "action": "accept" });
    answer["content"] = content;
    answer
}

pub(crate) fn answer(asked: &Value, content: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": asked["id"], "result": accepted(content) })
}

pub(crate) fn text(message: &Value) -> &str {
    let text = message["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text in {message}"))
}

#[track_caller]
fn is_impossible(message: &Value) {
    assert_eq!(message["error"]["code"], -32603, "{message}");
    let text = message["error"]["message"].to_string();
    assert!(text.contains("MRTR"), "{message}");
}
