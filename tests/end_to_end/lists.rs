//! What the server says that it can do.

use conduit_testkit::{Call, Era, Reply, Version, initialize};
use http::StatusCode;
use serde_json::{Value, json};

use crate::{demo, fixture};

#[tokio::test]
async fn discover_introduces_the_server() {
    let reply = demo()
        .await
        .send(&Call::modern("server/discover", json!({})))
        .await;

    let result = reply.result();
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert!(result["capabilities"]["tools"].is_object(), "{result}");
    has_hints(&reply);
}

#[tokio::test]
async fn every_modern_result_says_who_the_server_is() {
    let tree = demo().await;

    for call in [
        Call::modern("server/discover", json!({})),
        Call::modern("tools/list", json!({})),
        Era::Modern.tool("echo", json!({ "message": "x" })),
    ] {
        let reply = tree.send(&call).await;
        let info = &reply.result()["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert!(
            info["name"].is_string() && info["version"].is_string(),
            "{reply}"
        );
    }
}

#[tokio::test]
async fn the_tools_are_the_same_in_both_eras() {
    let tree = demo().await;

    let modern = names(&tree.send(&Call::modern("tools/list", json!({}))).await);
    let legacy = names(&tree.send(&Call::legacy("tools/list", json!({}))).await);

    assert_eq!(modern, legacy);
    for tool in ["add", "countdown", "echo", "time"] {
        assert!(
            modern.iter().any(|name| name == tool),
            "{tool} is not in {modern:?}"
        );
    }
}

#[tokio::test]
async fn a_modern_list_has_cache_hints_and_a_legacy_list_has_not() {
    let tree = demo().await;

    let modern = tree.send(&Call::modern("tools/list", json!({}))).await;
    let legacy = tree.send(&Call::legacy("tools/list", json!({}))).await;

    has_hints(&modern);
    assert_eq!(
        (&modern.result()["ttlMs"], &modern.result()["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    for key in ["resultType", "ttlMs", "cacheScope", "_meta"] {
        assert_eq!(legacy.result().get(key), None);
    }
}

#[tokio::test]
async fn every_tool_says_what_it_does_and_what_it_takes() {
    let reply = demo()
        .await
        .send(&Call::modern("tools/list", json!({})))
        .await;

    for tool in reply.result()["tools"].as_array().expect("tools") {
        assert!(
            tool["description"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{tool}"
        );
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
}

#[tokio::test]
async fn a_hundred_tools_fit_one_page_in_the_same_order_every_time() {
    let tree = fixture().await;

    let first = tree.send(&Call::modern("tools/list", json!({}))).await;
    let second = tree.send(&Call::modern("tools/list", json!({}))).await;

    assert!(names(&first).len() > 100, "{} tools", names(&first).len());
    assert_eq!(first.result().get("nextCursor"), None);
    assert_eq!(first.body, second.body);
}

#[tokio::test]
async fn a_list_follows_the_version_of_the_session() {
    let tree = demo().await;
    let session = tree.session(Version::June2025).await;

    let call = Call::legacy("tools/list", Value::Null)
        .header("mcp-protocol-version", "2025-06-18")
        .session(&session);
    let reply = tree.send(&call).await;

    assert_eq!(reply.status, StatusCode::OK);
    assert!(names(&reply).contains(&"echo".to_owned()));
}

#[tokio::test]
async fn a_bad_cursor_is_invalid_params() {
    let tree = demo().await;

    for era in Era::BOTH {
        for cursor in [json!("nonsense"), json!(5)] {
            let reply = tree
                .send(&era.call("tools/list", json!({ "cursor": cursor })))
                .await;
            assert_eq!(
                (reply.status, reply.code()),
                (StatusCode::OK, -32602),
                "{cursor}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_advertised_is_answered() {
    let tree = demo().await;
    let modern = tree.send(&Call::modern("server/discover", json!({}))).await;
    let legacy = tree.send(&initialize(Version::November2025)).await;

    for (era, introduction) in [(Era::Modern, modern), (Era::Legacy, legacy)] {
        let capabilities = &introduction.result()["capabilities"];
        for (capability, method) in [
            ("tools", "tools/list"),
            ("resources", "resources/list"),
            ("prompts", "prompts/list"),
        ] {
            let reply = tree.send(&era.call(method, json!({}))).await;
            let is_known = reply.message().get("result").is_some();
            assert_eq!(
                is_known,
                capabilities.get(capability).is_some(),
                "{capability} in {capabilities}: {reply}"
            );
        }
    }
}

fn names(reply: &Reply) -> Vec<String> {
    let tools = reply.result()["tools"].as_array().expect("tools");
    tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[track_caller]
fn has_hints(reply: &Reply) {
    let result = reply.result();
    assert_eq!(result["resultType"], "complete", "{reply}");
    assert!(result["ttlMs"].is_u64(), "{reply}");
    assert!(
        ["public", "private"]
            .map(Value::from)
            .contains(&result["cacheScope"]),
        "{reply}"
    );
}
