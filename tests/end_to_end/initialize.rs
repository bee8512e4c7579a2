//! The handshake of the legacy era.

use conduit_testkit::{Call, Version, initialize};
use http::StatusCode;
use serde_json::{Value, json};

use crate::demo;

#[tokio::test]
async fn a_version_that_we_serve_is_agreed_to() {
    let tree = demo().await;

    for version in [Version::November2025, Version::June2025] {
        let reply = tree.send(&initialize(version)).await;
        assert_eq!(reply.result()["protocolVersion"], version.as_str());
    }
}

#[tokio::test]
async fn any_other_version_is_answered_with_our_newest_legacy_one() {
    let tree = demo().await;

    for version in ["2026-07-28", "2025-03-26", "1999-01-01", ""] {
        let reply = tree.send(&asking_for(json!(version))).await;
        assert_eq!(
            reply.result()["protocolVersion"],
            "2025-11-25",
            "asked for {version:?}"
        );
    }
}

#[tokio::test]
async fn a_version_that_is_no_text_is_invalid_params() {
    let tree = demo().await;

    for version in [json!(20_251_125), Value::Null] {
        let reply = tree.send(&asking_for(version)).await;
        assert_eq!((reply.status, reply.code()), (StatusCode::OK, -32602));
    }
}

#[tokio::test]
async fn the_answer_introduces_the_server_in_legacy_words_only() {
    let reply = demo().await.send(&initialize(Version::November2025)).await;

    let result = reply.result();
    assert!(result["capabilities"]["tools"].is_object(), "{result}");
    assert!(result["serverInfo"]["name"].is_string(), "{result}");
    assert!(result["serverInfo"]["version"].is_string(), "{result}");
    for modern in ["resultType", "ttlMs", "cacheScope", "_meta"] {
        assert_eq!(result.get(modern), None, "{result}");
    }
}

#[tokio::test]
async fn a_session_comes_with_it_whose_id_is_a_random_uuid() {
    let tree = demo().await;

    let (one, other) = (
        tree.session(Version::November2025).await,
        tree.session(Version::November2025).await,
    );

    assert_ne!(one, other);
    for id in [one, other] {
        let parts: Vec<&str> = id.split('-').collect();
        assert_eq!(
            parts.iter().map(|part| part.len()).collect::<Vec<_>>(),
            [8, 4, 4, 4, 12],
            "{id}"
        );
        assert!(parts[2].starts_with('4'), "{id} is not of version 4");
    }
}

#[tokio::test]
async fn a_session_header_on_it_is_ignored() {
    let tree = demo().await;
    let session = tree.session(Version::November2025).await;

    for id in [session.as_str(), "gone"] {
        let reply = tree
            .send(&initialize(Version::November2025).session(id))
            .await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_ne!(reply.header("mcp-session-id"), Some(session.as_str()));
    }
}

#[tokio::test]
async fn initialized_is_accepted_in_the_session() {
    let tree = demo().await;
    let session = tree.session(Version::November2025).await;

    let reply = tree
        .send(
            &Call::legacy("notifications/initialized", Value::Null)
                .notification()
                .session(&session),
        )
        .await;

    assert_eq!((reply.status, reply.body.len()), (StatusCode::ACCEPTED, 0));
}

fn asking_for(version: Value) -> Call {
    let mut params = json!({ "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    params["protocolVersion"] = version;
    Call::legacy("initialize", params).without("mcp-protocol-version")
}
