//! Streams opened and closed again and again: what stays behind.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{House, PATIENCE, SETTLING, first};
use crate::args::Name;
use crate::processes;
use crate::run::Run;
use crate::table::{number, table};

/// How many streams are open at once.
const TOGETHER: usize = 500;
/// How often as many are opened and closed.
const ROUNDS: usize = 2;
/// How the resources are called.
const PREFIX: &str = "bench://churn/";
/// The longest that it may take until nothing is known of closed streams.
const FORGETTING: Duration = Duration::from_secs(20);

/// Opens and closes streams, each of a resource of its own, and returns the table.
pub(super) async fn measure(run: &Run<'_>, name: Name) -> anyhow::Result<String> {
    let count = run.args.churn as usize;
    let house = House::start(run, name).await?;
    sleep(SETTLING).await;
    let before = Left::behind(&house).await?;
    let mut rows = vec![before.row("before", None)];
    let mut trouble = None;
    for round in 1..=ROUNDS {
        let begin = Instant::now();
        let mut broken = 0;
        for first in (0..count).step_by(TOGETHER) {
            let numbers = first..(first + TOGETHER).min(count);
            let audience = house.listeners(PREFIX, numbers);
            audience.all_open(PATIENCE).await?;
            broken += audience.broken();
            trouble = trouble.or_else(|| audience.first_trouble());
            audience.cut().await;
        }
        let took = begin.elapsed();
        sleep(SETTLING).await;
        let until = Instant::now() + FORGETTING;
        let mut left = Left::behind(&house).await?;
        while !left.is_as_little_as(&before) && Instant::now() < until {
            sleep(SETTLING).await;
            left = Left::behind(&house).await?;
        }
        rows.push(left.row(&format!("after round {round}"), Some((took, broken))));
    }
    let headings = [
        "when",
        "gateways MiB",
        "hub MiB",
        "descriptors",
        "streams",
        "topics at gateways",
        "topics at hubs",
        "took s",
        "broken",
    ];
    Ok(format!(
        "\n### {} streams of {name} opened and closed, {TOGETHER} at a time\n\n{}{}",
        number(count as f64),
        table(&headings, &rows),
        first(trouble)
    ))
}

// === Behind the churn ===

/// What is there when nobody listens.
struct Left {
    /// MiB.
    gateways: f64,
    hubs: f64,
    descriptors: usize,
    streams: f64,
    registered: f64,
    topics: f64,
}

impl Left {
    async fn behind(house: &House) -> anyhow::Result<Self> {
        let root = house.target.root();
        let memory = processes::memory(root)?;
        let mib = |slot: &str| {
            let of_slot = memory.iter().filter(|one| one.role.starts_with(slot));
            of_slot.map(|one| one.pss as f64 / 1024.0).sum()
        };
        let gateways = processes::in_slots(root, "gateway-");
        Ok(Self {
            gateways: mib("gateway-"),
            hubs: mib("hub-"),
            descriptors: gateways.into_iter().map(processes::descriptors).sum(),
            streams: house.metric("conduit_streams").await?,
            registered: house.metric("conduit_topics_registered").await?,
            topics: house.metric("conduit_hub_topics").await?,
        })
    }

    /// Says whether nothing that can be counted is more than it was.
    fn is_as_little_as(&self, before: &Self) -> bool {
        self.descriptors <= before.descriptors
            && self.streams <= before.streams
            && self.registered <= before.registered
            && self.topics <= before.topics
    }

    fn row(&self, when: &str, round: Option<(Duration, usize)>) -> Vec<String> {
        let (took, broken) = round.unwrap_or_default();
        vec![
            when.to_owned(),
            number(self.gateways),
            number(self.hubs),
            self.descriptors.to_string(),
            number(self.streams),
            number(self.registered),
            number(self.topics),
            number(took.as_secs_f64()),
            broken.to_string(),
        ]
    }
}
