//! `demo://welcome`: a text to read first.

use std::time::Duration;

use conduit_server::{CacheHints, CacheScope, ResourceBuilder};

const TEXT: &str = "\
# Welcome to Conduit

You have just read a resource, so your client and this server understand each other.

What you can try next:

- call `add` with `{\"a\": 2, \"b\": 40}`, or `countdown` and watch its progress
- let `ask_name` ask you something
- let `slow_report` write on any topic: it asks half-way, and is a task if your client
  knows tasks
- read `demo://time/Asia%2FTokyo`, or any other time zone
- fill in the prompt `meet`: your client can complete the time zones
";

/// It never changes while this version is served.
const FRESH: Duration = Duration::from_hours(1);

pub(super) fn resource() -> ResourceBuilder {
    conduit_server::resource("demo://welcome", "welcome", |_| async { TEXT })
        .title("Welcome")
        .description("What this server is, and what to try first.")
        .mime_type("text/markdown")
        .cache(CacheHints {
            ttl_ms: u64::try_from(FRESH.as_millis()).unwrap_or_default(),
            scope: CacheScope::Public,
        })
        .inline()
}
