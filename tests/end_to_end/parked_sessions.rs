//! Sessions without a stream: what changes in the meantime is told on the next one, at any
//! gateway, once.

use conduit_testkit::process::Signal;
use conduit_testkit::{Call, Era, Events, PATIENCE, Tree, Version, initialize, wait_until};
use http::{Method, StatusCode};
use serde_json::json;
use tokio::time::timeout;

use crate::{fixture, pair};

const LISTS: [&str; 3] = ["prompts", "resources", "tools"];
const FILE: &str = "file:///a.txt";

#[tokio::test]
async fn a_client_to_which_nothing_has_happened_is_told_of_nothing() {
    let tree = pair().await;
    for gateway in ["gateway-0", "gateway-1"] {
        let session = session_at(&tree, "gateway-0").await;
        let mut stream = open(&tree, gateway, &session).await;

        for list in ["tools", "prompts", "tools"] {
            announce(&tree, list).await;
            assert_eq!(next(&mut stream).await, list, "at {gateway}");
        }
    }
}

#[tokio::test]
async fn what_changes_before_the_first_stream_is_told_on_it_at_any_gateway() {
    let tree = pair().await;
    for gateway in ["gateway-0", "gateway-1"] {
        let session = session_at(&tree, "gateway-0").await;
        announce(&tree, "tools").await;
        announce(&tree, "tools").await;

        let mut stream = open(&tree, gateway, &session).await;

        assert_eq!(next(&mut stream).await, "tools", "at {gateway}");
        announce(&tree, "prompts").await;
        assert_eq!(next(&mut stream).await, "prompts", "at {gateway}");
    }
}

#[tokio::test]
async fn what_changes_between_two_streams_is_told_on_the_second_at_any_gateway() {
    let tree = pair().await;
    let session = session_at(&tree, "gateway-1").await;
    for gateway in ["gateway-0", "gateway-1", "gateway-1"] {
        let stream = open(&tree, "gateway-0", &session).await;
        close(&tree, stream).await;
        announce(&tree, "resources").await;

        let mut stream = open(&tree, gateway, &session).await;

        assert_eq!(next(&mut stream).await, "resources", "at {gateway}");
        announce(&tree, "prompts").await;
        assert_eq!(next(&mut stream).await, "prompts", "at {gateway}");
        close(&tree, stream).await;
    }
}

#[tokio::test]
async fn a_session_without_a_stream_hears_of_what_it_has_subscribed_to() {
    let tree = pair().await;
    let session = session_at(&tree, "gateway-0").await;
    touch(&tree).await;

    subscribe(&tree, "gateway-1", &session, "resources/subscribe").await;
    touch(&tree).await;

    let mut stream = open(&tree, "gateway-1", &session).await;
    assert_eq!(next(&mut stream).await, FILE);
    announce(&tree, "tools").await;
    assert_eq!(next(&mut stream).await, "tools");
}

#[tokio::test]
async fn a_session_without_a_stream_does_not_hear_of_what_it_has_unsubscribed_from() {
    let tree = pair().await;
    let session = session_at(&tree, "gateway-0").await;
    subscribe(&tree, "gateway-0", &session, "resources/subscribe").await;
    touch(&tree).await;

    subscribe(&tree, "gateway-1", &session, "resources/unsubscribe").await;
    touch(&tree).await;
    announce(&tree, "tools").await;

    let mut stream = open(&tree, "gateway-1", &session).await;
    assert_eq!(next(&mut stream).await, "tools");
}

#[tokio::test]
async fn when_the_gateway_dies_that_kept_it_everything_counts_as_changed_once() {
    let tree = pair().await;
    let session = session_at(&tree, "gateway-0").await;
    subscribe(&tree, "gateway-1", &session, "resources/subscribe").await;
    touch(&tree).await;

    let before = tree.signal_slot("gateway-0", Signal::KILL).await;
    tree.replaced("gateway-0", before, PATIENCE).await;

    let mut stream = open(&tree, "gateway-1", &session).await;
    assert_eq!(
        some(&mut stream, 4).await,
        [FILE, LISTS[0], LISTS[1], LISTS[2]]
    );
    announce(&tree, "tools").await;
    assert_eq!(next(&mut stream).await, "tools", "nothing is told twice");
}

#[tokio::test]
async fn the_death_of_the_gateway_that_has_the_stream_loses_nothing() {
    let tree = pair().await;
    let session = session_at(&tree, "gateway-1").await;
    let stream = open(&tree, "gateway-0", &session).await;

    let before = tree.signal_slot("gateway-0", Signal::KILL).await;
    announce(&tree, "tools").await;
    tree.replaced("gateway-0", before, PATIENCE).await;
    drop(stream);

    let mut stream = open(&tree, "gateway-1", &session).await;
    assert_eq!(some(&mut stream, 3).await, LISTS);
}

