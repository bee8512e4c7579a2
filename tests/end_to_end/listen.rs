//! Listen streams: each change that a client asked for reaches it, wherever it happened,
//! and nothing else does.

use conduit_testkit::{Call, Conn, Era, Events, PATIENCE};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{demo, fixture, pair};

#[tokio::test]
async fn a_change_at_one_gateway_reaches_listeners_at_both() {
    let tree = pair().await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );
    let mut here = open(
        &mut first,
        json!("here"),
        json!({ "toolsListChanged": true }),
    )
    .await;
    let mut there = open(&mut second, json!(7), json!({ "toolsListChanged": true })).await;

    announce(&mut tree.conn_to("gateway-0").await, "tools").await;

    for (stream, id) in [(&mut here, json!("here")), (&mut there, json!(7))] {
        let told = next(stream).await;
        assert_eq!(told["method"], "notifications/tools/list_changed");
        assert_eq!(subscription(&told), &id);
    }
}

#[tokio::test]
async fn only_what_was_asked_for_arrives() {
    let tree = fixture().await;
    let (mut conn, mut other) = (tree.conn().await, tree.conn().await);
    let filter = json!({ "promptsListChanged": true, "resourceSubscriptions": ["file:///a.txt"] });
    let mut stream = open(&mut conn, json!(1), filter).await;

    announce(&mut other, "tools").await;
    touch(&mut other, "file:///b.txt").await;
    touch(&mut other, "file:///a.txt").await;
    announce(&mut other, "resources").await;
    announce(&mut other, "prompts").await;

    let updated = next(&mut stream).await;
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "file:///a.txt");
    let changed = next(&mut stream).await;
    assert_eq!(changed["method"], "notifications/prompts/list_changed");
}

#[tokio::test]
async fn a_server_that_gains_a_tool_lists_it_and_tells_it() {
    let tree = fixture().await;
    let (mut conn, mut other) = (tree.conn().await, tree.conn().await);
    let mut stream = open(&mut conn, json!(1), json!({ "toolsListChanged": true })).await;

    let arguments = json!({ "add": ["brand_new"], "remove": ["linger"] });
    other
        .send(&Era::Modern.tool("change_server", arguments))
        .await;

    assert_eq!(
        next(&mut stream).await["method"],
        "notifications/tools/list_changed"
    );
    let called = other.send(&Era::Legacy.tool("brand_new", json!({}))).await;
    assert_eq!(called.text(), "brand_new: done");
    let gone = other.send(&Era::Modern.tool("linger", json!({}))).await;
    assert_eq!(gone.code(), -32602);
    for era in Era::BOTH {
        let list = other.send(&era.call("tools/list", Value::Null)).await;
        let tools = list.result()["tools"].as_array().expect("a list").clone();
        assert!(tools.iter().any(|tool| tool["name"] == "brand_new"));
        assert!(!tools.iter().any(|tool| tool["name"] == "linger"));
    }
}

#[tokio::test]
async fn what_is_not_offered_is_not_honoured_and_without_a_rest_the_stream_ends() {
    let tree = demo().await;
    let filter = json!({ "toolsListChanged": true });
    let call = listen(json!("nothing"), &filter);

    let reply = tree.send(&call).await;

    let [acknowledged] = reply.notifications() else {
        panic!("one acknowledgement expected: {reply}");
    };
    assert_eq!(acknowledged["params"]["notifications"], json!({}));
    assert_eq!(reply.result()["resultType"], "complete");
    assert_eq!(subscription_of_result(reply.message()), "nothing");
}

#[tokio::test]
async fn a_client_that_reads_no_events_cannot_listen() {
    let tree = fixture().await;
    let call = listen(json!(1), &json!({ "toolsListChanged": true }));

    let reply = tree.send(&call.header("accept", "application/json")).await;

    assert_eq!(reply.status, StatusCode::NOT_ACCEPTABLE);
    assert_eq!(reply.message()["id"], 1);
}

#[tokio::test]
async fn tasks_need_the_extension() {
    let tree = fixture().await;

    let reply = tree
        .send(&listen(json!(1), &json!({ "taskIds": [] })))
        .await;

    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert_eq!(reply.code(), -32021);
}

#[tokio::test]
async fn a_stream_is_told_of_its_end_when_the_tree_stops() {
    let tree = fixture().await;
    let mut conn = tree.conn().await;
    let mut stream = open(&mut conn, json!("end"), json!({ "toolsListChanged": true })).await;

    let reading = async {
        let last = next(&mut stream).await;
        let end = timeout(PATIENCE, stream.next()).await.expect("an end");
        (last, end.expect("a whole stream"))
    };
    let ((last, end), _stopped) = tokio::join!(reading, tree.stop());

    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(subscription_of_result(&last), "end");
    assert_eq!(end, None);
}

#[tokio::test]
async fn open_streams_take_no_place_of_calls() {
    let options = conduit_testkit::Options::fixture()
        .gateways(1)
        .argument("--set")
        .argument("limits.in_flight=2");
    let tree = conduit_testkit::Tree::start(options).await;
    let filter = json!({ "toolsListChanged": true });
    let mut streams = Vec::new();
    for number in 0..5 {
        let conn = tree.conn().await;
        streams.push(conn.into_stream(&listen(json!(number), &filter)).await);
    }

    let reply = tree
        .send(&Era::Modern.call("tools/list", Value::Null))
        .await;

    for stream in &mut streams {
        assert_eq!(
            next(stream).await["method"],
            "notifications/subscriptions/acknowledged"
        );
    }
    assert_eq!(reply.status, StatusCode::OK);
}

fn listen(id: Value, filter: &Value) -> Call {
    Call::modern("subscriptions/listen", json!({ "notifications": filter })).id(id)
}

/// Opens a stream and reads its acknowledgement, which comes first.
async fn open(conn: &mut Conn, id: Value, filter: Value) -> Events {
    let mut stream = conn.stream(&listen(id.clone(), &filter)).await;
    let first = next(&mut stream).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], filter);
    assert_eq!(subscription(&first), &id);
    stream
}

async fn next(stream: &mut Events) -> Value {
    let next = timeout(PATIENCE, stream.next()).await.expect("in time");
    next.expect("a whole stream").expect("a message")
}

async fn announce(conn: &mut Conn, list: &str) {
    let told = conn
        .send(&Era::Modern.tool("announce_change", json!({ "list": list })))
        .await;
    assert_eq!(told.text(), "told");
}

async fn touch(conn: &mut Conn, uri: &str) {
    let told = conn
        .send(&Era::Modern.tool("touch_resource", json!({ "uri": uri })))
        .await;
    assert_eq!(told.text(), "told");
}

fn subscription(notification: &Value) -> &Value {
    &notification["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

fn subscription_of_result(response: &Value) -> &Value {
    &response["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}
