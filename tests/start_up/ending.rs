//! Ending when asked, in order and in time.

use std::io::ErrorKind;
use std::time::Duration;

use conduit_testkit::process::{self, Signal};
use conduit_testkit::{Era, Options, PATIENCE, Tree, binary, wait_until};
use http::StatusCode;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::process::Command;

#[tokio::test]
async fn polite_signals_end_everything_with_status_zero_and_nothing_to_worry_about() {
    for signal in [Signal::TERM, Signal::INT, Signal::QUIT] {
        let launch = Options::conduit().gateways(2).launch();
        wait_until("the banner", PATIENCE, async || {
            launch.stdout().contains("Ctrl-C").then_some(())
        })
        .await;

        launch.signal(signal);
        let ending = launch.ending(PATIENCE).await;

        assert_eq!(ending.status, Some(0), "{ending:?}");
        for level in [" WARN ", " ERROR "] {
            assert!(!ending.stderr.contains(level), "{}", ending.stderr);
        }
    }
}

#[tokio::test]
async fn a_closed_terminal_ends_nobody() {
    let tree = Tree::start(Options::conduit().gateways(1)).await;
    let before = tree.processes();

    for pid in &before {
        process::signal(*pid, Signal::HUP);
    }

    wait_until("the signal to be heard", PATIENCE, async || {
        tree.stderr().contains("SIGHUP is ignored").then_some(())
    })
    .await;
    assert_eq!(tree.processes(), before);
    tree.stop().await;
}

#[tokio::test]
async fn whoever_comes_after_the_end_has_begun_is_refused() {
    let tree = Tree::start(Options::fixture().gateways(2)).await;
    let mut conn = tree.conn().await;
    let call = Era::Modern.tool("slow", json!({ "seconds": 3 }));

    let (reply, ()) = tokio::join!(conn.send(&call), async {
        wait_until("the call to run", PATIENCE, async || {
            (tree.metrics().await.sum("conduit_workers_busy", &[]) >= 1.0).then_some(())
        })
        .await;
        tree.signal(Signal::TERM);
        wait_until("connections to be refused", PATIENCE, async || {
            let refused = TcpStream::connect(tree.endpoint()).await.err()?;
            (refused.kind() == ErrorKind::ConnectionRefused).then_some(())
        })
        .await;
        assert!(tree.processes().len() > 1, "the call is still held");
    });

    assert!(reply.message().get("result").is_some(), "{reply}");
    tree.stop().await;
}

#[tokio::test]
async fn a_call_in_flight_is_answered_before_the_end() {
    let tree = Tree::start(Options::fixture().gateways(1)).await;
    let mut conn = tree.conn().await;
    let call = Era::Modern.tool("slow", json!({ "seconds": 1 }));

    let (reply, ()) = tokio::join!(conn.send(&call), async {
        wait_until("the call to run", PATIENCE, async || {
            (tree.metrics().await.sum("conduit_workers_busy", &[]) >= 1.0).then_some(())
        })
        .await;
        tree.signal(Signal::TERM);
    });

    assert_eq!(reply.status, StatusCode::OK);
    assert!(reply.message().get("result").is_some(), "{reply}");
    tree.stop().await;
}

#[tokio::test]
async fn a_call_that_outlasts_the_grace_is_told_and_does_not_hold_up_the_end() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_SUPERVISOR_DRAIN_GRACE_MS", "300");
    let tree = Tree::start(options).await;
    let mut conn = tree.conn().await;
    let call = Era::Modern.tool("slow", json!({ "seconds": 600 }));

    let (reply, ()) = tokio::join!(conn.try_send(&call), async {
        wait_until("the call to run", PATIENCE, async || {
            (tree.metrics().await.sum("conduit_workers_busy", &[]) >= 1.0).then_some(())
        })
        .await;
        tree.signal(Signal::TERM);
    });

    let reply = reply.unwrap_or_else(|problem| panic!("no answer: {problem}"));
    let message = reply.message();
    let is_told = message.get("error").is_some() || message["result"]["isError"] == true;
    assert!(is_told, "{reply}");
    tree.stop().await;
}

#[tokio::test]
async fn idle_connections_do_not_hold_up_the_end() {
    let tree = Tree::start(Options::conduit().gateways(2)).await;
    let mut kept = Vec::new();
    for _ in 0..8 {
        let mut conn = tree.conn().await;
        conn.send(&Era::Modern.tool("echo", json!({ "message": "x" })))
            .await;
        kept.push(conn);
    }
    let silent = tree.raw().await;

    let start = tokio::time::Instant::now();
    tree.stop().await;

    assert!(
        start.elapsed() < Duration::from_secs(5),
        "it took {:?}",
        start.elapsed()
    );
    drop((kept, silent));
}

#[tokio::test]
async fn a_child_that_hangs_does_not_hold_up_the_end() {
    let tree = Tree::start(
        Options::conduit()
            .gateways(1)
            .environment("CONDUIT_SUPERVISOR_DRAIN_GRACE_MS", "500"),
    )
    .await;
    tree.signal_slot("gateway-0", Signal::STOP).await;

    let ending = tree.stop().await;

    assert_eq!(ending.status, Some(0), "{ending:?}");
}

#[tokio::test]
async fn help_and_version_are_not_failures() {
    for flag in ["--help", "--version"] {
        let output = Command::new(binary("conduit"))
            .arg(flag)
            .output()
            .await
            .expect("it runs");

        assert_eq!(
            (output.status.code(), output.stderr.is_empty()),
            (Some(0), true),
            "{output:?}"
        );
        assert!(!output.stdout.is_empty(), "{output:?}");
    }
}
