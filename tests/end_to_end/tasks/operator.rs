//! What an operator sees of tasks, and does to them: `conduit tasks`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use conduit_testkit::process::Signal;
use conduit_testkit::{PATIENCE, binary};
use serde_json::json;
use tokio::process::Command;

use super::{begin, until, work};
use crate::pair;
use crate::record::wait_recorded;

#[tokio::test]
async fn tasks_are_listed_shown_and_cancelled_while_they_are_served() {
    let tree = pair().await;
    let id = begin(&tree, &work("a", json!({ "hold": true }))).await;
    wait_recorded(&tree, "a began", 1).await;

    let listed = done(tasks(tree.state_dir(), &["ls"]).await);
    assert!(
        listed.contains(&id) && listed.contains("working"),
        "{listed}"
    );
    let others = done(tasks(tree.state_dir(), &["ls", "--status", "completed"]).await);
    assert!(!others.contains(&id), "{others}");
    let shown = done(tasks(tree.state_dir(), &["show", &id]).await);
    assert!(shown.contains("by gateway-"), "{shown}");
    assert!(!shown.contains("hold"), "what it was called with: {shown}");

    let cancelled = done(tasks(tree.state_dir(), &["cancel", &id]).await);
    assert_eq!(cancelled, "cancelled\n");
    until(&tree, &id, "cancelled").await;
    wait_recorded(&tree, "a was cancelled", 1).await;
    let again = done(tasks(tree.state_dir(), &["cancel", &id]).await);
    assert_eq!(again, "it had ended: cancelled\n");
}

#[tokio::test]
async fn tasks_are_listed_and_cancelled_where_nothing_runs() {
    let tree = pair().await;
    let asking = work("a", json!({})).capabilities(json!({
        "elicitation": {},
        "extensions": { "io.modelcontextprotocol/tasks": {} },
    }));
    let id = begin(&tree, &asking).await;
    until(&tree, &id, "completed").await;
    let copy = tempfile::tempdir().expect("a folder");
    let database = copy.path().join("conduit.db");
    let export = ["export", database.to_str().expect("a path")];
    done(tasks(tree.state_dir(), &export).await);

    let listed = done(tasks(copy.path(), &["ls"]).await);
    assert!(listed.contains(&id), "{listed}");
    let cancelled = done(tasks(copy.path(), &["cancel", &id]).await);
    assert_eq!(cancelled, "it had ended: completed\n");
}

#[tokio::test]
async fn a_copy_is_for_its_owner_alone_and_replaces_nothing() {
    let tree = pair().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("copy.db");
    let export = ["export", file.to_str().expect("a path")];

    done(tasks(tree.state_dir(), &export).await);
    let again = tasks(tree.state_dir(), &export).await;

    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    refused(&again, 69, "cannot export the tasks");
}

#[tokio::test]
async fn what_is_not_there_is_refused() {
    let tree = pair().await;
    let nobody = "786512e2-9e0d-44bd-8f29-789f320fe840";
    let empty = tempfile::tempdir().expect("a folder");

    for arguments in [["show", nobody], ["cancel", nobody]] {
        let output = tasks(tree.state_dir(), &arguments).await;
        refused(&output, 64, "there is no such task");
    }
    refused(
        &tasks(empty.path(), &["ls"]).await,
        64,
        "there is no database",
    );
}

#[tokio::test]
async fn a_store_that_hangs_is_not_waited_for_forever() {
    let tree = pair().await;
    let id = begin(&tree, &work("a", json!({ "hold": true }))).await;

    let store = tree.signal_slot("store", Signal::STOP).await;
    let output = tasks(tree.state_dir(), &["cancel", &id]).await;

    // It is killed and replaced meanwhile, and then does it.
    assert!(
        matches!(output.status.code(), Some(0 | 70)),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    tree.replaced("store", store, PATIENCE).await;
}

async fn tasks(state_dir: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(binary("fixture-server"))
        .arg("--state-dir")
        .arg(state_dir)
        .arg("tasks")
        .args(arguments)
        .output();
    output.await.expect("it runs")
}

/// Returns what a command printed that has worked.
#[track_caller]
fn done(output: Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
fn refused(output: &Output, status: i32, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert!(said.contains(why), "{said}");
}
