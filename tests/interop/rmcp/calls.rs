//! Calls of tools: their answers, and what comes before them.

use conduit_testkit::{PATIENCE, wait_until};
use rmcp::model::{
    CallToolRequest, ClientRequest, ErrorCode, LoggingLevel, RequestMetaObject,
    SetLevelRequestParams,
};
use rmcp::service::PeerRequestOptions;
use serde_json::{Value, json};

use crate::client::{Client, Mode, Told, params, refusal, text};

const LOGGED: [&str; 3] = [
    "Tool execution started",
    "Tool processing data",
    "Tool execution completed",
];

pub(crate) async fn answers(client: &Client) {
    let simple = client.call("test_simple_text", json!({})).await;
    assert_eq!(text(&simple), "This is a simple text response for testing.");

    for sent in ["hello", "", "Zażółć 🦀", &"x".repeat(1 << 20)] {
        let echo = client.call("tour_echo", json!({ "text": sent })).await;
        assert_eq!(text(&echo), sent);
    }

    let sum = client
        .call("tour_structured", json!({ "a": 2, "b": 40.5 }))
        .await;
    let structured = sum.structured_content.clone().expect("structure");
    assert_eq!(structured, json!({ "sum": 42.5, "label": "sum" }));
    let mirrored: Value = serde_json::from_str(text(&sum)).expect("JSON");
    assert_eq!(mirrored, structured);

    let mixed = client.call("test_multiple_content_types", json!({})).await;
    assert_eq!(text(&mixed), "Multiple content types test:");
    let image = mixed.content[1].as_image().expect("a picture");
    assert_eq!(image.mime_type, "image/png");
    assert!(mixed.content[2].as_resource().is_some(), "{mixed:?}");
}

pub(crate) async fn failures(client: &Client) {
    let failed = client.call("test_error_handling", json!({})).await;
    assert_eq!(failed.is_error, Some(true));
    assert_eq!(
        text(&failed),
        "This tool intentionally returns an error for testing"
    );

    let invalid = client
        .call("tour_structured", json!({ "a": "one", "b": 2 }))
        .await;
    assert_eq!(invalid.is_error, Some(true));
    assert!(text(&invalid).contains("/a"), "{invalid:?}");

    let unknown = client
        .service
        .call_tool(params("no_such_tool", &json!({})))
        .await;
    assert_eq!(refusal(unknown).code, ErrorCode::INVALID_PARAMS);
}

/// This client asks for progress with each call.
pub(crate) async fn progress(client: &Client) {
    client.told().await;

    client.call("test_tool_with_progress", json!({})).await;

    let steps = [0.0, 50.0, 100.0].map(Told::Progress).to_vec();
    hears(client, &steps).await;
}

pub(crate) async fn log(client: &Client) {
    let lines = LOGGED.map(|line| Told::Logged(line.into())).to_vec();
    if client.mode == Mode::Legacy {
        for level in [LoggingLevel::Debug, LoggingLevel::Info] {
            set_level(client, level).await;
            client.told().await;
            client.call("test_tool_with_logging", json!({})).await;
            hears(client, &lines).await;
        }
        set_level(client, LoggingLevel::Warning).await;
    } else {
        client.told().await;
        let mut params = params("test_tool_with_logging", &json!({}));
        let mut meta = RequestMetaObject::default();
        meta.set_log_level(LoggingLevel::Info);
        params.meta = Some(meta);
        client.call_with(params).await;
        hears(client, &lines).await;
    }
    client.told().await;
    client.call("test_tool_with_logging", json!({})).await;
    assert_eq!(client.told().await, [], "nobody asked for it");
}

pub(crate) async fn cancellation(client: &Client) {
    let tag = format!("rmcp-{:?}-{}", client.mode, std::process::id());
    let params = params("tour_slow", &json!({ "ms": 60_000, "tag": tag }));
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let call = client
        .service
        .send_cancellable_request(request, PeerRequestOptions::no_options())
        .await
        .expect("it is sent");
    becomes(client, &tag, "started").await;

    call.cancel(None).await.expect("it is sent");

    let seen = becomes(client, &tag, "cancelled").await;
    assert_eq!(seen["completed"], json!(false));
}

async fn set_level(client: &Client, level: LoggingLevel) {
    let params = SetLevelRequestParams::new(level);
    client.service.set_level(params).await.expect("a level");
}

/// Waits until it has been told all this, and nothing else.
async fn hears(client: &Client, wanted: &[Told]) {
    let mut told = Vec::new();
    wait_until("it is told", PATIENCE, async || {
        told.extend(client.told().await);
        (told.len() >= wanted.len()).then_some(())
    })
    .await;
    assert_eq!(told, wanted);
}

/// Waits until the calls with this tag have come that far.
async fn becomes(client: &Client, tag: &str, mark: &str) -> Value {
    let (seen, _) = wait_until(mark, PATIENCE, async || {
        let status = client.call("tour_slow_status", json!({ "tag": tag })).await;
        status
            .structured_content
            .filter(|seen| seen[mark] == json!(true))
    })
    .await;
    seen
}
