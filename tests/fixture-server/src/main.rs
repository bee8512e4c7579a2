//! A server for the tests, made only of the public API of `conduit`.
//!
//! It lists the 100 tools of the benchmarks first, and after them tools that do
//! what a test needs done: wait, block, panic, fail, tell what they know.

mod catalogue;
mod misbehaving;
mod plain;
mod slow;

use std::process::ExitCode;

use conduit::Toolbox;

fn main() -> ExitCode {
    let server = Toolbox::builder("fixture", env!("CARGO_PKG_VERSION"))
        .title("Fixture")
        .instructions("A server for tests.")
        .tools(catalogue::tools())
        .tools(plain::tools())
        .tools(slow::tools())
        .tools(misbehaving::tools());
    conduit::run(server)
}
