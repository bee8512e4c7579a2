//! What the system says of itself at the admin port.

use conduit_testkit::{Call, Era, Options, PATIENCE, Raw, Tree, process, wait_until};
use http::{Method, StatusCode};
use serde_json::json;

use crate::{demo, pair};

const PROCESSES: [&str; 5] = ["gateway-0", "gateway-1", "hub-0", "store", "supervisor"];

#[tokio::test]
async fn metrics_come_from_every_process_under_its_slots_name() {
    let metrics = pair().await.metrics().await;

    assert_eq!(metrics.label("conduit_build_info", "process"), PROCESSES);
    assert_eq!(
        metrics.label("conduit_process_resident_memory_bytes", "process"),
        PROCESSES
    );
    for name in metrics.names() {
        assert!(name.starts_with("conduit_"), "{name}");
    }
}

#[tokio::test]
async fn metrics_say_what_each_of_them_means() {
    let metrics = demo().await.metrics().await;

    for name in [
        "conduit_http_connections",
        "conduit_restarts_total",
        "conduit_link_up",
    ] {
        for word in ["HELP", "TYPE"] {
            let lines = metrics
                .text()
                .lines()
                .filter(|line| line.starts_with(&format!("# {word} {name} ")));
            assert_eq!(lines.count(), 1, "{word} of {name}");
        }
    }
}

#[tokio::test]
async fn metrics_are_served_as_prometheus_wants_them() {
    let reply = demo().await.ask("/metrics").await.expect("an answer");

    assert!(
        reply
            .header("content-type")
            .is_some_and(|value| value.starts_with("text/plain")),
        "{reply}"
    );
}

#[tokio::test]
async fn requests_are_counted_by_era_method_and_outcome() {
    let tree = demo().await;
    for _ in 0..3 {
        tree.send(&Era::Modern.tool("echo", json!({ "message": "x" })))
            .await;
    }
    tree.send(&Era::Legacy.tool("echo", json!({}))).await;
    tree.send(&Call::modern("no/such", json!({}))).await;

    let metrics = tree.metrics().await;

    let calls = |era, outcome| {
        metrics.sum(
            "conduit_requests_total",
            &[("era", era), ("method", "tools/call"), ("outcome", outcome)],
        )
    };
    assert!(
        (calls("modern", "ok") - 3.0).abs() < 0.5,
        "{}",
        metrics.text()
    );
    assert!(
        (calls("legacy", "tool_error") - 1.0).abs() < 0.5,
        "{}",
        metrics.text()
    );
    let other = metrics.sum(
        "conduit_requests_total",
        &[("method", "other"), ("outcome", "error")],
    );
    assert!((other - 1.0).abs() < 0.5, "{}", metrics.text());
    assert!(
        metrics.sum(
            "conduit_tool_calls_total",
            &[("tool", "echo"), ("outcome", "ok")]
        ) > 2.5
    );
    assert!(
        metrics.sum(
            "conduit_request_duration_seconds_count",
            &[("method", "tools/call")]
        ) > 3.5
    );
}

#[tokio::test]
async fn refusals_are_counted_by_reason() {
    let tree = demo().await;
    let echo = Era::Modern.tool("echo", json!({ "message": "x" }));

    for (reason, call) in [
        ("host", echo.clone().header("host", "evil.example.com")),
        ("origin", echo.clone().header("origin", "null")),
        ("accept", echo.clone().header("accept", "text/html")),
        (
            "media_type",
            echo.clone().header("content-type", "text/plain"),
        ),
        ("http_method", Call::verb(Method::PUT)),
        (
            "session",
            Call::legacy("ping", json!({})).session("nonsense"),
        ),
        ("malformed", Call::bytes("nonsense")),
    ] {
        tree.send(&call).await;
        let metrics = tree.metrics().await;
        let counted = metrics.sum("conduit_requests_refused_total", &[("reason", reason)]);
        assert!(
            (counted - 1.0).abs() < 0.5,
            "{counted} refusals for {reason}"
        );
    }
}

#[tokio::test]
async fn every_request_and_every_tool_leaves_an_event_under_the_name_that_the_seeds_gave_it() {
    let options = Options::conduit()
        .gateways(1)
        .environment("CONDUIT_LOG_LEVEL", "debug");
    let tree = Tree::start(options).await;

    tree.send(&Era::Modern.tool("echo", json!({ "message": "x" })))
        .await;

    for event in ["conduit_mcp.request.stop", "conduit_mcp.tool.execute"] {
        wait_until(event, PATIENCE, async || {
            tree.stderr().contains(event).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn every_link_is_up() {
    let tree = pair().await;
    let metrics = tree.metrics().await;

    for gateway in ["gateway-0", "gateway-1"] {
        for peer in ["supervisor", "hub-0", "store"] {
            let up = metrics.sum("conduit_link_up", &[("process", gateway), ("peer", peer)]);
            assert!(up > 0.5, "{gateway} to {peer}\n{}", metrics.text());
        }
    }
}

#[tokio::test]
async fn health_is_that_of_the_supervisor() {
    assert_eq!(
        demo()
            .await
            .ask("/healthz")
            .await
            .expect("an answer")
            .status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_health_check_need_not_name_a_host_but_may_not_name_a_foreign_one() {
    let tree = demo().await;

    for (head, status) in [
        ("GET /healthz HTTP/1.0\r\n\r\n", "200"),
        (
            "GET /healthz HTTP/1.0\r\nhost: evil.example.com\r\n\r\n",
            "403",
        ),
    ] {
        let mut raw = Raw::open(tree.admin()).await;
        raw.write(head).await;
        let answer = raw.read_to_end(PATIENCE).await;
        assert_eq!(answer.split(' ').nth(1), Some(status), "{answer}");
    }
}

#[tokio::test]
async fn the_status_shows_the_tree() {
    let tree = pair().await;

    let status = tree.status().await;

    let mut slots: Vec<&str> = status.slots.iter().map(|slot| slot.slot.as_str()).collect();
    slots.sort_unstable();
    assert_eq!(slots, PROCESSES[..4]);
    for slot in &status.slots {
        assert_eq!(
            (slot.phase.as_str(), slot.restarts),
            ("serving", 0),
            "{slot:?}"
        );
        let pid = slot.pid.expect("a process");
        let role = slot.slot.split('-').next().expect("a role");
        assert!(
            process::command_line(pid).contains(role),
            "{} in {slot:?}",
            process::command_line(pid)
        );
    }
}

#[tokio::test]
async fn the_admin_port_has_nothing_else_and_takes_nothing() {
    let tree = demo().await;

    let other = tree.ask("/").await.expect("an answer");
    let mcp = tree.ask("/mcp").await.expect("an answer");

    assert_eq!([other.status, mcp.status], [StatusCode::NOT_FOUND; 2]);
}

#[tokio::test]
async fn connections_are_counted_while_they_live() {
    let tree = Tree::start(Options::conduit().gateways(2)).await;
    let mut kept = Vec::new();
    for _ in 0..10 {
        let mut conn = tree.conn().await;
        conn.send(&Era::Modern.tool("echo", json!({ "message": "x" })))
            .await;
        kept.push(conn);
    }

    let metrics = tree.metrics().await;
    drop(kept);

    assert!((metrics.sum("conduit_http_connections", &[]) - 10.0).abs() < 0.5);
    for gateway in ["gateway-0", "gateway-1"] {
        let share = metrics.sum("conduit_http_connections", &[("process", gateway)]);
        assert!((3.0..=7.0).contains(&share), "{gateway} has {share} of 10");
    }
}
