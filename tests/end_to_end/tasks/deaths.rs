//! What becomes of tasks when processes die, and when all of them end.

use conduit_testkit::process::Signal;
use conduit_testkit::{Call, Era, Options, PATIENCE, Tree};
use http::StatusCode;
use serde_json::json;

use super::input::{color, name, questionnaire, sure, until_asked};
use super::{
    begin, created, declares, get, is_acknowledged, sturdy_work, until, until_at, update, work,
};
use crate::pair;
use crate::record::{recorded, release, wait_recorded};

#[tokio::test]
async fn a_task_that_cannot_begin_again_has_failed_with_its_gateway() {
    let tree = pair().await;
    let call = work("a", json!({ "hold": true }));
    let id = created(&tree.conn_to("gateway-0").await.send(&call).await);
    wait_recorded(&tree, "a began", 1).await;
    let mut other = tree.conn_to("gateway-1").await;

    tree.signal_slot("gateway-0", Signal::KILL).await;

    let failed = until_at(&mut other, &id, "failed").await;
    assert_eq!(failed["error"]["code"], -32603, "{failed}");
    let message = failed["error"]["message"].as_str().expect("a message");
    assert!(
        message.len() > "Internal error".len(),
        "not clear: {message}"
    );
    assert!(failed["statusMessage"].is_string(), "{failed}");
    assert_eq!(recorded(&tree, "a began").await, 1);
}

#[tokio::test]
async fn a_task_that_can_begin_again_does_so_at_another_gateway() {
    let tree = pair().await;
    let id = created(
        &tree
            .conn_to("gateway-0")
            .await
            .send(&sturdy_work("a"))
            .await,
    );
    wait_recorded(&tree, "a began in attempt 1", 1).await;
    let mut other = tree.conn_to("gateway-1").await;

    tree.signal_slot("gateway-0", Signal::KILL).await;
    wait_recorded(&tree, "a began in attempt 2", 1).await;
    release(&tree, "a").await;

    let done = until_at(&mut other, &id, "completed").await;
    assert_eq!(
        done["result"]["content"][0]["text"],
        "a is done in attempt 2"
    );
    assert_eq!(recorded(&tree, "a began").await, 2);
}

#[tokio::test]
async fn a_task_that_kills_each_gateway_is_not_begun_for_ever() {
    let options = Options::fixture()
        .gateways(2)
        .argument("--set")
        .argument("tasks.max_attempts=2");
    let tree = Tree::start(options).await;
    let id = begin(&tree, &sturdy_work("a")).await;

    for attempt in 1..=2 {
        wait_recorded(&tree, &format!("a began in attempt {attempt}"), 1).await;
        let mut before = Vec::new();
        for gateway in ["gateway-0", "gateway-1"] {
            before.push((gateway, tree.signal_slot(gateway, Signal::KILL).await));
        }
        for (gateway, pid) in before {
            tree.replaced(gateway, pid, PATIENCE).await;
        }
    }

    let failed = until(&tree, &id, "failed").await;
    assert!(failed["error"]["code"].is_i64(), "{failed}");
    assert_eq!(recorded(&tree, "a began").await, 2);
}

#[tokio::test]
async fn a_task_that_waits_outlives_every_process() {
    let tree = pair().await;
    let id = begin(&tree, &questionnaire("q")).await;
    until(&tree, &id, "input_required").await;
    is_acknowledged(&tree.send(&update(&id, name("Ann"))).await);

    kill_everything(&tree).await;
    is_acknowledged(&tree.send(&update(&id, color("red"))).await);
    until_asked(&tree, &id, "sure").await;
    kill_everything(&tree).await;
    is_acknowledged(&tree.send(&update(&id, sure(true))).await);

    let done = until(&tree, &id, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "Ann likes red: true");
}

#[tokio::test]
async fn a_task_does_not_mind_the_death_of_the_store_or_of_the_hub() {
    let tree = pair().await;

    for slot in ["store", "hub-0"] {
        let id = begin(&tree, &work(slot, json!({ "hold": true }))).await;
        wait_recorded(&tree, &format!("{slot} began"), 1).await;

        let before = tree.signal_slot(slot, Signal::KILL).await;
        release(&tree, slot).await;
        tree.replaced(slot, before, PATIENCE).await;

        let done = until(&tree, &id, "completed").await;
        assert!(done["result"].is_object(), "{done}");
        assert_eq!(recorded(&tree, &format!("{slot} began")).await, 1);
    }
}

