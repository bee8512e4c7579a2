//! The supervisor dies: its children finish what they hold and end.

use std::time::Duration;

use conduit_testkit::process::Signal;
use conduit_testkit::{Era, Options, PATIENCE, Tree, wait_until};
use serde_json::json;

use crate::{pair, turn};

#[tokio::test]
async fn children_end_with_their_supervisor() {
    let _turn = turn().await;
    let tree = pair().await;

    tree.signal(Signal::KILL);

    let took = tree.everything_ended(PATIENCE).await;
    assert!(took < Duration::from_secs(10), "it took {took:?}");
}

#[tokio::test]
async fn a_call_in_flight_is_answered_although_the_supervisor_is_dead() {
    let _turn = turn().await;
    let tree = pair().await;
    let mut conn = tree.conn().await;
    let call = Era::Modern.tool("slow", json!({ "seconds": 1 }));

    let (reply, ()) = tokio::join!(conn.send(&call), async {
        wait_until("the call to run", PATIENCE, async || {
            (tree.metrics().await.sum("conduit_workers_busy", &[]) >= 1.0).then_some(())
        })
        .await;
        tree.signal(Signal::KILL);
    });

    assert!(reply.message().get("result").is_some(), "{reply}");
    tree.everything_ended(PATIENCE).await;
}

#[tokio::test]
async fn another_instance_starts_where_the_supervisor_was_killed() {
    let _turn = turn().await;
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options::fixture().gateways(1).state_dir(folder.path());
    let first = Tree::start(options.clone()).await;
    first.signal(Signal::KILL);
    first.everything_ended(PATIENCE).await;

    let second = Tree::start(options).await;

    assert!(second.is_ready().await);
}
