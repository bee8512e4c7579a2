//! The metrics of one process at one moment, as they travel to the supervisor.
//!
//! Help, kinds and buckets stay at home: both ends are the same build and have
//! the same table. What comes in is checked against it.
//!
//! Shape: `{"process":"gateway-0","families":[{"name":"conduit_streams",
//! "samples":[{"labels":[["kind","listen"]],"value":{"Number":2.0}}]}]}`.

use prometheus::Registry;
use prometheus::proto;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::metric::{Kind, Metric, table};

/// The longest snapshot that is decoded, in bytes.
///
/// A gateway's with every label at its bound is shorter, and a link carries it in
/// one frame.
pub const MAX_SNAPSHOT: usize = 8 * 1024 * 1024;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub(crate) process: String,
    families: Vec<Family>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Names and values, without `process`.
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: Value,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Value {
    Number(f64),
    Histogram {
        count: u64,
        sum: f64,
        /// Cumulative, one for each bound that the table has.
        buckets: Vec<u64>,
    },
}

impl Snapshot {
    /// Takes what the registry holds now.
    pub(crate) fn of(process: &str, registry: &Registry) -> Self {
        let families = registry.gather();
        Self {
            process: process.to_owned(),
            families: families.iter().filter_map(Family::of).collect(),
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        // Nothing in it can fail: keys are texts and numbers are finite.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads a snapshot and checks it against the table.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > MAX_SNAPSHOT {
            return Err(Error::SnapshotTooLong { bytes: bytes.len() });
        }
        let snapshot: Self = serde_json::from_slice(bytes).map_err(Error::Snapshot)?;
        match snapshot.families.iter().find(|family| !family.fits()) {
            None => Ok(snapshot),
            Some(misfit) => Err(Error::Sample {
                process: snapshot.process.clone(),
                metric: misfit.name.clone(),
            }),
        }
    }

    /// Returns the samples of a metric; none when the process has none of it.
    pub(crate) fn samples(&self, metric: &Metric) -> &[Sample] {
        self.families
            .iter()
            .find(|family| family.name == metric.name)
            .map_or(&[], |family| &family.samples)
    }
}

// === Behind the snapshot ===

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Family {
    name: String,
    samples: Vec<Sample>,
}

impl Family {
    fn of(family: &proto::MetricFamily) -> Option<Self> {
        let metric = find(family.name())?;
        let samples = family.get_metric().iter();
        Some(Self {
            name: metric.name.to_owned(),
            samples: samples.map(|sample| Sample::of(metric, sample)).collect(),
        })
    }

    fn fits(&self) -> bool {
        find(&self.name).is_some_and(|metric| self.samples.iter().all(|sample| sample.fits(metric)))
    }
}

impl Sample {
    fn of(metric: &Metric, sample: &proto::Metric) -> Self {
        let labels = sample.get_label().iter();
        Self {
            labels: labels
                .map(|label| (label.name().to_owned(), label.value().to_owned()))
                .collect(),
            value: match metric.kind {
                Kind::Counter => Value::Number(finite(sample.get_counter().get_value())),
                Kind::Gauge => Value::Number(finite(sample.get_gauge().get_value())),
                Kind::Histogram => Value::of(sample.get_histogram()),
            },
        }
    }

    fn fits(&self, metric: &Metric) -> bool {
        let labels = self.labels.len() == metric.labels.len()
            && metric
                .labels
                .iter()
                .all(|name| self.labels.iter().any(|(label, _)| label == name));
        labels
            && match &self.value {
                Value::Number(_) => metric.kind != Kind::Histogram,
                Value::Histogram { buckets, .. } => buckets.len() == metric.buckets.len(),
            }
    }
}

impl Value {
    fn of(histogram: &proto::Histogram) -> Self {
        let buckets = histogram.get_bucket().iter();
        Self::Histogram {
            count: histogram.get_sample_count(),
            sum: finite(histogram.get_sample_sum()),
            buckets: buckets.map(proto::Bucket::cumulative_count).collect(),
        }
    }
}

fn find(name: &str) -> Option<&'static Metric> {
    table().iter().find(|metric| metric.name == name)
}

/// JSON has no words for what is not a number.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::{Outcome, SERVERS, TOOLS, Telemetry, ToolSample};

    fn refusal(text: &str) -> Error {
        Snapshot::decode(text.as_bytes()).expect_err("a bad snapshot")
    }

    #[test]
    fn what_was_encoded_is_what_is_decoded() {
        let telemetry = Telemetry::new("gateway-0");
        telemetry.store_commit(Duration::from_millis(3));
        let snapshot = Snapshot::of("gateway-0", &telemetry.instruments().registry);

        let decoded = Snapshot::decode(&snapshot.encode()).expect("a good snapshot");

        assert_eq!(decoded, snapshot);
    }

    #[test]
    fn a_metric_that_the_table_has_not_is_refused() {
        let error = refusal(r#"{"process":"a","families":[{"name":"up","samples":[]}]}"#);

        assert!(matches!(error, Error::Sample { metric, .. } if metric == "up"));
    }

    #[test]
    fn a_label_that_the_table_has_not_is_refused() {
        let error = refusal(
            r#"{"process":"a","families":[{"name":"conduit_streams","samples":[
                {"labels":[["x\"} 1\nevil","y"]],"value":{"Number":1.0}}]}]}"#,
        );

        assert!(matches!(error, Error::Sample { .. }));
    }

    #[test]
    fn a_histogram_with_other_buckets_is_refused() {
        let error = refusal(
            r#"{"process":"a","families":[{"name":"conduit_store_commit_seconds","samples":[
                {"labels":[],"value":{"Histogram":{"count":1,"sum":1.0,"buckets":[1]}}}]}]}"#,
        );

        assert!(matches!(error, Error::Sample { .. }));
    }

    #[test]
    fn a_snapshot_longer_than_any_is_not_even_parsed() {
        let error = Snapshot::decode(&vec![b'['; MAX_SNAPSHOT + 1]).expect_err("too long");

        assert!(matches!(error, Error::SnapshotTooLong { .. }));
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let error = refusal(&"[".repeat(100_000));

        assert!(matches!(error, Error::Snapshot(_)));
    }

    #[test]
    fn the_largest_snapshot_there_can_be_is_short_enough() {
        let telemetry = Telemetry::new("gateway-0");
        let name = |prefix: &str, number: usize| format!("{prefix}{number:0>60}");
        let tools: Vec<_> = (0..TOOLS).map(|number| name("tool", number)).collect();
        for number in 0..=SERVERS {
            let server = telemetry.register_server(&name("name", number), &tools);
            for tool in tools.iter().map(String::as_str).chain(["other"]) {
                for outcome in Outcome::ALL {
                    server.tool(ToolSample {
                        tool: Some(tool),
                        outcome: *outcome,
                        took: Duration::from_secs(59),
                    });
                }
            }
        }

        let length = telemetry.encode().len();

        assert!(length < MAX_SNAPSHOT, "{length} bytes");
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
            drop(Snapshot::decode(&bytes));
        }

        #[test]
        fn a_damaged_snapshot_decodes_or_fails(place in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = Telemetry::new("gateway-0").encode();
            *place.get_mut(&mut bytes) = byte;

            drop(crate::exposition(&[bytes]));
        }
    }
}
