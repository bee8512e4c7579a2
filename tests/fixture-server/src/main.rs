//! A server for the tests, made only of the public API of `conduit`.
//!
//! It lists the 100 tools of the benchmarks first, and after them tools that do
//! what a test needs done: wait, block, panic, fail, tell what they know, change the
//! server. Its resources and prompts do the same.

mod catalogue;
mod changing;
mod misbehaving;
mod patient;
mod plain;
mod prompts;
mod resources;
mod slow;

use std::process::ExitCode;

use conduit::{Toolbox, ToolboxBuilder};

fn main() -> ExitCode {
    conduit::run(server())
}

fn server() -> ToolboxBuilder {
    let mut server = Toolbox::builder("fixture", env!("CARGO_PKG_VERSION"));
    let editor = server.editor();
    server
        .title("Fixture")
        .instructions("A server for tests.")
        .tools(catalogue::tools())
        .tools(plain::tools())
        .tools(slow::tools())
        .tools(patient::tools())
        .tools(misbehaving::tools())
        .tools(changing::tools(editor))
        .resources(resources::resources())
        .templates(resources::templates())
        .prompts(prompts::prompts())
        .logging()
        .resource_updates()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_has_no_mistake() {
        server().build().expect("a server");
    }
}
