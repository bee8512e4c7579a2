//! The state that a modern client carries from one round to the next: sealed, of one
//! request, for a while, and to be opened by any gateway (R15, R16).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use conduit_testkit::process::Signal;
use conduit_testkit::{Call, Conn, Era, Options, PATIENCE, Reply, Tree, binary, wait_until};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::record::recorded;
use crate::{fixture, pair};

/// The longest state that anybody makes.
const LONGEST: usize = 16 * 1024;

#[tokio::test]
async fn a_state_that_nobody_has_sealed_is_refused_whatever_is_wrong_with_it() {
    let tree = fixture().await;
    let call = interview("tea");
    let (one, other) = (state_of(&tree, &call).await, state_of(&tree, &call).await);
    let half = one.len() / 2;
    let runs = recorded(&tree, "interview").await;
    let mut messages = Vec::new();

    for bad in (0..16)
        .map(|part| flipped(&one, part * (one.len() - 1) / 15))
        .chain([
            one[..one.len() - 1].to_owned(),
            one[..half].to_owned(),
            format!("{one}A"),
            format!("{one}="),
            format!("{}{}", &one[..half], &other[half..]),
            format!("{}{}", &other[..half], &one[half..]),
            format!("{one}{other}"),
            "not base64, is it?".to_owned(),
            String::new(),
            "A".repeat(one.len()),
            "A".repeat(LONGEST + 1),
        ])
    {
        let reply = tree.send(&retry(&call, &bad, name("Ann"))).await;
        refused(&reply, &mut messages);
    }

    assert_eq!(recorded(&tree, "interview").await, runs, "a callback ran");
}

#[tokio::test]
async fn a_state_is_of_one_request_alone() {
    let tree = fixture().await;
    let call = interview("tea");
    let state = state_of(&tree, &call).await;
    let runs = recorded(&tree, "interview").await;
    let mut messages = Vec::new();

    for other in [
        interview("coffee"),
        Era::Modern.tool("interview", json!({})),
        Era::Modern.tool("nag", json!({ "about": "tea" })),
        Era::Modern.tool("hello", json!({ "about": "tea" })),
        Era::Modern.call("resources/read", json!({ "uri": "ask://r" })),
        Era::Modern.call("prompts/get", json!({ "name": "askp" })),
    ] {
        let other = other.capabilities(elicits());
        let reply = tree.send(&retry(&other, &state, name("Ann"))).await;
        refused(&reply, &mut messages);
    }

    assert_eq!(recorded(&tree, "interview").await, runs, "a callback ran");
}

#[tokio::test]
async fn a_callback_that_never_asks_does_not_run_with_a_forged_state() {
    let tree = fixture().await;
    let mut messages = Vec::new();

    for call in [
        Era::Modern.tool("echo", json!({ "message": "inline" })),
        Era::Modern.tool("echo_pool", json!({ "message": "pool" })),
        Era::Modern.call("resources/read", json!({ "uri": "file:///a.txt" })),
        Era::Modern.call(
            "prompts/get",
            json!({ "name": "greet", "arguments": { "name": "Ada" } }),
        ),
    ] {
        let forged = call.clone().param("requestState", json!("forged"));
        refused(&tree.send(&forged).await, &mut messages);
        let answers = call.param("inputResponses", json!({ "unknown": 7 }));
        let reply = tree.send(&answers).await;
        assert_eq!(reply.result()["resultType"], "complete", "{reply}");
    }
}

#[tokio::test]
async fn no_arguments_are_the_same_as_an_empty_object() {
    let tree = fixture().await;
    let without = Era::Modern
        .call("tools/call", json!({ "name": "interview" }))
        .capabilities(elicits());
    let empty = Era::Modern
        .tool("interview", json!({}))
        .capabilities(elicits());

    for (first, second) in [(&without, &empty), (&empty, &without)] {
        let state = state_of(&tree, first).await;
        let reply = tree.send(&retry(second, &state, name("Ann"))).await;
        assert_eq!(asked_for(&reply), ["color"], "{reply}");
    }
}

#[tokio::test]
async fn whatever_does_not_tell_requests_apart_may_change_between_rounds() {
    let tree = fixture().await;
    let state = state_of(&tree, &interview("tea")).await;

    let again = retry(&interview("tea"), &state, name("Ann"))
        .id(json!("another"))
        .meta("traceparent", json!("00-1"))
        .progress(json!("a token"));
    let reply = tree.send(&again).await;

    assert_eq!(asked_for(&reply), ["color"], "{reply}");
}

