//! What cannot start says so in one line, with the right status, and leaves nothing
//! running (R36).

use std::fs;
use std::net::TcpListener;

use conduit_testkit::{Ending, Options, Tree, process};
use serde_json::Value;

use crate::is_one_clear_line;

#[tokio::test]
async fn a_port_that_another_program_has_is_not_available() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();

    let ending = Options::conduit().listen(&address).ending().await;

    refuses(&ending, 69, &address);
}

#[tokio::test]
async fn a_port_that_another_conduit_has_is_not_available() {
    let first = Tree::start(Options::conduit().gateways(1)).await;
    let address = first.endpoint().to_string();

    let ending = Options::conduit().listen(&address).ending().await;

    refuses(&ending, 69, &address);
    assert!(first.is_ready().await);
}

#[tokio::test]
async fn an_admin_port_that_is_taken_is_not_available() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();

    let ending = Options::conduit().admin(&address).ending().await;

    refuses(&ending, 69, &address);
}

#[tokio::test]
async fn an_address_of_another_machine_is_not_available() {
    let ending = Options::conduit().listen("192.0.2.1:0").ending().await;

    refuses(&ending, 69, "192.0.2.1");
}

#[tokio::test]
async fn a_state_directory_under_a_file_is_not_usable() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");

    let ending = Options::conduit()
        .state_dir(&file.join("state"))
        .ending()
        .await;

    refuses(&ending, 73, file.to_str().expect("a plain path"));
}

#[tokio::test]
async fn a_state_directory_that_is_a_file_is_not_usable() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");

    let ending = Options::conduit().state_dir(&file).ending().await;

    refuses(&ending, 73, file.to_str().expect("a plain path"));
}

#[tokio::test]
async fn a_state_directory_where_nothing_can_be_made_is_not_usable() {
    let ending = Options::conduit()
        .state_dir("/proc/conduit".as_ref())
        .ending()
        .await;

    refuses(&ending, 73, "/proc/conduit");
}

#[tokio::test]
async fn a_second_instance_on_a_state_directory_is_refused_and_the_first_goes_on() {
    let first = Tree::start(Options::conduit().gateways(1)).await;
    let state_dir = first.state_dir().to_owned();

    let ending = Options::conduit().state_dir(&state_dir).ending().await;

    refuses(&ending, 75, state_dir.to_str().expect("a plain path"));
    assert!(first.is_ready().await);
}

#[tokio::test]
async fn a_deleted_lock_file_lets_no_second_instance_in() {
    let first = Tree::start(Options::conduit().gateways(1)).await;
    let state_dir = first.state_dir().to_owned();
    fs::remove_file(state_dir.join("lock")).expect("it is there");

    let ending = Options::conduit().state_dir(&state_dir).ending().await;

    refuses(&ending, 75, state_dir.to_str().expect("a plain path"));
    assert!(first.is_ready().await);
}

#[tokio::test]
async fn with_too_few_open_files_nothing_is_started() {
    for limit in [10, 24] {
        let ending = Options::conduit().open_files(limit).ending().await;

        refuses(&ending, 70, &format!("{limit} open files"));
    }
}

#[tokio::test]
async fn with_few_open_files_there_are_few_connections() {
    let tree = Tree::start(Options::conduit().gateways(1).open_files(64)).await;

    let mut kept = Vec::new();
    for _ in 0..100 {
        kept.push(tree.raw().await);
    }

    drop(kept);
    tree.ready().await;
    let log = tree.stop().await.stderr;
    assert_eq!(log.matches("max_connections=16").count(), 1, "{log}");
}

#[tokio::test]
async fn a_damaged_database_is_named_in_a_line_of_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("conduit.db"), "x".repeat(8192)).expect("a file");
    let options = Options::conduit()
        .gateways(1)
        .state_dir(folder.path())
        .environment("CONDUIT_SUPERVISOR_RESTARTS", "1")
        .argument("--log-format=json");

    let tree = Tree::start(options).await;

    let store = tree.slot("store").await;
    assert_eq!(store.last_exit.as_deref(), Some("status 73 (failed)"));
    let log = tree.stop().await.stderr;
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
        .collect();
    let named = lines.iter().any(|line| {
        line["process"] == "store"
            && line["level"] == "ERROR"
            && line["fields"]["code"] == "STORE-001"
            && line["fields"]["error"].to_string().contains("conduit.db")
    });
    assert!(named, "{log}");
}

#[tokio::test]
async fn a_state_directory_whose_owner_was_killed_is_free_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = Tree::start(Options::conduit().gateways(1).state_dir(folder.path())).await;
    let pids = first.processes();
    pids.into_iter().for_each(process::kill_and_reap);

    let second = Tree::start(Options::conduit().gateways(1).state_dir(folder.path())).await;

    assert!(second.is_ready().await);
}

#[tokio::test]
async fn a_state_directory_with_a_very_long_name_will_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let long = folder.path().join("x".repeat(200)).join("y".repeat(200));

    let tree = Tree::start(Options::conduit().gateways(1).state_dir(&long)).await;

    assert!(tree.is_ready().await);
}

#[tokio::test]
async fn what_is_no_flag_of_ours_is_wrong_usage() {
    for arguments in [
        &["--no-such-flag"][..],
        &["--log-format", "xml"],
        &["--listen"],
    ] {
        let options = arguments
            .iter()
            .fold(Options::conduit(), |options, argument| {
                options.argument(argument)
            });

        let ending = options.ending().await;

        assert_eq!(ending.status, Some(64), "{ending:?}");
        assert!(
            !ending.stderr.is_empty() && ending.stdout.is_empty(),
            "{ending:?}"
        );
    }
}

#[track_caller]
fn refuses(ending: &Ending, status: i32, named: &str) {
    assert_eq!(ending.status, Some(status), "{ending:?}");
    is_one_clear_line(ending);
    assert!(
        ending.stderr.contains(named),
        "{named} is not named: {ending:?}"
    );
    assert_eq!(ending.stdout, "", "{ending:?}");
}