#[tokio::test]
async fn the_death_of_the_hub_loses_nothing() {
    let tree = pair().await;
    let session = session_at(&tree, "gateway-0").await;
    subscribe(&tree, "gateway-0", &session, "resources/subscribe").await;
    touch(&tree).await;

    let before = tree.signal_slot("hub-0", Signal::KILL).await;
    announce(&tree, "tools").await;
    tree.replaced("hub-0", before, PATIENCE).await;
    announce(&tree, "prompts").await;

    let mut stream = open(&tree, "gateway-1", &session).await;
    let mut expected = vec![FILE, "prompts", "tools"];
    while !expected.is_empty() {
        let told = next(&mut stream).await;
        expected.retain(|expected| *expected != told);
    }
}

#[tokio::test]
async fn of_a_session_that_has_ended_nothing_is_kept() {
    let tree = fixture().await;
    let registered = async || tree.metrics().await.sum("conduit_topics_registered", &[]);
    let before = registered().await;
    let session = session_at(&tree, "gateway-0").await;
    subscribe(&tree, "gateway-0", &session, "resources/subscribe").await;
    close(&tree, open(&tree, "gateway-0", &session).await).await;
    assert!(registered().await > before, "what it wants to hear of");

    let call = Call::verb(Method::DELETE).session(&session);
    assert_eq!(tree.send(&call).await.status, StatusCode::NO_CONTENT);

    wait_until("its topics to be forgotten", PATIENCE, async || {
        (registered().await <= before).then_some(())
    })
    .await;
    assert_eq!(
        tree.send(&get(&session)).await.status,
        StatusCode::NOT_FOUND
    );
}

async fn session_at(tree: &Tree, gateway: &str) -> String {
    let mut conn = tree.conn_to(gateway).await;
    let reply = conn.send(&initialize(Version::November2025)).await;
    reply
        .header("mcp-session-id")
        .expect("a session")
        .to_owned()
}

fn get(session: &str) -> Call {
    Call::verb(Method::GET)
        .header("accept", "text/event-stream")
        .session(session)
}

async fn open(tree: &Tree, gateway: &str, session: &str) -> Events {
    let conn = tree.conn_to(gateway).await;
    let stream = conn.into_stream(&get(session)).await;
    assert_eq!(stream.status, StatusCode::OK);
    stream
}

async fn close(tree: &Tree, stream: Events) {
    drop(stream);
    wait_until("the stream is gone", PATIENCE, async || {
        let metrics = tree.metrics().await;
        (metrics.sum("conduit_streams", &[("kind", "session")]) < 0.5).then_some(())
    })
    .await;
}

/// Returns what the next message tells of: a list, or a resource.
async fn next(stream: &mut Events) -> String {
    let next = timeout(PATIENCE, stream.next()).await.expect("in time");
    let told = next.expect("a whole stream").expect("a message");
    let method = told["method"].as_str().expect("a method");
    match told["params"]["uri"].as_str() {
        Some(uri) => uri.to_owned(),
        None => {
            let list = method.strip_prefix("notifications/");
            let list = list.and_then(|list| list.strip_suffix("/list_changed"));
            list.unwrap_or_else(|| panic!("no list in {told}"))
                .to_owned()
        }
    }
}

/// Returns what the next messages tell of, in the order of the alphabet.
async fn some(stream: &mut Events, count: usize) -> Vec<String> {
    let mut told = Vec::new();
    for _ in 0..count {
        told.push(next(stream).await);
    }
    told.sort();
    told
}

async fn subscribe(tree: &Tree, gateway: &str, session: &str, method: &str) {
    let mut conn = tree.conn_to(gateway).await;
    let call = Call::legacy(method, json!({ "uri": FILE })).session(session);
    assert_eq!(conn.send(&call).await.result(), &json!({}));
}

async fn announce(tree: &Tree, list: &str) {
    tell(
        tree,
        Era::Legacy.tool("announce_change", json!({ "list": list })),
    )
    .await;
}

async fn touch(tree: &Tree) {
    tell(
        tree,
        Era::Legacy.tool("touch_resource", json!({ "uri": FILE })),
    )
    .await;
}

/// Publishes a change, and returns once everybody who wants to know does.
async fn tell(tree: &Tree, call: Call) {
    let reply = tree.send(&call).await;
    assert_eq!(reply.text(), "told");
}
