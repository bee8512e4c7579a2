//! Conduit inside somebody else's warp server.

use conduit::warp::{self, Filter};
use conduit::{Context, Front, Handler, NoArguments, Servers, Toolbox, tool};
use conduit_testkit::{Call, Conn, Era, Version, initialize};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[tokio::test]
async fn a_filter_serves_mcp_and_leaves_other_paths_alone() {
    let hello = tool("hello", "Greets", |_: NoArguments, _: Context| async {
        "hello"
    });
    let servers = Servers::new().with(Toolbox::builder("embedded", "1").tool(hello));
    let handler = Handler::start(servers).await.expect("a handler");
    let front = Front {
        loopback: true,
        hosts: Vec::new(),
        origins: Vec::new(),
    };
    let other = warp::path("other").map(|| "something else");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
    let address = listener.local_addr().expect("an address");
    let served = handler.filter(front).or(other);

    let asking = async {
        let mut conn = Conn::open(address).await;
        for era in Era::BOTH {
            let reply = conn.send(&era.tool("hello", json!({}))).await;
            assert_eq!(reply.text(), "hello");
        }
        let opened = conn.send(&initialize(Version::November2025)).await;
        assert_eq!(opened.result()["protocolVersion"], "2025-11-25");
        assert_eq!(opened.header("mcp-session-id"), None, "nobody keeps it");
        let evil = Era::Legacy
            .call("ping", Value::Null)
            .header("origin", "https://evil.example");
        assert_eq!(conn.send(&evil).await.status, StatusCode::FORBIDDEN);
        let other = conn.send(&Call::verb(Method::GET).path("/other")).await;
        assert_eq!(&other.body[..], b"something else");
    };
    tokio::select! {
        () = warp::serve(served).incoming(listener).run() => panic!("it serves for ever"),
        () = asking => {}
    }
}
