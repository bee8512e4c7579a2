//! Changes that are told while processes die: late, or twice, but never not at all.

use conduit_testkit::process::Signal;
use conduit_testkit::{Call, Conn, Era, Events, PATIENCE, Version};
use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{pair, turn};

#[tokio::test]
async fn a_listener_hears_what_changes_while_its_hub_is_dead() {
    let _turn = turn().await;
    let tree = pair().await;
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let listen = Call::modern("subscriptions/listen", filter);
    let mut stream = tree.conn_to("gateway-1").await.into_stream(&listen).await;
    heard(&mut stream, "notifications/subscriptions/acknowledged").await;
    let mut other = tree.conn_to("gateway-0").await;

    for _ in 0..3 {
        tree.signal_slot("hub-0", Signal::KILL).await;
        announce(&mut other).await;
        heard(&mut stream, "notifications/tools/list_changed").await;
    }
}

#[tokio::test]
async fn what_a_session_subscribed_to_outlives_the_gateway_and_the_store() {
    let _turn = turn().await;
    let tree = pair().await;
    let session = tree.session(Version::November2025).await;
    let subscribe = Call::legacy("resources/subscribe", json!({ "uri": "file:///a.txt" }));
    let mut conn = tree.conn_to("gateway-0").await;
    assert_eq!(
        conn.send(&subscribe.session(&session)).await.result(),
        &json!({})
    );

    for slot in ["gateway-0", "store"] {
        let before = tree.signal_slot(slot, Signal::KILL).await;
        tree.replaced(slot, before, PATIENCE).await;
    }

    let get = Call::verb(Method::GET)
        .header("accept", "text/event-stream")
        .session(&session);
    let mut stream = tree.conn_to("gateway-1").await.into_stream(&get).await;
    let touch = Era::Modern.tool("touch_resource", json!({ "uri": "file:///a.txt" }));
    let told = tree.conn_to("gateway-0").await.send(&touch).await;
    assert_eq!(told.text(), "told");
    let updated = heard(&mut stream, "notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], "file:///a.txt");
}

async fn announce(conn: &mut Conn) {
    let call = Era::Modern.tool("announce_change", json!({ "list": "tools" }));
    assert_eq!(conn.send(&call).await.text(), "told");
}

/// Reads on until a message of this method, past those that are told once too often.
async fn heard(stream: &mut Events, method: &str) -> Value {
    let reading = async {
        loop {
            let next = stream.next().await.expect("a whole stream");
            let message = next.expect("a message");
            if message["method"] == method {
                return message;
            }
        }
    };
    timeout(PATIENCE, reading).await.expect("in time")
}
