//! `conduit hub`: how the shards of the hub are.

use std::time::Duration;

use conduit_config::{Sources, load};
use conduit_link::{Answer, Operation, Role, ShardView, Slot};
use serde_json::{Value, json};

use super::desk::Desk;
use crate::failure::Failure;
use crate::role::block_on;

/// Looks twice, for the rates, and returns a table, or JSON.
pub(crate) fn answer(sources: &Sources, as_json: bool) -> Result<String, Failure> {
    let settings = load(sources)?.settings;
    let shards = block_on(async {
        let desk = Desk::open(&settings)?;
        let shards = look(&desk).await;
        desk.close().await;
        shards
    })?;
    Ok(if as_json {
        let rows: Vec<_> = shards.iter().map(Shard::json).collect();
        format!("{:#}\n", Value::from(rows))
    } else {
        table(&shards)
    })
}

// === Behind the answer ===

/// The time between the two looks, in which the rates are measured.
const BETWEEN: Duration = Duration::from_secs(1);

/// A shard, and what was seen of it.
struct Shard {
    slot: Slot,
    seen: Option<Looks>,
}

/// The second look, and the first, if it was at the same process.
struct Looks {
    first: Option<ShardView>,
    second: ShardView,
}

async fn look(desk: &Desk) -> Result<Vec<Shard>, Failure> {
    let mut first = show(desk).await?;
    tokio::time::sleep(BETWEEN).await;
    let (second, tree) = (show(desk).await?, desk.look().await?);
    let slots = tree.slots.into_iter().map(|state| state.slot);
    let mut shards: Vec<_> = slots
        .filter(|slot| slot.role == Role::Hub)
        .map(|slot| Shard { slot, seen: None })
        .collect();
    for view in second {
        let same = |other: &mut ShardView| other.slot == view.slot;
        let first = first.extract_if(.., same).next();
        let first = first.filter(|first| first.uptime_ms < view.uptime_ms);
        if let Some(shard) = shards.iter_mut().find(|shard| shard.slot == view.slot) {
            shard.seen = Some(Looks {
                first,
                second: view,
            });
        }
    }
    Ok(shards)
}

async fn show(desk: &Desk) -> Result<Vec<ShardView>, Failure> {
    let Answer::Hub(shards) = desk.ask(Operation::ShowHub).await? else {
        return Err(Desk::misunderstood());
    };
    Ok(shards)
}

fn table(shards: &[Shard]) -> String {
    let heads = [
        "SHARD",
        "EPOCH",
        "STATE",
        "TOPICS",
        "REGISTRATIONS",
        "GATEWAYS",
        "IN FLIGHT",
        "PUBLISHED/S",
        "DELIVERED/S",
        "LAG",
        "UPTIME",
    ];
    let rows: Vec<_> = shards.iter().map(Shard::row).collect();
    let mut widths = heads.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(widths);
        let padded: Vec<_> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    let heads = heads.map(str::to_owned);
    std::iter::once(line(&heads))
        .chain(rows.iter().map(|row| line(row)))
        .collect()
}

impl Shard {
    fn row(&self) -> Vec<String> {
        let slot = self.slot.to_string();
        let Some(looks) = &self.seen else {
            return vec![slot, "-".to_owned(), NO_ANSWER.to_owned()];
        };
        let view = &looks.second;
        let rate = |of: fn(&ShardView) -> u64| {
            looks
                .rate(of)
                .map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"))
        };
        vec![
            slot,
            view.epoch.to_string(),
            state(view).to_owned(),
            view.topics.to_string(),
            view.registrations.to_string(),
            view.gateways.to_string(),
            view.in_flight.to_string(),
            rate(|view| view.published),
            rate(|view| view.delivered),
            format!("{} ms", view.lag_ms),
            format!("{} s", view.uptime_ms / 1000),
        ]
    }

    fn json(&self) -> Value {
        let slot = self.slot.to_string();
        let Some(looks) = &self.seen else {
            return json!({ "shard": slot, "state": NO_ANSWER });
        };
        let view = &looks.second;
        json!({
            "shard": slot,
            "epoch": view.epoch,
            "state": state(view),
            "topics": view.topics,
            "registrations": view.registrations,
            "gateways": view.gateways,
            "in_flight": view.in_flight,
            "published": view.published,
            "delivered": view.delivered,
            "published_per_s": looks.rate(|view| view.published),
            "delivered_per_s": looks.rate(|view| view.delivered),
            "lag_ms": view.lag_ms,
            "uptime_ms": view.uptime_ms,
        })
    }
}

impl Looks {
    /// Returns by how much something has grown in a second.
    fn rate(&self, of: impl Fn(&ShardView) -> u64) -> Option<f64> {
        let first = self.first.as_ref()?;
        let time = Duration::from_millis(self.second.uptime_ms.saturating_sub(first.uptime_ms));
        let more = of(&self.second).saturating_sub(of(first));
        let more = u32::try_from(more).map_or(f64::INFINITY, f64::from);
        Some(more / time.as_secs_f64())
    }
}

const NO_ANSWER: &str = "no answer";

/// A shard that waits does not know yet who listens to what.
const fn state(view: &ShardView) -> &'static str {
    if view.is_open { "open" } else { "waiting" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(uptime_ms: u64, published: u64) -> ShardView {
        ShardView {
            slot: Slot::hub(0),
            epoch: 3,
            is_open: true,
            topics: 2_000,
            registrations: 3_500,
            gateways: 2,
            in_flight: 1,
            published,
            delivered: 2 * published,
            lag_ms: 0,
            uptime_ms,
        }
    }

    fn shards() -> Vec<Shard> {
        let seen = Looks {
            first: Some(view(60_000, 100)),
            second: view(62_000, 1_100),
        };
        vec![
            Shard {
                slot: Slot::hub(0),
                seen: Some(seen),
            },
            Shard {
                slot: Slot::hub(1),
                seen: None,
            },
        ]
    }

    #[test]
    fn each_shard_has_a_line_and_one_that_is_silent_says_so() {
        assert_eq!(
            table(&shards()),
            "SHARD  EPOCH  STATE      TOPICS  REGISTRATIONS  GATEWAYS  IN FLIGHT  PUBLISHED/S  DELIVERED/S  LAG   UPTIME\n\
             hub-0  3      open       2000    3500           2         1          500          1000         0 ms  62 s\n\
             hub-1  -      no answer\n"
        );
    }

    #[test]
    fn a_shard_that_was_seen_once_has_no_rate() {
        let looks = Looks {
            first: None,
            second: view(10, 5),
        };

        assert_eq!(looks.rate(|view| view.published), None);
    }

    #[test]
    fn machines_get_the_same() {
        let [open, silent] = &shards()[..] else {
            panic!("two shards");
        };

        assert_eq!(open.json()["published_per_s"], 500.0);
        assert_eq!(open.json()["state"], "open");
        assert_eq!(
            silent.json(),
            json!({ "shard": "hub-1", "state": "no answer" })
        );
    }
}
