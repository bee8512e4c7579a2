//! `tasks/result`, which waits for the end (L-TASK-07).

use conduit_testkit::process::Signal;
use conduit_testkit::{Call, Era, Options, PATIENCE, Tree, Version};
use http::StatusCode;
use serde_json::json;
use tokio::time::timeout;

use super::{RELATED, ask, created, waiting, with, work};
use crate::record::{release, wait_recorded};
use crate::{fixture, pair};

#[tokio::test]
async fn the_result_waits_for_the_end_at_any_gateway() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let mut first = tree.conn_to("gateway-0").await;

    for gateway in ["gateway-0", "gateway-1"] {
        let id = created(&first.send(&work(&session, gateway)).await);
        wait_recorded(&tree, &format!("{gateway} began"), 1).await;
        let mut waits = tree.conn_to(gateway).await;
        let result = ask("tasks/result", &id, &session);

        let (reply, ()) = tokio::join!(waits.send(&result), async {
            waiting(&tree).await;
            let shown = first.send(&ask("tasks/get", &id, &session)).await;
            assert_eq!(shown.result()["status"], "working", "{shown}");
            release(&tree, gateway).await;
        });

        assert_eq!(reply.text(), format!("{gateway} is done in attempt 1"));
        assert_eq!(reply.result()["_meta"][RELATED], json!({ "taskId": id }));
        let shown = first.send(&ask("tasks/get", &id, &session)).await;
        let shown = shown.result();
        assert_eq!(
            (&shown["status"], &shown["taskId"]),
            (&json!("completed"), &json!(id))
        );
        for absent in ["result", "task", "resultType", "ttlMs"] {
            assert_eq!(shown.get(absent), None, "{shown}");
        }
        let again = waits.send(&result).await;
        assert_eq!(again.result(), reply.result(), "it can be asked for again");
    }
}

#[tokio::test]
async fn a_client_that_leaves_its_wait_cancels_nothing() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let id = created(&tree.send(&work(&session, "a")).await);
    let mut raw = tree.raw().await;
    let host = raw.host();
    raw.write(ask("tasks/result", &id, &session).wire(&host))
        .await;
    waiting(&tree).await;

    drop(raw);
    release(&tree, "a").await;

    let reply = tree.send(&ask("tasks/result", &id, &session)).await;
    assert_eq!(reply.text(), "a is done in attempt 1");
}

#[tokio::test]
async fn a_task_that_is_cancelled_ends_the_wait_for_its_result() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let mut first = tree.conn_to("gateway-0").await;
    let mut second = tree.conn_to("gateway-1").await;
    let id = created(&first.send(&work(&session, "a")).await);

    let wait = ask("tasks/result", &id, &session);
    let (reply, cancelled) = tokio::join!(first.send(&wait), async {
        waiting(&tree).await;
        second.send(&ask("tasks/cancel", &id, &session)).await
    });

    assert_eq!(cancelled.result()["status"], "cancelled");
    assert!(reply.message().get("error").is_some(), "{reply}");
}

#[tokio::test]
async fn a_wait_that_is_cancelled_leaves_the_task_as_it_is() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let mut first = tree.conn_to("gateway-0").await;
    let id = created(&first.send(&work(&session, "a")).await);
    let wait = ask("tasks/result", &id, &session).id(json!("wait"));
    let cancel = Call::legacy("notifications/cancelled", json!({ "requestId": "wait" }))
        .notification()
        .session(&session);

    let mut second = tree.conn_to("gateway-1").await;
    let (ended, taken) = tokio::join!(timeout(PATIENCE, first.send(&wait)), async {
        waiting(&tree).await;
        second.send(&cancel).await
    });

    assert_eq!(taken.status, StatusCode::ACCEPTED);
    assert!(ended.is_ok(), "it waits on");
    let shown = second.send(&ask("tasks/get", &id, &session)).await;
    assert_eq!(shown.result()["status"], "working", "{shown}");
    release(&tree, "a").await;
    let result = second.send(&ask("tasks/result", &id, &session)).await;
    assert_eq!(result.text(), "a is done in attempt 1");
}

#[tokio::test]
async fn the_end_of_a_task_s_time_ends_the_wait_for_its_result() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let call = work(&session, "a").param("task", json!({ "ttl": 1_000 }));
    let id = created(&tree.conn_to("gateway-0").await.send(&call).await);

    let wait = ask("tasks/result", &id, &session);
    let reply = tree.conn_to("gateway-1").await.send(&wait).await;

    assert_eq!(reply.code(), -32602, "{reply}");
    wait_recorded(&tree, "a was cancelled", 1).await;
}

#[tokio::test]
async fn a_wait_takes_longer_than_a_call_may() {
    let tree = with(&[
        "limits.request_timeout_ms=1000",
        "limits.dispatch_patience_ms=500",
    ])
    .await;
    let session = tree.session(Version::November2025).await;
    let id = created(&tree.send(&work(&session, "a")).await);
    let mut conn = tree.conn().await;
    let wait = ask("tasks/result", &id, &session);

    let (reply, ()) = tokio::join!(conn.send(&wait), async {
        // Two calls that are out of time, one after the other.
        for _ in 0..2 {
            let slow = Era::Legacy.tool("slow", json!({ "seconds": 600 }));
            let late = tree.send(&slow).await;
            assert_eq!(late.result()["isError"], true, "{late}");
        }
        release(&tree, "a").await;
    });

    assert_eq!(reply.text(), "a is done in attempt 1");
}

#[tokio::test]
async fn a_tree_that_stops_answers_those_that_wait() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_SUPERVISOR_DRAIN_GRACE_MS", "200");
    let tree = Tree::start(options).await;
    let session = tree.session(Version::November2025).await;
    let id = created(&tree.send(&work(&session, "a")).await);
    let mut conn = tree.conn().await;
    let wait = ask("tasks/result", &id, &session);

    let (reply, _stopped) = tokio::join!(conn.send(&wait), async {
        waiting(&tree).await;
        tree.signal(Signal::TERM);
    });

    assert_eq!(reply.code(), -32603, "{reply}");
    tree.stop().await;
}

#[tokio::test]
async fn the_wait_for_a_result_outlives_the_hub_and_the_store() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;

    for slot in ["hub-0", "store"] {
        let call = work(&session, slot);
        let id = created(&tree.conn_to("gateway-0").await.send(&call).await);
        wait_recorded(&tree, &format!("{slot} began"), 1).await;
        let mut waits = tree.conn_to("gateway-1").await;
        let wait = ask("tasks/result", &id, &session);

        let (reply, before) = tokio::join!(waits.send(&wait), async {
            waiting(&tree).await;
            let before = tree.signal_slot(slot, Signal::KILL).await;
            release(&tree, slot).await;
            before
        });

        assert_eq!(reply.text(), format!("{slot} is done in attempt 1"));
        tree.replaced(slot, before, PATIENCE).await;
    }
}

#[tokio::test]
async fn the_wait_for_a_result_ends_with_the_gateway_that_worked_for_it() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let call = work(&session, "a");
    let id = created(&tree.conn_to("gateway-0").await.send(&call).await);
    wait_recorded(&tree, "a began", 1).await;
    let mut waits = tree.conn_to("gateway-1").await;
    let wait = ask("tasks/result", &id, &session);

    let (reply, _) = tokio::join!(waits.send(&wait), async {
        waiting(&tree).await;
        tree.signal_slot("gateway-0", Signal::KILL).await
    });

    assert_eq!(reply.code(), -32603, "{reply}");
}
