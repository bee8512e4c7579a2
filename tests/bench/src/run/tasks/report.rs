//! What is printed of tasks: pure text from figures.

use std::time::Duration;

use crate::args::Name;
use crate::statistics::{Sample, Summary, median};
use crate::table::{number, ratio, table};

/// At least this share of what `SQLite` alone does.
const CREATE_GOAL: f64 = 0.5;
/// At most this many times what an empty store takes.
const LOOK_GOAL: f64 = 2.0;

/// What it costs to make tasks.
#[derive(Debug)]
pub(super) struct Creates {
    name: Name,
    bytes: usize,
    rows: Vec<CreateRow>,
}

/// The samples with one number of connections.
#[derive(Debug, Default)]
pub(super) struct CreateRow {
    connections: u32,
    pub(super) raw: Vec<Sample>,
    pub(super) waiting: Vec<Sample>,
    pub(super) done: Vec<Sample>,
}

/// What it costs to look at tasks.
#[derive(Debug)]
pub(super) struct Looks {
    name: Name,
    stored: u64,
    start: Duration,
    rows: Vec<LookRow>,
}

/// The samples with one number of connections.
#[derive(Debug, Default)]
pub(super) struct LookRow {
    connections: u32,
    pub(super) few: Vec<Sample>,
    pub(super) many: Vec<Sample>,
}

/// What it costs others that tasks expire.
#[derive(Debug)]
pub(super) struct Expiry {
    pub(super) name: Name,
    pub(super) count: u64,
    pub(super) before: Sample,
    pub(super) meanwhile: Sample,
    pub(super) took: Duration,
}

impl Creates {
    pub(super) const fn new(name: Name, bytes: usize) -> Self {
        Self {
            name,
            bytes,
            rows: Vec::new(),
        }
    }

    /// Begins a row.
    pub(super) fn row(&mut self, connections: u32) -> &mut CreateRow {
        self.rows.push_mut(CreateRow {
            connections,
            ..CreateRow::default()
        })
    }
}

impl Looks {
    pub(super) const fn new(name: Name, stored: u64, start: Duration) -> Self {
        Self {
            name,
            stored,
            start,
            rows: Vec::new(),
        }
    }

    /// Begins a row.
    pub(super) fn row(&mut self, connections: u32) -> &mut LookRow {
        self.rows.push_mut(LookRow {
            connections,
            ..LookRow::default()
        })
    }
}

pub(super) fn creates(creates: &Creates) -> String {
    let headings = [
        "connections",
        "raw/s",
        "raw p99 us",
        "creates/s",
        "p99 us",
        "x raw",
        "best x",
        "at least",
        "kept",
        "done/s",
        "p99 us",
        "other cores",
        "errors",
    ];
    let rows: Vec<_> = creates.rows.iter().map(create_cells).collect();
    let Creates { name, bytes, .. } = creates;
    let mut text = format!(
        "\n### Tasks made by {name}, beside rows of {bytes} bytes in SQLite alone\n\n{}",
        table(&headings, &rows)
    );
    let samples = creates.rows.iter();
    let samples = samples.flat_map(|row| row.waiting.iter().chain(&row.done));
    push_first_error(&mut text, samples);
    text
}

pub(super) fn looks(looks: &Looks) -> String {
    let headings = [
        "connections",
        "empty/s",
        "p50 us",
        "p99 us",
        "full/s",
        "p50 us",
        "p99 us",
        "x p99",
        "at most",
        "kept",
        "errors",
    ];
    let rows: Vec<_> = looks.rows.iter().map(look_cells).collect();
    let Looks {
        name,
        stored,
        start,
        ..
    } = looks;
    let mut text = format!(
        "\n### tasks/get of {name} with {} tasks stored\n\nThe start with them took {} ms.\n\n{}",
        number(*stored as f64),
        number(start.as_secs_f64() * 1e3),
        table(&headings, &rows)
    );
    let samples = looks.rows.iter();
    let samples = samples.flat_map(|row| row.few.iter().chain(&row.many));
    push_first_error(&mut text, samples);
    text
}

pub(super) fn expiry(expiry: &Expiry) -> String {
    let headings = ["", "creates/s", "p50 us", "p99 us", "slowest us", "errors"];
    let cells = |what: &str, sample: &Sample| {
        vec![
            what.to_owned(),
            number(sample.rate()),
            number(sample.micros(500)),
            number(sample.micros(990)),
            number(sample.micros(1000)),
            sample.errors.to_string(),
        ]
    };
    let Expiry {
        name,
        count,
        before,
        meanwhile,
        took,
    } = expiry;
    let rows = [cells("before", before), cells("meanwhile", meanwhile)];
    let mut text = format!(
        "\n### Tasks made by {name} while {} others expire\n\nThese were gone after {} s.\n\n{}",
        number(*count as f64),
        number(took.as_secs_f64()),
        table(&headings, &rows)
    );
    push_first_error(&mut text, [before, meanwhile].into_iter());
    text
}

// === Behind the text ===

fn create_cells(row: &CreateRow) -> Vec<String> {
    let raw = Summary::of(&row.raw, None);
    let waiting = Summary::of(&row.waiting, Some(&row.raw));
    let done = Summary::of(&row.done, None);
    let (beside, best) = waiting
        .ratios
        .map_or((f64::NAN, f64::NAN), |ratios| (ratios.rate, ratios.best));
    vec![
        row.connections.to_string(),
        number(raw.rate),
        number(raw.p99),
        number(waiting.rate),
        number(waiting.p99),
        ratio(beside),
        ratio(best),
        number(CREATE_GOAL),
        kept(beside >= CREATE_GOAL),
        number(done.rate),
        number(done.p99),
        number(waiting.other_cores),
        (waiting.errors + done.errors).to_string(),
    ]
}

fn look_cells(row: &LookRow) -> Vec<String> {
    let few = Summary::of(&row.few, None);
    let many = Summary::of(&row.many, None);
    let pairs = row.many.iter().zip(&row.few);
    let beside = median(pairs.map(|(many, few)| many.micros(990) / few.micros(990)));
    vec![
        row.connections.to_string(),
        number(few.rate),
        number(few.p50),
        number(few.p99),
        number(many.rate),
        number(many.p50),
        number(many.p99),
        ratio(beside),
        number(LOOK_GOAL),
        kept(beside <= LOOK_GOAL),
        (few.errors + many.errors).to_string(),
    ]
}

fn push_first_error<'s>(text: &mut String, mut samples: impl Iterator<Item = &'s Sample>) {
    if let Some(error) = samples.find_map(|sample| sample.first_error.as_ref()) {
        text.push_str(&format!("\nThe first error: {error}\n"));
    }
}

fn kept(yes: bool) -> String {
    if yes { "yes" } else { "NO" }.to_owned()
}
