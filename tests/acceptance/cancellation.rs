//! Who stops which call (6.4). Every scope here is a session or an address; those of
//! principals wait for authentication.

use conduit::Head;
use conduit::telemetry::Event;
use conduit_testkit::{Call, Era, Reply, Tree, Version};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::inside::{House, from, modern};
use crate::log::told;
use crate::{FOREVER, at_work, fixture, in_flight, options};

#[tokio::test]
async fn at_100_a_legacy_call_is_stopped_in_its_session_and_that_is_told() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let call = wait(FOREVER, json!("a1"), &session);

    let (answer, accepted) = stopped(&tree, &call, &cancel(json!("a1"), &session)).await;

    is_accepted(&accepted);
    assert_eq!(answer.text(), "cancelled");
    let events = told(&tree, "request.cancelled", 1).await;
    assert_eq!(events[0]["request_id"], json!("a1").to_string());
    assert_eq!(events[0]["reason"], "stop");
}

#[tokio::test]
async fn at_101_a_cancel_of_nothing_is_forgotten() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;

    let accepted = tree.send(&cancel(json!("a1"), &session)).await;
    let answer = tree.send(&wait(50, json!("a1"), &session)).await;

    is_accepted(&accepted);
    assert_eq!(answer.text(), "done");
    told(&tree, "request.cancelled", 0).await;
}

#[tokio::test]
async fn at_102_a_cancel_reaches_no_call_of_another_session() {
    let tree = fixture().await;
    let mine = tree.session(Version::November2025).await;
    let other = tree.session(Version::November2025).await;
    let (stopped, spared) = (
        sent(&tree, wait(FOREVER, json!("same"), &mine)).await,
        sent(&tree, wait(1_500, json!("same"), &other)).await,
    );

    let (stopped, spared, _) = tokio::join!(stopped, spared, async {
        at_work(&tree, 2.0).await;
        tree.send(&cancel(json!("same"), &mine)).await
    });

    assert_eq!((stopped.text(), spared.text()), ("cancelled", "done"));
    told(&tree, "request.cancelled", 1).await;
}

#[tokio::test]
async fn at_103_a_cancel_that_comes_too_late_does_not_reach_the_next_call() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let call = wait(50, json!("again"), &session);

    let first = tree.send(&call).await;
    let late = tree.send(&cancel(json!("again"), &session)).await;
    let second = tree.send(&call).await;

    is_accepted(&late);
    assert_eq!((first.text(), second.text()), ("done", "done"));
    told(&tree, "request.cancelled", 0).await;
}

#[tokio::test]
async fn at_104_a_cancel_whose_parameters_are_no_object_is_answered_under_a_null_id() {
    let tree = fixture().await;

    for params in NO_OBJECTS.map(parsed) {
        let call = Call::message(notification(params));
        let reply = tree.send(&call).await;
        assert_eq!(reply.status, StatusCode::OK);
        is_malformed(reply.message());
    }
}

#[tokio::test]
async fn at_104_the_wrapper_returns_that_answer() {
    let house = House::start().await;

    for params in NO_OBJECTS.map(parsed) {
        let answer = house.wrapped(&notification(params)).await;
        is_malformed(&answer.expect("an answer"));
    }
}

#[tokio::test]
async fn at_107_a_cancel_that_names_no_call_that_there_is_is_accepted() {
    let tree = fixture().await;

    for params in [
        json!({ "requestId": "a".repeat(256) }),
        json!({ "requestId": 0 }),
        json!({ "requestId": -1 }),
        json!({ "requestId": "" }),
        json!({ "requestId": null }),
        json!({}),
    ] {
        let call = Call::legacy("notifications/cancelled", params).notification();
        is_accepted(&tree.send(&call).await);
    }
    told(&tree, "request.cancelled", 0).await;
}

#[tokio::test]
async fn at_108_a_scope_at_its_quota_waits_until_a_cancelled_call_has_ended() {
    let options = options().environment("CONDUIT_CANCELLATION_PER_SCOPE", "2");
    let tree = Tree::start(options).await;
    let mine = tree.session(Version::November2025).await;
    let other = tree.session(Version::November2025).await;
    let mut calls = JoinSet::new();
    for id in 1..=3 {
        calls.spawn(sent(&tree, stubborn(json!(id), &mine)).await);
    }
    calls.spawn(sent(&tree, stubborn(json!(1), &other)).await);
    at_work(&tree, 4.0).await;

    let first = tree.send(&cancel(json!(1), &mine)).await;
    let second = tree.send(&cancel(json!(2), &mine)).await;
    let third = tree.send(&cancel(json!(3), &mine)).await;
    let elsewhere = tree.send(&cancel(json!(1), &other)).await;
    tree.send(&Era::Modern.tool("let_go", json!({}))).await;
    let answers = calls.join_all().await;
    let again = stopped(
        &tree,
        &wait(FOREVER, json!(4), &mine),
        &cancel(json!(4), &mine),
    )
    .await;

    for accepted in [first, second, elsewhere, again.1] {
        is_accepted(&accepted);
    }
    is_full(&third);
    for answer in answers {
        assert_eq!(answer.text(), "done");
    }
    assert_eq!(again.0.text(), "cancelled");
}

