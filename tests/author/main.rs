//! A server of somebody else: a crate outside the workspace, built on the public API
//! by path, has every role and command of the stock binary.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests report by panicking"
)]

use std::path::{Path, PathBuf};

use conduit_testkit::{Call, Era, Options, Tree, binary};
use serde_json::{Value, json};
use tokio::process::Command;

#[tokio::test]
async fn an_authors_own_main_serves_both_eras() {
    let options = Options::program(build().await).gateways(2);
    let tree = Tree::start(options).await;

    for era in Era::BOTH {
        let tools = tree.send(&era.call("tools/list", json!({}))).await;
        let first = tools.result()["tools"]
            .as_array()
            .and_then(|tools| tools.first())
            .expect("a tool")
            .clone();
        let reply = tree.send(&example(era, &first)).await;
        assert_ne!(reply.result()["isError"], json!(true), "{reply}");
    }

    assert_eq!(tree.status().await.slots.len(), 4);
    tree.stop().await;
}

/// Builds the crate with the versions, and as far as they fit the artefacts, of ours.
async fn build() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("author-crate/Cargo.toml");
    let profile = binary("conduit")
        .parent()
        .expect("target/PROFILE")
        .to_owned();
    let target = profile.parent().expect("target");

    let output = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--message-format", "short"])
        .args(["--config", "profile.dev.debug=\"line-tables-only\""])
        .args(["--config", "profile.dev.package.\"*\".opt-level=1"])
        .args(["--config", "profile.dev.package.\"*\".debug=false"])
        .arg("--manifest-path")
        .arg(&manifest)
        .arg("--target-dir")
        .arg(target)
        .output()
        .await
        .expect("cargo runs");

    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let manifest: toml::Table = text.parse().expect("TOML");
    target
        .join("debug")
        .join(manifest["package"]["name"].as_str().expect("a name"))
}

/// A call of a tool with something plain for every argument that it requires.
fn example(era: Era, tool: &Value) -> Call {
    let schema = &tool["inputSchema"];
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let arguments: serde_json::Map<String, Value> = required
        .iter()
        .map(|name| {
            let name = name.as_str().expect("a name").to_owned();
            let value = match schema["properties"][&name]["type"].as_str() {
                Some("integer" | "number") => json!(1),
                Some("boolean") => json!(true),
                _ => json!("plain"),
            };
            (name, value)
        })
        .collect();
    era.tool(
        tool["name"].as_str().expect("a name"),
        Value::Object(arguments),
    )
}
