//! Metrics have the names that operators expect, and one place that names them.

use conduit_telemetry::{Kind, Metric, Unit, table};

use crate::repository::{assert_none, files, read};

/// Units that are not base units, as parts of a name.
const SCALED: &[&str] = &[
    "ms",
    "millis",
    "milliseconds",
    "us",
    "micros",
    "microseconds",
    "nanos",
    "minutes",
    "hours",
    "kb",
    "mb",
    "kib",
    "mib",
    "kilobytes",
    "megabytes",
    "percent",
];

/// Labels whose values anybody outside could choose.
const OPEN_SETS: &[&str] = &[
    "id", "pid", "path", "uri", "url", "message", "session", "request", "address", "client", "user",
];

#[test]
fn names_units_and_labels_follow_the_rule() {
    let offenders: Vec<_> = table().iter().flat_map(faults).collect();

    assert_none("conduit_<noun>_<unit>[_total] (style, 3.11):", &offenders);
}

#[test]
fn no_shipped_code_but_telemetry_names_a_metric() {
    let mut offenders = Vec::new();

    for path in files("rs") {
        let shipped = path.starts_with("crates/") && path.contains("/src/");
        let exempt = ["telemetry", "testkit"].map(|name| format!("crates/{name}/"));
        if !shipped || exempt.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        for (index, line) in read(&path).lines().enumerate() {
            let named = table()
                .iter()
                .find(|metric| line.contains(&format!("\"{}\"", metric.name)));
            if let Some(metric) = named {
                offenders.push(format!("{path}:{}: {}", index + 1, metric.name));
            }
        }
    }

    assert_none(
        "Say what happened, and let `telemetry` count it:",
        &offenders,
    );
}

fn faults(metric: &Metric) -> Vec<String> {
    let Metric {
        name,
        kind,
        unit,
        labels,
        help,
        buckets,
    } = metric;
    let stem = name.strip_suffix("_total").unwrap_or(name);
    let words: Vec<&str> = name.split('_').collect();
    let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let rules = [
        (name.starts_with("conduit_"), "does not begin with conduit_"),
        (is_plain(name), "is not lower-case words"),
        (
            name.ends_with("_total") == (*kind == Kind::Counter),
            "`_total` is for counters, and for all of them",
        ),
        (
            stem.ends_with("_seconds") == (*unit == Unit::Seconds),
            "does not say its unit, seconds",
        ),
        (
            stem.ends_with("_bytes") == (*unit == Unit::Bytes),
            "does not say its unit, bytes",
        ),
        (
            !words.iter().any(|word| SCALED.contains(word)),
            "is not in base units",
        ),
        (
            *kind != Kind::Histogram || (*unit != Unit::Flag && !buckets.is_empty()),
            "is a histogram without buckets",
        ),
        (help.ends_with('.') && help.len() > 10, "has no help"),
        (
            !labels.iter().any(|label| OPEN_SETS.contains(label)),
            "has a label that is no closed set",
        ),
        (
            labels
                .iter()
                .all(|label| is_plain(label) && *label != "process" && *label != "le"),
            "has a label of an odd name",
        ),
    ];
    let broken = rules.iter().filter(|(kept, _)| !kept);
    broken.map(|(_, fault)| format!("{name} {fault}")).collect()
}
