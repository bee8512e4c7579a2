//! How it starts, refuses to start, and ends.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests report by panicking"
)]

mod banner;
mod configuration;
mod draining;
mod ending;
mod refusal;
mod scaling;

use conduit_testkit::Ending;

/// One line says what is wrong; another may say where to read on.
#[track_caller]
fn is_one_clear_line(ending: &Ending) {
    let mut lines = ending.stderr.lines();
    assert!(
        lines.next().is_some_and(|line| line.contains(": ")),
        "{ending:?}"
    );
    assert!(
        lines.next().is_none_or(|line| line.starts_with("see: ")),
        "{ending:?}"
    );
    assert_eq!(lines.next(), None, "{ending:?}");
}
