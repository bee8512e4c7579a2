//! Somebody's server.

use std::process::ExitCode;

use conduit::schemars::JsonSchema;
use conduit::serde::Deserialize;
use conduit::{Context, Toolbox, tool};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Greet {
    /// Who is to be greeted.
    name: String,
}

async fn greet(arguments: Greet, _context: Context) -> String {
    format!("Hello, {}!", arguments.name)
}

fn main() -> ExitCode {
    let greeter = Toolbox::builder("greeter", env!("CARGO_PKG_VERSION"))
        .tool(tool("greet", "Greets somebody by name.", greet).read_only(true));
    conduit::run(greeter)
}
