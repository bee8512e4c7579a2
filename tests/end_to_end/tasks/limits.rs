//! How long tasks are kept, how many there are, and how large (a22).

use conduit_testkit::{Era, Options, PATIENCE, Tree, wait_until};
use http::StatusCode;
use serde_json::json;

use super::input::questionnaire;
use super::{about, begin, cancel, created, declares, get, unknown, until, until_at, work};
use crate::pair;
use crate::record::{recorded, release, wait_recorded};

#[tokio::test]
async fn regression_a22_a_task_that_never_ends_is_stopped_when_its_time_is_up() {
    let tree = with(&["tasks.ttl_ms=1000"]).await;
    let stuck = |name: &str| {
        Era::Modern
            .tool("stuck", json!({ "name": name }))
            .capabilities(declares())
    };
    let first = begin(&tree, &stuck("first")).await;
    wait_recorded(&tree, "first began", 1).await;
    // There is room for one; so this one begins as soon as the first has gone.
    let second = begin(&tree, &stuck("second")).await;

    wait_recorded(&tree, "first was cancelled", 1).await;
    gone(&tree, &first).await;
    gone(&tree, &second).await;
    let third = begin(&tree, &stuck("third")).await;
    wait_recorded(&tree, "third began", 1).await;
    gone(&tree, &third).await;

    wait_until("no work", PATIENCE, async || {
        let busy = tree.metrics().await.sum("conduit_workers_busy", &[]);
        (busy < 0.5).then_some(())
    })
    .await;
}

#[tokio::test]
async fn regression_a22_a_task_that_waits_for_an_answer_goes_when_its_time_is_up() {
    let tree = with(&["tasks.ttl_ms=1000"]).await;
    let id = begin(&tree, &questionnaire("q")).await;
    until(&tree, &id, "input_required").await;

    gone(&tree, &id).await;

    assert_eq!(recorded(&tree, "q ran").await, 1);
}

#[tokio::test]
async fn a_task_that_has_ended_goes_when_its_time_is_up() {
    let tree = with(&["tasks.ttl_ms=1500"]).await;
    let id = begin(&tree, &work("a", json!({}))).await;
    let done = until(&tree, &id, "completed").await;
    assert_eq!(done["ttlMs"], 1_500);

    gone(&tree, &id).await;
}

#[tokio::test]
async fn regression_a22_a_cancel_that_races_the_end_leaves_one_of_both() {
    let tree = pair().await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );

    // Which one is not ours to say; of a hundred, each wins some.
    for number in 0..100 {
        let name = format!("r{number}.");
        // What is held ends within moments of its release, what is not at once.
        let hold = number % 2 == 0;
        let id = created(&first.send(&work(&name, json!({ "hold": hold }))).await);
        if hold {
            wait_recorded(&tree, &format!("{name} began"), 1).await;
            release(&tree, &name).await;
        }

        super::is_acknowledged(&second.send(&cancel(&id)).await);

        let (task, _) = wait_until("an end", PATIENCE, async || {
            let task = first.send(&get(&id)).await;
            let task = task.result().clone();
            (task["status"] != "working").then_some(task)
        })
        .await;
        let status = task["status"].as_str().expect("a status");
        match status {
            "completed" => assert!(task["result"].is_object(), "{task}"),
            "cancelled" => assert_eq!(task.get("result"), None, "{task}"),
            _ => panic!("neither: {task}"),
        }
        for conn in [&mut first, &mut second] {
            assert_eq!(*conn.send(&get(&id)).await.result(), task);
        }
    }
}

#[tokio::test]
async fn a_result_that_is_too_large_fails_its_task_and_says_so() {
    let tree = with(&["tasks.max_result_bytes=5000"]).await;
    let small = begin(&tree, &work("small", json!({ "bytes": 4_000 }))).await;
    let large = begin(&tree, &work("large", json!({ "bytes": 5_000 }))).await;

    let done = until(&tree, &small, "completed").await;
    let failed = until(&tree, &large, "failed").await;

    let text = done["result"]["content"][0]["text"].as_str();
    assert_eq!(text.map(str::len), Some(4_000));
    assert_eq!(failed["error"]["code"], -32603);
    let message = failed["error"]["message"].as_str().expect("a message");
    assert!(message.contains("5000"), "{message}");
    assert!(!failed.to_string().contains("xxx"), "{failed}");
}

#[tokio::test]
async fn a_task_more_than_there_may_be_is_refused_and_the_others_go_on() {
    let tree = with(&["tasks.max=2", "tasks.ttl_ms=4000"]).await;
    let held = begin(&tree, &work("held", json!({ "hold": true }))).await;
    let other = begin(&tree, &work("other", json!({ "hold": true }))).await;

    let refused = tree.send(&work("third", json!({}))).await;

    assert_eq!(
        (refused.status, refused.code()),
        (StatusCode::TOO_MANY_REQUESTS, 42_900),
        "{refused}"
    );
    let data = &refused.message()["error"]["data"];
    assert!(data["retryAfterMs"].is_u64(), "{refused}");
    assert_eq!(refused.message()["id"], 1);
    assert_eq!(recorded(&tree, "third began").await, 0);
    // A call that is none is let in all the same.
    let call = work("fourth", json!({})).capabilities(json!({}));
    assert_eq!(tree.send(&call).await.text(), "fourth is done in attempt 0");
    for (name, id) in [("held", &held), ("other", &other)] {
        release(&tree, name).await;
        until(&tree, id, "completed").await;
    }
    gone(&tree, &held).await;
    gone(&tree, &other).await;
    let (again, _) = wait_until("room for a task", PATIENCE, async || {
        let reply = tree.send(&work("fifth", json!({}))).await;
        (reply.status == StatusCode::OK).then_some(reply)
    })
    .await;
    created(&again);
}

