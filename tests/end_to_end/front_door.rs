//! What HTTP itself is held to before anybody looks at a message.

use conduit_testkit::{Call, Era, Options, Reply, Tree};
use http::{Method, StatusCode};
use serde_json::json;

use crate::demo;

#[tokio::test]
async fn other_methods_are_not_allowed_and_told_which_are() {
    let tree = demo().await;

    for verb in [Method::GET, Method::PUT, Method::PATCH] {
        let reply = tree.send(&Call::verb(verb.clone())).await;
        assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED, "{verb}");
        assert!(
            reply
                .header("allow")
                .is_some_and(|allow| allow.contains("POST")),
            "{reply}"
        );
        assert!(reply.message()["error"]["code"].is_i64(), "{reply}");
    }
}

#[tokio::test]
async fn another_path_is_not_found() {
    let tree = demo().await;

    for path in ["/", "/mcp/more", "/mcpx", "/metrics", "/status"] {
        let reply = tree.send(&echo().path(path)).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn a_query_does_not_change_the_path() {
    assert_eq!(
        demo().await.send(&echo().path("/mcp?a=b")).await.text(),
        "hello"
    );
}

#[tokio::test]
async fn any_accept_that_takes_json_is_served() {
    let tree = demo().await;

    for accept in [
        "*/*",
        "application/*, text/event-stream",
        "text/event-stream;q=0.9, application/json",
        "text/event-stream, application/json; charset=utf-8",
        "application/json",
        "APPLICATION/JSON",
    ] {
        assert_eq!(
            tree.send(&echo().header("accept", accept)).await.status,
            StatusCode::OK,
            "{accept}"
        );
    }
    assert_eq!(
        tree.send(&echo().without("accept")).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn an_accept_that_takes_neither_type_is_not_acceptable() {
    let tree = demo().await;

    for accept in ["text/html", "image/*, text/plain"] {
        for era in Era::BOTH {
            let reply = tree
                .send(
                    &era.tool("echo", json!({ "message": "x" }))
                        .header("accept", accept),
                )
                .await;
            assert_eq!(reply.status, StatusCode::NOT_ACCEPTABLE, "{accept}");
            assert_eq!(reply.message()["id"], 1, "{reply}");
        }
    }
}

#[tokio::test]
async fn a_body_of_another_type_is_unsupported() {
    let tree = demo().await;

    for media_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
    ] {
        let reply = tree.send(&echo().header("content-type", media_type)).await;
        assert_eq!(
            reply.status,
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "{media_type}"
        );
        assert!(reply.message()["error"]["code"].is_i64(), "{reply}");
    }
    assert_eq!(
        tree.send(&echo().without("content-type")).await.status,
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
}

#[tokio::test]
async fn a_body_of_our_type_may_have_parameters() {
    let reply = demo()
        .await
        .send(&echo().header("content-type", "Application/JSON; charset=UTF-8"))
        .await;

    assert_eq!(reply.text(), "hello");
}

#[tokio::test]
async fn loopback_names_are_good_hosts() {
    let tree = demo().await;
    let port = tree.endpoint().port();

    for host in [
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
        "localhost".to_owned(),
        "LOCALHOST".to_owned(),
    ] {
        assert_eq!(
            tree.send(&echo().header("host", &host)).await.status,
            StatusCode::OK,
            "{host}"
        );
    }
}

#[tokio::test]
async fn another_host_is_forbidden_and_the_setting_is_named() {
    let tree = demo().await;

    for host in [
        "evil.example.com",
        "evil.example.com:80",
        "localhost.evil.example.com",
        "127.0.0.1.evil.example.com",
        "localhost:80@evil.example.com",
        "localhost:abc",
        "localhost:99999",
    ] {
        is_forbidden(
            &tree.send(&echo().header("host", host)).await,
            "http.allowed_hosts",
        );
    }
}

#[tokio::test]
async fn two_hosts_are_one_too_many() {
    let tree = demo().await;
    let mut raw = tree.raw().await;
    let host = raw.host();

    raw.write(echo().second_header("host", "evil.example.com").wire(&host))
        .await;

    let answer = raw.read_until("\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
}

#[tokio::test]
async fn loopback_pages_are_good_origins() {
    let tree = demo().await;

    for origin in [
        "http://localhost:6274",
        "http://127.0.0.1",
        "https://localhost",
        "http://[::1]:3000",
    ] {
        assert_eq!(
            tree.send(&echo().header("origin", origin)).await.status,
            StatusCode::OK,
            "{origin}"
        );
    }
}

#[tokio::test]
async fn another_origin_is_forbidden_and_the_setting_is_named() {
    let tree = demo().await;

    for origin in [
        "http://evil.example.com",
        "https://localhost.evil.example.com",
        "http://localhost:80@evil.example.com",
        "http://127.0.0.1:x",
        "null",
        "",
        "nonsense",
    ] {
        is_forbidden(
            &tree.send(&echo().header("origin", origin)).await,
            "http.allowed_origins",
        );
    }
}

#[tokio::test]
async fn listed_hosts_and_origins_are_good_too() {
    let lists = "[http]\nallowed_hosts = [\"mcp.example.com\"]\nallowed_origins = [\"https://app.example.com\"]\n";
    let tree = Tree::start(Options::conduit().gateways(1).config(lists)).await;

    let listed = tree
        .send(
            &echo()
                .header("host", "mcp.example.com")
                .header("origin", "https://app.example.com"),
        )
        .await;
    let loopback = tree
        .send(&echo().header("origin", "http://localhost:1"))
        .await;
    let other = tree.send(&echo().header("host", "mcp.example.org")).await;

    assert_eq!([listed.status, loopback.status], [StatusCode::OK; 2]);
    assert_eq!(other.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn bound_elsewhere_any_host_is_good_and_no_origin_is_and_the_start_says_so() {
    let tree = Tree::start(Options::conduit().gateways(1).listen("0.0.0.0:0")).await;

    let host = tree.send(&echo().header("host", "mcp.example.com")).await;
    let origin = tree
        .send(
            &echo()
                .header("host", "mcp.example.com")
                .header("origin", "http://localhost"),
        )
        .await;

    assert_eq!(
        (host.status, origin.status),
        (StatusCode::OK, StatusCode::FORBIDDEN)
    );
    assert!(tree.to_string().contains("http.allowed_hosts"), "{}", *tree);
}

#[tokio::test]
async fn options_is_answered_before_everything_else() {
    let tree = demo().await;
    let preflight = Call::verb(Method::OPTIONS)
        .header("access-control-request-method", "POST")
        .header(
            "access-control-request-headers",
            "content-type,mcp-protocol-version,mcp-session-id,mcp-method,mcp-name",
        );

    for call in [
        preflight.clone().header("origin", "http://localhost:6274"),
        preflight
            .clone()
            .header("origin", "http://evil.example.com"),
        preflight
            .header("host", "evil.example.com")
            .session("nonsense"),
    ] {
        let reply = tree.send(&call).await;
        assert!(reply.status.is_success(), "{call:?}: {reply}");
    }
}

#[tokio::test]
async fn a_page_that_may_come_in_learns_what_it_may_send_and_read() {
    let tree = demo().await;
    let origin = "http://localhost:6274";

    let preflight = tree
        .send(&Call::verb(Method::OPTIONS).header("origin", origin))
        .await;
    let answer = tree.send(&echo().header("origin", origin)).await;
    let refusal = tree
        .send(
            &echo()
                .header("origin", origin)
                .header("accept", "text/html"),
        )
        .await;

    let allowed = preflight
        .header("access-control-allow-headers")
        .expect("a list");
    for header in [
        "content-type",
        "mcp-protocol-version",
        "mcp-session-id",
        "mcp-method",
        "mcp-name",
    ] {
        assert!(allowed.contains(header), "{header} is not in {allowed}");
    }
    for reply in [preflight, answer.clone(), refusal.clone()] {
        assert_eq!(
            reply.header("access-control-allow-origin"),
            Some(origin),
            "{reply}"
        );
    }
    for reply in [answer, refusal] {
        let exposed = reply
            .header("access-control-expose-headers")
            .expect("a list");
        assert!(exposed.contains("mcp-session-id"), "{exposed}");
    }
}

#[tokio::test]
async fn a_page_may_send_the_headers_of_a_tools_arguments() {
    let preflight = Call::verb(Method::OPTIONS)
        .header("origin", "http://localhost:6274")
        .header(
            "access-control-request-headers",
            "content-type,mcp-param-region,x-other",
        );

    let reply = demo().await.send(&preflight).await;

    let allowed = reply
        .header("access-control-allow-headers")
        .expect("a list");
    assert!(allowed.contains("mcp-param-region"), "{allowed}");
    assert!(!allowed.contains("x-other"), "{allowed}");
}

#[tokio::test]
async fn a_client_that_refuses_json_gets_an_event_although_it_takes_everything_else() {
    let accept = "application/json;q=0, */*";

    let reply = demo().await.send(&echo().header("accept", accept)).await;

    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
}

#[tokio::test]
async fn another_page_learns_nothing() {
    let tree = demo().await;
    let origin = "http://evil.example.com";

    for call in [Call::verb(Method::OPTIONS), echo()] {
        let reply = tree.send(&call.header("origin", origin)).await;
        assert_eq!(reply.header("access-control-allow-origin"), None, "{reply}");
    }
}

#[tokio::test]
async fn a_refusal_at_the_door_keeps_the_connection() {
    let tree = demo().await;
    let mut conn = tree.conn().await;

    let refused = conn.send(&echo().header("origin", "null")).await;
    let served = conn.send(&echo()).await;

    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert_eq!(served.text(), "hello");
}

fn echo() -> Call {
    Era::Modern.tool("echo", json!({ "message": "hello" }))
}

#[track_caller]
fn is_forbidden(reply: &Reply, setting: &str) {
    assert_eq!(
        (reply.status, reply.code()),
        (StatusCode::FORBIDDEN, 40300),
        "{reply}"
    );
    let text = reply.message()["error"]["message"]
        .as_str()
        .expect("a message");
    assert!(text.contains(setting), "{text:?} does not name {setting}");
}
