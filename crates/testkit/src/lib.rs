//! Starts the real binaries on port 0, speaks to them, scrapes them; only ever a dev-dependency.
