//! What the server told its log, where events have the names of the seeds.

use std::sync::atomic::{AtomicU64, Ordering};

use conduit_testkit::{Call, PATIENCE, Tree, wait_until};
use serde_json::Value;

/// How a request begins that only marks a place in the log.
const MARK: &str = "acceptance/mark-";

static MARKS: AtomicU64 = AtomicU64::new(0);

/// Returns the fields of every event of that name, such as `request.stop`, once there
/// are `count` of them; more than those are a panic.
pub(crate) async fn told(tree: &Tree, event: &str, count: usize) -> Vec<Value> {
    wait_until(&format!("{count} of {event}"), PATIENCE, async || {
        (events(tree, event).len() >= count).then_some(())
    })
    .await;
    everything_told(tree).await;
    let events = events(tree, event);
    assert_eq!(events.len(), count, "{event}: {events:?}");
    events
}

/// Returns the lines of at least a warning that came from the gateway.
pub(crate) async fn warnings(tree: &Tree) -> Vec<Value> {
    everything_told(tree).await;
    let mut lines = lines(tree);
    lines.retain(|line| {
        let severe = ["WARN", "ERROR"].map(Value::from).contains(&line["level"]);
        line["process"] == "gateway-0" && severe
    });
    lines
}

/// Waits until all has been written that has happened so far: the log is in order.
async fn everything_told(tree: &Tree) {
    let mark = format!("{MARK}{}", MARKS.fetch_add(1, Ordering::Relaxed));
    tree.send(&Call::legacy(&mark, Value::Null)).await;
    wait_until("a mark in the log", PATIENCE, async || {
        let mut stops = stops(tree);
        stops.any(|fields| fields["method"] == *mark).then_some(())
    })
    .await;
}

fn events(tree: &Tree, event: &str) -> Vec<Value> {
    let is_mark = |fields: &Value| {
        let method = fields["method"].as_str();
        method.is_some_and(|method| method.starts_with(MARK))
    };
    let mut events: Vec<Value> = of(tree, event).collect();
    events.retain(|fields| !is_mark(fields));
    events
}

fn stops(tree: &Tree) -> impl Iterator<Item = Value> + use<> {
    of(tree, "request.stop")
}

fn of(tree: &Tree, event: &str) -> impl Iterator<Item = Value> + use<> {
    let target = format!("conduit_mcp.{event}");
    lines(tree)
        .into_iter()
        .filter(move |line| line["target"] == *target)
        .map(|line| line["fields"].clone())
}

/// A line that is still being written is no line yet.
fn lines(tree: &Tree) -> Vec<Value> {
    let text = tree.stderr();
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
