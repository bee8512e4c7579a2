//! How many streams a gateway holds open, of how many topics, and for how long.

use conduit_testkit::{
    Call, Era, Event, Events, Options, PATIENCE, Reply, Tree, Version, wait_until,
};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

#[tokio::test]
async fn one_stream_past_the_limit_is_busy_until_another_one_ends() {
    let tree = tree(&["subscriptions.max_streams=2"]).await;
    let session = tree.session(Version::November2025).await;
    let first = tree.conn().await.into_stream(&listen(json!(1))).await;
    let _second = tree.conn().await.into_stream(&live(&session)).await;

    let refused = tree.send(&listen(json!("mine"))).await;
    check_busy(&refused, StatusCode::SERVICE_UNAVAILABLE, 50300);
    assert_eq!(refused.message()["id"], "mine");
    let refused = tree.send(&live(&session)).await;
    check_busy(&refused, StatusCode::SERVICE_UNAVAILABLE, 50300);

    drop(first);
    wait_until("there is room again", PATIENCE, async || {
        let mut stream = tree.conn().await.into_stream(&listen(json!(2))).await;
        let first = next(&mut stream).await?;
        (first["method"] == "notifications/subscriptions/acknowledged").then_some(())
    })
    .await;
}

#[tokio::test]
async fn one_session_does_not_take_the_streams_of_the_others() {
    let tree = tree(&["subscriptions.max_streams_per_owner=2"]).await;
    let greedy = tree.session(Version::November2025).await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        streams.push(tree.conn().await.into_stream(&live(&greedy)).await);
    }

    let refused = tree.send(&live(&greedy)).await;

    check_busy(&refused, StatusCode::TOO_MANY_REQUESTS, 42900);
    let other = tree.session(Version::November2025).await;
    streams.push(tree.conn().await.into_stream(&live(&other)).await);
    for number in 0..3 {
        streams.push(tree.conn().await.into_stream(&listen(json!(number))).await);
    }
    assert!(streams.iter().all(|stream| stream.status == StatusCode::OK));
}

#[tokio::test]
async fn a_listen_request_that_names_too_much_is_told_what() {
    let tree = tree(&["subscriptions.max_topics_per_stream=2"]).await;
    let listen = |uris: &[&str]| {
        let filter = json!({ "resourceSubscriptions": uris });
        Call::modern("subscriptions/listen", json!({ "notifications": filter }))
    };

    let refused = tree.send(&listen(&["x://a", "x://b", "x://c"])).await;

    assert_eq!(refused.code(), -32602);
    let message = &refused.message()["error"]["message"];
    let message = message.as_str().expect("a message");
    assert!(message.contains("resourceSubscriptions"), "{message}");
    let twice = listen(&["x://a", "x://b", "x://a"]);
    let mut stream = tree.conn().await.into_stream(&twice).await;
    let first = next(&mut stream).await.expect("an acknowledgement");
    assert_eq!(
        first["params"]["notifications"]["resourceSubscriptions"],
        json!(["x://a", "x://b"])
    );
}

#[tokio::test]
async fn a_listen_stream_that_has_its_age_ends_with_its_result() {
    let tree = tree(&["subscriptions.max_age_ms=1000"]).await;
    let mut stream = tree.conn().await.into_stream(&listen(json!("old"))).await;
    next(&mut stream).await.expect("an acknowledgement");
    let touched = Era::Modern.tool("touch_resource", json!({ "uri": "file:///a.txt" }));
    tree.send(&touched).await;

    let told = next(&mut stream).await.expect("a change");
    let last = next(&mut stream).await.expect("a result");

    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(last["id"], "old");
    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(next(&mut stream).await, None);
}

#[tokio::test]
async fn a_sessions_stream_that_has_its_age_closes_and_may_be_opened_again() {
    let tree = tree(&["subscriptions.max_age_ms=1000"]).await;
    for (version, is_told) in [(Version::November2025, true), (Version::June2025, false)] {
        let session = tree.session(version).await;
        let mut stream = tree
            .conn()
            .await
            .into_stream(&live(&session).version(version))
            .await;

        let mut last: Option<Event> = None;
        while let Some(event) = timely(stream.next_event()).await {
            last = Some(event);
        }

        let retry = last.and_then(|event| event.retry);
        assert_eq!(retry.is_some(), is_told, "{version:?}");
        let mut again = tree
            .conn()
            .await
            .into_stream(&live(&session).version(version))
            .await;
        announce(&tree, &session).await;
        let told = next(&mut again).await.expect("a change");
        assert_eq!(told["method"], "notifications/tools/list_changed");
    }
}

async fn tree(settings: &[&str]) -> Tree {
    let mut options = Options::fixture().gateways(1);
    for setting in settings {
        options = options.argument("--set").argument(setting);
    }
    Tree::start(options).await
}

fn listen(id: Value) -> Call {
    let filter = json!({ "resourceSubscriptions": ["file:///a.txt"] });
    Call::modern("subscriptions/listen", json!({ "notifications": filter })).id(id)
}

/// Opens the stream of a session.
fn live(session: &str) -> Call {
    Call::verb(Method::GET)
        .header("accept", "text/event-stream")
        .session(session)
}

async fn announce(tree: &Tree, session: &str) {
    let call = Era::Legacy.tool("announce_change", json!({ "list": "tools" }));
    assert_eq!(tree.send(&call.session(session)).await.text(), "told");
}

#[track_caller]
fn check_busy(refused: &Reply, status: StatusCode, code: i64) {
    assert_eq!(refused.status, status);
    let message: Value = serde_json::from_slice(&refused.body).expect("JSON");
    assert_eq!(message["error"]["code"], code);
    assert!(
        message["error"]["data"]["retryAfterMs"].is_u64(),
        "{refused}"
    );
    assert!(refused.header("retry-after").is_some(), "{refused}");
}

async fn next(stream: &mut Events) -> Option<Value> {
    timely(stream.next()).await
}

async fn timely<T>(next: impl Future<Output = Result<T, conduit_testkit::Broken>>) -> T {
    let next = timeout(PATIENCE, next).await.expect("in time");
    next.expect("a whole stream")
}
