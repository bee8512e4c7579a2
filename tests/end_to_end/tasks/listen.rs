//! Listen streams that are told of tasks (T-TASK-23 to T-TASK-27).

use conduit_testkit::process::Signal;
use conduit_testkit::{Call, Conn, Events, PATIENCE};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::input::{color, name, questionnaire, sure};
use super::{begin, cancel, created, declares, is_acknowledged, until, update, work};
use crate::record::{release, wait_recorded};
use crate::{fixture, pair};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

#[tokio::test]
async fn a_listener_hears_each_state_wherever_it_was_reached() {
    let tree = pair().await;
    let mut here = tree.conn_to("gateway-0").await;
    for gateway in ["gateway-0", "gateway-1"] {
        let id = created(&here.send(&questionnaire(gateway)).await);
        let mut stream = open(tree.conn_to(gateway).await, &[&id]).await;

        let asked = heard(&mut stream, &id, "input_required").await;
        assert!(asked["inputRequests"]["name"].is_object(), "{asked}");
        is_acknowledged(&here.send(&update(&id, name("Ann"))).await);
        let asked = heard_with(&mut stream, |task| {
            task["inputRequests"].get("name").is_none()
        })
        .await;
        assert_eq!(asked["status"], "input_required", "{asked}");
        is_acknowledged(&here.send(&update(&id, color("red"))).await);
        let asked = heard_with(&mut stream, |task| {
            task["inputRequests"].get("sure").is_some()
        })
        .await;
        assert_eq!(asked["status"], "input_required", "{asked}");
        is_acknowledged(&here.send(&update(&id, sure(true))).await);

        let done = heard(&mut stream, &id, "completed").await;
        assert_eq!(done["result"]["content"][0]["text"], "Ann likes red: true");
        assert_eq!(done["_meta"][SUBSCRIPTION], "s");
    }
}

#[tokio::test]
async fn the_state_of_each_task_is_told_after_the_acknowledgement() {
    let tree = fixture().await;
    let (held, over) = (
        begin(&tree, &work("held", json!({ "hold": true }))).await,
        begin(&tree, &work("over", json!({}))).await,
    );
    let done = until(&tree, &over, "completed").await;

    let mut stream = open(tree.conn().await, &[&held, &over]).await;

    let mut told = [next(&mut stream).await, next(&mut stream).await];
    told.sort_by_key(|task| task["taskId"] == *over);
    let [held_is, over_is] = &told;
    assert_eq!(
        (&held_is["taskId"], &held_is["status"]),
        (&json!(held), &json!("working"))
    );
    assert_eq!(over_is["result"], done["result"], "{over_is}");
}

#[tokio::test]
async fn ids_of_nothing_are_not_acknowledged() {
    let tree = fixture().await;
    let id = begin(&tree, &work("a", json!({ "hold": true }))).await;
    let ids = ["786512e2-9e0d-44bd-8f29-789f320fe840", &id, "unknown", ""];
    let mut stream = tree.conn().await.into_stream(&listen(&ids)).await;

    let first = message(&mut stream).await;

    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"]["taskIds"], json!([id]));
}

#[tokio::test]
async fn a_listener_of_nothing_that_there_is_is_told_so_and_let_go() {
    let tree = fixture().await;

    let reply = tree.send(&listen(&["unknown"])).await;

    let [acknowledged] = reply.notifications() else {
        panic!("an acknowledgement and an end expected: {reply}");
    };
    let honoured = &acknowledged["params"]["notifications"];
    assert!(!honoured.to_string().contains("unknown"), "{honoured}");
    assert_eq!(reply.result()["resultType"], "complete");
}

