//! One change that everybody wants: what a stream weighs, and what a delivery costs.

use std::time::Duration;

use anyhow::anyhow;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{AT_ONCE, COMMON, House, Kind, Meter, PATIENCE, SETTLING, first};
use crate::args::Name;
use crate::audience::Audience;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::lane;
use crate::load::calls;
use crate::processes;
use crate::run::Run;
use crate::statistics::median;
use crate::table::{number, ratio, table};

/// How long after the last delivery the servers may still work for it.
const AFTERWARDS: Duration = Duration::from_millis(50);

/// Holds streams at every target, at as many at once as there is room for, tells of
/// changes in turn, and returns the table.
pub(super) async fn measure(run: &Run<'_>, kind: Kind, room: usize) -> anyhow::Result<String> {
    let count = run.args.streams as usize;
    let targets = run.args.targets.iter().copied();
    let targets: Vec<Name> = targets
        .filter(|name| *name == Name::Floor || name.is_fixture())
        .collect();
    let mut rows = Vec::new();
    for group in targets.chunks((room / count.max(1)).max(1)) {
        let mut held = Vec::new();
        for name in group {
            run.wait_for_quiet().await;
            held.push(Held::open(run, *name, kind, count).await?);
        }
        for _ in 0..run.args.touches {
            for held in &mut held {
                held.touch().await?;
            }
        }
        rows.extend(held.into_iter().map(Held::into_row));
    }
    Ok(text(kind, count, run.args.touches, &rows))
}

/// Opens sessions that are subscribed to the common resource; returns their ids.
pub(super) async fn sessions(endpoint: &Endpoint, count: usize) -> anyhow::Result<Vec<String>> {
    let mut workers = JoinSet::new();
    for worker in 0..AT_ONCE.min(count) {
        let endpoint = endpoint.clone();
        let share = count / AT_ONCE + usize::from(worker < count % AT_ONCE);
        workers.spawn(async move {
            let mut connection = Connection::open(endpoint.address).await?;
            let mut opened = Vec::with_capacity(share);
            for _ in 0..share {
                opened.push(session(&endpoint, &mut connection).await?);
            }
            anyhow::Ok(opened)
        });
    }
    let mut sessions = Vec::with_capacity(count);
    while let Some(opened) = workers.join_next().await {
        sessions.extend(opened??);
    }
    Ok(sessions)
}

// === Behind the fan-out ===

/// A target with its streams.
struct Held {
    house: House,
    audience: Audience,
    row: Row,
}

struct Row {
    name: Name,
    /// KiB a stream, of its processes and of the kernel for both ends.
    memory: f64,
    kernel: f64,
    opened: Duration,
    /// Milliseconds until the last stream had the change, one for each change.
    last: Vec<f64>,
    /// Microseconds of CPU time for a delivery, and cores that others used.
    cpu: Vec<f64>,
    others: Vec<f64>,
    broken: usize,
    trouble: Option<String>,
}

impl Held {
    async fn open(run: &Run<'_>, name: Name, kind: Kind, count: usize) -> anyhow::Result<Self> {
        let house = House::start(run, name).await?;
        // What is loaded lazily is there by then.
        house.touch(COMMON).await?;
        sleep(SETTLING).await;
        let before = (house.memory()?, processes::kernel_memory());
        let (audience, opened) = house.audience(kind, count, AT_ONCE).await?;
        sleep(SETTLING).await;
        let each = |now: u64, before: u64| (now as f64 - before as f64) / count as f64;
        let row = Row {
            name,
            memory: each(house.memory()?, before.0),
            kernel: each(processes::kernel_memory(), before.1),
            opened,
            last: Vec::new(),
            cpu: Vec::new(),
            others: Vec::new(),
            broken: 0,
            trouble: None,
        };
        Ok(Self {
            house,
            audience,
            row,
        })
    }

    async fn touch(&mut self) -> anyhow::Result<()> {
        let times = self.row.last.len() + 1;
        let meter = Meter::start(self.house.target.root());
        let begin = self.house.touch(COMMON).await?;
        let last = self.audience.all_updated(times, PATIENCE).await?;
        sleep(AFTERWARDS).await;
        let used = meter.read();
        let took = last.saturating_duration_since(begin);
        self.row.last.push(took.as_secs_f64() * 1e3);
        self.row.cpu.push(used.micros / self.audience.len() as f64);
        self.row.others.push(used.other_cores);
        Ok(())
    }

    fn into_row(self) -> Row {
        Row {
            broken: self.audience.broken(),
            trouble: self.audience.first_trouble(),
            ..self.row
        }
    }
}

async fn session(endpoint: &Endpoint, connection: &mut Connection) -> anyhow::Result<String> {
    let session = lane::begin_session(connection, endpoint).await;
    let session = session.map_err(|why| anyhow!(why))?;
    let subscribe = calls::subscribe(endpoint, &session, COMMON);
    let head = connection.ask(subscribe.bytes()).await?;
    match head.status {
        200 => Ok(session),
        status => Err(anyhow!("resources/subscribe: status {status}")),
    }
}

fn text(kind: Kind, count: usize, touches: u32, rows: &[Row]) -> String {
    let headings = [
        "target",
        "KiB/stream",
        "kernel KiB",
        "open s",
        "last ms",
        "worst ms",
        "x floor",
        "cpu us",
        "cpu x",
        "other cores",
        "broken",
    ];
    let floor = rows.iter().find(|row| row.name == Name::Floor);
    let beside = |row: &Row, figure: fn(&Row) -> &[f64]| {
        let pairs = floor.map(|floor| figure(row).iter().zip(figure(floor)));
        median(
            pairs
                .into_iter()
                .flatten()
                .map(|(ours, floor)| ours / floor),
        )
    };
    let middle = |figures: &[f64]| median(figures.iter().copied());
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            vec![
                row.name.to_string(),
                number(row.memory),
                number(row.kernel),
                number(row.opened.as_secs_f64()),
                number(middle(&row.last)),
                number(row.last.iter().copied().fold(0.0, f64::max)),
                ratio(beside(row, |row| &row.last)),
                number(middle(&row.cpu)),
                ratio(beside(row, |row| &row.cpu)),
                number(middle(&row.others)),
                row.broken.to_string(),
            ]
        })
        .collect();
    let what = match kind {
        Kind::Listen => "listen streams",
        Kind::Session => "sessions, each with its stream and a subscription",
    };
    let trouble = rows.iter().find_map(|row| row.trouble.clone());
    format!(
        "\n### One change to {} {what} (median of {touches})\n\n{}{}",
        number(count as f64),
        table(&headings, &cells),
        first(trouble)
    )
}
