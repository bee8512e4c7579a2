//! Boards and alerts parse, and ask for nothing but what exists.

use std::collections::BTreeSet;

use conduit_telemetry::{Kind, table};
use serde_json::Value;

use crate::repository::{assert_none, files, read};

/// Keys under which boards and rules keep queries.
const QUERIES: &[&str] = &["expr", "definition", "query"];

/// The words of `PromQL` and of Grafana's variables that our queries use.
const WORDS: &[&str] = &[
    "absent",
    "and",
    "avg",
    "by",
    "clamp_max",
    "count",
    "histogram_quantile",
    "ignoring",
    "increase",
    "label_values",
    "max",
    "min",
    "on",
    "or",
    "rate",
    "sum",
    "time",
    "topk",
    "unless",
    "without",
];

#[test]
fn every_board_and_rule_parses() {
    let mut offenders = Vec::new();

    for path in ours() {
        if let Err(error) = parse(&path) {
            offenders.push(format!("{path}: {error}"));
        }
    }

    assert_none("Files of dashboards/ that do not parse:", &offenders);
}

#[test]
fn every_query_asks_for_metrics_and_labels_that_exist() {
    let words = known_words();
    let mut offenders = Vec::new();

    for path in ours() {
        for query in queries(&parse(&path).unwrap_or_default()) {
            for unknown in identifiers(&query).filter(|word| !words.contains(*word)) {
                offenders.push(format!("{path}: `{unknown}` in `{query}`"));
            }
        }
    }

    assert_none("No metric, label or function of that name:", &offenders);
}

#[test]
fn there_are_boards_alerts_and_a_scrape_to_look_at() {
    let with_queries: Vec<_> = ours()
        .into_iter()
        .filter(|path| !queries(&parse(path).unwrap_or_default()).is_empty())
        .collect();

    assert!(with_queries.iter().any(|path| path.contains("/grafana/")));
    assert!(with_queries.iter().any(|path| path.ends_with("alerts.yml")));
    assert!(ours().iter().any(|path| path.ends_with("scrape.yml")));
}

#[test]
fn every_metric_is_used_by_a_board_or_an_alert() {
    let mut shown = BTreeSet::new();
    for path in ours() {
        for query in queries(&parse(&path).unwrap_or_default()) {
            shown.extend(identifiers(&query).map(str::to_owned));
        }
    }

    let offenders: Vec<_> = table()
        .iter()
        .filter(|metric| {
            !names_of(metric.name, metric.kind)
                .iter()
                .any(|name| shown.contains(name))
        })
        .map(|metric| metric.name.to_owned())
        .collect();

    assert_none("Metrics that no board and no alert uses:", &offenders);
}

#[test]
fn the_words_of_a_query_are_found_between_its_texts() {
    let query =
        r#"rate(conduit_x_total{process=~"up.*", a='b'}[$__rate_interval]) > 1.5e3 or up[5m]"#;

    let words: Vec<_> = identifiers(query).collect();

    assert_eq!(
        words,
        ["rate", "conduit_x_total", "process", "a", "or", "up"]
    );
}

fn ours() -> Vec<String> {
    let mut found = files("json");
    found.extend(files("yml"));
    found.extend(files("yaml"));
    found.retain(|path| path.starts_with("dashboards/"));
    found
}

fn parse(path: &str) -> Result<Value, String> {
    let text = read(path);
    if path.ends_with(".json") {
        serde_json::from_str(&text).map_err(|error| error.to_string())
    } else {
        serde_saphyr::from_str(&text).map_err(|error| error.to_string())
    }
}

/// Finds every text under a key of [`QUERIES`], however deep.
fn queries(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(queries).collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(key, value)| match value.as_str() {
                Some(text) if QUERIES.contains(&key.as_str()) && text != "prometheus" => {
                    vec![text.to_owned()]
                }
                _ => queries(value),
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn known_words() -> BTreeSet<String> {
    let metrics = table();
    let names = metrics
        .iter()
        .flat_map(|metric| names_of(metric.name, metric.kind));
    let labels = metrics
        .iter()
        .flat_map(|metric| metric.labels)
        .chain(&["process", "le"])
        .chain(WORDS);
    names.chain(labels.map(|word| (*word).to_owned())).collect()
}

/// Returns the names under which Prometheus stores a metric.
fn names_of(name: &str, kind: Kind) -> Vec<String> {
    match kind {
        Kind::Counter | Kind::Gauge => vec![name.to_owned()],
        Kind::Histogram => ["_bucket", "_sum", "_count"]
            .iter()
            .map(|suffix| format!("{name}{suffix}"))
            .collect(),
    }
}

/// Returns the words of a query: no texts, no numbers, no durations, no variables.
fn identifiers(query: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '$' | '.');
    let mut quote = None;
    let outside = query.split(move |c: char| match quote {
        Some(open) => {
            if c == open {
                quote = None;
            }
            true
        }
        None if c == '"' || c == '\'' => {
            quote = Some(c);
            true
        }
        None => !is_word(c),
    });
    outside.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}