#[tokio::test]
async fn at_109_the_quota_is_256_cancelled_calls_of_a_scope() {
    conduit_testkit::process::raise_descriptor_limit();
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let mut calls = JoinSet::new();
    for id in 1..=257 {
        calls.spawn(sent(&tree, stubborn(json!(id), &session)).await);
    }
    in_flight(&tree, 257.0).await;

    let mut conn = tree.conn().await;
    for id in 1..=256 {
        is_accepted(&conn.send(&cancel(json!(id), &session)).await);
    }
    let last = conn.send(&cancel(json!(257), &session)).await;

    is_full(&last);
    // Nobody waits for their answers.
    calls.shutdown().await;
}

#[tokio::test]
async fn at_111_a_cancelled_call_leaves_nothing_behind() {
    let options = options().environment("CONDUIT_CANCELLATION_PER_SCOPE", "1");
    let tree = Tree::start(options).await;
    let session = tree.session(Version::November2025).await;

    // Were a row left, the second cancel would be past the quota.
    for _ in 0..2 {
        let call = wait(FOREVER, json!("a"), &session);
        let (answer, accepted) = stopped(&tree, &call, &cancel(json!("a"), &session)).await;
        assert_eq!(answer.text(), "cancelled");
        is_accepted(&accepted);
    }
    in_flight(&tree, 0.0).await;
    let reused = tree.send(&wait(50, json!("a"), &session)).await;

    assert_eq!(reused.text(), "done");
    told(&tree, "request.cancelled", 2).await;
}

#[tokio::test]
async fn at_112_a_call_that_raises_leaves_nothing_behind() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let call = Era::Legacy
        .tool("boom", json!({}))
        .id(json!("b"))
        .session(&session);

    let raised = tree.send(&call).await;
    let accepted = tree.send(&cancel(json!("b"), &session)).await;

    assert_eq!(raised.code(), -32603);
    is_accepted(&accepted);
    in_flight(&tree, 0.0).await;
    told(&tree, "request.cancelled", 0).await;
}

#[tokio::test]
async fn at_115_an_anonymous_modern_call_is_tracked_under_its_address() {
    for (client, expected) in [
        ("192.0.2.7", "ip:192.0.2.7"),
        ("2001:db8:1:2:a:b:c:d", "ip:2001:db8:1:2::/64"),
    ] {
        let mut house = House::start().await;

        leave(&house, from(client)).await;

        let scope = house
            .hear(|event| {
                let Event::RequestCancelled { scope, .. } = event else {
                    return None;
                };
                Some(scope)
            })
            .await;
        assert_eq!(scope, expected);
    }
}

#[tokio::test]
async fn at_116_a_reason_of_any_kind_is_kept_as_a_short_plain_text() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;
    let long = format!("\u{1b}[31m\0{}", "x".repeat(494));

    for (number, reason) in (1..).zip([json!([1.5]), json!({}), json!(long)]) {
        let id = json!(number);
        let call = wait(FOREVER, id.clone(), &session);
        let params = json!({ "requestId": id, "reason": reason });
        let cancel = Call::legacy("notifications/cancelled", params)
            .notification()
            .session(&session);
        is_accepted(&stopped(&tree, &call, &cancel).await.1);

        let events = told(&tree, "request.cancelled", number).await;
        let kept = events[number - 1]["reason"].as_str().expect("a text");
        assert!(!kept.is_empty() && kept.chars().count() <= 200, "{kept}");
        assert!(!kept.contains(char::is_control), "{kept:?}");
    }
}

/// What may stand where the parameters of a cancel belong, and be none.
const NO_OBJECTS: [&str; 4] = ["null", "[1]", "\"x\"", "5"];

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).expect("JSON")
}

fn notification(params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" });
    message["params"] = params;
    message
}

fn wait(ms: u64, id: Value, session: &str) -> Call {
    let call = Era::Legacy.tool("wait", json!({ "ms": ms }));
    call.id(id).session(session)
}

/// Waits until `let_go`, cancelled or not.
fn stubborn(id: Value, session: &str) -> Call {
    let call = Era::Legacy.tool("stubborn", json!({ "ms": FOREVER }));
    call.id(id).session(session)
}

fn cancel(id: Value, session: &str) -> Call {
    let mut params = json!({ "reason": "stop" });
    params["requestId"] = id;
    Call::legacy("notifications/cancelled", params)
        .notification()
        .session(session)
}

/// Sends a call, a cancel once it runs, and returns the answers to both.
async fn stopped(tree: &Tree, call: &Call, cancel: &Call) -> (Reply, Reply) {
    let mut conn = tree.conn().await;
    tokio::join!(conn.send(call), async {
        at_work(tree, 1.0).await;
        tree.send(cancel).await
    })
}

/// Sends a call over a connection of its own.
async fn sent(tree: &Tree, call: Call) -> impl Future<Output = Reply> + use<> {
    let mut conn = tree.conn().await;
    async move { conn.send(&call).await }
}

/// Begins a modern call, and leaves it once it runs.
async fn leave(house: &House, head: Head) {
    let call = modern(115, "tools/call", json!({ "name": "forever" }));
    let reply = house.handler.dispatch(call.to_string(), head);
    let runs = async {
        while house.calls() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        reply = reply => panic!("it never answers by itself: {reply:?}"),
        () = runs => {}
    }
}

#[track_caller]
fn is_accepted(reply: &Reply) {
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{reply}");
    assert!(reply.body.is_empty(), "{reply}");
}

#[track_caller]
fn is_malformed(answer: &Value) {
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(answer.get("id"), Some(&Value::Null), "{answer}");
}

#[track_caller]
fn is_full(reply: &Reply) {
    assert_eq!((reply.status, reply.code()), (StatusCode::OK, -32000));
    assert_eq!(reply.message().get("id"), Some(&Value::Null), "{reply}");
}
