//! From samples to a row of figures: medians, and ratios inside a repetition.

use std::time::Duration;

use crate::latency::Latency;
use crate::processes::Cpu;

/// What one repetition measured of one target.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// How long each good answer took.
    pub(crate) latency: Latency,
    /// From the first request to the last good answer.
    pub(crate) served: Duration,
    /// From the first request until everything had ended.
    pub(crate) wall: Duration,
    /// What the target's processes used.
    pub(crate) servers: Cpu,
    /// What the bench used.
    pub(crate) generator: Cpu,
    /// What everybody used.
    pub(crate) machine: Cpu,
    /// Requests without a good answer.
    pub(crate) errors: u64,
    /// What was wrong with the first of them.
    pub(crate) first_error: Option<String>,
}

/// The medians over the repetitions of one target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    /// Requests a second.
    pub(crate) rate: f64,
    /// Microseconds of CPU time for a request.
    pub(crate) cpu: f64,
    /// How many of those are spent in the kernel.
    pub(crate) system: f64,
    /// Half of the answers are as fast, in microseconds.
    pub(crate) p50: f64,
    /// 99 of 100 answers are as fast, in microseconds.
    pub(crate) p99: f64,
    /// Cores that the target used.
    pub(crate) server_cores: f64,
    /// Cores that the bench used.
    pub(crate) generator_cores: f64,
    /// Cores that others used.
    pub(crate) other_cores: f64,
    /// All requests without a good answer.
    pub(crate) errors: u64,
    /// What was wrong with the first of them.
    pub(crate) first_error: Option<String>,
    /// Beside the floor, if that was measured too.
    pub(crate) ratios: Option<Ratios>,
}

/// A target beside the floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratios {
    /// Requests a second: the median of the ratios inside a repetition.
    pub(crate) rate: f64,
    /// Requests a second: the best repetition beside the floor's best one.
    pub(crate) best: f64,
    /// CPU time for a request: the median of the ratios inside a repetition.
    pub(crate) cpu: f64,
}

impl Sample {
    /// Returns good answers a second.
    pub(crate) fn rate(&self) -> f64 {
        self.latency.count() as f64 / self.served.as_secs_f64()
    }

    /// Returns microseconds of CPU time for a request.
    pub(crate) fn cpu(&self) -> f64 {
        self.per_request(self.servers.total())
    }

    /// Returns the cores that neither the target nor the bench used.
    pub(crate) fn other_cores(&self) -> f64 {
        let others = self.machine.total() - self.servers.total() - self.generator.total();
        (others / self.wall.as_secs_f64()).max(0.0)
    }

    fn per_request(&self, seconds: f64) -> f64 {
        seconds * 1e6 / self.latency.count().max(1) as f64
    }

    /// Returns what so many in a thousand answers stayed under, in microseconds.
    pub(crate) fn micros(&self, per_mille: u64) -> f64 {
        let quantile = self.latency.quantile(per_mille);
        quantile.map_or(f64::NAN, |took| took.as_secs_f64() * 1e6)
    }
}

impl Summary {
    /// Sums up the repetitions of a target, beside those of the floor, in their order.
    pub(crate) fn of(samples: &[Sample], floor: Option<&[Sample]>) -> Self {
        let middle = |figure: &dyn Fn(&Sample) -> f64| median(samples.iter().map(figure));
        let wall = |sample: &Sample| sample.wall.as_secs_f64();
        Self {
            rate: middle(&Sample::rate),
            cpu: middle(&Sample::cpu),
            system: middle(&|sample| sample.per_request(sample.servers.system)),
            p50: middle(&|sample| sample.micros(500)),
            p99: middle(&|sample| sample.micros(990)),
            server_cores: middle(&|sample| sample.servers.total() / wall(sample)),
            generator_cores: middle(&|sample| sample.generator.total() / wall(sample)),
            other_cores: middle(&Sample::other_cores),
            errors: samples.iter().map(|sample| sample.errors).sum(),
            first_error: samples.iter().find_map(|sample| sample.first_error.clone()),
            ratios: floor.map(|floor| Ratios::of(samples, floor)),
        }
    }
}

impl Ratios {
    fn of(samples: &[Sample], floor: &[Sample]) -> Self {
        let pairs = || samples.iter().zip(floor);
        let best = |samples: &[Sample]| samples.iter().map(Sample::rate).fold(0.0, f64::max);
        Self {
            rate: median(pairs().map(|(target, floor)| target.rate() / floor.rate())),
            best: best(samples) / best(floor),
            cpu: median(pairs().map(|(target, floor)| target.cpu() / floor.cpu())),
        }
    }
}

/// Returns the middle of some numbers, or the middle of the middle two; NaN of none.
pub(crate) fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let half = numbers.len() / 2;
    let upper = numbers.get(half).copied();
    let lower = if numbers.len() % 2 == 1 {
        upper
    } else {
        half.checked_sub(1)
            .and_then(|half| numbers.get(half).copied())
    };
    match (lower, upper) {
        (Some(lower), Some(upper)) => f64::midpoint(lower, upper),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median([7.0]), 7.0);
        assert!(median([]).is_nan());
    }

    #[test]
    fn ratios_are_taken_inside_a_repetition() {
        // The second repetition was on a busy machine, for both alike.
        let floor = [sample(1000, 0.5), sample(100, 0.05), sample(1000, 0.5)];
        let target = [sample(800, 0.8), sample(80, 0.08), sample(900, 0.9)];

        let summary = Summary::of(&target, Some(&floor));

        assert_eq!(summary.rate, 800.0);
        let ratios = summary.ratios.expect("the floor was measured");
        assert_eq!(ratios.rate, 0.8);
        assert_eq!(ratios.best, 0.9);
        assert!((ratios.cpu - 2.0).abs() < 1e-9, "{ratios:?}");
    }

    #[test]
    fn what_neither_the_target_nor_the_bench_used_is_the_others() {
        let mut sample = sample(10, 0.5);
        sample.generator.system = 0.25;
        sample.machine.user = 1.0;

        assert_eq!(sample.other_cores(), 0.25);
        assert_eq!(Summary::of(&[sample], None).ratios, None);
    }

    /// So many requests in one second, for so many seconds of CPU time.
    fn sample(requests: u64, user: f64) -> Sample {
        let mut latency = Latency::new();
        (0..requests).for_each(|_| latency.record(Duration::from_micros(10)));
        Sample {
            latency,
            served: Duration::from_secs(1),
            wall: Duration::from_secs(1),
            servers: Cpu { user, system: 0.0 },
            generator: Cpu::default(),
            machine: Cpu::default(),
            errors: 0,
            first_error: None,
        }
    }
}
