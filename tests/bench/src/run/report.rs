//! What is printed: pure text from figures.

use crate::args::{Args, Name};
use crate::load::{Goal, Load};
use crate::processes::Memory;
use crate::statistics::{Summary, median};
use crate::table::{number, ratio, table};

/// The most milliseconds from a start to the first answered request.
const START_GOAL: f64 = 150.0;
/// The most memory of an idle tree, in MiB.
const MEMORY_GOAL: f64 = 30.0;

/// One target in the table of a load.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: Name,
    pub(super) summary: Summary,
}

/// A target's figures beside what was promised for the load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    load: Load,
    name: Name,
    goal: Goal,
    rate: f64,
    cpu: f64,
}

impl Verdict {
    /// Judges every target but the floor, if anything was promised.
    pub(super) fn of(load: Load, rows: &[Row]) -> Vec<Self> {
        let judge = |row: &Row| {
            let ratios = row.summary.ratios.filter(|_| row.name != Name::Floor)?;
            Some(Self {
                load,
                name: row.name,
                goal: load.goal()?,
                rate: ratios.rate,
                cpu: ratios.cpu,
            })
        };
        rows.iter().filter_map(judge).collect()
    }
}

pub(super) fn heading(args: &Args) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let pinned = if args.pin {
        "servers on the last core, load generator on the first".to_owned()
    } else {
        format!("{cores} cores, unpinned")
    };
    let profile = if cfg!(debug_assertions) {
        "\nThis is no release build: the figures mean nothing.\n"
    } else {
        ""
    };
    let Args {
        connections,
        reps,
        seconds,
        ..
    } = args;
    format!(
        "# conduit-bench: {pinned}; {connections} connections; median of {reps} x {seconds} s\n{profile}"
    )
}

pub(super) fn load_heading(load: Load) -> String {
    format!("\n### {}\n\n", load.title())
}

pub(super) fn skipped(name: Name, why: &str) -> String {
    format!("Skipped: {name} does not answer this as expected: {why}\n\n")
}

pub(super) fn load(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "Nobody answers it.\n".to_owned();
    }
    let headings = [
        "target",
        "req/s",
        "x floor",
        "best x",
        "cpu us",
        "sys us",
        "cpu x",
        "p50 us",
        "p99 us",
        "srv cores",
        "gen cores",
        "other cores",
        "errors",
    ];
    let cells = |row: &Row| {
        let Summary { ratios, .. } = &row.summary;
        let beside = |figure: fn(&crate::statistics::Ratios) -> f64| {
            ratios.as_ref().map_or(f64::NAN, figure)
        };
        vec![
            row.name.to_string(),
            number(row.summary.rate),
            ratio(beside(|ratios| ratios.rate)),
            ratio(beside(|ratios| ratios.best)),
            number(row.summary.cpu),
            number(row.summary.system),
            number(beside(|ratios| ratios.cpu)),
            number(row.summary.p50),
            number(row.summary.p99),
            number(row.summary.server_cores),
            number(row.summary.generator_cores),
            number(row.summary.other_cores),
            row.summary.errors.to_string(),
        ]
    };
    let rows_of_cells: Vec<_> = rows.iter().map(cells).collect();
    let mut text = table(&headings, &rows_of_cells);
    for row in rows {
        if let Some(error) = &row.summary.first_error {
            text.push_str(&format!("\nThe first error of {}: {error}\n", row.name));
        }
    }
    text
}

pub(super) fn verdicts(verdicts: &[Verdict]) -> String {
    let headings = [
        "load", "target", "x floor", "at least", "cpu x", "at most", "kept",
    ];
    let rows: Vec<_> = verdicts
        .iter()
        .map(|verdict| {
            let Verdict {
                goal, rate, cpu, ..
            } = verdict;
            vec![
                load_name(verdict.load),
                verdict.name.to_string(),
                ratio(*rate),
                number(goal.rate),
                number(*cpu),
                number(goal.cpu.unwrap_or(f64::NAN)),
                kept(goal.is_met(*rate, *cpu)),
            ]
        })
        .collect();
    format!("\n### What was promised\n\n{}", table(&headings, &rows))
}

pub(super) fn starts(took: &[(Name, Vec<f64>)]) -> String {
    let headings = [
        "target", "start ms", "best ms", "worst ms", "at most", "kept",
    ];
    let rows: Vec<_> = took
        .iter()
        .map(|(name, took)| {
            let middle = median(took.iter().copied());
            let mut cells = vec![
                name.to_string(),
                number(middle),
                number(took.iter().copied().fold(f64::INFINITY, f64::min)),
                number(took.iter().copied().fold(0.0, f64::max)),
            ];
            cells.extend(promised(*name, middle, START_GOAL));
            cells
        })
        .collect();
    let times = took.first().map_or(0, |(_, took)| took.len());
    format!(
        "\n### From start to the first answered request (median of {times})\n\n{}",
        table(&headings, &rows)
    )
}

pub(super) fn memory(found: &[(Name, Vec<Memory>)]) -> String {
    let headings = ["target", "PSS MiB", "at most", "kept"];
    let mib = |kib: u64| kib as f64 / 1024.0;
    let mut rows = Vec::new();
    for (name, memory) in found {
        let total = mib(memory.iter().map(|process| process.pss).sum());
        let mut cells = vec![name.to_string(), number(total)];
        cells.extend(promised(*name, total, MEMORY_GOAL));
        rows.push(cells);
    }
    let mut text = format!(
        "\n### Memory of the idle tree\n\n{}\n",
        table(&headings, &rows)
    );
    for (name, memory) in found {
        let parts: Vec<_> = memory
            .iter()
            .map(|process| format!("{} {}", process.role, number(mib(process.pss))))
            .collect();
        text.push_str(&format!("- {name}: {}\n", parts.join(", ")));
    }
    text
}

// === Behind the text ===

/// Writes the goal and whether it is kept; the floor has promised nothing.
fn promised(name: Name, figure: f64, goal: f64) -> [String; 2] {
    match name {
        Name::Floor => ["-".to_owned(), "-".to_owned()],
        Name::House { .. } => [number(goal), kept(figure <= goal)],
    }
}

fn kept(yes: bool) -> String {
    if yes { "yes" } else { "NO" }.to_owned()
}

fn load_name(load: Load) -> String {
    let (name, _) = load.title().split_once(':').unwrap_or_default();
    name.to_owned()
}