#[tokio::test]
async fn whatever_was_answered_with_a_task_is_one_although_the_store_dies() {
    let tree = pair().await;
    let mut conn = tree.conn().await;
    let mut made = Vec::new();

    for number in 0..60 {
        if number % 20 == 10 {
            tree.signal_slot("store", Signal::KILL).await;
        }
        let reply = conn.send(&work(&number.to_string(), json!({}))).await;
        if reply.message().get("result").is_some() {
            made.push(created(&reply));
        } else {
            assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE, "{reply}");
        }
    }

    assert!(made.len() > 30, "only {} were made", made.len());
    for id in &made {
        until_at(&mut conn, id, "completed").await;
    }
}

#[tokio::test]
async fn while_the_store_hangs_clients_are_told_to_come_again_and_the_work_goes_on() {
    let tree = pair().await;
    let mut conn = tree.conn().await;
    let id = created(&conn.send(&work("a", json!({ "hold": true }))).await);
    wait_recorded(&tree, "a began", 1).await;
    let nonce = Era::Modern.tool("vote", json!({})).capabilities(declares());
    let asked = conn.send(&nonce).await;
    let vote = nonce
        .param("requestState", asked.result()["requestState"].clone())
        .param("inputResponses", name("Ann"));

    let store = tree.signal_slot("store", Signal::STOP).await;
    release(&tree, "a").await;
    let (mut one, mut other) = (tree.conn().await, tree.conn().await);
    let busy = |call: Call| call.id(json!("busy"));
    let (begin_b, get_a, vote_now) = (
        busy(work("b", json!({}))),
        busy(get(&id)),
        busy(vote.clone()),
    );
    let replies = tokio::join!(conn.send(&begin_b), one.send(&get_a), other.send(&vote_now));
    for reply in [replies.0, replies.1, replies.2] {
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::SERVICE_UNAVAILABLE, 50_300),
            "{reply}"
        );
        assert_eq!(reply.message()["id"], "busy", "{reply}");
    }
    tree.replaced("store", store, PATIENCE).await;

    let done = until_at(&mut conn, &id, "completed").await;
    assert!(done["result"].is_object(), "{done}");
    assert_eq!(recorded(&tree, "b began").await, 0);
    assert_eq!(conn.send(&vote).await.text(), "one vote for Ann");
}

#[tokio::test]
async fn what_was_done_is_there_after_everything_was_killed() {
    let tree = pair().await;
    let id = begin(&tree, &work("a", json!({}))).await;
    let before = until(&tree, &id, "completed").await;

    kill_everything(&tree).await;

    assert_eq!(*tree.send(&get(&id)).await.result(), before);
}

#[tokio::test]
async fn a_tree_that_is_started_again_has_its_tasks() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_SUPERVISOR_DRAIN_GRACE_MS", "200")
        .state_dir(&folder.path().join("state"));
    let tree = Tree::start(options.clone()).await;
    let over = begin(&tree, &work("over", json!({}))).await;
    let before = until(&tree, &over, "completed").await;
    let waiting = begin(&tree, &questionnaire("q")).await;
    until(&tree, &waiting, "input_required").await;
    let sturdy = begin(&tree, &sturdy_work("sturdy")).await;
    let frail = begin(&tree, &work("frail", json!({ "hold": true }))).await;
    for name in ["sturdy", "frail"] {
        wait_recorded(&tree, &format!("{name} began"), 1).await;
    }
    tree.stop().await;

    // In a folder of its own: what was recorded before is not there.
    let tree = Tree::start(options).await;

    assert_eq!(*tree.send(&get(&over)).await.result(), before);
    let failed = until(&tree, &frail, "failed").await;
    assert!(failed["statusMessage"].is_string(), "{failed}");
    wait_recorded(&tree, "sturdy began", 1).await;
    release(&tree, "sturdy").await;
    until(&tree, &sturdy, "completed").await;
    let mut answers = name("Ann");
    answers["color"] = color("red")["color"].clone();
    is_acknowledged(&tree.send(&update(&waiting, answers)).await);
    until_asked(&tree, &waiting, "sure").await;
    is_acknowledged(&tree.send(&update(&waiting, sure(true))).await);
    until(&tree, &waiting, "completed").await;
}

/// Kills one process after the other, but for the supervisor.
async fn kill_everything(tree: &Tree) {
    for slot in ["store", "hub-0", "gateway-0", "gateway-1"] {
        let before = tree.signal_slot(slot, Signal::KILL).await;
        tree.replaced(slot, before, PATIENCE).await;
    }
    tree.ready().await;
}
