//! What a person sees first.

use std::process::Stdio;

use conduit_testkit::{Options, Tree};
use tokio::process::Command;

#[tokio::test]
async fn every_process_is_shown_with_its_pid() {
    let tree = Tree::start(Options::conduit().gateways(2)).await;

    let printed = tree.stdout();

    for slot in tree.status().await.slots {
        let pid = slot.pid.expect("a process").to_string();
        let shown = printed.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.contains(&slot.slot.as_str()) && words.contains(&pid.as_str())
        });
        assert!(shown, "{} {pid} is not in\n{printed}", slot.slot);
    }
}

#[tokio::test]
async fn the_line_to_paste_works() {
    if !has_curl().await {
        return;
    }
    let tree = Tree::start(Options::conduit().gateways(1)).await;
    let printed = tree.stdout();
    let line = printed
        .lines()
        .find(|line| line.contains("curl "))
        .unwrap_or_else(|| panic!("no curl in\n{printed}"));
    let command = &line[line.find("curl ").expect("it is there")..];

    let output = Command::new("sh")
        .args(["-c", command])
        .output()
        .await
        .expect("a shell");

    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && answer.contains("\"result\""),
        "{command}\n{answer}"
    );
}

#[tokio::test]
async fn nothing_but_the_banner_goes_to_standard_output() {
    let tree = Tree::start(Options::conduit().gateways(1).argument("-v")).await;
    let before = tree.stdout();

    let ending = tree.stop().await;

    assert!(ending.stdout.starts_with(&before), "{ending:?}");
    assert!(ending.stdout.lines().count() < 25, "{ending:?}");
}

#[tokio::test]
async fn logs_are_json_lines_when_asked() {
    let options = Options::conduit()
        .gateways(1)
        .argument("-v")
        .argument("--log-format")
        .argument("json");

    let ending = Tree::start(options).await.stop().await;

    assert!(!ending.stderr.is_empty(), "{ending:?}");
    for line in ending.stderr.lines() {
        assert!(
            serde_json::from_str::<serde_json::Value>(line).is_ok_and(|value| value.is_object()),
            "{line}"
        );
    }
}

async fn has_curl() -> bool {
    let version = Command::new("curl")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    version.await.is_ok_and(|status| status.success())
}
