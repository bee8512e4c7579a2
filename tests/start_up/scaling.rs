//! `conduit scale` and `conduit hub`: more or fewer processes, while clients go on.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use conduit_testkit::process::Signal;
use conduit_testkit::{Conn, Era, Options, PATIENCE, Tree, binary, wait_until};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::watch;
use tokio::task::JoinSet;

#[tokio::test]
async fn hubs_and_gateways_come_and_go_and_no_call_fails() {
    let tree = Tree::start(Options::conduit().gateways(2)).await;
    let callers = Callers::start(tree.endpoint(), 16).await;

    for (kind, count, said) in [
        ("hub", "4", "hub: 1 -> 4\n"),
        ("gateway", "4", "gateway: 2 -> 4\n"),
        ("hub", "1", "hub: 4 -> 1\n"),
        ("gateway", "1", "gateway: 4 -> 1\n"),
        ("gateway", "2", "gateway: 1 -> 2\n"),
    ] {
        callers.call_more().await;
        let printed = done(scale(tree.state_dir(), &[kind, count]).await);

        assert_eq!(printed, said);
        let served = serving(&tree, kind).await;
        assert_eq!(served.to_string(), count, "{kind}");
        assert!(tree.is_ready().await, "{kind} {count}");
    }
    callers.call_more().await;

    assert_eq!(callers.end().await, vec![None; 16]);
    only(&tree, &["store", "hub-0", "gateway-0", "gateway-1"]).await;
    let metrics = tree.metrics().await;
    for metric in ["conduit_slot_up", "conduit_restarts_total"] {
        let mut shown = metrics.label(metric, "slot");
        shown.sort_unstable();
        assert_eq!(
            shown,
            ["gateway-0", "gateway-1", "hub-0", "store"],
            "{metric}"
        );
    }
    let peers = metrics.label("conduit_link_up", "peer");
    assert!(
        !peers.iter().any(|peer| peer.starts_with("operator")),
        "{peers:?}"
    );
    let log = tree.stop().await.stderr;
    assert!(!log.contains(" ERROR "), "{log}");
}

#[tokio::test]
async fn a_wish_survives_a_restart_until_the_configuration_is_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = || {
        Options::conduit()
            .gateways(1)
            .state_dir(folder.path())
            .environment("CONDUIT_LOG_LEVEL", "info")
    };
    let tree = Tree::start(options()).await;
    done(scale(folder.path(), &["hub", "3"]).await);
    done(scale(folder.path(), &["gateway", "2"]).await);
    tree.stop().await;

    let tree = Tree::start(options()).await;
    let counts = (serving(&tree, "hub").await, serving(&tree, "gateway").await);
    assert_eq!(counts, (3, 2));
    let log = tree.stop().await.stderr;
    assert_eq!(
        log.matches("overrides the configuration").count(),
        2,
        "{log}"
    );

    let changed = options().environment("CONDUIT_HUB_COUNT", "2");
    let tree = Tree::start(changed).await;
    let counts = (serving(&tree, "hub").await, serving(&tree, "gateway").await);
    assert_eq!(counts, (2, 2), "what was not changed is still wished for");
    tree.stop().await;

    let tree = Tree::start(options()).await;
    assert_eq!(serving(&tree, "hub").await, 1, "the wish is forgotten");
    tree.stop().await;
}

#[tokio::test]
async fn a_wish_survives_a_death_right_after_its_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = || Options::conduit().gateways(1).state_dir(folder.path());
    let tree = Tree::start(options()).await;
    done(scale(folder.path(), &["hub", "2", "--no-wait"]).await);
    tree.signal(Signal::KILL);
    tree.everything_ended(PATIENCE).await;

    let tree = Tree::start(options()).await;

    assert_eq!(serving(&tree, "hub").await, 2);
    tree.stop().await;
}

#[tokio::test]
async fn a_damaged_file_of_wishes_is_a_warning_and_the_configuration_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("scale.json"), "{\"hub\":").expect("a file");
    let options = Options::conduit().gateways(1).state_dir(folder.path());

    let tree = Tree::start(options).await;

    assert_eq!(serving(&tree, "hub").await, 1);
    let printed = done(scale(folder.path(), &["hub", "2"]).await);
    assert_eq!(printed, "hub: 1 -> 2\n", "and a new wish mends it");
    let log = tree.stop().await.stderr;
    let warned = |line: &str| line.contains(" WARN ") && line.contains("scale.json");
    assert_eq!(log.lines().filter(|line| warned(line)).count(), 1, "{log}");
}

