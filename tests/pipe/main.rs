//! One client on standard input and output.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests report by panicking"
)]

mod asked;
mod client;
mod tasks;

use std::time::Duration;

use serde_json::{Value, json};

use self::client::Pipe;

const LONG: u64 = 600;

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
}

fn legacy(id: &Value, tool: &str, arguments: &Value, meta: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": meta}})
}

fn modern(id: &Value, tool: &str, arguments: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    legacy(id, tool, arguments, &meta)
}

fn cancelled(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

#[tokio::test]
async fn both_eras_are_served_on_one_pipe() {
    let mut pipe = Pipe::start();
    pipe.say(&initialize()).await;
    pipe.say(&legacy(
        &json!(1),
        "echo",
        &json!({"message": "old"}),
        &json!({}),
    ))
    .await;
    pipe.say(&modern(&json!(2), "echo", &json!({"message": "new"})))
        .await;

    let answers = pipe.answers(3).await;

    assert_eq!(answers["0"]["result"]["protocolVersion"], "2025-11-25");
    assert!(answers["1"]["result"].get("resultType").is_none());
    assert_eq!(answers["2"]["result"]["resultType"], "complete");
    pipe.end().await;
}

#[tokio::test]
async fn regression_a01_junk_between_messages_costs_only_itself() {
    let mut pipe = Pipe::start();
    pipe.write(b"\xef\xbb\xbf").await;
    pipe.say(&json!({"jsonrpc": "2.0", "id": 4, "method": "ping"}))
        .await;
    pipe.write(b"2026-11-30 INFO a log line\r\n\n{\"half\":\n\xff\xfe\n")
        .await;
    pipe.write(b"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}\r\n")
        .await;
    pipe.write(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}")
        .await;

    let lines = pipe.end().await;

    for id in [4, 6, 7] {
        let answers = lines.iter().filter(|line| line["id"] == id);
        assert_eq!(answers.count(), 1, "{id}: {lines:?}");
    }
    let junk = lines.iter().filter(|line| line.get("id").is_none());
    assert_eq!(junk.count(), 3, "{lines:?}");
}

#[tokio::test]
async fn regression_a02_the_end_of_input_ends_the_process_with_all_answers() {
    let mut pipe = Pipe::start();
    let countdown = json!({"from": 3, "interval_ms": 100});
    pipe.say(&modern(&json!("last"), "countdown", &countdown))
        .await;

    let lines = pipe.end().await;

    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["id"], "last");
}

#[tokio::test]
async fn answers_wait_for_a_client_that_reads_them_late() {
    const CALLS: u64 = 30;
    let mut pipe = Pipe::start();
    let message = "A".repeat(20_000);
    for id in 0..CALLS {
        let echo = json!({"message": message});
        pipe.say(&modern(&json!(id), "echo", &echo)).await;
    }
    // More than a pipe holds, and longer than the process once waited.
    pipe.close();
    tokio::time::sleep(Duration::from_millis(1_500)).await;

    let lines = pipe.end().await;

    assert_eq!(lines.len() as u64, CALLS);
}

#[tokio::test]
async fn regression_a05_ids_of_every_kind_are_judged_and_echoed() {
    let mut pipe = Pipe::start();
    for id in [json!(null), json!(1.5), json!({"a": 1})] {
        pipe.say(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))
            .await;
    }
    pipe.say(&json!([{"jsonrpc": "2.0", "id": 8, "method": "ping"}]))
        .await;
    pipe.say(&json!({"jsonrpc": "2.0", "method": "tools/list"}))
        .await;
    pipe.say(&json!({"jsonrpc": "1.0", "id": 9, "method": "ping"}))
        .await;
    pipe.say(&json!({"jsonrpc": "2.0", "id": "7", "method": "ping"}))
        .await;

    let lines = pipe.end().await;

    let refused = |line: &&Value| line["error"]["code"] == -32600;
    assert_eq!(lines.iter().filter(refused).count(), 5, "{lines:?}");
    let nameless = lines.iter().filter(|line| line.get("id").is_none());
    assert_eq!(nameless.count(), 4, "{lines:?}");
    assert!(
        lines
            .iter()
            .any(|line| line["id"] == "7" && line.get("result").is_some())
    );
    assert!(!lines.iter().any(|line| line.to_string().contains("tools")));
}

#[tokio::test]
async fn regression_a06_progress_comes_under_the_callers_own_token() {
    let mut pipe = Pipe::start();
    pipe.say(&initialize()).await;
    for token in [json!(0), json!("0"), json!("abc")] {
        let countdown = json!({"from": 3, "interval_ms": 10});
        let meta = json!({"progressToken": token});
        pipe.say(&legacy(
            &json!(format!("call {token}")),
            "countdown",
            &countdown,
            &meta,
        ))
        .await;
    }

    let lines = pipe.end().await;

    for token in [json!(0), json!("0"), json!("abc")] {
        let of_call = |line: &&Value| {
            line["params"]["progressToken"] == token || line["id"] == format!("call {token}")
        };
        let heard: Vec<&Value> = lines.iter().filter(of_call).collect();
        assert_eq!(heard.len(), 4, "{token}: {heard:?}");
        assert!(
            heard[3].get("result").is_some(),
            "the result is last: {heard:?}"
        );
    }
}

#[tokio::test]
async fn a_call_that_was_cancelled_is_never_heard_of_again() {
    let mut pipe = Pipe::start();
    let countdown = json!({"from": LONG, "interval_ms": 10});
    pipe.say(&modern(&json!("modern"), "countdown", &countdown))
        .await;
    pipe.say(&legacy(
        &json!("legacy"),
        "countdown",
        &countdown,
        &json!({}),
    ))
    .await;

    pipe.say(&cancelled(&json!("modern"))).await;
    pipe.say(&cancelled(&json!("legacy"))).await;

    let lines = pipe.end().await;
    assert_eq!(
        lines,
        Vec::<Value>::new(),
        "the process ended without waiting for them"
    );
}

#[tokio::test]
async fn a_malformed_cancellation_is_dropped() {
    let mut pipe = Pipe::start();
    pipe.say(&cancelled(&json!({"not": "an id"}))).await;
    pipe.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
        .await;

    let lines = pipe.end().await;

    assert_eq!(lines, [json!({"jsonrpc": "2.0", "id": 1, "result": {}})]);
}

#[tokio::test]
async fn sigterm_ends_it_while_the_input_is_open() {
    let mut pipe = Pipe::start();
    pipe.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
        .await;
    pipe.answers(1).await;

    pipe.terminate();

    pipe.ended().await;
}
