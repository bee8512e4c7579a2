//! How much, how long, how many.

use std::time::Duration;

use conduit_testkit::{Call, Era, Options, PATIENCE, Tree, wait_until};
use http::StatusCode;
use serde_json::json;

use crate::demo;

const DEFAULT_BODY: usize = 4 * 1024 * 1024;

#[tokio::test]
async fn a_body_of_just_the_limit_comes_back_whole() {
    let tree = demo().await;

    for (text, call) in [sized(DEFAULT_BODY)] {
        let reply = tree.send(&call).await;
        assert_eq!(reply.status, StatusCode::OK);
        assert!(reply.text() == text, "the text came back changed");
    }
}

#[tokio::test]
async fn a_declared_length_past_the_limit_is_refused_before_the_body_comes() {
    let tree = demo().await;
    let mut raw = tree.raw().await;
    let host = raw.host();

    raw.write(head(
        &host,
        &format!("content-length: {}", DEFAULT_BODY + 1),
    ))
    .await;

    let answer = raw.read_until("}}").await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("41300"), "{answer}");
}

#[tokio::test]
async fn a_chunked_body_past_the_limit_is_refused_on_the_way() {
    let options = Options::conduit()
        .gateways(1)
        .environment("CONDUIT_HTTP_MAX_BODY_BYTES", "65536");
    let tree = Tree::start(options).await;
    let mut raw = tree.raw().await;
    let host = raw.host();
    raw.write(head(&host, "transfer-encoding: chunked")).await;
    let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000));

    for _ in 0..17 {
        if !raw.try_write(&chunk).await {
            break;
        }
    }

    let answer = raw.read_until("}}").await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("41300"), "{answer}");
}

