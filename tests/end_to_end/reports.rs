//! What users of other servers reported: each number is a report, and what it asks for is
//! what happens here. Reports about pipes are in the suite `pipe`, about coming back to a
//! stream beside the streams.

use conduit_testkit::{Call, Era, Options, Tree, Version, binary, initialize};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::fixture;

const DIGITS: &str = r#"{"id":9007199254740993,"big":18446744073709551615,"neg":-9223372036854775808,"f":1.0,"s":"9007199254740993"}"#;

#[tokio::test]
async fn regression_a07_every_number_keeps_its_digits_or_is_refused() {
    let tree = fixture().await;
    let call = |arguments: &str| {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{{"name":"mirror","arguments":{arguments}}}}}"#
        );
        Call::bytes(body).header("content-type", "application/json")
    };

    let kept = tree.send(&call(DIGITS)).await;
    let refused = tree
        .send(&call(r#"{"deep":[{"n":123456789012345678901}]}"#))
        .await;

    for digits in [
        "9007199254740993",
        "18446744073709551615",
        "-9223372036854775808",
        "1.0",
        r#""9007199254740993""#,
    ] {
        assert!(kept.text().contains(&format!(":{digits}")), "{kept}");
    }
    assert_eq!(kept.message()["id"], json!(9_007_199_254_740_993_u64));
    assert_eq!(refused.result()["isError"], true);
    assert!(refused.text().contains("/deep/0/n"), "{refused}");
}

#[tokio::test]
async fn regression_a16_every_entry_is_on_one_page_and_no_cursor_is_made_up() {
    let options = Options::program(binary("conformance-server")).gateways(1);
    let tree = Tree::start(options).await;

    for era in Era::BOTH {
        let mut uris = Vec::new();
        let mut params = json!({});
        loop {
            let page = tree.send(&era.call("resources/list", params)).await;
            let page = page.result();
            let entries = page["resources"].as_array().expect("a list");
            assert!(entries.len() <= 10, "{page}");
            uris.extend(entries.iter().map(|entry| entry["uri"].to_string()));
            let Some(cursor) = page.get("nextCursor") else {
                break;
            };
            params = json!({ "cursor": cursor });
        }
        assert_eq!(uris.len(), 29, "{uris:?}");
        uris.sort();
        uris.dedup();
        assert_eq!(uris.len(), 29, "each is there once");
        for cursor in ["", "page-0", "page-99", "x"] {
            let call = era.call("resources/list", json!({ "cursor": cursor }));
            assert_eq!(tree.send(&call).await.code(), -32602, "{cursor:?}");
        }
    }
}

#[tokio::test]
async fn regression_a17_a_browser_of_a_listed_origin_reads_every_answer() {
    let config = "[http]\nallowed_origins = [\"https://app.example\"]\n";
    let tree = Tree::start(Options::fixture().gateways(1).config(config)).await;
    let from = |call: Call, origin: &str| call.header("origin", origin);

    let preflight = Call::verb(Method::OPTIONS)
        .header("access-control-request-method", "POST")
        .header(
            "access-control-request-headers",
            "mcp-method,mcp-session-id",
        );
    let preflight = tree.send(&from(preflight, "https://app.example")).await;
    let opened = initialize(Version::November2025);
    let opened = tree.send(&from(opened, "https://app.example")).await;
    let lost = Era::Legacy.call("ping", Value::Null).session("nobody");
    let lost = tree.send(&from(lost, "https://app.example")).await;
    let other = Era::Legacy.call("ping", Value::Null);
    let other = tree.send(&from(other, "https://evil.example")).await;

    assert!(preflight.status.is_success(), "{preflight}");
    let allowed = preflight
        .header("access-control-allow-headers")
        .expect("headers")
        .to_lowercase();
    for header in [
        "content-type",
        "accept",
        "authorization",
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "last-event-id",
    ] {
        assert!(allowed.contains(header), "{header} in {allowed}");
    }
    for reply in [opened, lost] {
        let exposed = reply
            .header("access-control-expose-headers")
            .unwrap_or_default();
        assert!(exposed.to_lowercase().contains("mcp-session-id"), "{reply}");
    }
    assert_eq!(other.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn regression_a18_an_encoded_name_is_decoded_before_it_is_compared() {
    let tree = fixture().await;
    let read = |name: &str| {
        Call::modern("resources/read", json!({ "uri": "note:///Zażółć" })).header("mcp-name", name)
    };

    let same = tree
        .send(&read("=?base64?bm90ZTovLy9aYcW8w7PFgsSH?="))
        .await;
    let other = tree.send(&read("=?base64?bm90ZTovLy9vdGhlcg==?=")).await;

    assert_eq!((same.status, same.code()), (StatusCode::OK, -32602));
    assert_eq!(
        (other.status, other.code()),
        (StatusCode::BAD_REQUEST, -32020)
    );
}

#[tokio::test]
async fn regression_a23_a_large_message_passes_and_a_slow_tool_is_in_nobody_s_way() {
    let tree = fixture().await;
    let large = "A".repeat(3_000_000);
    let (mut first, mut second) = (tree.conn().await, tree.conn().await);

    let passed = first
        .send(&Era::Modern.tool("echo", json!({ "message": large })))
        .await;
    let slow = Era::Modern.tool("slow", json!({ "seconds": 3_600 }));
    let echo = Era::Modern.tool("echo", json!({ "message": "quick" }));
    let quick = tokio::select! {
        _ = first.send(&slow) => panic!("an hour has not passed"),
        quick = second.send(&echo) => quick,
    };

    assert_eq!(passed.text().len(), large.len());
    assert_eq!(quick.text(), "quick");
}

#[tokio::test]
async fn regression_a25_a_client_from_the_future_is_offered_what_there_is() {
    let tree = fixture().await;
    let hello = Call::message(
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2031-01-01",
            "capabilities": {"novel": {"a": 1}},
            "clientInfo": {"name": "c", "version": "1"},
        }}),
    );
    let future = |call: Call| call.header("mcp-protocol-version", "2031-01-01");

    let offered = tree.send(&future(hello)).await;
    let refused = tree
        .send(&future(Era::Legacy.call("tools/list", Value::Null)))
        .await;

    assert_eq!(offered.result()["protocolVersion"], "2025-11-25");
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn regression_a28_a_uri_is_decoded_once_and_leaves_no_folder() {
    let tree = fixture().await;
    for era in Era::BOTH {
        let read = async |uri: &str| {
            let call = era.call("resources/read", json!({ "uri": uri }));
            tree.send(&call).await
        };

        let decoded = read("doc:///hello%20world%2Fx%25").await;
        let plus = read("doc:///a+b").await;
        let broken = read("doc:///%zz").await;

        let text = |reply: &conduit_testkit::Reply| reply.result()["contents"][0]["text"].clone();
        assert_eq!(text(&decoded), "hello world/x%");
        assert_eq!(text(&plus), "a+b");
        assert_eq!(broken.code(), -32602);
        for way_out in [
            "data:///..%2FCargo.toml",
            "data:///%2e%2e%2FCargo.toml",
            "data:///..%2F..%2F..%2Fetc%2Fpasswd",
            "data:///%2Fetc%2Fpasswd",
            "data:///beep.wav%00.txt",
        ] {
            let reply = read(way_out).await;
            assert!(reply.message().get("error").is_some(), "{way_out}: {reply}");
        }
    }
}