#[tokio::test]
async fn a_state_that_is_too_old_is_refused_like_one_that_is_forged() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_INPUT_STATE_LIFETIME_MS", "1000");
    let tree = Tree::start(options).await;
    let call = interview("tea");
    let state = state_of(&tree, &call).await;
    let again = retry(&call, &state, name("Ann"));

    let (late, _) = wait_until("the state to be too old", PATIENCE, async || {
        let reply = tree.send(&again).await;
        reply.message().get("error").is_some().then_some(reply)
    })
    .await;

    let mut messages = Vec::new();
    refused(&late, &mut messages);
    let forged = tree.send(&retry(&call, "AAAA", name("Ann"))).await;
    refused(&forged, &mut messages);
}

#[tokio::test]
async fn a_client_that_lost_the_result_may_ask_for_it_again() {
    let tree = fixture().await;
    let call = interview("tea");
    let first = retry(&call, &state_of(&tree, &call).await, name("Ann"));
    let second = retry(&call, &state(&tree.send(&first).await), color("red"));

    for _ in 0..2 {
        let reply = tree.send(&second).await;
        assert_eq!(reply.text(), "tea: Ann likes red, in round 3");
    }
}

#[tokio::test]
async fn another_gateway_goes_on_where_the_first_has_asked() {
    let tree = pair().await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );
    let call = interview("tea");

    let asked = first.send(&call).await;
    let asked = second
        .send(&retry(&call, &state(&asked), name("Ann")))
        .await;
    let done = first
        .send(&retry(&call, &state(&asked), color("red")))
        .await;

    assert_eq!(done.text(), "tea: Ann likes red, in round 3");
}

#[tokio::test]
async fn a_state_outlives_every_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options::fixture()
        .gateways(1)
        .state_dir(&folder.path().join("state"));
    let call = interview("tea");
    let tree = Tree::start(options.clone()).await;
    let before = state_of(&tree, &call).await;
    tree.stop().await;

    let tree = Tree::start(options).await;
    let reply = tree.send(&retry(&call, &before, name("Ann"))).await;

    assert_eq!(asked_for(&reply), ["color"], "{reply}");
}

#[tokio::test]
async fn another_instance_opens_no_state_of_ours() {
    let (ours, theirs) = (fixture().await, fixture().await);
    let call = interview("tea");
    let state = state_of(&ours, &call).await;

    let reply = theirs.send(&retry(&call, &state, name("Ann"))).await;

    refused(&reply, &mut Vec::new());
    assert_eq!(recorded(&theirs, "interview").await, 0);
}

#[tokio::test]
async fn after_a_rotation_old_states_open_and_the_new_key_seals() {
    let tree = pair().await;
    let call = interview("tea");
    let before = state_of(&tree, &call).await;

    let keys = rotate(tree.state_dir()).await;

    let key = |state: &str| state[..KEY].to_owned();
    let mut conns = [
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    ];
    for conn in &mut conns {
        let what = "a state that the new key has sealed";
        let (after, _) = wait_until(what, PATIENCE, async || {
            let state = state(&conn.send(&call).await);
            (key(&state) != key(&before)).then_some(state)
        })
        .await;
        for state in [&before, &after] {
            let reply = conn.send(&retry(&call, state, name("Ann"))).await;
            assert_eq!(asked_for(&reply), ["color"], "{reply}");
        }
    }
    assert!(keys.starts_with("new key "), "{keys}");
}

#[tokio::test]
async fn the_keys_are_for_their_owner_alone() {
    let tree = fixture().await;
    let keys = tree.state_dir().join("keys");
    let mode = || fs::metadata(&keys).expect("a file").permissions().mode() & 0o777;

    assert_eq!(mode(), 0o600);
    rotate(tree.state_dir()).await;
    assert_eq!(mode(), 0o600);
}

#[tokio::test]
async fn what_holds_for_one_use_is_used_once_whoever_is_asked() {
    let tree = pair().await;
    let mut conns = [
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    ];
    let mut messages = Vec::new();

    for tool in ["vote", "quick_vote"] {
        let call = Era::Modern.tool(tool, json!({})).capabilities(elicits());
        let voter = format!("voter of {tool}");
        let [here, there] = &mut conns;
        let state = state(&here.send(&call).await);
        let again = retry(&call, &state, name(&voter));

        assert_eq!(
            here.send(&again).await.text(),
            format!("one vote for {voter}")
        );

        refused(&here.send(&again).await, &mut messages);
        refused(&there.send(&again).await, &mut messages);
        let before = tree.signal_slot("store", Signal::KILL).await;
        tree.replaced("store", before, PATIENCE).await;
        refused(&after_the_store(here, &again).await, &mut messages);
        refused(&after_the_store(there, &again).await, &mut messages);
        assert_eq!(recorded(&tree, &format!("vote for {voter}")).await, 1);
    }
}

