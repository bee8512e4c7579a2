//! Questions and answers while streams break and processes die.

use conduit_testkit::process::Signal;
use conduit_testkit::{Call, Event, Events, PATIENCE, Tree, Version};
use http::{Method, StatusCode};
use serde_json::json;
use tokio::time::timeout;

use super::{accept, accepted, everything, hello, interview, next, question, text};
use crate::pair;

#[tokio::test]
async fn a_client_that_lost_its_stream_comes_back_for_the_question_and_for_the_answer() {
    let tree = pair().await;
    let session = tree.session_with(Version::November2025, everything()).await;

    for gateway in ["gateway-0", "gateway-1"] {
        let conn = tree.conn_to("gateway-0").await;
        let mut stream = conn.into_stream(&interview(&session)).await;
        let primed = event(&mut stream).await;
        let asked = question(&mut stream).await;
        drop(stream);

        // It has seen nothing yet: the question comes again.
        let mut stream = back(&tree, gateway, &session, &primed).await;
        let again = event(&mut stream).await;
        assert_eq!(again.message.as_ref(), Some(&asked), "at {gateway}");
        drop(stream);

        // It has seen the question: what follows comes.
        let mut conn = tree.conn_to(gateway).await;
        accept(&mut conn, &session, &asked, json!({ "name": "Ann" })).await;
        let mut stream = back(&tree, gateway, &session, &again).await;
        let color = question(&mut stream).await;
        accept(&mut conn, &session, &color, json!({ "color": "red" })).await;
        assert_eq!(
            text(&next(&mut stream).await),
            "tea: Ann likes red, in round 3"
        );
    }
}

#[tokio::test]
async fn an_answer_outlives_the_hub_that_should_have_carried_it() {
    let tree = pair().await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let mut other = tree.conn_to("gateway-1").await;

    for _ in 0..3 {
        let conn = tree.conn_to("gateway-0").await;
        let mut stream = conn.into_stream(&hello(&session)).await;
        let asked = question(&mut stream).await;

        let hub = tree.signal_slot("hub-0", Signal::KILL).await;
        accept(&mut other, &session, &asked, json!({ "name": "Ann" })).await;

        assert_eq!(text(&next(&mut stream).await), "Hello, Ann!");
        tree.replaced("hub-0", hub, PATIENCE).await;
    }
}

#[tokio::test]
async fn an_answer_outlives_a_hub_that_hangs() {
    let tree = pair().await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let conn = tree.conn_to("gateway-0").await;
    let mut stream = conn.into_stream(&hello(&session)).await;
    let asked = question(&mut stream).await;
    let mut other = tree.conn_to("gateway-1").await;

    let hub = tree.signal_slot("hub-0", Signal::STOP).await;
    let mut taken = false;
    while !taken {
        let answer = Call::answer(&asked["id"], accepted(json!({ "name": "Ann" })));
        let reply = other.send(&answer.session(&session)).await;
        // Whoever is told to come again does; whoever is told nothing has answered.
        taken = reply.status == StatusCode::ACCEPTED;
    }

    assert_eq!(text(&next(&mut stream).await), "Hello, Ann!");
    tree.replaced("hub-0", hub, PATIENCE).await;
}

#[tokio::test]
async fn an_answer_outlives_the_store() {
    let tree = pair().await;
    let session = tree.session_with(Version::November2025, everything()).await;
    let conn = tree.conn_to("gateway-0").await;
    let mut stream = conn.into_stream(&hello(&session)).await;
    let asked = question(&mut stream).await;

    let store = tree.signal_slot("store", Signal::KILL).await;
    let mut other = tree.conn_to("gateway-1").await;
    accept(&mut other, &session, &asked, json!({ "name": "Ann" })).await;

    assert_eq!(text(&next(&mut stream).await), "Hello, Ann!");
    tree.replaced("store", store, PATIENCE).await;
}

async fn event(stream: &mut Events) -> Event {
    assert_eq!(stream.status, StatusCode::OK);
    let next = timeout(PATIENCE, stream.next_event()).await;
    next.expect("in time")
        .expect("a whole stream")
        .expect("an event")
}

/// Comes back for what follows an event.
async fn back(tree: &Tree, gateway: &str, session: &str, after: &Event) -> Events {
    let get = Call::verb(Method::GET)
        .header("accept", "text/event-stream")
        .header("last-event-id", after.id.as_deref().expect("an id"))
        .session(session);
    tree.conn_to(gateway).await.into_stream(&get).await
}