#[tokio::test]
async fn a_task_waits_for_its_turn() {
    let tree = with(&["tasks.running=1"]).await;
    let mut conn = tree.conn().await;
    let first = created(&conn.send(&work("first", json!({ "hold": true }))).await);
    wait_recorded(&tree, "first began", 1).await;
    let second = created(&conn.send(&work("second", json!({}))).await);
    let third = created(&conn.send(&work("third", json!({}))).await);
    for id in [&second, &third] {
        assert_eq!(conn.send(&get(id)).await.result()["status"], "working");
    }
    assert_eq!(recorded(&tree, "second began").await, 0);
    assert_eq!(recorded(&tree, "third began").await, 0);

    release(&tree, "first").await;

    for id in [&first, &second, &third] {
        until_at(&mut conn, id, "completed").await;
    }
}

#[tokio::test]
async fn all_tasks_have_their_turn() {
    let options = settings(Options::fixture().gateways(2), &["tasks.running=3"]);
    let tree = Tree::start(options).await;
    let mut conn = tree.conn().await;
    let mut ids = Vec::new();
    for number in 0..100 {
        ids.push(created(
            &conn.send(&work(&number.to_string(), json!({}))).await,
        ));
    }

    for id in &ids {
        until_at(&mut conn, id, "completed").await;
    }

    assert_eq!(recorded(&tree, "").await, 100, "each began once");
}

#[tokio::test]
async fn a_task_takes_longer_than_a_call_may() {
    let tree = with(&[
        "limits.request_timeout_ms=1000",
        "limits.dispatch_patience_ms=500",
    ])
    .await;
    let id = begin(&tree, &work("a", json!({ "hold": true }))).await;
    // Two calls that are out of time, one after the other.
    for _ in 0..2 {
        let slow = Era::Modern.tool("slow", json!({ "seconds": 600 }));
        let late = tree.send(&slow).await;
        assert_eq!(late.result()["isError"], true, "{late}");
    }

    release(&tree, "a").await;

    until(&tree, &id, "completed").await;
}

#[tokio::test]
async fn arguments_of_any_size_that_a_request_may_have_become_a_task_or_are_refused() {
    let tree = with(&[]).await;

    for bytes in [100_000, 1_000_000, 2_000_000, 4_000_000] {
        let call = work(&"n".repeat(bytes), json!({ "end": "failure" }));
        let reply = tree.send(&call).await;
        if reply.message().get("error").is_some() {
            assert_eq!(reply.code(), -32602, "{bytes}: {}", reply.message());
            continue;
        }
        let id = created(&reply);
        let (task, _) = wait_until("an end", PATIENCE, async || {
            let task = tree.send(&get(&id)).await;
            let task = task.result().clone();
            (task["status"] != "working").then_some(task)
        })
        .await;
        let status = task["status"].as_str().expect("a status");
        let expected = if bytes <= 1_000_000 {
            "completed"
        } else {
            "failed"
        };
        assert_eq!(status, expected, "{bytes}: the text is as long as the name");
    }
}

#[tokio::test]
async fn the_largest_result_that_may_be_is_got_and_told() {
    let tree = with(&[]).await;
    // With some room for what is around the text.
    let text = 1_048_576 - 1_000;

    let id = begin(&tree, &work("a", json!({ "bytes": text }))).await;

    let done = until(&tree, &id, "completed").await;
    let got = done["result"]["content"][0]["text"].as_str();
    assert_eq!(got.map(str::len), Some(text));
}

#[tokio::test]
async fn a_task_that_was_cancelled_before_its_turn_never_begins() {
    let tree = with(&["tasks.running=1"]).await;
    let first = begin(&tree, &work("first", json!({ "hold": true }))).await;
    let second = begin(&tree, &work("second", json!({}))).await;
    let third = begin(&tree, &work("third", json!({}))).await;

    super::is_acknowledged(&tree.send(&cancel(&second)).await);
    release(&tree, "first").await;

    until(&tree, &first, "completed").await;
    until(&tree, &third, "completed").await;
    let shown = tree.send(&get(&second)).await;
    assert_eq!(shown.result()["status"], "cancelled", "{shown}");
    assert_eq!(recorded(&tree, "second began").await, 0);
}

#[tokio::test]
async fn a_task_whose_turn_is_at_another_gateway_is_done_there() {
    let options = settings(Options::fixture().gateways(2), &["tasks.running=1"]);
    let tree = Tree::start(options).await;
    let mut first = tree.conn_to("gateway-0").await;
    created(&first.send(&work("held", json!({ "hold": true }))).await);
    wait_recorded(&tree, "held began", 1).await;

    let second = created(&first.send(&work("second", json!({}))).await);

    until_at(&mut first, &second, "completed").await;
}

async fn with(set: &[&str]) -> Tree {
    Tree::start(settings(Options::fixture().gateways(1), set)).await
}

fn settings(options: Options, set: &[&str]) -> Options {
    set.iter().fold(options, |options, setting| {
        options.argument("--set").argument(setting)
    })
}

/// Waits until a task is gone: whatever is asked of it then has one answer.
async fn gone(tree: &Tree, id: &str) {
    wait_until("a task to be gone", PATIENCE, async || {
        let reply = tree.send(&get(id)).await;
        reply.message().get("error").is_some().then_some(())
    })
    .await;
    let nobody_s = "786512e2-9e0d-44bd-8f29-789f320fe840";
    for (mine, other) in about(id).iter().zip(about(nobody_s)) {
        let (mine, other) = (tree.send(mine).await, tree.send(&other).await);
        assert_eq!(unknown(&mine, id), unknown(&other, nobody_s));
    }
}
