//! Somebody tidies up in the state directory while we run.

use std::fs;

use conduit_testkit::process::Signal;
use conduit_testkit::{Call, PATIENCE, Tree, Version, wait_until};
use http::StatusCode;
use serde_json::Value;

use crate::{pair, turn};

const SLOTS: [&str; 4] = ["gateway-0", "hub-0", "store", "gateway-1"];

#[tokio::test]
async fn a_directory_of_sockets_that_was_deleted_is_made_again() {
    let _turn = turn().await;
    let tree = pair().await;
    fs::remove_dir_all(tree.state_dir().join("run")).expect("it is there");

    every_slot_comes_back(&tree).await;

    sessions_work(&tree).await;
    tree.stop().await;
}

#[tokio::test]
async fn a_socket_that_was_deleted_is_made_again() {
    let _turn = turn().await;
    let tree = pair().await;
    for slot in ["supervisor", "store", "hub-0"] {
        let socket = tree.state_dir().join("run").join(format!("{slot}.sock"));
        fs::remove_file(&socket).expect("it is there");
        wait_until("the socket to be made again", PATIENCE, async || {
            socket.exists().then_some(())
        })
        .await;
    }

    every_slot_comes_back(&tree).await;

    sessions_work(&tree).await;
    tree.stop().await;
}

async fn every_slot_comes_back(tree: &Tree) {
    for slot in SLOTS {
        let before = tree.signal_slot(slot, Signal::KILL).await;
        let now = tree.replaced(slot, before, PATIENCE).await;
        assert_eq!(now.restarts, 1, "{now:?}");
    }
    tree.ready().await;
}

/// A session needs the store, and each gateway its link to it.
async fn sessions_work(tree: &Tree) {
    let session = tree.session(Version::November2025).await;
    for gateway in ["gateway-0", "gateway-1"] {
        let ping = Call::legacy("ping", Value::Null).session(&session);
        let reply = tree.conn_to(gateway).await.send(&ping).await;
        assert_eq!(reply.status, StatusCode::OK, "{gateway}: {reply}");
    }
}