#[tokio::test]
async fn a_listener_hears_that_a_task_was_cancelled_and_of_no_other() {
    let tree = pair().await;
    let (mine, other) = (
        begin(&tree, &work("mine", json!({ "hold": true }))).await,
        begin(&tree, &work("other", json!({ "hold": true }))).await,
    );
    let mut stream = open(tree.conn_to("gateway-1").await, &[&mine]).await;

    for id in [&other, &mine] {
        is_acknowledged(&tree.conn_to("gateway-0").await.send(&cancel(id)).await);
    }

    loop {
        let task = next(&mut stream).await;
        assert_eq!(task["taskId"], *mine, "{task}");
        if task["status"] == "cancelled" {
            return;
        }
    }
}

#[tokio::test]
async fn a_listener_hears_what_it_missed_while_the_hub_or_the_store_was_dead() {
    let tree = pair().await;
    for slot in ["hub-0", "store"] {
        let call = work(slot, json!({ "hold": true }));
        let id = created(&tree.conn_to("gateway-0").await.send(&call).await);
        wait_recorded(&tree, &format!("{slot} began"), 1).await;
        let mut stream = open(tree.conn_to("gateway-1").await, &[&id]).await;
        heard(&mut stream, &id, "working").await;

        let before = tree.signal_slot(slot, Signal::KILL).await;
        release(&tree, slot).await;

        let done = heard(&mut stream, &id, "completed").await;
        assert!(done["result"].is_object(), "{done}");
        tree.replaced(slot, before, PATIENCE).await;
    }
}

#[tokio::test]
async fn a_listener_hears_that_a_task_has_failed_with_its_gateway() {
    let tree = pair().await;
    let call = work("a", json!({ "hold": true }));
    let id = created(&tree.conn_to("gateway-0").await.send(&call).await);
    wait_recorded(&tree, "a began", 1).await;
    let mut stream = open(tree.conn_to("gateway-1").await, &[&id]).await;

    tree.signal_slot("gateway-0", Signal::KILL).await;

    let failed = heard(&mut stream, &id, "failed").await;
    assert!(failed["error"]["message"].is_string(), "{failed}");
}

#[tokio::test]
async fn a_stream_that_is_there_after_the_hub_was_replaced_hears_what_comes_then() {
    let tree = pair().await;
    let call = work("a", json!({ "hold": true }));
    let id = created(&tree.conn_to("gateway-0").await.send(&call).await);
    wait_recorded(&tree, "a began", 1).await;
    let mut stream = open(tree.conn_to("gateway-1").await, &[&id]).await;
    for slot in ["hub-0", "store"] {
        let before = tree.signal_slot(slot, Signal::KILL).await;
        tree.replaced(slot, before, PATIENCE).await;
    }

    release(&tree, "a").await;

    heard(&mut stream, &id, "completed").await;
}

fn listen(ids: &[&str]) -> Call {
    let filter = json!({ "notifications": { "taskIds": ids } });
    Call::modern("subscriptions/listen", filter)
        .id(json!("s"))
        .capabilities(declares())
}

/// Opens a stream and reads its acknowledgement, which comes first.
async fn open(conn: Conn, ids: &[&str]) -> Events {
    let mut stream = conn.into_stream(&listen(ids)).await;
    let first = message(&mut stream).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"]["taskIds"], json!(ids));
    assert_eq!(first["params"]["_meta"][SUBSCRIPTION], "s");
    stream
}

/// What the stream tells of a task next.
async fn next(stream: &mut Events) -> Value {
    let told = message(stream).await;
    assert_eq!(told["method"], "notifications/tasks", "{told}");
    assert_eq!(told["params"]["_meta"][SUBSCRIPTION], "s");
    told["params"].clone()
}

/// Reads on until a task has a status; what comes before may be told twice.
async fn heard(stream: &mut Events, id: &str, status: &str) -> Value {
    heard_with(stream, |task| {
        task["taskId"] == id && task["status"] == status
    })
    .await
}

async fn heard_with(stream: &mut Events, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let task = next(stream).await;
        if is_it(&task) {
            return task;
        }
    }
}

async fn message(stream: &mut Events) -> Value {
    let next = timeout(PATIENCE, stream.next()).await.expect("in time");
    next.expect("a whole stream").expect("a message")
}
