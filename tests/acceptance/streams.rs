//! Progress and log lines before an answer (6.5).

use conduit_testkit::{Call, Era, PATIENCE, Tree, wait_until};
use futures_util::StreamExt as _;
use http::StatusCode;
use serde_json::{Value, json};

use crate::inside::{House, modern};
use crate::log::told;
use crate::{LOG_LEVEL, SUBSCRIPTION, at_work, fixture, in_flight};

#[tokio::test]
async fn at_130_a_call_with_a_token_streams_its_progress_and_its_answer_last() {
    let tree = fixture().await;

    let reply = tree
        .send(&steps().progress(json!("t1")).id(json!(130)))
        .await;

    assert_eq!(reply.status, StatusCode::OK);
    assert!(reply.is_stream(), "{reply}");
    let progress: Vec<_> = reply.notifications().iter().map(progress_of).collect();
    let expected = [1.0, 2.0, 3.0].map(|done| (json!("t1"), done));
    assert_eq!(progress, expected, "{reply}");
    assert_eq!(reply.message()["id"], 130);
    assert_eq!(reply.text(), "ok");
}

#[tokio::test]
async fn at_132_a_call_with_a_level_streams_the_lines_of_that_level_alone() {
    let call = steps().meta(LOG_LEVEL, json!("error"));

    let reply = fixture().await.send(&call).await;

    assert!(reply.is_stream(), "{reply}");
    let [line] = reply.notifications() else {
        panic!("one line expected: {reply}");
    };
    assert_eq!(line["method"], "notifications/message");
    assert_eq!(line["params"]["level"], "error");
    assert_eq!(reply.text(), "ok");
}

#[tokio::test]
async fn at_133_a_call_with_neither_is_answered_with_one_body() {
    let reply = fixture().await.send(&steps()).await;

    let kind = reply.header("content-type").expect("a type");
    assert!(kind.starts_with("application/json"), "{reply}");
    assert_eq!(reply.text(), "ok");
}

#[tokio::test]
async fn at_134_a_token_makes_a_stream_of_nothing_but_calls_of_tools() {
    let tree = fixture().await;

    for call in [
        Call::modern("resources/read", json!({ "uri": "file:///a.txt" })),
        Call::modern(
            "prompts/get",
            json!({ "name": "greet", "arguments": { "name": "Ada" } }),
        ),
    ] {
        let reply = tree.send(&call.progress(json!("t"))).await;
        assert!(!reply.is_stream(), "{reply}");
        assert!(reply.message().get("result").is_some(), "{reply}");
    }
}

#[tokio::test]
async fn at_136_a_client_that_leaves_its_stream_stops_the_call() {
    let tree = fixture().await;
    let mut raw = tree.raw().await;
    let call = Era::Modern.tool("wait", json!({ "ms": 10_000 }));
    raw.write(call.progress(json!("t")).wire(&raw.host())).await;
    at_work(&tree, 1.0).await;

    drop(raw);

    let events = told(&tree, "request.cancelled", 1).await;
    assert_eq!(events[0]["by"], "hang_up");
    let tools = told(&tree, "tool.execute", 1).await;
    assert_eq!(tools[0]["outcome"], "cancelled");
    in_flight(&tree, 0.0).await;
}

#[tokio::test]
async fn at_137_a_streamed_call_is_in_flight_for_as_long_as_it_runs() {
    let house = House::start().await;
    let forever = json!({ "name": "forever", "_meta": { "progressToken": "t" } });
    let steps = json!({ "name": "steps", "_meta": { "progressToken": "t" } });

    let mut running = house.opened(&modern(137, "tools/call", forever)).await;
    running.next().await.expect("a first report");
    house.in_flight(1).await;
    drop(running);
    house.in_flight(0).await;
    house.stream(&modern(138, "tools/call", steps)).await;

    house.in_flight(0).await;
}

#[tokio::test]
async fn at_138_the_wrapper_returns_the_last_event_alone() {
    let house = House::start().await;
    let steps = json!({ "name": "steps", "_meta": { "progressToken": "t1" } });

    let answer = house.wrapped(&modern(138, "tools/call", steps)).await;

    let answer = answer.expect("an answer");
    assert_eq!(answer["id"], 138);
    assert_eq!(answer["result"]["content"][0]["text"], "ok");
}

#[tokio::test]
async fn at_139_a_call_that_raises_says_so_and_nothing_else() {
    let call = Era::Modern.tool("boom", json!({})).id(json!(139));

    let reply = fixture().await.send(&call.progress(json!("t"))).await;

    assert_eq!(
        (reply.code(), &reply.message()["id"]),
        (-32603, &json!(139))
    );
    assert!(reply.notifications().is_empty(), "{reply}");
}

#[tokio::test]
async fn at_140_either_kind_of_stream_repeats_what_began_it() {
    let house = House::start().await;
    let steps = json!({ "name": "steps", "_meta": { "progressToken": 7 } });
    let filter = json!({ "notifications": { "toolsListChanged": true } });

    let response = house.stream(&modern(140, "tools/call", steps)).await;
    let listen = modern(141, "subscriptions/listen", filter);
    let mut listening = house.opened(&listen).await;

    let (last, before) = response.split_last().expect("an answer");
    assert_eq!(last["id"], 140);
    for progress in before {
        assert_eq!(progress["params"]["progressToken"], 7);
    }
    let first = listening.next().await.and_then(|event| event.message);
    let first: Value =
        serde_json::from_slice(&first.expect("a message").into_bytes()).expect("JSON");
    assert_eq!(first["params"]["_meta"][SUBSCRIPTION], 141);
    assert_eq!(
        first["params"]["notifications"],
        json!({ "toolsListChanged": true })
    );
}

#[tokio::test]
async fn at_141_a_streamed_call_is_one_request_and_one_execution() {
    let tree = fixture().await;

    tree.send(&steps().progress(json!("t1"))).await;

    told(&tree, "tool.execute", 1).await;
    told(&tree, "request.stop", 1).await;
}

#[tokio::test]
async fn at_142_a_client_that_does_not_read_costs_no_memory_and_nobody_else() {
    let tree = fixture().await;
    let call = Era::Modern
        .tool("steps", json!({ "n": MANY }))
        .progress(json!("t"));
    let before = tree.memory();
    let mut deaf = tree.raw().await;
    deaf.write(call.wire(&deaf.host())).await;

    ended(&tree, "steps").await;
    let after = tree.memory();
    let other = tree
        .send(&Era::Modern.tool("echo", json!({ "message": "here" })))
        .await;

    assert!(
        after.saturating_sub(before) < BOUND,
        "{before} bytes before, {after} after"
    );
    assert_eq!(other.text(), "here");
    drop(deaf);
}

/// So many reports that they would fill [`BOUND`] several times over.
const MANY: u32 = 400_000;
const BOUND: u64 = 16 * 1024 * 1024;

fn steps() -> Call {
    Era::Modern.tool("steps", json!({ "n": 3 }))
}

#[track_caller]
fn progress_of(notification: &Value) -> (Value, f64) {
    assert_eq!(notification["method"], "notifications/progress");
    let params = &notification["params"];
    (
        params["progressToken"].clone(),
        params["progress"].as_f64().expect("a number"),
    )
}

/// Waits until a call of a tool has ended well.
async fn ended(tree: &Tree, tool: &str) {
    wait_until(&format!("{tool} to end"), PATIENCE, async || {
        let metrics = tree.metrics().await;
        let ended = metrics.sum(
            "conduit_tool_calls_total",
            &[("tool", tool), ("outcome", "ok")],
        );
        (ended > 0.5).then_some(())
    })
    .await;
}
