//! Calling tools, well and badly, in both eras.

use std::time::Duration;

use conduit_testkit::{Call, Conn, Era, Reply, Version};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::{demo, fixture};

#[tokio::test]
async fn echo_gives_back_any_text() {
    let tree = demo().await;

    for era in Era::BOTH {
        for text in [
            "hello",
            "",
            "Zażółć gęślą jaźń 🦀",
            "\u{0}\u{1f}\"\\\n\r\u{2028}",
        ] {
            let reply = tree
                .send(&era.tool("echo", json!({ "message": text })))
                .await;
            assert_eq!(reply.text(), text);
        }
    }
}

#[tokio::test]
async fn echo_ignores_further_arguments() {
    let reply = demo()
        .await
        .send(&Era::Modern.tool("echo", json!({ "message": "hello", "more": [1, {}] })))
        .await;

    assert_eq!(reply.text(), "hello");
}

#[tokio::test]
async fn add_answers_in_structure_and_in_text() {
    let tree = demo().await;

    for era in Era::BOTH {
        let reply = tree
            .send(&era.tool("add", json!({ "a": 2, "b": 40 })))
            .await;
        let structured = &reply.result()["structuredContent"];
        assert!(structured.is_object(), "{reply}");
        assert!(structured.to_string().contains("42"), "{reply}");
        assert_eq!(
            &serde_json::from_str::<Value>(reply.text()).expect("JSON in the text"),
            structured
        );
    }
}

#[tokio::test]
async fn time_tells_the_time_of_any_zone() {
    let tree = demo().await;

    for arguments in [
        json!({}),
        json!({ "zone": "Europe/Warsaw" }),
        json!({ "zone": "UTC" }),
    ] {
        let reply = tree
            .send(&Era::Modern.tool("time", arguments.clone()))
            .await;
        assert_ne!(
            reply.result()["isError"],
            json!(true),
            "{arguments}: {reply}"
        );
        assert!(reply.text().contains(':'), "{reply}");
    }
}

#[tokio::test]
async fn a_zone_that_does_not_exist_is_the_tools_own_failure() {
    let tree = demo().await;

    for era in Era::BOTH {
        fails(
            &tree
                .send(&era.tool("time", json!({ "zone": "Mars/Olympus" })))
                .await,
            "Mars/Olympus",
        );
    }
}

#[tokio::test]
async fn countdown_counts_down() {
    let tree = demo().await;

    for era in Era::BOTH {
        let reply = tree
            .send(&era.tool("countdown", json!({ "from": 1 })))
            .await;
        assert!(!reply.is_stream(), "{reply}");
        assert_ne!(reply.result()["isError"], json!(true), "{reply}");
    }
}

#[tokio::test]
async fn a_tool_may_be_called_without_arguments() {
    let tree = demo().await;

    for era in Era::BOTH {
        let reply = tree
            .send(&era.call("tools/call", json!({ "name": "time" })))
            .await;
        assert_ne!(reply.result()["isError"], json!(true), "{reply}");
    }
}

#[tokio::test]
async fn wrong_arguments_are_a_result_that_points_at_each() {
    let tree = demo().await;

    for era in Era::BOTH {
        let reply = tree
            .send(&era.tool("add", json!({ "a": "one", "b": [] })))
            .await;
        fails(&reply, "/a");
        fails(&reply, "/b");
    }
}

#[tokio::test]
async fn missing_arguments_are_a_result_that_names_them() {
    let tree = demo().await;

    for era in Era::BOTH {
        fails(&tree.send(&era.tool("echo", json!({}))).await, "message");
        fails(
            &tree
                .send(&era.call("tools/call", json!({ "name": "echo" })))
                .await,
            "message",
        );
    }
}

