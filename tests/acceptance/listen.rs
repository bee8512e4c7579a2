//! `subscriptions/listen` (6.6).

use conduit_testkit::process::Signal;
use conduit_testkit::{Call, Conn, Era, Events, Options, PATIENCE, Tree, binary};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::inside::{House, modern};
use crate::log::told;
use crate::{SUBSCRIPTION, fixture};

#[tokio::test]
async fn at_160_a_listener_is_acknowledged_and_gets_no_response() {
    let tree = fixture().await;
    let mut conn = tree.conn().await;

    let mut stream = conn.stream(&listen(160, tools())).await;

    let first = next(&mut stream).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], tools());
    assert_eq!(first["params"]["_meta"][SUBSCRIPTION], 160);
    announce(&tree, "tools").await;
    let second = next(&mut stream).await;
    assert!(second.get("method").is_some(), "a response: {second}");
}

#[tokio::test]
async fn at_161_a_listener_hears_what_it_asked_for_and_nothing_else() {
    let tree = fixture().await;
    let mut conn = tree.conn().await;
    let stream = open(&mut conn, 160, tools()).await;

    announce(&tree, "prompts").await;
    announce(&tree, "tools").await;
    tree.signal(Signal::TERM);

    let heard = rest(stream).await;
    let [changed, end] = heard.as_slice() else {
        panic!("one change expected, and the end: {heard:?}");
    };
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"][SUBSCRIPTION], 160);
    assert_eq!(end["id"], 160);
}

#[tokio::test]
async fn at_162_what_a_server_cannot_honour_is_not_acknowledged() {
    let options = Options::program(binary("capability-servers"));
    let tree = Tree::start(options.gateways(1)).await;
    let mut conn = tree.conn().await;
    let filter = json!({
        "toolsListChanged": true,
        "resourceSubscriptions": ["file:///a.txt"],
    });

    let mut stream = conn
        .stream(&listen(162, filter).path("/with-callbacks/mcp"))
        .await;

    let first = next(&mut stream).await;
    assert_eq!(
        first["params"]["notifications"],
        json!({ "resourceSubscriptions": ["file:///a.txt"] })
    );
}

#[tokio::test]
async fn at_163_a_filter_that_cannot_be_read_is_an_ordinary_request_that_failed() {
    let tree = fixture().await;

    for (number, params) in (1..).zip([
        json!({}),
        json!({ "notifications": "x" }),
        json!({ "notifications": { "toolsListChanged": "yes" } }),
        json!({ "notifications": { "resourceSubscriptions": "u" } }),
    ]) {
        let reply = tree
            .send(&Call::modern("subscriptions/listen", params).id(json!(163)))
            .await;
        assert!(!reply.is_stream(), "{reply}");
        assert_eq!(
            (reply.code(), &reply.message()["id"]),
            (-32602, &json!(163))
        );
        let stops = told(&tree, "request.stop", number).await;
        assert_eq!(stops[number - 1]["status"], "error");
    }
    told(&tree, "subscription.start", 0).await;
}

#[tokio::test]
async fn at_164_the_wrapper_holds_no_stream_open() {
    let house = House::start().await;
    let message = modern(
        160,
        "subscriptions/listen",
        json!({ "notifications": tools() }),
    );

    let answer = house.wrapped(&message).await.expect("an answer");

    assert_eq!(
        (&answer["error"]["code"], &answer["id"]),
        (&json!(-32601), &json!(160))
    );
}

#[tokio::test]
async fn at_165_a_listener_is_told_of_at_its_start_and_at_its_end_and_is_no_request() {
    let tree = fixture().await;
    let mut conn = tree.conn().await;
    let stream = open(&mut conn, 160, tools()).await;
    let started = told(&tree, "subscription.start", 1).await;
    told(&tree, "subscription.stop", 0).await;

    drop((stream, conn));

    let stopped = told(&tree, "subscription.stop", 1).await;
    assert_eq!(started[0]["subscription_id"], "160");
    assert_eq!(stopped[0]["subscription_id"], "160");
    let lasted = stopped[0]["duration"].as_str().expect("a duration");
    assert!(lasted.ends_with('s') && lasted != "0ns", "{lasted}");
    told(&tree, "request.stop", 0).await;
}

#[tokio::test]
async fn at_166_a_server_that_stops_ends_its_streams_with_their_results() {
    let tree = fixture().await;
    let mut conn = tree.conn().await;
    let stream = open(&mut conn, 160, tools()).await;

    tree.signal(Signal::TERM);

    // Until it closes, which is asserted by coming back.
    let heard = rest(stream).await;
    let last = heard.last().expect("a result");
    assert_eq!(last["id"], 160, "{heard:?}");
    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(last["result"]["_meta"][SUBSCRIPTION], 160);
    tree.stop().await;
}

#[tokio::test]
async fn at_167_the_legacy_era_does_not_listen() {
    let call = Call::legacy("subscriptions/listen", json!({ "notifications": tools() }));

    let reply = fixture().await.send(&call.id(json!(167))).await;

    assert_eq!(
        (reply.code(), &reply.message()["id"]),
        (-32601, &json!(167))
    );
}

fn tools() -> Value {
    json!({ "toolsListChanged": true })
}

fn listen(id: u64, filter: Value) -> Call {
    let mut params = json!({});
    params["notifications"] = filter;
    Call::modern("subscriptions/listen", params).id(json!(id))
}

/// Opens a stream and reads its acknowledgement.
async fn open(conn: &mut Conn, id: u64, filter: Value) -> Events {
    let mut stream = conn.stream(&listen(id, filter)).await;
    let first = next(&mut stream).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    stream
}

async fn next(stream: &mut Events) -> Value {
    let next = timeout(PATIENCE, stream.next()).await.expect("in time");
    next.expect("a whole stream").expect("a message")
}

/// Reads a stream to its end.
async fn rest(mut stream: Events) -> Vec<Value> {
    let mut heard = Vec::new();
    let end = async {
        while let Some(message) = stream.next().await.expect("a whole stream") {
            heard.push(message);
        }
    };
    timeout(PATIENCE, end).await.expect("an end");
    heard
}

async fn announce(tree: &Tree, list: &str) {
    let call = Era::Modern.tool("announce_change", json!({ "list": list }));
    assert_eq!(tree.send(&call).await.text(), "told");
}
