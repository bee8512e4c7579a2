//! A real tree of processes: this executable is the supervisor of each test, and,
//! started with a role, a child that does what its settings say.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test, though without the harness that says so"
)]

/// Lists the tests of a module.
macro_rules! tests {
    ($($name:ident,)+) => {
        pub(crate) const TESTS: &[(&str, fn())] = &[$((stringify!($name), $name)),+];
    };
}

mod child;
mod house;
mod scale;
mod start;
mod stop;
mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

fn main() -> ExitCode {
    let first = std::env::args().nth(1).unwrap_or_default();
    if first == child::COMMAND {
        return child::run();
    }
    let tests: Vec<_> = [start::TESTS, watch::TESTS, scale::TESTS, stop::TESTS].concat();
    let wanted: Vec<_> = tests
        .iter()
        .filter(|(name, _)| first.starts_with('-') || name.contains(first.as_str()))
        .collect();
    let mut failed = 0;
    for (name, test) in &wanted {
        let outcome = catch_unwind(AssertUnwindSafe(test));
        failed += usize::from(outcome.is_err());
        println!(
            "test {name} ... {}",
            if outcome.is_ok() { "ok" } else { "FAILED" }
        );
    }
    println!(
        "\ntest result: {}. {} passed; {failed} failed; 0 ignored; 0 measured; {} filtered out\n",
        if failed == 0 { "ok" } else { "FAILED" },
        wanted.len() - failed,
        tests.len() - wanted.len(),
    );
    ExitCode::from(u8::from(failed > 0))
}