#[tokio::test]
async fn the_last_wish_holds_though_the_one_before_is_under_way() {
    let tree = Tree::start(Options::conduit().gateways(1)).await;

    for count in ["4", "1", "3"] {
        done(scale(tree.state_dir(), &["hub", count, "--no-wait"]).await);
    }
    let printed = done(scale(tree.state_dir(), &["hub", "2"]).await);

    assert_eq!(printed, "hub: 3 -> 2\n");
    only(&tree, &["store", "hub-0", "hub-1", "gateway-0"]).await;
    tree.stop().await;
}

#[tokio::test]
async fn a_wish_that_cannot_be_kept_is_refused_and_changes_nothing() {
    let tree = Tree::start(Options::conduit().gateways(1)).await;
    fs::create_dir(tree.state_dir().join("scale.json")).expect("a folder in the way");

    let output = scale(tree.state_dir(), &["hub", "2"]).await;

    refused(&output, 73, "STATE-001");
    assert_eq!(serving(&tree, "hub").await, 1);
    tree.stop().await;
}

#[tokio::test]
async fn a_process_that_does_not_come_is_named_and_the_others_serve() {
    let tree = with_a_parked_hub().await;

    let output = scale(tree.state_dir(), &["hub", "2"]).await;

    for said in ["SUPERVISOR-002", "hub: 1 -> 2 is kept", "hub-0 is parked"] {
        refused(&output, 69, said);
    }
    assert_eq!(tree.slot("hub-1").await.phase, "serving");
    tree.stop().await;
}

#[tokio::test]
async fn a_command_that_is_overtaken_says_what_is_wanted_now() {
    let tree = with_a_parked_hub().await;
    let overtake = async {
        wait_until("the wish to be heard", PATIENCE, async || {
            let slots = tree.status().await.slots;
            slots.iter().any(|slot| slot.slot == "hub-2").then_some(())
        })
        .await;
        done(scale(tree.state_dir(), &["hub", "2", "--no-wait"]).await)
    };

    let (output, _) = tokio::join!(scale(tree.state_dir(), &["hub", "3"]), overtake);

    for said in [
        "SUPERVISOR-002",
        "hub: 1 -> 3 was overtaken, 2 is wanted now",
    ] {
        refused(&output, 69, said);
    }
    tree.stop().await;
}

#[tokio::test]
async fn a_hub_that_hangs_is_no_obstacle() {
    let tree = Tree::start(Options::conduit().gateways(1)).await;
    let before = tree.signal_slot("hub-0", Signal::STOP).await;

    done(scale(tree.state_dir(), &["hub", "2"]).await);

    tree.replaced("hub-0", before, PATIENCE).await;
    only(&tree, &["store", "hub-0", "hub-1", "gateway-0"]).await;
    tree.stop().await;
}

#[tokio::test]
async fn where_nothing_runs_nothing_is_scaled_and_that_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let never = folder.path().join("never");
    let tree = Tree::start(Options::conduit().gateways(1).state_dir(folder.path())).await;
    tree.stop().await;

    for state_dir in [&never, folder.path()] {
        refused(&scale(state_dir, &["hub", "2"]).await, 69, "SUPERVISOR-001");
        refused(&hub(state_dir, &[]).await, 69, "SUPERVISOR-001");
    }

    assert!(!never.exists(), "asking makes nothing");
    assert!(!folder.path().join("scale.json").exists());
}

#[tokio::test]
async fn another_build_is_told_so_at_once() {
    let tree = Tree::start(Options::conduit().gateways(1)).await;

    let output = Command::new(binary("fixture-server"))
        .args(["scale", "hub", "2", "--state-dir"])
        .arg(tree.state_dir())
        .output()
        .await
        .expect("it runs");

    refused(&output, 69, "another build");
    assert_eq!(serving(&tree, "hub").await, 1);
    tree.stop().await;
}

