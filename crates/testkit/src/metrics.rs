//! Reads the text that Prometheus scrapes.

use std::collections::BTreeMap;

/// One scrape.
#[derive(Clone, Debug)]
pub struct Metrics {
    text: String,
    samples: Vec<Sample>,
}

impl Metrics {
    /// Reads an exposition; a line that is none is a panic.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let samples = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| sample(line).unwrap_or_else(|| panic!("not a sample: {line}")))
            .collect();
        Self {
            text: text.to_owned(),
            samples,
        }
    }

    /// Returns the text as it came.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the names of all samples, once each.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .samples
            .iter()
            .map(|sample| sample.name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the values that a label takes in a metric, once each.
    #[must_use]
    pub fn label(&self, name: &str, label: &str) -> Vec<&str> {
        let of_name = self.samples.iter().filter(|sample| sample.name == name);
        let mut values: Vec<&str> = of_name
            .filter_map(|sample| Some(sample.labels.get(label)?.as_str()))
            .collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Adds up the samples of a metric that have all of `labels`; zero without any.
    #[must_use]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let fits = |sample: &&Sample| {
            sample.name == name
                && labels
                    .iter()
                    .all(|(key, value)| sample.labels.get(*key).is_some_and(|has| has == value))
        };
        self.samples
            .iter()
            .filter(fits)
            .map(|sample| sample.value)
            .sum()
    }
}

// === Behind the scrape ===

#[derive(Clone, Debug, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

fn sample(line: &str) -> Option<Sample> {
    let (series, value) = match line.rfind('}') {
        Some(end) => line.split_at(end + 1),
        None => line.split_once(' ')?,
    };
    let value = value.split_whitespace().next()?;
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, read_labels(labels.strip_suffix('}')?)?),
        None => (series, BTreeMap::new()),
    };
    Some(Sample {
        name: name.to_owned(),
        labels,
        value: value.parse().ok()?,
    })
}

fn read_labels(mut rest: &str) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    while !rest.trim_matches(',').is_empty() {
        let (key, after) = rest.trim_start_matches(',').split_once("=\"")?;
        let mut value = String::new();
        let mut signs = after.char_indices();
        let end = loop {
            match signs.next()? {
                (at, '"') => break at,
                (_, '\\') => match signs.next()?.1 {
                    'n' => value.push('\n'),
                    sign => value.push(sign),
                },
                (_, sign) => value.push(sign),
            }
        };
        labels.insert(key.trim().to_owned(), value);
        rest = after.get(end + 1..)?;
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    use super::Metrics;

    #[test]
    fn samples_add_up_over_the_labels_that_were_not_named() {
        let text = "# HELP a b\na{process=\"gateway-0\",x=\"q\\\"}\"} 1\na{process=\"gateway-1\"} 2.5\nb 7\n";

        let metrics = Metrics::parse(text);

        assert!((metrics.sum("a", &[]) - 3.5).abs() < 1e-9);
        assert!((metrics.sum("a", &[("process", "gateway-1")]) - 2.5).abs() < 1e-9);
        assert_eq!(metrics.label("a", "process"), ["gateway-0", "gateway-1"]);
        assert_eq!(metrics.label("a", "x"), ["q\"}"]);
        assert_eq!(metrics.names(), ["a", "b"]);
    }
}
