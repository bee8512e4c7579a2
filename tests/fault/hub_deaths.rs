//! A hub that dies, hangs, comes or goes: nobody is told anything again but what changes
//! at that moment, and everybody is told of what changes after it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use conduit_testkit::process::{self, Signal};
use conduit_testkit::{Conn, Era, Options, PATIENCE, Tree, wait_until};
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::audience::{Asked, Audience, Count, Plan, Published};
use crate::{scale, turn};

/// How many streams there are, of how many topics each.
const STREAMS: usize = 200;
const TOPICS: usize = 10;
/// How many of all topics change at once.
const AT_ONCE: usize = 100;
/// What every stream asks for beside them.
const MARKER: &str = "mem://marker";
/// How many clients publish that it changes, while something is done to the tree.
const PUBLISHERS: usize = 4;
/// How long somebody is stopped: so long that it is killed, or not.
const SLEEP: Duration = Duration::from_secs(5);
const NAP: Duration = Duration::from_secs(1);
/// Before a connection that broke is made again.
const AGAIN: Duration = Duration::from_millis(10);

#[tokio::test]
async fn changes_reach_everybody_over_four_shards() {
    let _turn = turn().await;
    let mut hall = Hall::open(4).await;

    hall.everything_changes().await;

    hall.told(TOPICS).await;
}

#[tokio::test]
async fn a_killed_hub_makes_nobody_read_again() {
    let _turn = turn().await;
    untroubled(1, async |tree| kill(tree, &["hub-0"]).await).await;
}

#[tokio::test]
async fn a_killed_hub_of_four_makes_nobody_read_again() {
    let _turn = turn().await;
    untroubled(4, async |tree| kill(tree, &["hub-2"]).await).await;
}

#[tokio::test]
async fn all_hubs_killed_at_once_make_nobody_read_again() {
    let _turn = turn().await;
    let slots = ["hub-0", "hub-1", "hub-2", "hub-3"];
    untroubled(4, async |tree| kill(tree, &slots).await).await;
}

#[tokio::test]
async fn a_hub_killed_together_with_a_gateway_makes_nobody_read_again() {
    let _turn = turn().await;
    untroubled(1, async |tree| kill(tree, &["gateway-0", "hub-0"]).await).await;
}

#[tokio::test]
async fn a_hub_killed_together_with_the_store_makes_nobody_read_again() {
    let _turn = turn().await;
    untroubled(1, async |tree| kill(tree, &["hub-0", "store"]).await).await;
}

#[tokio::test]
async fn a_hub_that_hangs_makes_nobody_read_again() {
    let _turn = turn().await;
    untroubled(1, async |tree| {
        let before = tree.signal_slot("hub-0", Signal::STOP).await;
        sleep(SLEEP).await;
        process::signal(before, Signal::CONT);
        tree.replaced("hub-0", before, PATIENCE).await;
    })
    .await;
}

#[tokio::test]
async fn a_hub_that_takes_a_nap_makes_nobody_read_again() {
    let _turn = turn().await;
    untroubled(1, async |tree| {
        let pid = tree.signal_slot("hub-0", Signal::STOP).await;
        sleep(NAP).await;
        process::signal(pid, Signal::CONT);
    })
    .await;
}

#[tokio::test]
async fn a_hub_killed_while_a_gateway_naps_makes_nobody_read_again() {
    let _turn = turn().await;
    untroubled(1, async |tree| {
        let napping = tree.signal_slot("gateway-0", Signal::STOP).await;
        kill(tree, &["hub-0"]).await;
        sleep(NAP).await;
        process::signal(napping, Signal::CONT);
    })
    .await;
}

