//! The supervisor dies: its children finish what they hold and end.

use std::process::Stdio;
use std::time::Duration;

use conduit_testkit::process::Signal;
use conduit_testkit::{Era, Options, PATIENCE, Tree, binary, wait_until};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use crate::{pair, turn};

/// Starts that are cut short, each a little elsewhere.
const ROUNDS: usize = 24;

#[tokio::test]
async fn children_end_with_their_supervisor() {
    let _turn = turn().await;
    let tree = pair().await;

    tree.signal(Signal::KILL);

    let took = tree.everything_ended(PATIENCE).await;
    assert!(took < Duration::from_secs(10), "it took {took:?}");
}

#[tokio::test]
async fn children_end_with_a_supervisor_that_dies_while_it_starts_them() {
    let _turn = turn().await;
    let options = Options::conduit().gateways(2);
    let mut left = Vec::new();
    for round in 0..ROUNDS {
        let launch = options.launch();
        let last = ["store", "hub-0", "gateway-0", "gateway-1"][round % 4];
        wait_until("the child to be started", PATIENCE, async || {
            let line = format!("child started slot=\"{last}\"");
            launch.stderr().contains(&line).then_some(())
        })
        .await;

        launch.signal(Signal::KILL);

        left.push(launch);
    }
    for launch in left {
        launch.everything_ended(PATIENCE).await;
    }
}

#[tokio::test]
async fn a_child_whose_supervisor_is_not_its_parent_ends_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let sources = conduit_config::Sources {
        environment: vec![("CONDUIT_STATE_DIR".into(), folder.path().into())],
        ..conduit_config::Sources::default()
    };
    let loaded = conduit_config::load(&sources).expect("defaults");
    let settings = serde_json::to_vec(&loaded.settings).expect("JSON");
    // The first is there, and is not our child's parent.
    for (input, parent) in [(&settings[..], "1"), (b"", &std::process::id().to_string())] {
        let mut child = Command::new(binary("conduit"))
            .args(["child", "--slot", "store", "--parent", parent])
            .args([
                "--life",
                "6e4ba2a5-54e1-4f1d-9b8e-8a1f0a3a9b10",
                "--run-dir",
            ])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input).await.expect("it reads");
        drop(stdin);

        let ended = timeout(PATIENCE, child.wait_with_output()).await;

        let output = ended.expect("it ends").expect("a child of ours");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(70), "{said}");
        assert!(said.contains("CHILD-002"), "{said}");
    }
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
