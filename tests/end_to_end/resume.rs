//! Clients of 2025-11-25 that come back for the rest of a response stream, at any gateway.

use conduit_testkit::{Call, Era, Event, Events, PATIENCE, Tree, Version};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{fixture, pair};

#[tokio::test]
async fn a_stream_that_the_server_closed_goes_on_where_the_client_left_it() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;

    let events = all(&mut linger(&tree, "gateway-0", &session, 0.2).await).await;

    let primed = &events[0];
    assert!(
        primed.id.is_some() && primed.message.is_none(),
        "{events:?}"
    );
    let last = events.last().expect("an event");
    assert_eq!(last.retry, Some(50), "{events:?}");
    let rest = all(&mut back(&tree, "gateway-0", &session, last).await).await;
    assert_eq!(text(&rest), "you are back");
    let again = all(&mut back(&tree, "gateway-0", &session, last).await).await;
    assert_eq!(
        text(&again),
        "you are back",
        "whoever lost it may ask again"
    );
}

#[tokio::test]
async fn the_rest_is_to_be_had_at_another_gateway() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let events = all(&mut linger(&tree, "gateway-0", &session, 0.5).await).await;
    let first = &events[0];

    let mut stream = back(&tree, "gateway-1", &session, first).await;

    let rest = all(&mut stream).await;
    let methods: Vec<_> = rest
        .iter()
        .filter_map(|event| event.message.as_ref()?["method"].as_str())
        .collect();
    assert_eq!(methods, ["notifications/message"], "{rest:?}");
    assert_eq!(text(&rest), "you are back");
}

#[tokio::test]
async fn a_large_answer_comes_in_one_piece_from_another_gateway() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let large = "x".repeat(3_000_000);
    let call = Era::Legacy.tool("linger", json!({ "seconds": 0, "echo": large }));
    let conn = tree.conn_to("gateway-0").await;
    let events = all(&mut conn.into_stream(&call.session(&session)).await).await;

    let rest = all(&mut back(&tree, "gateway-1", &session, &events[0]).await).await;

    assert_eq!(text(&rest).len(), large.len());
}

#[tokio::test]
async fn a_client_that_loses_its_connection_loses_nothing() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let call = Era::Legacy
        .tool("steps", json!({ "n": 3 }))
        .progress(json!("p"))
        .session(&session);
    let mut stream = tree.conn().await.into_stream(&call).await;
    let primed = event(&mut stream).await;
    drop(stream);

    let rest = all(&mut back(&tree, "gateway-0", &session, &primed).await).await;

    let progress: Vec<_> = rest
        .iter()
        .filter_map(|event| event.message.as_ref()?["params"]["progress"].as_f64())
        .collect();
    assert_eq!(progress, [1.0, 2.0, 3.0], "{rest:?}");
    assert_eq!(text(&rest), "ok");
}

#[tokio::test]
async fn nobody_else_s_stream_can_be_had() {
    let tree = pair().await;
    let (mine, other) = (
        tree.session(Version::November2025).await,
        tree.session(Version::November2025).await,
    );
    let events = all(&mut linger(&tree, "gateway-0", &mine, 0.0).await).await;
    let id = events[0].id.clone().expect("an id");

    for gateway in ["gateway-0", "gateway-1"] {
        let call = get(&other).header("last-event-id", &id);
        let reply = tree.conn_to(gateway).await.send(&call).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{gateway}: {reply}");
    }
}

#[tokio::test]
async fn where_nobody_can_come_back_the_stream_stays_open() {
    let tree = fixture().await;
    let session = tree.session(Version::June2025).await;

    let events = all(&mut linger(&tree, "gateway-0", &session, 0.05).await).await;

    assert!(
        events
            .iter()
            .all(|event| event.id.is_none() && event.retry.is_none()),
        "{events:?}"
    );
    assert_eq!(text(&events), "you are back");
}

async fn linger(tree: &Tree, gateway: &str, session: &str, seconds: f64) -> Events {
    let call = Era::Legacy.tool("linger", json!({ "seconds": seconds }));
    let conn = tree.conn_to(gateway).await;
    let stream = conn.into_stream(&call.session(session)).await;
    assert_eq!(stream.status, StatusCode::OK);
    stream
}

/// Comes back for what follows an event.
async fn back(tree: &Tree, gateway: &str, session: &str, after: &Event) -> Events {
    let id = after.id.as_deref().expect("an id");
    let call = get(session).header("last-event-id", id);
    let stream = tree.conn_to(gateway).await.into_stream(&call).await;
    assert_eq!(stream.status, StatusCode::OK);
    stream
}

fn get(session: &str) -> Call {
    Call::verb(Method::GET)
        .header("accept", "text/event-stream")
        .session(session)
}

async fn event(stream: &mut Events) -> Event {
    let next = timeout(PATIENCE, stream.next_event()).await;
    next.expect("in time")
        .expect("a whole stream")
        .expect("an event")
}

/// Reads a stream to its end.
async fn all(stream: &mut Events) -> Vec<Event> {
    let mut events = Vec::new();
    let reading = async {
        while let Some(event) = stream.next_event().await.expect("a whole stream") {
            events.push(event);
        }
    };
    timeout(PATIENCE, reading).await.expect("an end");
    events
}

/// The text of the result, which is the last message.
fn text(events: &[Event]) -> &str {
    let mut messages = events.iter().filter_map(|event| event.message.as_ref());
    let last: &Value = messages.next_back().expect("a message");
    last["result"]["content"][0]["text"]
        .as_str()
        .expect("a text")
}
