//! The tour of the Rust SDK through the server for conformance, in each of its modes:
//! over HTTP with one gateway and with two, and on a pipe.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests report by panicking"
)]
#![expect(deprecated, reason = "the SDK deprecates what only the legacy era has")]

mod answers;
mod asking;
mod calls;
mod changes;
mod client;
mod entries;
mod jobs;

use conduit_testkit::{Options, Tree, binary};
use serde_json::json;

use self::client::{Client, Mode, Place, text};

#[tokio::test]
async fn the_modern_client_is_at_home() {
    Box::pin(tour(Mode::Modern)).await;
}

#[tokio::test]
async fn the_automatic_client_finds_the_modern_era() {
    Box::pin(tour(Mode::Auto)).await;
}

#[tokio::test]
async fn the_legacy_client_is_at_home() {
    Box::pin(tour(Mode::Legacy)).await;
}

async fn tour(mode: Mode) {
    for gateways in [1, 2] {
        let options = Options::program(binary("conformance-server")).gateways(gateways);
        let tree = Tree::start(options).await;
        let place = Place::Http(&tree);
        Box::pin(visit(&place, mode)).await;
        changes::of_others(&place, mode).await;
        tree.stop().await;
    }
    Box::pin(visit(&Place::Pipe, mode)).await;
}

async fn visit(place: &Place<'_>, mode: Mode) {
    let client = Client::connect(place, mode).await;
    let info = client.service.peer_info().expect("it is connected");
    assert_eq!(info.protocol_version, mode.version());

    calls::answers(&client).await;
    calls::failures(&client).await;
    calls::progress(&client).await;
    calls::log(&client).await;
    calls::cancellation(&client).await;
    entries::tools(&client).await;
    entries::resources(&client).await;
    entries::prompts(&client).await;
    entries::completion(&client).await;
    changes::of_a_resource(&client).await;
    changes::of_lists(&client).await;
    asking::forms(&client).await;
    asking::fields(&client).await;
    asking::pages(&client).await;
    asking::models_and_roots(&client).await;
    asking::several(&client).await;
    asking::elsewhere(&client).await;
    asking::of_nobody(place, mode).await;
    jobs::as_calls(&client).await;
    jobs::as_tasks(place, mode).await;

    let other = Client::connect(place, mode).await;
    let (ours, theirs) = tokio::join!(
        client.call("tour_echo", json!({ "text": "ours" })),
        other.call("tour_echo", json!({ "text": "theirs" }))
    );
    assert_eq!((text(&ours), text(&theirs)), ("ours", "theirs"));
    client.end().await;
    other.end().await;

    let again = Client::connect(place, mode).await;
    let echo = again.call("tour_echo", json!({ "text": "again" })).await;
    assert_eq!(text(&echo), "again");
    again.end().await;
}
