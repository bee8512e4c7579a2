//! Input rounds, called MRTR by the seeds (6.7).

use conduit_testkit::{Call, Era, Options, PATIENCE, Reply, Tree, wait_until};
use http::StatusCode;
use serde_json::{Value, json};

use crate::log::told;
use crate::{fixture, options};

#[tokio::test]
async fn at_180_a_call_that_asks_is_answered_with_its_question_and_a_state() {
    let tree = fixture().await;

    let reply = tree.send(&ask()).await;

    let result = reply.result();
    assert_eq!(result["resultType"], "input_required", "{reply}");
    let method = &result["inputRequests"]["who"]["method"];
    assert_eq!(method, "elicitation/create", "{reply}");
    assert!(result["requestState"].is_string(), "{reply}");
    assert_eq!(result.get("ttlMs"), None, "{reply}");
}

#[tokio::test]
async fn at_181_the_retry_brings_the_state_and_the_answer_back() {
    let tree = fixture().await;
    let asked = tree.send(&ask()).await;

    let reply = tree.send(&retry(&asked)).await;

    assert_eq!(reply.result()["resultType"], "complete", "{reply}");
    let text = reply.text();
    assert!(text.contains("step 1") && text.contains("Ann"), "{text}");
}

#[tokio::test]
async fn at_182_a_state_that_was_changed_is_refused_before_the_callback_runs() {
    let tree = fixture().await;
    let asked = tree.send(&ask()).await;
    let state = state(&asked);
    let swapped = if state.ends_with('A') { "B" } else { "A" };
    let changed = format!("{}{swapped}", &state[..state.len() - 1]);

    let retry = retry(&asked).param("requestState", json!(changed));
    let reply = tree.send(&retry).await;

    refused(&reply);
    told(&tree, "mrtr.input_required", 1).await;
    let executions = told(&tree, "tool.execute", 2).await;
    assert_eq!(executions[1]["status"], "error");
    let took = executions[1]["duration"].as_str().expect("a duration");
    assert!(!took.is_empty());
}

#[tokio::test]
async fn at_183_a_resource_and_a_prompt_ask_as_well() {
    let tree = fixture().await;

    for call in [read(), fill()] {
        let asked = tree.send(&call).await;
        assert_eq!(asked.result()["resultType"], "input_required", "{asked}");
        let reply = tree.send(&answered(&call, &asked)).await;
        assert_eq!(reply.result()["resultType"], "complete", "{reply}");
        assert!(reply.result().to_string().contains("Ann"), "{reply}");
    }
}

#[tokio::test]
async fn at_184_a_legacy_call_without_a_session_cannot_ask() {
    let tree = fixture().await;

    let reply = tree.send(&Era::Legacy.tool("ask", json!({}))).await;

    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::OK, -32603),
        "{reply}"
    );
    let message = reply.message()["error"]["message"].as_str();
    let message = message.expect("a message");
    for word in ["MRTR", "2026-07-28"] {
        assert!(message.contains(word), "{message}");
    }
}

#[tokio::test]
async fn at_185_each_question_that_leaves_is_told_once() {
    let tree = fixture().await;

    let asked = tree.send(&ask()).await;
    told(&tree, "mrtr.input_required", 1).await;
    tree.send(&read()).await;
    tree.send(&fill()).await;
    told(&tree, "mrtr.input_required", 3).await;
    tree.send(&Era::Legacy.tool("ask", json!({}))).await;
    let forged = retry(&asked).param("requestState", json!("forged"));
    tree.send(&forged).await;

    let events = told(&tree, "mrtr.input_required", 3).await;
    let methods: Vec<_> = events.iter().map(|event| event["method"].clone()).collect();
    assert_eq!(methods, ["tools/call", "resources/read", "prompts/get"]);
}

#[tokio::test]
async fn at_186_a_client_that_declares_nothing_is_told_what_is_missing() {
    let tree = fixture().await;

    let reply = tree.send(&ask().capabilities(json!({}))).await;

    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::BAD_REQUEST, -32021),
        "{reply}"
    );
    let required = &reply.message()["error"]["data"]["requiredCapabilities"];
    assert!(required["elicitation"].is_object(), "{reply}");
    told(&tree, "mrtr.input_required", 0).await;
}

