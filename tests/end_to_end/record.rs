//! What the callbacks of the fixture server have done, in whichever process, and what
//! they wait for.

use conduit_testkit::{Era, PATIENCE, Tree, wait_until};
use serde_json::json;

/// Returns how many lines of the record begin so.
pub(crate) async fn recorded(tree: &Tree, line: &str) -> usize {
    let call = Era::Legacy.tool("recorded", json!({ "line": line }));
    let reply = tree.send(&call).await;
    reply.text().parse().expect("a number")
}

/// Waits until so many lines of the record begin so; more are a panic.
pub(crate) async fn wait_recorded(tree: &Tree, line: &str, count: usize) {
    let what = format!("{count} lines with {line:?}");
    let (found, _) = wait_until(&what, PATIENCE, async || {
        let found = recorded(tree, line).await;
        (found >= count).then_some(found)
    })
    .await;
    assert_eq!(found, count, "{line}");
}

/// Lets go on what waits under a name.
pub(crate) async fn release(tree: &Tree, name: &str) {
    let call = Era::Legacy.tool("release", json!({ "name": name }));
    assert_eq!(tree.send(&call).await.text(), "released");
}