#[tokio::test]
async fn a_chunked_body_within_the_limit_is_served() {
    let tree = demo().await;
    let mut raw = tree.raw().await;
    let host = raw.host();
    let body = String::from_utf8(echo().body().to_vec()).expect("text");

    raw.write(head(&host, "transfer-encoding: chunked")).await;
    for byte in body.chars() {
        raw.write(format!("1\r\n{byte}\r\n")).await;
    }
    raw.write("0\r\n\r\n").await;

    let answer = raw.read_until("hello").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_head_that_comes_too_slowly_ends_the_connection() {
    let tree = quick("CONDUIT_HTTP_HEADER_TIMEOUT_MS").await;
    let mut raw = tree.raw().await;

    raw.write("POST /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-me")
        .await;

    let answer = raw.read_to_end(PATIENCE).await;
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_a_timeout() {
    let tree = quick("CONDUIT_HTTP_BODY_TIMEOUT_MS").await;
    let mut raw = tree.raw().await;
    let host = raw.host();

    raw.write(head(&host, "content-length: 100")).await;
    raw.write("{\"jsonrpc\"").await;

    let answer = raw.read_to_end(PATIENCE).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("40800"), "{answer}");
}

#[tokio::test]
async fn a_connection_without_requests_is_closed_in_time() {
    let tree = quick("CONDUIT_HTTP_HEADER_TIMEOUT_MS").await;
    let mut conn = tree.conn().await;
    conn.send(&echo()).await;

    wait_until("the server to close the connection", PATIENCE, async || {
        conn.is_closed().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_call_that_lasts_longer_than_the_timeouts_of_its_request_is_not_cut() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_HTTP_HEADER_TIMEOUT_MS", "300")
        .environment("CONDUIT_HTTP_BODY_TIMEOUT_MS", "300");
    let tree = Tree::start(options).await;

    let reply = tree
        .send(&Era::Modern.tool("slow", json!({ "seconds": 1 })))
        .await;

    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn one_connection_too_many_is_closed_at_once_and_counted() {
    let options = Options::conduit()
        .gateways(1)
        .environment("CONDUIT_HTTP_MAX_CONNECTIONS", "3");
    let tree = Tree::start(options).await;
    let mut kept = Vec::new();
    for _ in 0..3 {
        let mut conn = tree.conn().await;
        conn.send(&echo()).await;
        kept.push(conn);
    }

    let mut raw = tree.raw().await;
    let answer = raw.read_to_end(PATIENCE).await;

    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 503"),
        "{answer}"
    );
    assert!(
        tree.metrics()
            .await
            .sum("conduit_http_connections_refused_total", &[])
            >= 1.0
    );
    for conn in &mut kept {
        assert_eq!(conn.send(&echo()).await.text(), "hello");
    }
}

#[tokio::test]
async fn one_call_too_many_is_refused_with_503_and_its_id() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_LIMITS_IN_FLIGHT", "1");
    let tree = Tree::start(options).await;
    let mut busy = tree.conn().await;
    let long = Era::Modern.tool("slow", json!({ "seconds": 2 }));

    let (served, refused) = tokio::join!(busy.send(&long), async {
        wait_until("a refusal", PATIENCE, async || {
            let reply = tree.send(&echo().id(json!("late"))).await;
            (reply.status == StatusCode::SERVICE_UNAVAILABLE).then_some(reply)
        })
        .await
        .0
    });

    assert_eq!(served.status, StatusCode::OK);
    assert_eq!(
        (refused.code(), &refused.message()["id"]),
        (50300, &json!("late"))
    );
    assert!(refused.header("retry-after").is_some(), "{refused}");
}

#[tokio::test]
async fn discover_is_answered_however_much_there_is_to_do() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_LIMITS_IN_FLIGHT", "1");
    let tree = Tree::start(options).await;
    let mut busy = tree.conn().await;
    let long = Era::Modern.tool("slow", json!({ "seconds": 2 }));

    let (_, status) = tokio::join!(busy.send(&long), async {
        wait_until("a refusal", PATIENCE, async || {
            (tree.send(&echo()).await.status == StatusCode::SERVICE_UNAVAILABLE).then_some(())
        })
        .await;
        tree.send(&Call::modern("server/discover", json!({})))
            .await
            .status
    });

    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_told_so() {
    let options = Options::fixture()
        .gateways(1)
        .environment("CONDUIT_LIMITS_REQUEST_TIMEOUT_MS", "2000");
    let tree = Tree::start(options).await;

    let reply = tree
        .send(&Era::Modern.tool("slow", json!({ "seconds": 600 })))
        .await;

    let message = reply.message();
    assert!(
        message.get("error").is_some() || message["result"]["isError"] == true,
        "{reply}"
    );
    assert_eq!(message["id"], 1);
}

#[tokio::test]
async fn requests_may_be_sent_before_the_answers_come() {
    let tree = demo().await;
    let mut raw = tree.raw().await;
    let host = raw.host();
    let both: String = ["first", "second"]
        .map(|id| echo().id(json!(id)).wire(&host))
        .concat();

    raw.write(both).await;

    let answers = raw.read_until("\"second\"").await;
    assert!(
        answers.find("\"first\"") < answers.find("\"second\""),
        "{answers}"
    );
}

#[tokio::test]
async fn a_client_that_asks_first_is_told_to_go_on() {
    let tree = demo().await;
    let mut raw = tree.raw().await;
    let host = raw.host();
    let body = String::from_utf8(echo().body().to_vec()).expect("text");

    raw.write(head(
        &host,
        &format!("content-length: {}\r\nexpect: 100-continue", body.len()),
    ))
    .await;
    let go_on = raw.read_until("\r\n\r\n").await;
    raw.write(body).await;

    assert!(go_on.starts_with("HTTP/1.1 100"), "{go_on}");
    raw.read_until("hello").await;
}

/// A system in which one timeout is short.
async fn quick(variable: &str) -> Tree {
    let short = Duration::from_millis(300).as_millis().to_string();
    Tree::start(Options::conduit().gateways(1).environment(variable, &short)).await
}

fn echo() -> Call {
    Era::Modern.tool("echo", json!({ "message": "hello" }))
}

/// A call whose body has just this length, and the text in it.
fn sized(length: usize) -> (String, Call) {
    let call = |text: &str| Era::Modern.tool("echo", json!({ "message": text }));
    let text = "x".repeat(length - call("").body().len());
    let call = call(&text);
    assert_eq!(call.body().len(), length);
    (text, call)
}

/// The head of a call of echo, with another way to say how long the body is.
fn head(host: &str, framing: &str) -> String {
    let wire = echo().wire(host);
    let (head, _) = wire.split_once("content-length").expect("a length");
    format!("{head}{framing}\r\n\r\n")
}
