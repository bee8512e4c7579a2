//! The repository's own rules: one file a rule, each failure lists every offender.

#![allow(
    clippy::expect_used,
    reason = "a test package: what is missing fails the test"
)]

mod acceptance;
mod config_files;
mod dashboards;
mod docs;
mod error_codes;
mod gatekeepers;
mod layers;
mod manifests;
mod map;
mod metrics;
mod names;
mod repository;
