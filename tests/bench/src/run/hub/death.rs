//! The hub killed while changes are told: what is sent again, and for how long nothing is.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep};

use super::{House, PATIENCE, SETTLING};
use crate::args::Name;
use crate::audience::Audience;
use crate::processes;
use crate::run::Run;
use crate::statistics::median;
use crate::table::{number, table};

/// How many changes a second, each of a resource that did not change before.
const PACE: Duration = Duration::from_millis(50);
/// How many changes are told before the hub is killed, and how many from then on.
const BEFORE: usize = 60;
const AFTER: usize = 140;
/// How often it is killed.
const ROUNDS: usize = 3;
/// How the resources are called.
const PREFIX: &str = "bench://own/";

/// Kills the hub some times and returns the table.
pub(super) async fn measure(run: &Run<'_>, name: Name) -> anyhow::Result<String> {
    let count = run.args.streams as usize;
    let house = Arc::new(House::start(run, name).await?);
    sleep(SETTLING).await;
    let before = of_hub(&house)?;
    let mut rows = Vec::new();
    for round in 1..=ROUNDS {
        let prefix = format!("{PREFIX}{round}/");
        let audience = house.listeners(&prefix, 0..count);
        let opened = audience.all_open(PATIENCE).await?;
        let topics = (of_hub(&house)? - before) / count as f64;
        let mut row = vec![
            round.to_string(),
            number(opened.as_secs_f64()),
            number(topics),
        ];
        row.extend(death(&house, &audience, &prefix).await?);
        rows.push(row);
    }
    let headings = [
        "round",
        "open s",
        "hub KiB/topic",
        "changes",
        "untold",
        "sent again",
        "broken",
        "usual ms",
        "worst ms",
        "again after ms",
    ];
    Ok(format!(
        "\n### The hub of {name} killed, {} streams of as many resources\n\n{}",
        number(count as f64),
        table(&headings, &rows)
    ))
}

// === Behind the death ===

/// Returns the memory of the hub, in KiB.
fn of_hub(house: &House) -> anyhow::Result<f64> {
    let memory = processes::memory(house.target.root())?;
    let hubs = memory.iter().filter(|one| one.role.starts_with("hub-"));
    Ok(hubs.map(|hub| hub.pss as f64).sum())
}

/// Kills the hub while changes are told.
async fn death(
    house: &Arc<House>,
    audience: &Audience,
    prefix: &str,
) -> anyhow::Result<Vec<String>> {
    let count = audience.len();
    let changes = (BEFORE + AFTER).min(count);
    let mut ticks = interval(PACE);
    let mut touches = JoinSet::new();
    let mut begun = Vec::with_capacity(changes);
    let mut killed = None;
    for number in 0..changes {
        ticks.tick().await;
        if number == BEFORE.min(count / 2) {
            let hub = processes::in_slots(house.target.root(), "hub-");
            processes::kill(*hub.first().context("there is no hub")?);
            killed = Some(Instant::now());
        }
        begun.push(Instant::now());
        let (house, uri) = (Arc::clone(house), format!("{prefix}{number}"));
        touches.spawn(async move { house.touch(&uri).await.is_ok() });
    }
    let killed = killed.context("nobody was killed")?;
    let mut untold = 0;
    while let Some(told) = touches.join_next().await {
        untold += usize::from(!told?);
    }

    let (mut usual, mut worst, mut again) = (Vec::new(), 0.0_f64, Duration::MAX);
    for (number, begun) in begun.iter().enumerate() {
        let Some(came) = audience.updated(number, SETTLING).await else {
            worst = f64::INFINITY;
            continue;
        };
        let took = came.saturating_duration_since(*begun);
        let took = took.as_secs_f64() * 1e3;
        usual.push(took);
        worst = worst.max(took);
        if *begun >= killed {
            again = again.min(came.saturating_duration_since(killed));
        }
    }
    sleep(SETTLING).await;
    let surplus = |number| audience.updates_of(number).saturating_sub(1);
    let touched: u32 = (0..changes).map(surplus).sum();
    let others: u32 = (changes..count)
        .map(|number| audience.updates_of(number))
        .sum();
    Ok(vec![
        changes.to_string(),
        untold.to_string(),
        (touched + others).to_string(),
        audience.broken().to_string(),
        number(median(usual)),
        number(worst),
        number(again.as_secs_f64() * 1e3),
    ])
}
