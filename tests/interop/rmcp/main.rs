//! The tour of the Rust SDK through the demo server, in each of its modes and with
//! one gateway and two.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests report by panicking"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use conduit_testkit::{Options, PATIENCE, Tree};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ErrorCode, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};
use tokio::time::timeout;

type Client = RunningService<RoleClient, Listener>;

/// Counts what it is told on the way.
#[derive(Clone, Debug, Default)]
struct Listener {
    told: Arc<AtomicU32>,
}

impl ClientHandler for Listener {
    async fn on_progress(
        &self,
        _params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.told.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn the_modern_client_is_at_home() {
    Box::pin(tour(modern(), ProtocolVersion::V_2026_07_28)).await;
}

#[tokio::test]
async fn the_automatic_client_finds_the_modern_era() {
    let mode = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };

    Box::pin(tour(mode, ProtocolVersion::V_2026_07_28)).await;
}

#[tokio::test]
async fn the_legacy_client_is_at_home() {
    let mode = ClientLifecycleMode::Initialize;

    Box::pin(tour(mode, ProtocolVersion::V_2025_11_25)).await;
}

fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    }
}

async fn tour(mode: ClientLifecycleMode, version: ProtocolVersion) {
    for gateways in [1, 2] {
        let tree = Tree::start(Options::conduit().gateways(gateways)).await;
        let client = connect(&tree, mode.clone()).await;
        let info = client.peer_info().expect("it is connected");
        assert_eq!(info.protocol_version, version);

        let tools = client.list_all_tools().await.expect("a list");
        for name in ["echo", "add", "countdown", "time"] {
            assert!(
                tools.iter().any(|tool| tool.name == name),
                "{name} is not in {tools:?}"
            );
        }
        calls(&client).await;
        reports_progress(&client).await;
        failures(&client).await;

        let other = connect(&tree, mode.clone()).await;
        let (ours, theirs) = tokio::join!(
            call(&client, "echo", json!({ "message": "ours" })),
            call(&other, "echo", json!({ "message": "theirs" }))
        );
        assert_eq!((text(&ours), text(&theirs)), ("ours", "theirs"));
        for client in [client, other] {
            client.cancel().await.expect("a clean end");
        }
        tree.stop().await;
    }
}

async fn connect(tree: &Tree, mode: ClientLifecycleMode) -> Client {
    let transport =
        StreamableHttpClientTransport::from_uri(format!("http://{}/mcp", tree.endpoint()));
    let connecting = Listener::default().serve_with_lifecycle(transport, mode);
    timeout(PATIENCE, connecting)
        .await
        .expect("in time")
        .expect("a connection")
}

async fn calls(client: &Client) {
    let echo = call(client, "echo", json!({ "message": "Zażółć 🦀" })).await;
    let sum = call(client, "add", json!({ "a": 2, "b": 40 })).await;

    assert_eq!(text(&echo), "Zażółć 🦀");
    let structured = sum.structured_content.expect("structure");
    assert!(structured.to_string().contains("42"), "{structured}");
}

async fn reports_progress(client: &Client) {
    let before = client.service().told.load(Ordering::Relaxed);

    let counted = call(client, "countdown", json!({ "from": 2 })).await;

    assert_ne!(counted.is_error, Some(true));
    assert!(
        client.service().told.load(Ordering::Relaxed) > before,
        "no progress was told"
    );
}

async fn failures(client: &Client) {
    let invalid = call(client, "add", json!({ "a": "one", "b": 2 })).await;
    let unknown = client
        .call_tool(CallToolRequestParams::new("no_such_tool"))
        .await;

    assert_eq!(invalid.is_error, Some(true));
    assert!(text(&invalid).contains("/a"), "{invalid:?}");
    match unknown {
        Err(ServiceError::McpError(error)) => assert_eq!(error.code, ErrorCode::INVALID_PARAMS),
        other => panic!("an unknown tool was answered {other:?}"),
    }
}

async fn call(client: &Client, tool: &'static str, arguments: Value) -> CallToolResult {
    let arguments = arguments.as_object().expect("an object").clone();
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    let answer = timeout(PATIENCE, client.call_tool(params))
        .await
        .expect("in time");
    answer.unwrap_or_else(|problem| panic!("calling {tool}: {problem}"))
}

fn text(result: &CallToolResult) -> &str {
    let first = result.content.first().expect("a content block");
    &first.as_text().expect("a text").text
}
