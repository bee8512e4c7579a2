//! What the log hears of a panic.
//!
//! Where it happened, and not what it says: the text is the author's, and may hold
//! what a tool was working on.

use std::panic::PanicHookInfo;

use tracing::error;

/// Replaces the standard hook, which prints the text to standard error.
pub(crate) fn log_without_text() {
    std::panic::set_hook(Box::new(log));
}

fn log(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let place = panic.location().map(ToString::to_string);
    error!(
        thread = thread.name().unwrap_or("unnamed"),
        at = place.as_deref().unwrap_or("unknown"),
        "panicked"
    );
}
