//! The text that Prometheus reads, merged of the snapshots of all processes.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use crate::Error;
use crate::metric::{Metric, table};
use crate::snapshot::{Sample, Snapshot, Value};

/// Merges snapshots into one text of the Prometheus exposition format, 0.0.4.
///
/// Families are grouped by name, each with its help and type once; every sample
/// has the label `process`. Of two snapshots of one process the later counts.
///
/// # Errors
///
/// The first snapshot that cannot be read, or that holds what the table does not
/// allow, is an error: [`Error::Snapshot`], [`Error::SnapshotTooLong`],
/// [`Error::Sample`].
pub fn exposition(parts: &[Vec<u8>]) -> Result<String, Error> {
    let mut snapshots: Vec<Snapshot> = Vec::with_capacity(parts.len());
    for part in parts {
        let snapshot = Snapshot::decode(part)?;
        snapshots.retain(|earlier| earlier.process != snapshot.process);
        snapshots.push(snapshot);
    }
    let mut text = Text(String::new());
    for metric in table() {
        text.family(metric, &snapshots);
    }
    Ok(text.0)
}

// === Behind the function ===

/// Text in the making; writing to a `String` cannot fail.
struct Text(String);

impl Text {
    fn family(&mut self, metric: &Metric, snapshots: &[Snapshot]) {
        let mut samples = snapshots
            .iter()
            .flat_map(|snapshot| {
                let samples = snapshot.samples(metric).iter();
                samples.map(|sample| (snapshot.process.as_str(), sample))
            })
            .peekable();
        if samples.peek().is_none() {
            return;
        }
        let Metric {
            name, kind, help, ..
        } = metric;
        self.line(format_args!("# HELP {name} {}", escaped_help(help)));
        self.line(format_args!("# TYPE {name} {}", kind.as_str()));
        for (process, sample) in samples {
            self.sample(metric, process, sample);
        }
    }

    fn sample(&mut self, metric: &Metric, process: &str, sample: &Sample) {
        let name = metric.name;
        let labels = labels(process, sample);
        match &sample.value {
            Value::Number(number) => self.line(format_args!("{name}{{{labels}}} {number}")),
            Value::Histogram {
                count,
                sum,
                buckets,
            } => {
                for (bound, below) in metric.buckets.iter().zip(buckets) {
                    self.line(format_args!(
                        "{name}_bucket{{{labels},le=\"{bound}\"}} {below}"
                    ));
                }
                self.line(format_args!(
                    "{name}_bucket{{{labels},le=\"+Inf\"}} {count}"
                ));
                self.line(format_args!("{name}_sum{{{labels}}} {sum}"));
                self.line(format_args!("{name}_count{{{labels}}} {count}"));
            }
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        if writeln!(self.0, "{line}").is_err() {
            tracing::error!("a line of the exposition is lost");
        }
    }
}

fn labels(process: &str, sample: &Sample) -> String {
    let mut labels = format!("process=\"{}\"", escaped_value(process));
    for (name, value) in &sample.labels {
        labels.push(',');
        labels.push_str(name);
        labels.push_str("=\"");
        labels.push_str(&escaped_value(value));
        labels.push('"');
    }
    labels
}

fn escaped_value(value: &str) -> String {
    escaped_help(value).replace('"', "\\\"")
}

fn escaped_help(help: &str) -> String {
    help.replace('\\', "\\\\").replace('\n', "\\n")
}
