//! What is in the tree, as the admin port shows it.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use conduit_link::{Role, Slot};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::ADMIN;

/// One slot of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) slot: Slot,
    /// What it is doing, such as `serving` or `parked`.
    pub(super) phase: String,
    /// Whether its process serves.
    pub(super) serves: bool,
    /// For a hub, whether the newest shard map has it.
    pub(super) mapped: bool,
}

/// Asks the admin port of the supervisor that runs on a state directory.
///
/// # Errors
///
/// Fails when nobody answers there, or not as we would.
pub(super) async fn look(state_dir: &Path) -> io::Result<Vec<Seen>> {
    let address = std::fs::read_to_string(state_dir.join(ADMIN))?;
    let address = address.trim().parse().map_err(io::Error::other)?;
    let status = tokio::time::timeout(PATIENCE, ask(address)).await??;
    understand(&status).ok_or_else(|| io::Error::other("that is no status"))
}

// === Behind the look ===

/// How long the admin port may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The status of the largest tree is shorter.
const MOST_BYTES: u64 = 1024 * 1024;

async fn ask(address: SocketAddr) -> io::Result<Value> {
    let mut socket = TcpStream::connect(address).await?;
    let head = format!("GET /status HTTP/1.0\r\nHost: {address}\r\n\r\n");
    socket.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    socket.take(MOST_BYTES).read_to_end(&mut answer).await?;
    let text = String::from_utf8_lossy(&answer);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok(serde_json::from_str(body)?)
}

fn understand(status: &Value) -> Option<Vec<Seen>> {
    let shards = status.pointer("/shard_map/shards")?.as_array()?;
    let slots = status.get("slots")?.as_array()?.iter();
    let seen = slots.map(|shown| {
        let slot: Slot = shown.get("slot")?.as_str()?.parse().ok()?;
        let phase = shown.get("phase")?.as_str()?.to_owned();
        let owns = |shard: &Value| shard.as_u64() == Some(slot.index.into());
        Some(Seen {
            serves: phase == "serving",
            mapped: slot.role != Role::Hub || shards.iter().any(owns),
            slot,
            phase,
        })
    });
    seen.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_says_who_serves_and_which_hubs_own_topics() {
        let status = json!({
            "shard_map": { "epoch": 3, "shards": [0] },
            "slots": [
                { "slot": "store", "phase": "serving" },
                { "slot": "hub-0", "phase": "waiting" },
                { "slot": "hub-1", "phase": "serving" },
            ],
        });

        let seen: Vec<_> = understand(&status)
            .unwrap()
            .into_iter()
            .map(|seen| (seen.slot.to_string(), seen.serves, seen.mapped))
            .collect();

        let expected = [
            ("store", true, true),
            ("hub-0", false, true),
            ("hub-1", true, false),
        ];
        assert_eq!(
            seen,
            expected.map(|(slot, serves, mapped)| (slot.to_owned(), serves, mapped))
        );
    }

    #[test]
    fn what_is_no_status_is_not_understood() {
        for text in [json!({}), json!({ "slots": [] }), json!([1])] {
            assert_eq!(understand(&text), None);
        }
    }
}
