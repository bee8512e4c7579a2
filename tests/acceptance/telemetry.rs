//! What is told of each request (6.9).

use std::time::Duration;

use conduit::Head;
use conduit::telemetry::{Era as Eras, Event, Outcome, Trace};
use conduit_testkit::{Call, Era};
use serde_json::json;

use crate::inside::{House, modern};
use crate::log::told;
use crate::{CAPABILITIES, fixture};

const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[tokio::test]
async fn at_220_a_request_is_told_with_all_that_the_seeds_name() {
    let mut house = House::start().await;
    let trace = json!({ "traceparent": TRACEPARENT, "tracestate": "a=1", "baggage": "k=v" });

    house
        .one(
            Head::default(),
            &modern(220, "tools/list", json!({ "_meta": trace })),
        )
        .await;

    let (took, event) = house
        .hear(|mut event| {
            let Event::RequestStopped { took, .. } = &mut event else {
                return None;
            };
            let measured = std::mem::take(took);
            Some((measured, event))
        })
        .await;
    assert!(took > Duration::ZERO);
    let text = |text: &str| Some(text.to_owned());
    let expected = Event::RequestStopped {
        server: "inside".to_owned(),
        method: text("tools/list"),
        era: Eras::Modern,
        version: text("2026-07-28"),
        outcome: Outcome::Ok,
        took: Duration::ZERO,
        trace: Trace {
            traceparent: text(TRACEPARENT),
            tracestate: text("a=1"),
            baggage: text("k=v"),
        },
    };
    assert_eq!(event, expected);
}

#[tokio::test]
async fn at_220_a_request_is_told_under_the_names_of_the_seeds() {
    let tree = fixture().await;
    let call = Call::modern("tools/list", json!({}))
        .meta("traceparent", json!(TRACEPARENT))
        .meta("tracestate", json!("a=1"))
        .meta("baggage", json!("k=v"));

    tree.send(&call).await;

    let stops = told(&tree, "request.stop", 1).await;
    for (field, expected) in [
        ("method", "tools/list"),
        ("server_module", "fixture"),
        ("status", "ok"),
        ("era", "modern"),
        ("protocol_version", "2026-07-28"),
        ("traceparent", TRACEPARENT),
        ("tracestate", "a=1"),
        ("baggage", "k=v"),
    ] {
        assert_eq!(stops[0][field], expected, "{stops:?}");
    }
}

#[tokio::test]
async fn at_221_a_modern_method_that_nobody_knows_is_told_as_an_error() {
    let tree = fixture().await;

    tree.send(&Call::modern("foo/bar", json!({}))).await;

    let stops = told(&tree, "request.stop", 1).await;
    assert_eq!(
        (&stops[0]["status"], &stops[0]["era"]),
        (&json!("error"), &json!("modern"))
    );
}

#[tokio::test]
async fn at_222_a_request_of_no_era_is_told_as_an_error() {
    let tree = fixture().await;

    tree.send(&Call::modern("tools/list", json!({})).without_meta(CAPABILITIES))
        .await;

    let stops = told(&tree, "request.stop", 1).await;
    assert_eq!(stops[0]["status"], "error");
}

#[tokio::test]
async fn at_223_each_kind_of_callback_has_an_event_of_its_own() {
    let tree = fixture().await;

    for era in Era::BOTH {
        for call in [
            era.tool("echo", json!({ "message": "x" })),
            era.call("resources/read", json!({ "uri": "file:///a.txt" })),
            era.call(
                "prompts/get",
                json!({ "name": "greet", "arguments": { "name": "Ada" } }),
            ),
        ] {
            let reply = tree.send(&call).await;
            assert!(reply.message().get("result").is_some(), "{reply}");
        }
    }

    for event in ["tool.execute", "resource.read", "prompt.get"] {
        for fields in told(&tree, event, 2).await {
            assert_eq!(fields["status"], "ok", "{event}");
        }
    }
    told(&tree, "request.stop", 6).await;
}

#[tokio::test]
async fn at_224_a_tool_that_does_not_exist_is_told_as_an_execution_that_failed() {
    let tree = fixture().await;

    tree.send(&Era::Modern.tool("no_such_tool", json!({})))
        .await;

    let tools = told(&tree, "tool.execute", 1).await;
    assert_eq!(tools[0]["status"], "error");
    assert_eq!(tools[0]["tool_name"], "no_such_tool");
}

#[tokio::test]
async fn at_225_a_legacy_request_is_told_with_what_it_always_was() {
    let tree = fixture().await;

    tree.send(&Call::legacy("tools/list", json!({}))).await;

    let stops = told(&tree, "request.stop", 1).await;
    for (field, expected) in [
        ("method", "tools/list"),
        ("server_module", "fixture"),
        ("status", "ok"),
    ] {
        assert_eq!(stops[0][field], expected, "{stops:?}");
    }
}
