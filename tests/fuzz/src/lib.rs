//! What the fuzz targets share. Each target is a file of `src/bin`, and says itself
//! what it holds the product to; `seeds/TARGET` has its first inputs, to be read.
//!
//! `tests/run` runs every target for seconds, `tests/run --long` for ten minutes. One
//! alone, here, and one input again:
//!
//! ```sh
//! cargo build --bin era
//! ../../target/fuzz/*/debug/era -dict=words -max_len=4096 "$(mktemp -d)" seeds/era
//! ../../target/fuzz/*/debug/era crash-0123
//! ```
//!
//! Stable Rust will do: coverage comes from flags in `.cargo/config.toml`, which Cargo
//! reads in this folder only. Seconds are enough for what a change has broken; new
//! kinds of inputs belong into `seeds`, for chance finds few of them so soon.

pub mod answer;
pub mod json;
pub mod mutation;
pub mod refusal;
