//! What results say, and what a server says that it can do (6.3).

use conduit_testkit::{Call, Options, Tree, Version, binary, initialize};
use serde_json::{Value, json};

use crate::fixture;

#[tokio::test]
async fn at_080_every_modern_result_says_what_it_is_and_whose() {
    let tree = fixture().await;

    for call in cacheable().into_iter().chain(others()) {
        let reply = tree.send(&call).await;
        let result = reply.result();
        assert!(result["resultType"].is_string(), "{reply}");
        let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert!(server["name"].is_string(), "{reply}");
        assert!(server["version"].is_string(), "{reply}");
    }
}

#[tokio::test]
async fn at_081_what_may_be_kept_says_for_how_long_and_by_whom() {
    let tree = fixture().await;

    for call in cacheable() {
        let reply = tree.send(&call).await;
        let result = reply.result();
        assert!(result["ttlMs"].is_u64(), "{reply}");
        assert!(
            ["public", "private"]
                .map(Value::from)
                .contains(&result["cacheScope"]),
            "{reply}"
        );
    }
}

#[tokio::test]
async fn at_082_what_was_made_for_one_caller_says_nothing_of_keeping_it() {
    let tree = fixture().await;

    for call in others() {
        let reply = tree.send(&call).await;
        for hint in ["ttlMs", "cacheScope"] {
            assert_eq!(reply.result().get(hint), None, "{reply}");
        }
    }
}

#[tokio::test]
async fn at_083_a_server_that_declares_tools_advertises_those_and_what_lies_over_them() {
    let tree = servers().await;

    for capabilities in advertised(&tree, "declares-tools").await {
        assert_eq!(capabilities, json!({ "tools": {}, "logging": {} }));
    }
}

#[tokio::test]
async fn at_084_a_server_that_declares_nothing_has_the_base_set() {
    let tree = servers().await;

    for capabilities in advertised(&tree, "declares-nothing").await {
        for part in ["tools", "resources", "prompts"] {
            assert!(capabilities[part].is_object(), "{capabilities}");
        }
    }
}

#[tokio::test]
async fn at_085_a_callback_is_advertised_as_long_as_it_is_there() {
    let tree = servers().await;
    let with = advertised(&tree, "with-callbacks").await;
    let without = advertised(&tree, "declares-nothing").await;

    for (capabilities, there) in with
        .map(|of| (of, true))
        .into_iter()
        .chain(without.map(|of| (of, false)))
    {
        for pointer in ["/completions", "/logging", "/resources/subscribe"] {
            let found = capabilities.pointer(pointer);
            let advertised = found.is_some_and(|value| *value != json!(false));
            assert_eq!(advertised, there, "{pointer} in {capabilities}");
        }
    }
}

fn cacheable() -> [Call; 6] {
    [
        Call::modern("server/discover", json!({})),
        Call::modern("tools/list", json!({})),
        Call::modern("prompts/list", json!({})),
        Call::modern("resources/list", json!({})),
        Call::modern("resources/templates/list", json!({})),
        Call::modern("resources/read", json!({ "uri": "file:///a.txt" })),
    ]
}

fn others() -> [Call; 3] {
    let echo = json!({ "name": "echo", "arguments": { "message": "x" } });
    let greet = json!({ "name": "greet", "arguments": { "name": "Ada" } });
    let complete = json!({
        "ref": { "type": "ref/prompt", "name": "greet" },
        "argument": { "name": "name", "value": "A" },
    });
    [
        Call::modern("tools/call", echo),
        Call::modern("prompts/get", greet),
        Call::modern("completion/complete", complete),
    ]
}

/// Starts servers that differ in what they declare.
async fn servers() -> Tree {
    Tree::start(Options::program(binary("capability-servers")).gateways(1)).await
}

/// What a server says to a legacy and to a modern client.
async fn advertised(tree: &Tree, server: &str) -> [Value; 2] {
    let path = format!("/{server}/mcp");
    let legacy = tree
        .send(&initialize(Version::November2025).path(&path))
        .await;
    let modern = tree
        .send(&Call::modern("server/discover", json!({})).path(&path))
        .await;
    [legacy, modern].map(|reply| reply.result()["capabilities"].clone())
}
