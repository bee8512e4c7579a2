//! All clients gone at once, and back at once.

use super::{AT_ONCE, COMMON, House, Kind, Meter, PATIENCE};
use crate::args::Name;
use crate::audience::Audience;
use crate::run::Run;
use crate::table::{number, table};

/// How often they go and come back.
const ROUNDS: usize = 3;

/// Opens all streams, then cuts them and opens them all at once, again and again, tells
/// of a change each time, and returns the table.
pub(super) async fn measure(run: &Run<'_>, name: Name) -> anyhow::Result<String> {
    let count = run.args.streams as usize;
    let house = House::start(run, name).await?;
    let mut audience: Option<Audience> = None;
    let (mut rows, mut trouble) = (Vec::new(), None);
    for round in 0..=ROUNDS {
        run.wait_for_quiet().await;
        let meter = Meter::start(house.target.root());
        let (what, at_once) = match round {
            0 => (format!("first, {AT_ONCE} at a time"), AT_ONCE),
            _ => ("again, all at once".to_owned(), count),
        };
        if let Some(audience) = audience.take() {
            audience.cut().await;
        }
        let (open, took) = house.audience(Kind::Listen, count, at_once).await?;
        let used = meter.read();
        let begin = house.touch(COMMON).await?;
        let last = open.all_updated(1, PATIENCE).await?;
        rows.push(vec![
            what,
            number(took.as_secs_f64()),
            number(count as f64 / took.as_secs_f64()),
            number(used.micros / count as f64),
            open.broken().to_string(),
            number(last.saturating_duration_since(begin).as_secs_f64() * 1e3),
            number(open.updates() as f64),
            number(used.other_cores),
        ]);
        trouble = trouble.or_else(|| open.first_trouble());
        audience = Some(open);
    }
    let headings = [
        "opened",
        "all open s",
        "streams/s",
        "cpu us/stream",
        "refused",
        "last ms",
        "updates",
        "other cores",
    ];
    Ok(format!(
        "\n### {} listen streams of {name}, cut and opened again\n\n{}{}",
        number(count as f64),
        table(&headings, &rows),
        super::first(trouble)
    ))
}
