//! What a request line may ask for, and of whom.

use conduit_testkit::{Call, Era, PATIENCE, Raw, Tree};
use serde_json::json;

use crate::demo;

#[tokio::test]
async fn a_target_without_a_path_is_a_bad_request() {
    let tree = demo().await;

    for line in ["POST mcp", "GET mcp", "CONNECT foo:80", "OPTIONS foo"] {
        let answer = ask(&mut tree.raw().await, line, "localhost").await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{line}: {answer}");
        assert!(answer.contains("40000"), "{line}: {answer}");
    }
    serves_on(&tree).await;
}

#[tokio::test]
async fn a_target_without_a_path_is_a_bad_request_at_the_admin_port_too() {
    let tree = demo().await;

    for line in ["GET mcp", "CONNECT foo:80"] {
        let answer = ask(&mut Raw::open(tree.admin()).await, line, "localhost").await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{line}: {answer}");
    }
    serves_on(&tree).await;
}

#[tokio::test]
async fn the_authority_of_a_target_wins_over_the_host_header() {
    let tree = demo().await;

    for (target, host, status) in [
        ("http://evil.com/mcp", "localhost", 403),
        ("http://localhost@evil.com/mcp", "localhost", 403),
        ("http://localhost/mcp", "evil.com", 200),
    ] {
        let call = echo().path(target).header("connection", "close");
        let mut raw = tree.raw().await;
        raw.write(call.wire(host)).await;

        let answer = raw.read_to_end(PATIENCE).await;
        let start = format!("HTTP/1.1 {status}");
        assert!(answer.starts_with(&start), "{target}: {answer}");
    }
    let line = "GET http://evil.com/status";
    let answer = ask(&mut Raw::open(tree.admin()).await, line, "localhost").await;
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

async fn ask(raw: &mut Raw, line: &str, host: &str) -> String {
    let head = format!("{line} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    raw.write(head).await;
    raw.read_to_end(PATIENCE).await
}

async fn serves_on(tree: &Tree) {
    assert_eq!(tree.send(&echo()).await.text(), "hello");
    assert!(!tree.stderr().contains("panic"), "{}", **tree);
}

fn echo() -> Call {
    Era::Modern.tool("echo", json!({ "message": "hello" }))
}
