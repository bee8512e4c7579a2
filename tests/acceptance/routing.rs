//! Which methods there are, and how each kind of message is answered (6.2).

use std::collections::BTreeSet;

use conduit::{Era as Eras, Handler, Head, Reply};
use conduit_testkit::{Call, Era, Reply as HttpReply, Tree, Version, initialize};
use futures_util::StreamExt as _;
use http::StatusCode;
use serde_json::{Value, json};

use crate::inside::{House, modern, reads_events, request};
use crate::log::{told, warnings};
use crate::{CAPABILITIES, at_work, fixture, in_flight};

#[tokio::test]
async fn at_050_every_method_of_the_modern_era_is_known() {
    let tree = fixture().await;

    for (method, params) in SHARED {
        let reply = tree.send(&Call::modern(method, params_of(params))).await;
        is_known(&reply, method);
    }
    is_known(
        &tree.send(&Call::modern("server/discover", json!({}))).await,
        "server/discover",
    );
    // What a server does not offer is not honoured: the stream ends at once (R19).
    let listen = Call::modern("subscriptions/listen", json!({ "notifications": {} }));
    is_known(&tree.send(&listen).await, "subscriptions/listen");
}

#[tokio::test]
async fn at_052_every_method_of_the_legacy_era_is_known() {
    let tree = fixture().await;

    for (method, params) in SHARED.into_iter().chain([
        ("ping", "{}"),
        ("logging/setLevel", r#"{"level":"info"}"#),
        ("resources/subscribe", r#"{"uri":"file:///a.txt"}"#),
        ("resources/unsubscribe", r#"{"uri":"file:///a.txt"}"#),
    ]) {
        let reply = tree.send(&Call::legacy(method, params_of(params))).await;
        is_known(&reply, method);
    }
    let handshake = tree.send(&initialize(Version::November2025)).await;
    is_known(&handshake, "initialize");
    of_tasks_are_known(&tree).await;
}

#[test]
fn at_054_the_catalogue_is_the_seeds() {
    let modern: BTreeSet<&str> = names(Handler::methods_of(Eras::Modern));
    let legacy: BTreeSet<&str> = names(Handler::methods_of(Eras::Legacy));
    let all: BTreeSet<&str> = names(Handler::methods().iter().copied());
    let shared = SHARED.map(|(method, _)| method);
    let of_modern = shared
        .into_iter()
        .chain(["server/discover", "subscriptions/listen"]);
    let of_modern = of_modern.chain(["tasks/get", "tasks/update", "tasks/cancel"]);
    let of_legacy = shared.into_iter().chain([
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/get",
        "tasks/list",
        "tasks/result",
        "tasks/cancel",
        "notifications/initialized",
        "notifications/cancelled",
    ]);

    assert_eq!(modern, of_modern.collect());
    assert_eq!(legacy, of_legacy.collect());
    assert_eq!(all, modern.union(&legacy).copied().collect());
    assert!(!legacy.contains("server/discover"));
}

#[test]
fn at_055_the_protocol_has_the_same_catalogue() {
    assert_eq!(Handler::methods(), conduit::protocol::Method::methods());
}

#[tokio::test]
async fn at_056_an_unknown_notification_is_dropped_with_one_warning() {
    let tree = fixture().await;

    let reply = tree
        .send(&Call::legacy("notifications/whatever", json!({})).notification())
        .await;

    is_accepted(&reply);
    let warnings = warnings(&tree).await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].to_string().contains("notifications/whatever"),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn at_057_a_modern_notification_does_nothing() {
    let tree = fixture().await;
    let mut conn = tree.conn().await;
    let call = Era::Modern
        .tool("wait", json!({ "ms": 1_000 }))
        .progress(json!("p"));

    let (waited, dropped) = tokio::join!(conn.send(&call), async {
        at_work(&tree, 1.0).await;
        let cancel = Call::modern("notifications/cancelled", json!({ "requestId": 1 }));
        let initialized = Call::modern("notifications/initialized", json!({}));
        [
            tree.send(&cancel.notification()).await,
            tree.send(&initialized.notification()).await,
        ]
    });

    for reply in &dropped {
        is_accepted(reply);
    }
    assert_eq!(waited.text(), "done");
    told(&tree, "request.cancelled", 0).await;
}

#[tokio::test]
async fn at_058_a_notification_that_was_taken_has_no_answer() {
    let house = House::start().await;
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });

    assert_eq!(house.wrapped(&message).await, None);
}

#[tokio::test]
async fn at_059_a_response_is_dropped_and_runs_nothing() {
    let house = House::start().await;

    for message in [
        json!({ "jsonrpc": "2.0", "id": 7, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": 1, "message": "x" } }),
    ] {
        assert_eq!(house.wrapped(&message).await, None);
    }
    assert_eq!(house.calls(), 0);
}

#[tokio::test]
async fn at_060_the_wrapper_needs_nothing_but_a_message() {
    let house = House::start().await;

    let answer = house
        .wrapped(&json!({ "jsonrpc": "2.0", "id": 60, "method": "ping" }))
        .await;

    let pong = json!({ "jsonrpc": "2.0", "id": 60, "result": {} });
    assert_eq!(answer, Some(pong));
}

#[tokio::test]
async fn at_061_a_message_is_answered_with_a_reply_or_a_stream_or_not_at_all() {
    let house = House::start().await;
    let with_token = json!({ "name": "steps", "_meta": { "progressToken": "t" } });
    let filter = json!({ "notifications": { "toolsListChanged": true } });

    for (message, expected) in [
        (request(1, "ping", json!({})), "reply"),
        (modern(2, "tools/call", json!({ "name": "hello" })), "reply"),
        (modern(3, "tools/call", with_token), "stream(response)"),
        (modern(4, "subscriptions/listen", filter), "stream(listen)"),
        (
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            "no reply",
        ),
    ] {
        let reply = house
            .handler
            .dispatch(message.to_string(), reads_events())
            .await;
        assert_eq!(kind(reply).await, expected, "{message}");
    }
}

#[tokio::test]
async fn at_062_a_callback_that_raises_says_nothing_of_it_and_harms_nobody() {
    let tree = fixture().await;

    for era in Era::BOTH {
        let reply = tree.send(&era.tool("boom", json!({})).id(json!(62))).await;
        assert_eq!((reply.code(), &reply.message()["id"]), (-32603, &json!(62)));
        for secret in ["hunter2", "10.0.0.5"] {
            assert!(!reply.to_string().contains(secret), "{reply}");
        }
        let after = tree
            .send(&era.tool("echo", json!({ "message": "still here" })))
            .await;
        assert_eq!(after.text(), "still here");
    }
    in_flight(&tree, 0.0).await;
}

#[tokio::test]
async fn at_064_a_refusal_without_a_transport_has_the_shape_and_the_status_all_the_same() {
    let house = House::start().await;
    let mut message = modern(64, "tools/list", json!({}));
    message["params"]["_meta"]
        .as_object_mut()
        .expect("an object")
        .remove(CAPABILITIES);

    let (status, answer) = house.one(Head::default(), &message).await;

    assert_eq!(status, 400);
    assert_eq!(
        (&answer["error"]["code"], &answer["id"]),
        (&json!(-32602), &json!(64))
    );
    assert_eq!(answer["error"].get("data"), None);
}

#[tokio::test]
async fn at_065_an_error_of_a_callback_keeps_its_code_its_message_and_its_data() {
    let tree = fixture().await;

    for era in Era::BOTH {
        let reply = tree.send(&era.tool("refuse", json!({}))).await;
        assert_eq!(
            reply.message()["error"],
            json!({ "code": 1234, "message": "m", "data": { "a": 1 } })
        );
    }
}

/// The requests that both eras have, with the least that each needs.
const SHARED: [(&str, &str); 8] = [
    ("tools/list", "{}"),
    (
        "tools/call",
        r#"{"name":"echo","arguments":{"message":"x"}}"#,
    ),
    ("resources/list", "{}"),
    ("resources/templates/list", "{}"),
    ("resources/read", r#"{"uri":"file:///a.txt"}"#),
    ("prompts/list", "{}"),
    (
        "prompts/get",
        r#"{"name":"greet","arguments":{"name":"Ada"}}"#,
    ),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"A"}}"#,
    ),
];

fn params_of(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON")
}

fn names<'a>(methods: impl Iterator<Item = conduit::protocol::Method>) -> BTreeSet<&'a str> {
    methods.map(conduit::protocol::Method::as_str).collect()
}

/// The methods that need a task, which has ended when it is to be cancelled.
async fn of_tasks_are_known(tree: &Tree) {
    let session = tree.session(Version::November2025).await;
    let work = Era::Legacy
        .tool("work", json!({ "name": "known" }))
        .param("task", json!({}));
    let made = tree.send(&work.session(&session)).await;
    let id = json!({ "taskId": made.result()["task"]["taskId"] });
    for (method, params) in [
        ("tasks/list", json!({})),
        ("tasks/get", id.clone()),
        ("tasks/result", id.clone()),
    ] {
        let call = Call::legacy(method, params).session(&session);
        is_known(&tree.send(&call).await, method);
    }
    let cancel = Call::legacy("tasks/cancel", id).session(&session);
    assert_eq!(tree.send(&cancel).await.code(), -32602, "it has ended");
}

async fn kind(reply: Reply) -> &'static str {
    match reply {
        Reply::Message(_) => "reply",
        Reply::Accepted => "no reply",
        Reply::Stream(mut events) => {
            let first = events.next().await.and_then(|event| event.message);
            let text = first.expect("a first message").into_bytes();
            if String::from_utf8_lossy(&text).contains("notifications/subscriptions/acknowledged") {
                "stream(listen)"
            } else {
                "stream(response)"
            }
        }
    }
}

#[track_caller]
fn is_known(reply: &HttpReply, method: &str) {
    assert_eq!(reply.status, StatusCode::OK, "{method}: {reply}");
    assert!(reply.message().get("result").is_some(), "{method}: {reply}");
}

#[track_caller]
fn is_accepted(reply: &HttpReply) {
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{reply}");
    assert!(reply.body.is_empty(), "{reply}");
}
