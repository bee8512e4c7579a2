//! Changes as fast as callbacks can tell them: what nobody wants, and what few want.

use anyhow::Context as _;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{House, Meter, PATIENCE, call};
use crate::args::Name;
use crate::audience::Audience;
use crate::connection::Connection;
use crate::run::Run;
use crate::statistics::median;
use crate::table::{number, table};

/// Changes that nobody wants, for each callback.
const UNHEARD: usize = 1_000_000;
/// Changes of which some are wanted, for each callback.
const HEARD: usize = 200_000;
/// Of how many resources, of which every hundredth has a stream.
const TOPICS: usize = 10_000;
const EVERY: usize = 100;
/// How many shards there are, one number after the other.
const SHARDS: [u32; 3] = [1, 2, 4];
/// How many callbacks tell of changes at once.
const CALLBACKS: [usize; 2] = [1, 2];
/// How often each is measured.
const TIMES: usize = 3;
/// How the resources are called.
const PREFIX: &str = "bench://topic/";

/// Tells of many changes and returns the table.
pub(super) async fn measure(run: &Run<'_>, name: Name) -> anyhow::Result<String> {
    let house = House::start(run, name).await?;
    let mut rows = Vec::new();
    for callbacks in CALLBACKS {
        rows.push(row(&house, Load::unheard(callbacks), 1, None).await?);
    }
    let wanted = (0..TOPICS).step_by(EVERY);
    let audience = house.listeners(PREFIX, wanted);
    audience.all_open(PATIENCE).await?;
    for shards in SHARDS {
        house.scale(shards).await?;
        for callbacks in CALLBACKS {
            let load = Load::heard(callbacks);
            rows.push(row(&house, load, shards, Some(&audience)).await?);
        }
    }
    let headings = [
        "wanted",
        "shards",
        "callbacks",
        "changes/s",
        "of wanted/s",
        "updates/s",
        "cpu us/change",
        "other cores",
    ];
    Ok(format!(
        "\n### Changes told by {name} (median of {TIMES})\n\n{}",
        table(&headings, &rows)
    ))
}

// === Behind the changes ===

#[derive(Clone, Copy)]
struct Load {
    what: &'static str,
    changes: usize,
    topics: usize,
    callbacks: usize,
    /// One of so many changes is wanted, if any is.
    every: Option<usize>,
}

impl Load {
    const fn unheard(callbacks: usize) -> Self {
        Self {
            what: "none",
            changes: UNHEARD,
            topics: 1_000,
            callbacks,
            every: None,
        }
    }

    const fn heard(callbacks: usize) -> Self {
        Self {
            what: "1 % of 10,000",
            changes: HEARD,
            topics: TOPICS,
            callbacks,
            every: Some(EVERY),
        }
    }
}

async fn row(
    house: &House,
    load: Load,
    shards: u32,
    audience: Option<&Audience>,
) -> anyhow::Result<Vec<String>> {
    let (mut rates, mut updates) = (Vec::new(), Vec::new());
    let meter = Meter::start(house.target.root());
    for _ in 0..TIMES {
        let before = audience.map_or(0, Audience::updates);
        let begin = Instant::now();
        rates.push(told(house, load).await?);
        let came = audience.map_or(0, Audience::updates) - before;
        updates.push(came as f64 / begin.elapsed().as_secs_f64());
    }
    let used = meter.read();
    let all = load.changes * load.callbacks * TIMES;
    let rate = median(rates);
    let wanted = load.every.map_or(0.0, |every| rate / every as f64);
    Ok(vec![
        load.what.to_owned(),
        shards.to_string(),
        load.callbacks.to_string(),
        number(rate),
        number(wanted),
        number(median(updates)),
        number(used.micros / all as f64),
        number(used.other_cores),
    ])
}

/// Lets callbacks tell of changes at once; returns changes a second, all together, by
/// their own clocks.
async fn told(house: &House, load: Load) -> anyhow::Result<f64> {
    let arguments = format!(
        r#"{{"count":{},"topics":{},"prefix":"{PREFIX}"}}"#,
        load.changes, load.topics
    );
    let mut callbacks = JoinSet::new();
    for _ in 0..load.callbacks {
        let endpoint = house.target.endpoint.clone();
        let arguments = arguments.clone();
        callbacks.spawn(async move {
            let mut connection = Connection::open(endpoint.address).await?;
            let micros = call(&endpoint, &mut connection, "publish_many", &arguments).await?;
            let micros: f64 = micros.parse().context("no time in the answer")?;
            anyhow::Ok(load.changes as f64 / (micros / 1e6))
        });
    }
    let mut rate = 0.0;
    while let Some(told) = callbacks.join_next().await {
        rate += told??;
    }
    Ok(rate)
}