#[tokio::test]
async fn an_integer_beyond_64_bits_is_refused_and_not_rounded() {
    let tree = demo().await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":123456789012345678901234567890,"b":1}}}"#;

    let reply = tree.send(&Call::bytes(body)).await;

    let message = reply.message();
    assert!(
        message["result"]["isError"] == true || message.get("error").is_some(),
        "{reply}"
    );
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error() {
    let tree = demo().await;

    for era in Era::BOTH {
        let reply = tree.send(&era.tool("no_such_tool", json!({}))).await;
        assert_eq!((reply.status, reply.code()), (StatusCode::OK, -32602));
    }
}

#[tokio::test]
async fn a_malformed_call_is_a_protocol_error() {
    let tree = demo().await;

    for params in [
        json!({}),
        json!({ "name": 5 }),
        json!({ "name": "echo", "arguments": [1] }),
        json!({ "name": "echo", "arguments": "x" }),
    ] {
        let reply = tree.send(&Call::legacy("tools/call", params.clone())).await;
        assert_eq!(
            (reply.status, reply.code()),
            (StatusCode::OK, -32602),
            "{params}"
        );
    }
}

#[tokio::test]
async fn a_panic_is_an_internal_error_that_tells_nothing_and_stops_nothing() {
    let tree = fixture().await;

    for era in Era::BOTH {
        let reply = tree.send(&era.tool("boom", json!({}))).await;
        assert_eq!((reply.status, reply.code()), (StatusCode::OK, -32603));
        assert_eq!(reply.message()["error"].get("data"), None);
        assert!(!reply.to_string().contains("hunter2"), "{reply}");
        let after = tree
            .send(&era.tool("echo", json!({ "message": "still here" })))
            .await;
        assert_eq!(after.text(), "still here");
    }
    assert_eq!(tree.slot("gateway-0").await.restarts, 0);
}

#[tokio::test]
async fn a_tool_that_fails_says_so_in_its_result() {
    let tree = fixture().await;

    for era in Era::BOTH {
        fails(
            &tree.send(&era.tool("fail", json!({}))).await,
            "call another one",
        );
    }
}

#[tokio::test]
async fn a_callback_knows_its_call() {
    let tree = fixture().await;
    let session = tree.session(Version::November2025).await;

    let modern = tree
        .send(&Era::Modern.tool("whoami", json!({})).id(json!("seven")))
        .await;
    let legacy = tree
        .send(
            &Era::Legacy
                .tool("whoami", json!({}))
                .id(json!(7))
                .session(&session),
        )
        .await;

    let knows = |reply: &Reply| {
        let caller = &reply.result()["structuredContent"];
        json!([caller["era"], caller["requestId"], caller["session"]])
    };
    assert_eq!(knows(&modern), json!(["modern", "seven", null]));
    assert_eq!(knows(&legacy), json!(["legacy", 7, session]));
}

#[tokio::test]
async fn two_hundred_calls_wait_side_by_side() {
    let tree = fixture().await;
    let address = tree.endpoint();
    let mut callers = JoinSet::new();
    for number in 0..200 {
        callers.spawn(async move {
            let call = Era::Modern
                .tool("slow", json!({ "seconds": 1 }))
                .id(json!(number));
            Conn::open(address).await.send(&call).await.status
        });
    }

    let start = Instant::now();
    let statuses = callers.join_all().await;
    let took = start.elapsed();

    assert!(
        statuses.iter().all(|status| *status == StatusCode::OK),
        "{statuses:?}"
    );
    assert!(
        took < Duration::from_secs(5),
        "one after the other: {took:?}"
    );
}

#[tokio::test]
async fn a_slow_call_holds_up_nobody() {
    let tree = fixture().await;
    let mut slow = tree.conn().await;
    let call = Era::Modern.tool("slow", json!({ "seconds": 2 }));

    let (slow, quick) = tokio::join!(slow.send(&call), async {
        let reply = tree
            .send(&Era::Modern.tool("echo", json!({ "message": "quick" })))
            .await;
        (
            reply,
            tree.metrics().await.sum("conduit_requests_in_flight", &[]),
        )
    });

    assert_eq!(quick.0.text(), "quick");
    assert!(
        quick.1 >= 1.0,
        "the slow call was over before the quick one"
    );
    assert_eq!(slow.status, StatusCode::OK);
}

#[tokio::test]
async fn a_modern_result_that_is_complete_says_so_and_a_legacy_one_does_not() {
    let tree = demo().await;

    let modern = tree
        .send(&Era::Modern.tool("echo", json!({ "message": "x" })))
        .await;
    let legacy = tree
        .send(&Era::Legacy.tool("echo", json!({ "message": "x" })))
        .await;

    assert_eq!(modern.result()["resultType"], "complete");
    assert_eq!(modern.result().get("ttlMs"), None);
    assert_eq!(legacy.result().get("resultType"), None);
    assert_eq!(legacy.result().get("_meta"), None);
}

/// A result that says that the tool failed, in a text with `named` in it.
#[track_caller]
fn fails(reply: &Reply, named: &str) {
    assert_eq!(reply.status, StatusCode::OK, "{reply}");
    assert_eq!(reply.result()["isError"], json!(true), "{reply}");
    assert!(reply.text().contains(named), "{reply}");
}