#[tokio::test]
async fn counts_and_kinds_that_cannot_be_are_wrong_usage() {
    let folder = tempfile::tempdir().expect("a folder");
    for wrong in [
        &["hub", "0"][..],
        &["hub", "65"],
        &["gateway", "257"],
        &["store", "2"],
        &["hub"],
        &["hub", "-1"],
    ] {
        let output = scale(folder.path(), wrong).await;

        assert_eq!(output.status.code(), Some(64), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
}

#[tokio::test]
async fn each_shard_of_the_hub_is_shown() {
    let tree = Tree::start(Options::conduit().gateways(1)).await;
    done(scale(tree.state_dir(), &["hub", "2"]).await);

    let shown = done(hub(tree.state_dir(), &[]).await);
    let printed = done(hub(tree.state_dir(), &["--json"]).await);

    let firsts: Vec<_> = shown
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(firsts, ["SHARD", "hub-0", "hub-1"], "{shown}");
    let shards: Value = serde_json::from_str(&printed).expect("JSON");
    let names: Vec<_> = shards
        .as_array()
        .expect("a list")
        .iter()
        .map(|shard| (shard["shard"].clone(), shard["state"].is_string()))
        .collect();
    assert_eq!(names, [(json!("hub-0"), true), (json!("hub-1"), true)]);
    tree.stop().await;
}

#[tokio::test]
async fn the_list_of_commands_explains_them() {
    let output = Command::new(binary("conduit"))
        .arg("--help")
        .output()
        .await
        .expect("it runs");

    let help = done(output);
    for command in ["scale", "hub"] {
        let listed = |line: &str| line.trim_start().starts_with(&format!("{command} "));
        assert!(help.lines().any(listed), "{help}");
    }
    assert!(!help.contains("child"), "{help}");
}

/// Starts a tree whose only hub does not come back for a while.
async fn with_a_parked_hub() -> Tree {
    let options = Options::conduit()
        .gateways(1)
        .environment("CONDUIT_SUPERVISOR_RESTARTS", "0");
    let tree = Tree::start(options).await;
    tree.signal_slot("hub-0", Signal::KILL).await;
    wait_until("the hub to be parked", PATIENCE, async || {
        (tree.slot("hub-0").await.phase == "parked").then_some(())
    })
    .await;
    tree
}

async fn scale(state_dir: &Path, arguments: &[&str]) -> Output {
    command("scale", state_dir, arguments).await
}

async fn hub(state_dir: &Path, arguments: &[&str]) -> Output {
    command("hub", state_dir, arguments).await
}

async fn command(name: &str, state_dir: &Path, arguments: &[&str]) -> Output {
    Command::new(binary("conduit"))
        .arg(name)
        .args(arguments)
        .arg("--state-dir")
        .arg(state_dir)
        .output()
        .await
        .expect("it runs")
}

/// Returns what a command that succeeded has printed.
#[track_caller]
fn done(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
fn refused(output: &Output, status: i32, said: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert!(stderr.contains(said), "{stderr}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

/// Returns how many processes of a kind serve.
async fn serving(tree: &Tree, kind: &str) -> usize {
    let slots = tree.status().await.slots;
    let prefix = format!("{kind}-");
    slots
        .iter()
        .filter(|slot| slot.slot.starts_with(&prefix) && slot.phase == "serving")
        .count()
}

/// Waits until these slots are there, and no other.
async fn only(tree: &Tree, expected: &[&str]) {
    wait_until("slots to come and go", PATIENCE, async || {
        let slots = tree.status().await.slots;
        let serve = slots.iter().all(|slot| slot.phase == "serving");
        let names: Vec<_> = slots.iter().map(|slot| slot.slot.as_str()).collect();
        (serve && names == expected).then_some(())
    })
    .await;
}

/// Clients that call all the time.
struct Callers {
    tasks: JoinSet<Option<String>>,
    answered: Arc<AtomicU64>,
    go_on: watch::Sender<bool>,
}

impl Callers {
    async fn start(endpoint: SocketAddr, count: usize) -> Self {
        let (go_on, _) = watch::channel(true);
        let (mut tasks, answered) = (JoinSet::new(), Arc::new(AtomicU64::new(0)));
        for _ in 0..count {
            tasks.spawn(call(endpoint, Arc::clone(&answered), go_on.subscribe()));
        }
        let callers = Self {
            tasks,
            answered,
            go_on,
        };
        callers.call_more().await;
        callers
    }

    /// Waits until many more calls were answered.
    async fn call_more(&self) {
        let before = self.answered.load(Ordering::Relaxed);
        wait_until("everybody to call", PATIENCE, async || {
            (self.answered.load(Ordering::Relaxed) > before + 200).then_some(())
        })
        .await;
    }

    /// Returns what each of them has lost, if anything.
    async fn end(self) -> Vec<Option<String>> {
        self.go_on.send_replace(false);
        self.tasks.join_all().await
    }
}

/// Calls until the end, on a new connection when told that the old one ends; returns what
/// was lost.
async fn call(
    endpoint: SocketAddr,
    answered: Arc<AtomicU64>,
    go_on: watch::Receiver<bool>,
) -> Option<String> {
    let call = Era::Modern.tool("echo", json!({ "message": "x" }));
    while *go_on.borrow() {
        let mut conn = match Conn::try_open(endpoint).await {
            Ok(conn) => conn,
            Err(problem) => return Some(problem.to_string()),
        };
        while *go_on.borrow() {
            match conn.try_send(&call).await {
                Ok(reply) if reply.status != StatusCode::OK => return Some(reply.to_string()),
                Ok(reply) => {
                    answered.fetch_add(1, Ordering::Relaxed);
                    if reply.header("connection") == Some("close") {
                        break;
                    }
                }
                Err(problem) => return Some(problem.to_string()),
            }
        }
    }
    None
}