#[tokio::test]
async fn more_hubs_and_fewer_make_nobody_read_again() {
    let _turn = turn().await;
    untroubled(1, async |tree| {
        for count in [4, 1] {
            scale(tree, "hub", count).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_killed_hub_has_told_again_what_was_under_way_and_no_more() {
    let _turn = turn().await;
    let mut hall = Hall::open(1).await;
    hall.everything_changes().await;
    hall.told(TOPICS).await;
    let before = hall.counts();

    let under_way: Vec<String> = uris(0).collect();
    let pid = hall.tree.signal_slot("hub-0", Signal::KILL).await;
    hall.change(&under_way).await;
    hall.tree.replaced("hub-0", pid, PATIENCE).await;
    hall.change(&[MARKER.to_owned()]).await;
    hall.told_of_changes().await;

    for (number, (before, after)) in before.iter().zip(hall.counts()).enumerate() {
        let more = after.told - before.told;
        let its = uris(number).filter(|uri| under_way.contains(uri)).count();
        assert!(
            (its..=2 * its).contains(&more),
            "stream {number} was told {more} times"
        );
    }
}

#[tokio::test]
async fn a_gateway_too_many_ends_its_streams_with_a_result() {
    let _turn = turn().await;
    let mut hall = Hall::open(1).await;

    scale(&hall.tree, "gateway", 1).await;

    wait_until("streams to end", PATIENCE, async || {
        let is_gone = hall.tree.status().await.slots.len() == 3;
        (is_gone && hall.audience.ends() > 0).then_some(())
    })
    .await;
    hall.audience.opened().await.expect("all streams are well");
    hall.everything_changes().await;
    hall.told_of_changes().await;
    let (lives, ends) = (hall.audience.lives(), hall.audience.ends());
    assert_eq!(lives, STREAMS + ends, "a stream broke off");
}

/// A tree with many streams that listen.
struct Hall {
    tree: Tree,
    audience: Audience,
    start: Instant,
    published: Arc<Mutex<Published>>,
    conn: Conn,
}

impl Hall {
    async fn open(hubs: usize) -> Self {
        let options = Options::fixture()
            .gateways(2)
            .environment("CONDUIT_HUB_COUNT", &hubs.to_string());
        let (tree, start) = (Tree::start(options).await, Instant::now());
        let plans = (0..STREAMS).map(|stream| {
            let topics = uris(stream).chain([MARKER.to_owned()]);
            // Sessions are told of lists too, of which none changes here.
            if is_session(stream) {
                return Plan::session(topics);
            }
            Plan::listen(Asked {
                topics: topics.collect(),
                ..Asked::default()
            })
        });
        let mut audience = Audience::open(tree.endpoint(), start, plans.collect(), 0);
        audience.opened().await.expect("all streams are well");
        let conn = tree.conn().await;
        Self {
            conn,
            tree,
            audience,
            start,
            published: Arc::default(),
        }
    }

    /// Publishes every topic of the streams once, except the marker.
    async fn everything_changes(&mut self) {
        let all: BTreeSet<String> = (0..STREAMS).flat_map(uris).collect();
        let all: Vec<String> = all.into_iter().collect();
        for some in all.chunks(AT_ONCE) {
            self.change(some).await;
        }
    }

    /// Publishes these, and returns when they have changed.
    async fn change(&mut self, uris: &[String]) {
        let sent = self.start.elapsed();
        self.published.lock().sent(uris, sent);
        let call = Era::Modern.tool("touch_many", json!({ "uris": uris }));
        if self.conn.is_closed() {
            self.conn = self.tree.conn().await;
        }
        assert_eq!(self.conn.send(&call).await.text(), "told");
        self.published.lock().answered(uris, sent);
    }

    /// Waits until everybody was told of each change.
    async fn told_of_changes(&mut self) {
        let told = self.audience.told(&self.published).await;
        told.expect("all streams are told");
    }

    /// As [`told_of_changes`](Self::told_of_changes), and no stream more often.
    async fn told(&mut self, times: usize) {
        self.told_of_changes().await;
        for (number, count) in self.counts().iter().enumerate() {
            assert_eq!(count.told, times, "stream {number}");
        }
    }

    fn counts(&self) -> Vec<Count> {
        self.audience.counts_but(MARKER)
    }
}

/// Does something to a tree in which nothing but the marker changes; nobody may be told
/// of anything else.
///
/// That it is over is known once a change has reached everybody.
async fn untroubled(hubs: usize, harm: impl AsyncFnOnce(&Tree)) {
    let mut hall = Hall::open(hubs).await;
    hall.everything_changes().await;
    hall.told(TOPICS).await;
    let before = hall.counts();
    let publishers: JoinSet<()> = (0..PUBLISHERS)
        .map(|_| publish_for_ever(hall.tree.endpoint()))
        .collect();

    harm(&hall.tree).await;
    hall.tree.ready().await;
    hall.audience.opened().await.expect("all streams are well");
    drop(publishers);
    hall.change(&[MARKER.to_owned()]).await;
    hall.told_of_changes().await;

    for (number, (before, after)) in before.iter().zip(hall.counts()).enumerate() {
        let is_new = before.lives != after.lives;
        // What a session missed while its stream was broken is nobody's to know.
        if is_new && is_session(number) {
            continue;
        }
        let told = if is_new { 0 } else { before.told };
        assert_eq!(after.told - told, 0, "stream {number} is told of nothing");
    }
    hall.everything_changes().await;
    hall.told_of_changes().await;
}

/// Publishes that the marker has changed, again and again.
async fn publish_for_ever(endpoint: SocketAddr) {
    let call = Era::Modern.tool("touch", json!({ "uri": MARKER }));
    loop {
        if let Ok(mut conn) = Conn::try_open(endpoint).await {
            while conn.try_send(&call).await.is_ok() {}
        }
        sleep(AGAIN).await;
    }
}

/// Kills processes at once, and waits until they are replaced.
async fn kill(tree: &Tree, slots: &[&str]) {
    let mut before = Vec::new();
    for slot in slots {
        before.push(tree.pid_of(slot).await);
    }
    for pid in &before {
        process::signal(*pid, Signal::KILL);
    }
    for (slot, pid) in slots.iter().zip(before) {
        tree.replaced(slot, pid, PATIENCE).await;
    }
}

const fn is_session(stream: usize) -> bool {
    stream.is_multiple_of(10)
}

/// Returns what a stream asks for beside the marker; two share every other of it.
fn uris(stream: usize) -> impl Iterator<Item = String> {
    (0..TOPICS).map(move |topic| {
        let whose = if topic % 2 == 0 { stream / 2 } else { stream };
        format!("mem://{whose}/{topic}")
    })
}