#[tokio::test]
async fn of_two_uses_at_once_one_is_the_first() {
    let tree = pair().await;
    let (mut here, mut there) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );
    let call = Era::Modern.tool("vote", json!({})).capabilities(elicits());

    for round in 0..20 {
        let voter = format!("voter {round}.");
        let again = retry(&call, &state_of(&tree, &call).await, name(&voter));

        let (one, other) = tokio::join!(here.send(&again), there.send(&again));

        let replies = [one, other];
        let counted = replies
            .iter()
            .filter(|reply| reply.message().get("result").is_some());
        assert_eq!(counted.count(), 1, "{replies:?}");
        assert_eq!(recorded(&tree, &format!("vote for {voter}")).await, 1);
    }
}

#[tokio::test]
async fn an_answer_that_has_to_be_given_again_has_not_used_its_state_up_for_good() {
    let tree = fixture().await;
    let call = Era::Modern.tool("vote", json!({})).capabilities(elicits());
    let first = state_of(&tree, &call).await;

    let asked_again = tree.send(&retry(&call, &first, name("A"))).await;
    let done = tree
        .send(&retry(&call, &state(&asked_again), name("Ann")))
        .await;

    assert_eq!(done.text(), "one vote for Ann");
}

/// What a state begins with that one key has sealed: a version and the key's id.
const KEY: usize = 6;

fn elicits() -> Value {
    json!({ "elicitation": {} })
}

fn interview(about: &str) -> Call {
    Era::Modern
        .tool("interview", json!({ "about": about }))
        .capabilities(elicits())
}

/// Comes again, with answers and the state of the round before.
fn retry(call: &Call, state: &str, answers: Value) -> Call {
    call.clone()
        .id(json!(2))
        .param("requestState", json!(state))
        .param("inputResponses", answers)
}

fn name(name: &str) -> Value {
    json!({ "name": { "action": "accept", "content": { "name": name } } })
}

fn color(color: &str) -> Value {
    json!({ "color": { "action": "accept", "content": { "color": color } } })
}

async fn state_of(tree: &Tree, call: &Call) -> String {
    state(&tree.send(call).await)
}

fn state(reply: &Reply) -> String {
    let state = reply.result()["requestState"].as_str();
    state
        .unwrap_or_else(|| panic!("no state in {reply}"))
        .to_owned()
}

/// The keys of the questions, in their order.
fn asked_for(reply: &Reply) -> Vec<&str> {
    let result = reply.result();
    assert_eq!(result["resultType"], "input_required", "{reply}");
    let requests = result["inputRequests"].as_object().expect("questions");
    requests.keys().map(String::as_str).collect()
}

/// Changes one character to another one of the alphabet.
fn flipped(state: &str, at: usize) -> String {
    let other = if state[at..].starts_with('A') {
        "B"
    } else {
        "A"
    };
    format!("{}{other}{}", &state[..at], &state[at + 1..])
}

/// Asserts that the state was refused, with the same message as the others.
#[track_caller]
fn refused(reply: &Reply, messages: &mut Vec<Value>) {
    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::OK, -32602),
        "{reply}"
    );
    let error = &reply.message()["error"];
    assert_eq!(error.get("data"), None, "{reply}");
    messages.push(error["message"].clone());
    assert_eq!(messages.last(), messages.first());
}

/// Sends a call until the store is to be had again.
async fn after_the_store(conn: &mut Conn, call: &Call) -> Reply {
    let (reply, _) = wait_until("the store", PATIENCE, async || {
        let reply = conn.send(call).await;
        (reply.status != StatusCode::SERVICE_UNAVAILABLE).then_some(reply)
    })
    .await;
    reply
}

/// Runs `keys rotate` and returns what it printed.
async fn rotate(state_dir: &Path) -> String {
    let output = Command::new(binary("fixture-server"))
        .args(["keys", "rotate", "--state-dir"])
        .arg(state_dir)
        .output()
        .await
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
