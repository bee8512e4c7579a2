//! The own stream of a legacy session (GET): what it is told of, and where (R25).

use conduit_testkit::{Call, Conn, Era, Event, Events, PATIENCE, Version, wait_until};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{fixture, pair};

#[tokio::test]
async fn a_session_is_told_of_every_list_that_changes_at_any_gateway() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let mut stream = open(tree.conn_to("gateway-1").await, &session).await;

    for list in ["tools", "resources", "prompts"] {
        let mut other = tree.conn_to("gateway-0").await;
        let call = Era::Legacy.tool("announce_change", json!({ "list": list }));
        assert_eq!(other.send(&call.session(&session)).await.text(), "told");

        let told = next(&mut stream).await;
        assert_eq!(told["method"], format!("notifications/{list}/list_changed"));
        assert_eq!(told.get("params"), None, "{told}");
    }
}

#[tokio::test]
async fn a_subscription_made_at_one_gateway_is_heard_at_another() {
    let tree = pair().await;
    let session = tree.session(Version::June2025).await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );
    let mut stream = open(tree.conn_to("gateway-1").await, &session).await;

    subscribe(&mut first, &session, "resources/subscribe").await;
    touch(&mut first, &session, "file:///other.txt").await;
    touch(&mut second, &session, "file:///a.txt").await;

    let told = next(&mut stream).await;
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"], json!({ "uri": "file:///a.txt" }));

    subscribe(&mut second, &session, "resources/unsubscribe").await;
    touch(&mut first, &session, "file:///a.txt").await;
    announce(&mut first, &session).await;
    assert_eq!(
        next(&mut stream).await["method"],
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn a_subscription_outlives_the_stream_that_it_was_made_beside() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let mut conn = tree.conn().await;
    drop(open(tree.conn().await, &session).await);
    subscribe(&mut conn, &session, "resources/subscribe").await;

    let mut stream = open(tree.conn().await, &session).await;
    touch(&mut conn, &session, "file:///a.txt").await;

    assert_eq!(
        next(&mut stream).await["method"],
        "notifications/resources/updated"
    );
}

#[tokio::test]
async fn a_message_goes_to_the_newest_stream_and_the_older_one_stays_open() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let mut older = open(tree.conn().await, &session).await;
    let mut newer = open(tree.conn().await, &session).await;
    let mut conn = tree.conn().await;

    announce(&mut conn, &session).await;

    assert_eq!(
        next(&mut newer).await["method"],
        "notifications/tools/list_changed"
    );
    drop(newer);
    wait_until("the newer stream is gone", PATIENCE, async || {
        let open = [("kind", "session")];
        let metrics = tree.metrics().await;
        (metrics.sum("conduit_streams", &open) < 1.5).then_some(())
    })
    .await;
    announce(&mut conn, &session).await;
    assert_eq!(
        next(&mut older).await["method"],
        "notifications/tools/list_changed"
    );
}

#[tokio::test]
async fn of_two_gateways_the_one_with_the_newest_stream_tells() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let mut older = open(tree.conn_to("gateway-0").await, &session).await;
    let mut newer = open(tree.conn_to("gateway-1").await, &session).await;
    let mut conn = tree.conn().await;

    for _ in 0..2 {
        announce(&mut conn, &session).await;
        assert_eq!(
            next(&mut newer).await["method"],
            "notifications/tools/list_changed"
        );
    }
    let newest = open(tree.conn_to("gateway-0").await, &session).await;
    drop((newer, newest));
    touch(&mut conn, &session, "file:///a.txt").await;
    let call = Era::Legacy.tool("announce_change", json!({ "list": "prompts" }));
    assert_eq!(conn.send(&call.session(&session)).await.text(), "told");

    let mut told = next(&mut older).await;
    if told["method"] == "notifications/tools/list_changed" {
        told = next(&mut older).await;
    }
    assert_eq!(told["method"], "notifications/prompts/list_changed");
}

#[tokio::test]
async fn whoever_comes_back_is_told_of_everything_that_may_have_changed() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let mut stream = open(tree.conn_to("gateway-0").await, &session).await;
    let mut conn = tree.conn().await;
    announce(&mut conn, &session).await;
    let last = event(&mut stream).await.id.expect("an id");
    drop(stream);
    announce(&mut conn, &session).await;

    let call = get(&session).header("last-event-id", &last);
    let mut again = tree.conn_to("gateway-1").await.into_stream(&call).await;

    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(next(&mut again).await["method"].clone());
    }
    told.sort_by_key(Value::to_string);
    assert_eq!(
        told,
        [
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/tools/list_changed",
        ]
    );
}

#[tokio::test]
async fn older_sessions_get_neither_ids_nor_empty_events() {
    let tree = fixture().await;
    let session = tree.session(Version::June2025).await;
    let mut stream = open(tree.conn().await, &session).await;

    announce(&mut tree.conn().await, &session).await;

    let first = event(&mut stream).await;
    assert_eq!((first.id, first.retry), (None, None));
    assert!(first.message.is_some());
}

#[tokio::test]
async fn regression_a13_an_event_that_nobody_sent_is_not_come_back_to() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;

    for id in ["", "7", "0-00000000000000000000000000000007-1", "é"] {
        let call = get(&session).header("last-event-id", id);
        let reply = tree.send(&call).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{id}: {reply}");
    }
}

fn get(session: &str) -> Call {
    Call::verb(Method::GET)
        .header("accept", "text/event-stream")
        .session(session)
}

async fn open(conn: Conn, session: &str) -> Events {
    let stream = conn.into_stream(&get(session)).await;
    assert_eq!(stream.status, StatusCode::OK);
    stream
}

async fn event(stream: &mut Events) -> Event {
    let next = timeout(PATIENCE, stream.next_event()).await;
    next.expect("in time")
        .expect("a whole stream")
        .expect("an event")
}

async fn next(stream: &mut Events) -> Value {
    let next = timeout(PATIENCE, stream.next()).await.expect("in time");
    next.expect("a whole stream").expect("a message")
}

async fn subscribe(conn: &mut Conn, session: &str, method: &str) {
    let call = Call::legacy(method, json!({ "uri": "file:///a.txt" })).session(session);
    assert_eq!(conn.send(&call).await.result(), &json!({}));
}

async fn announce(conn: &mut Conn, session: &str) {
    let call = Era::Legacy.tool("announce_change", json!({ "list": "tools" }));
    assert_eq!(conn.send(&call.session(session)).await.text(), "told");
}

async fn touch(conn: &mut Conn, session: &str, uri: &str) {
    let call = Era::Legacy.tool("touch_resource", json!({ "uri": uri }));
    assert_eq!(conn.send(&call.session(session)).await.text(), "told");
}
