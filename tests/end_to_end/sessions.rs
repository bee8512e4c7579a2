//! Legacy sessions: any gateway serves them, and the end of one is an end
//! everywhere (R12).

use std::time::Duration;

use conduit_testkit::{Call, Conn, Era, Options, PATIENCE, Tree, Version, initialize, wait_until};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{demo, pair};

#[tokio::test]
async fn a_session_of_one_gateway_is_used_and_ended_on_another() {
    let tree = pair().await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );
    let session = opened(&mut first).await;

    let used = second
        .send(
            &Era::Legacy
                .tool("echo", json!({ "message": "hello" }))
                .session(&session),
        )
        .await;
    let ended = second.send(&end(&session)).await;
    let after = [
        first.send(&ping(&session)).await,
        second.send(&ping(&session)).await,
    ];

    assert_eq!(used.text(), "hello");
    assert_eq!(
        (ended.status, ended.body.len()),
        (StatusCode::NO_CONTENT, 0)
    );
    for reply in after {
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn a_session_is_ended_where_it_was_opened_and_gone_where_it_was_used() {
    let tree = pair().await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );
    let session = opened(&mut first).await;
    assert_eq!(second.send(&ping(&session)).await.status, StatusCode::OK);

    let ended = first.send(&end(&session)).await;

    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    assert_eq!(
        second.send(&ping(&session)).await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_stream_and_an_end_in_a_version_that_nobody_speaks_are_refused() {
    let tree = demo().await;
    let session = tree.session(Version::November2025).await;

    let get = Call::verb(Method::GET).header("accept", "text/event-stream");
    for call in [get.session(&session), end(&session)] {
        let reply = tree.send(&call.header("mcp-protocol-version", "x")).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{reply}");
    }

    assert_eq!(tree.send(&ping(&session)).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_session_that_nobody_opened_is_not_found_whatever_is_asked() {
    let tree = demo().await;

    for id in [
        "00000000-0000-4000-8000-000000000000",
        "nonsense",
        "a b",
        "",
    ] {
        let get = Call::verb(Method::GET)
            .header("accept", "text/event-stream")
            .session(id);
        for call in [ping(id), get, end(id)] {
            let reply = tree.send(&call).await;
            assert_eq!(reply.status, StatusCode::NOT_FOUND, "{call:?}: {reply}");
        }
    }
}

#[tokio::test]
async fn the_refusal_of_an_unknown_session_echoes_the_id() {
    let reply = demo().await.send(&ping("nonsense").id(json!("mine"))).await;

    assert_eq!(
        (reply.status, &reply.message()["id"]),
        (StatusCode::NOT_FOUND, &json!("mine"))
    );
    assert!(reply.message()["error"]["message"].is_string());
}

#[tokio::test]
async fn a_session_ends_only_once() {
    let tree = demo().await;
    let session = tree.session(Version::November2025).await;

    let answers = [
        tree.send(&end(&session)).await.status,
        tree.send(&end(&session)).await.status,
    ];

    assert_eq!(answers, [StatusCode::NO_CONTENT, StatusCode::NOT_FOUND]);
}

#[tokio::test]
async fn an_unknown_session_is_refused_before_its_call_does_anything() {
    let tree = demo().await;

    let reply = tree
        .send(
            &Era::Legacy
                .tool("echo", json!({ "message": "x" }))
                .session("nonsense"),
        )
        .await;

    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    assert!(
        tree.metrics()
            .await
            .sum("conduit_tool_calls_total", &[("tool", "echo")])
            < 1.0
    );
}

#[tokio::test]
async fn a_notification_to_an_unknown_session_is_not_found() {
    let call = Call::legacy("notifications/initialized", Value::Null)
        .notification()
        .session("nonsense");

    assert_eq!(demo().await.send(&call).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn three_requests_at_once_share_a_session() {
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let call = |id: i64| {
        Era::Legacy
            .tool("echo", json!({ "message": id.to_string() }))
            .id(json!(id))
            .session(&session)
    };
    let calls = [call(1), call(2), call(3)];

    let (one, two, three) = tokio::join!(
        tree.send(&calls[0]),
        tree.send(&calls[1]),
        tree.send(&calls[2])
    );

    assert_eq!([one.text(), two.text(), three.text()], ["1", "2", "3"]);
}

#[tokio::test]
async fn without_a_session_a_legacy_request_is_served_all_the_same() {
    let reply = demo()
        .await
        .send(&Era::Legacy.tool("echo", json!({ "message": "hello" })))
        .await;

    assert_eq!(reply.text(), "hello");
    assert_eq!(reply.header("mcp-session-id"), None);
}

#[tokio::test]
async fn without_a_session_a_legacy_request_is_refused_where_one_is_required() {
    let options = Options::conduit().config("[legacy]\nrequire_session = true\n");
    let tree = Tree::start(options.gateways(1)).await;

    let without = tree.send(&Call::legacy("ping", Value::Null)).await;
    let session = tree.session(Version::November2025).await;
    let within = tree.send(&ping(&session)).await;
    let modern = tree.send(&Call::modern("tools/list", json!({}))).await;

    assert_eq!(
        (without.status, &without.message()["id"]),
        (StatusCode::BAD_REQUEST, &json!(1))
    );
    assert_eq!(
        (within.status, modern.status),
        (StatusCode::OK, StatusCode::OK)
    );
}

#[tokio::test]
async fn a_get_without_a_session_is_not_allowed() {
    let reply = demo()
        .await
        .send(&Call::verb(Method::GET).header("accept", "text/event-stream"))
        .await;

    assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED);
    assert!(
        reply
            .header("allow")
            .is_some_and(|allow| allow.contains("POST")),
        "{reply}"
    );
}

#[tokio::test]
async fn a_get_in_a_session_that_takes_no_events_is_not_allowed() {
    let tree = demo().await;
    let session = tree.session(Version::November2025).await;

    let reply = tree
        .send(
            &Call::verb(Method::GET)
                .header("accept", "application/json")
                .session(&session),
        )
        .await;

    assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn a_standing_stream_ends_with_its_session() {
    let tree = pair().await;
    let (mut first, mut second) = (
        tree.conn_to("gateway-0").await,
        tree.conn_to("gateway-1").await,
    );
    let session = opened(&mut first).await;
    let get = Call::verb(Method::GET)
        .header("accept", "text/event-stream")
        .session(&session);
    let mut events = second.stream(&get).await;
    assert_eq!(events.status, StatusCode::OK, "{:?}", events.headers);

    first.send(&end(&session)).await;

    let rest = timeout(PATIENCE, events.next()).await;
    assert!(matches!(rest, Ok(Ok(None))), "{rest:?}");
}

#[tokio::test]
async fn a_silent_stream_carries_comments() {
    let options = Options::conduit()
        .gateways(1)
        .environment("CONDUIT_HTTP_SSE_KEEP_ALIVE_MS", "100");
    let tree = Tree::start(options).await;
    let session = tree.session(Version::November2025).await;
    let get = Call::verb(Method::GET)
        .header("accept", "text/event-stream")
        .session(&session);
    let mut conn = tree.conn().await;
    let mut events = conn.stream(&get).await;

    wait_until("two comments", PATIENCE, async || {
        // Nothing but comments comes, so this never ends by itself.
        let message = timeout(Duration::from_millis(20), events.next()).await;
        assert!(message.is_err(), "{message:?}");
        (events.comments() >= 2).then_some(())
    })
    .await;
}

async fn opened(conn: &mut Conn) -> String {
    let reply = conn.send(&initialize(Version::November2025)).await;
    reply
        .header("mcp-session-id")
        .expect("a session")
        .to_owned()
}

fn ping(session: &str) -> Call {
    Call::legacy("ping", Value::Null).session(session)
}

fn end(session: &str) -> Call {
    Call::verb(Method::DELETE).session(session)
}