#[tokio::test]
async fn at_187_a_state_says_nothing_to_whoever_has_no_key() {
    let tree = fixture().await;
    let call = Era::Modern
        .tool("interview", json!({ "about": "a secret of ours" }))
        .capabilities(elicits());
    let first = tree.send(&call).await;
    let answers = json!({ "name": { "action": "accept", "content": { "name": "Annabel" } } });
    let second = call
        .clone()
        .param("requestState", first.result()["requestState"].clone())
        .param("inputResponses", answers);
    let second = tree.send(&second).await;

    for state in [state(&first), state(&second)] {
        let decoded = String::from_utf8_lossy(&decode(&state)).into_owned();
        for text in [&state, &decoded] {
            for word in ["Annabel", "action", "secret", "interview", "name"] {
                assert!(!text.contains(word), "{word} in {text}");
            }
        }
    }
    let again = tree.send(&call).await;
    assert_ne!(state(&again), state(&first), "two states are the same");
}

#[tokio::test]
async fn at_188_a_state_is_not_that_of_another_tool() {
    let tree = fixture().await;
    let asked = tree.send(&ask()).await;

    let other = Era::Modern.tool("hello", json!({})).capabilities(elicits());
    let reply = tree.send(&answered(&other, &asked)).await;

    refused(&reply);
}

#[tokio::test]
async fn at_188_a_state_is_good_for_its_time_and_no_longer() {
    let options = options().environment("CONDUIT_INPUT_STATE_LIFETIME_MS", "1000");
    let tree = Tree::start(options).await;
    let asked = tree.send(&ask()).await;

    let (late, _) = wait_until("the state to be too old", PATIENCE, async || {
        let reply = tree.send(&retry(&asked)).await;
        reply.message().get("error").is_some().then_some(reply)
    })
    .await;

    refused(&late);
}

#[tokio::test]
async fn at_189_what_may_not_ask_fails_when_it_does() {
    let tree = Tree::start(Options::fixture().gateways(1)).await;
    let complete = json!({
        "ref": { "type": "ref/prompt", "name": "pick" },
        "argument": { "name": "what", "value": "x" },
    });
    let call = Call::modern("completion/complete", complete).capabilities(elicits());

    let reply = tree.send(&call).await;

    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::OK, -32603),
        "{reply}"
    );
}

/// `ELICIT`.
fn elicits() -> Value {
    json!({ "elicitation": { "form": {} } })
}

fn ask() -> Call {
    Era::Modern
        .tool("ask", json!({}))
        .id(json!(180))
        .capabilities(elicits())
}

fn read() -> Call {
    Era::Modern
        .call("resources/read", json!({ "uri": "ask://r" }))
        .capabilities(elicits())
}

fn fill() -> Call {
    Era::Modern
        .call("prompts/get", json!({ "name": "askp" }))
        .capabilities(elicits())
}

/// The call of the fixture's `ask` again, with what it was asked for.
fn retry(asked: &Reply) -> Call {
    answered(&ask(), asked)
}

fn answered(call: &Call, asked: &Reply) -> Call {
    let who = json!({ "action": "accept", "content": { "name": "Ann" } });
    call.clone()
        .id(json!(181))
        .param("requestState", json!(state(asked)))
        .param("inputResponses", json!({ "who": who }))
}

fn state(reply: &Reply) -> String {
    let state = reply.result()["requestState"].as_str();
    state
        .unwrap_or_else(|| panic!("no state in {reply}"))
        .to_owned()
}

#[track_caller]
fn refused(reply: &Reply) {
    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::OK, -32602),
        "{reply}"
    );
}

/// The bytes behind base64url without padding.
fn decode(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for sign in text.chars() {
        let value = ALPHABET.find(sign).expect("base64url");
        bits = (bits << 6) | u32::try_from(value).expect("six bits");
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xFF).expect("eight bits"));
        }
    }
    bytes
}
