//! The stock binary: the demo server in every role.

use std::process::ExitCode;

fn main() -> ExitCode {
    conduit::run(conduit::demo::server())
}
