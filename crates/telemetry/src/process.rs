//! What the kernel knows of this process.

use std::fs;
use std::sync::OnceLock;

use rustix::param::{clock_ticks_per_second, page_size};

use crate::instruments::Instruments;

/// Reads `/proc/self` into the instruments; what cannot be read stays as it was.
pub(crate) fn collect(instruments: &Instruments) {
    let stat = fs::read_to_string("/proc/self/stat").ok();
    if let Some(stat) = stat.as_deref().and_then(Stat::parse) {
        let used = seconds(stat.ticks);
        instruments
            .cpu
            .inc_by((used - instruments.cpu.get()).max(0.0));
        let resident = stat.resident_pages.saturating_mul(page_size() as u64);
        instruments
            .resident
            .set(i64::try_from(resident).unwrap_or(i64::MAX));
        instruments
            .threads
            .set(i64::try_from(stat.threads).unwrap_or(i64::MAX));
        if let Some(booted) = booted() {
            instruments
                .started
                .set(booted + seconds(stat.started_ticks));
        }
    }
    if let Ok(entries) = fs::read_dir("/proc/self/fd") {
        // The folder itself is open while it is read.
        let open = entries.count().saturating_sub(1);
        instruments
            .open_fds
            .set(i64::try_from(open).unwrap_or(i64::MAX));
    }
}

// === Behind the function ===

/// The fields of `/proc/PID/stat` that are shown; see `proc_pid_stat(5)`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    /// User and system time.
    ticks: u64,
    threads: u64,
    /// Since the machine booted.
    started_ticks: u64,
    resident_pages: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The name in parentheses may hold anything, so count from its end.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // `rest` begins with field 3.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            ticks: field(14)?.saturating_add(field(15)?),
            threads: field(20)?,
            started_ticks: field(22)?,
            resident_pages: field(24)?,
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "exact for the next 28 million years"
)]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / clock_ticks_per_second() as f64
}

/// Returns when the machine booted, in seconds since 1970.
fn booted() -> Option<f64> {
    static BOOTED: OnceLock<Option<f64>> = OnceLock::new();
    *BOOTED.get_or_init(|| {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
        line.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_parenthesis_and_spaces_shifts_no_field() {
        let text = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 50 60 0 0 20 0 9 0 1234 999 88 \
                    18446744073709551615 1 1";

        assert_eq!(
            Stat::parse(text),
            Some(Stat {
                ticks: 110,
                threads: 9,
                started_ticks: 1234,
                resident_pages: 88,
            })
        );
    }

    #[test]
    fn a_text_that_is_cut_off_is_nothing() {
        assert_eq!(Stat::parse("7 (conduit) S 1 7"), None);
        assert_eq!(Stat::parse(""), None);
    }

    #[test]
    fn this_process_has_memory_threads_descriptors_and_a_start() {
        let instruments = Instruments::new();

        collect(&instruments);

        assert!(instruments.resident.get() > 100_000);
        assert!(instruments.threads.get() >= 1);
        assert!(instruments.open_fds.get() >= 3);
        assert!(instruments.started.get() > 1_500_000_000.0);
    }
}
