//! Changes that are told while processes die: late, or twice, but never not at all.

use conduit_testkit::process::{self, Signal};
use conduit_testkit::{Call, Conn, Era, Events, PATIENCE, Tree, Version, wait_until};
use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{pair, turn};

#[tokio::test]
async fn a_listener_hears_what_changes_while_its_hub_is_dead() {
    let _turn = turn().await;
    let tree = pair().await;
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let listen = Call::modern("subscriptions/listen", filter);
    let mut stream = tree.conn_to("gateway-1").await.into_stream(&listen).await;
    heard(&mut stream, "notifications/subscriptions/acknowledged").await;
    let mut other = tree.conn_to("gateway-0").await;

    for _ in 0..3 {
        tree.signal_slot("hub-0", Signal::KILL).await;
        announce(&mut other).await;
        heard(&mut stream, "notifications/tools/list_changed").await;
    }
}

#[tokio::test]
async fn what_a_session_subscribed_to_outlives_the_gateway_and_the_store() {
    let _turn = turn().await;
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let subscribe = Call::legacy("resources/subscribe", json!({ "uri": "file:///a.txt" }));
    let mut conn = tree.conn_to("gateway-0").await;
    assert_eq!(
        conn.send(&subscribe.session(&session)).await.result(),
        &json!({})
    );

    for slot in ["gateway-0", "store"] {
        let before = tree.signal_slot(slot, Signal::KILL).await;
        tree.replaced(slot, before, PATIENCE).await;
    }

    let get = Call::verb(Method::GET)
        .header("accept", "text/event-stream")
        .session(&session);
    let mut stream = tree.conn_to("gateway-1").await.into_stream(&get).await;
    let touch = Era::Modern.tool("touch_resource", json!({ "uri": "file:///a.txt" }));
    let told = tree.conn_to("gateway-0").await.send(&touch).await;
    assert_eq!(told.text(), "told");
    let updated = heard(&mut stream, "notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], "file:///a.txt");
}

#[tokio::test]
async fn the_end_of_a_task_is_told_when_its_gateway_died_before_it_could_tell() {
    let _turn = turn().await;
    task_is_told_to_be_over(async |tree, hub| {
        kill(tree, "gateway-0").await;
        process::signal(hub, Signal::CONT);
    })
    .await;
}

#[tokio::test]
async fn the_end_of_a_task_is_told_when_its_gateway_and_the_hub_died_before() {
    let _turn = turn().await;
    task_is_told_to_be_over(async |tree, _| {
        kill(tree, "gateway-0").await;
        kill(tree, "hub-0").await;
    })
    .await;
}

#[tokio::test]
async fn the_end_of_a_task_is_told_when_its_gateway_hangs_and_the_hub_died() {
    let _turn = turn().await;
    task_is_told_to_be_over(async |tree, _| {
        let hung = tree.signal_slot("gateway-0", Signal::STOP).await;
        kill(tree, "hub-0").await;
        tree.replaced("gateway-0", hung, PATIENCE).await;
    })
    .await;
}

/// Lets a task of gateway-0 end while the hub is stopped, and does something to the tree;
/// a listener at gateway-1 hears of that end.
async fn task_is_told_to_be_over(harm: impl AsyncFnOnce(&Tree, u32)) {
    let tree = pair().await;
    let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let mut there = tree.conn_to("gateway-0").await;
    let work = Era::Modern.tool("work", json!({ "name": "a", "hold": true }));
    let made = there.send(&work.capabilities(tasks.clone())).await;
    let id = made.result()["taskId"].clone();
    let filter = json!({ "notifications": { "taskIds": [id] } });
    let listen = Call::modern("subscriptions/listen", filter).capabilities(tasks.clone());
    let mut here = tree.conn_to("gateway-1").await;
    let mut stream = tree.conn_to("gateway-1").await.into_stream(&listen).await;
    heard(&mut stream, "notifications/subscriptions/acknowledged").await;

    let hub = tree.signal_slot("hub-0", Signal::STOP).await;
    let release = Era::Modern.tool("release", json!({ "name": "a" }));
    assert_eq!(here.send(&release).await.text(), "released");
    wait_until("the task to be over", PATIENCE, async || {
        let get = Call::modern("tasks/get", json!({ "taskId": id }));
        let task = here.send(&get.capabilities(tasks.clone())).await;
        (task.result()["status"] == "completed").then_some(())
    })
    .await;
    harm(&tree, hub).await;

    loop {
        let told = heard(&mut stream, "notifications/tasks").await;
        if told["params"]["status"] == "completed" {
            return;
        }
    }
}

async fn kill(tree: &Tree, slot: &str) {
    let pid = tree.signal_slot(slot, Signal::KILL).await;
    process::end_of(pid, PATIENCE).await;
}

async fn announce(conn: &mut Conn) {
    let call = Era::Modern.tool("announce_change", json!({ "list": "tools" }));
    assert_eq!(conn.send(&call).await.text(), "told");
}

/// Reads on until a message of this method, past those that are told once too often.
async fn heard(stream: &mut Events, method: &str) -> Value {
    let reading = async {
        loop {
            let next = stream.next().await.expect("a whole stream");
            let message = next.expect("a message");
            if message["method"] == method {
                return message;
            }
        }
    };
    timeout(PATIENCE, reading).await.expect("in time")
}
