//! A server for the tests, made only of the public API of `conduit`.
//!
//! It lists the 100 tools of the benchmarks first, and after them tools that do
//! what a test needs done: wait, block, panic, fail, tell what they know, ask, become
//! tasks, change the server, publish. Its resources and prompts do the same.

mod asking;
mod catalogue;
mod changing;
mod durable;
mod interviews;
mod jobs;
mod misbehaving;
mod patient;
mod plain;
mod prompts;
mod publishing;
mod record;
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
        .tools(publishing::tools())
        .tools(asking::tools())
        .tools(durable::tools())
        .tools(interviews::tools())
        .tools(jobs::tools())
        .tools(record::tools())
        .resources(resources::resources())
        .resource(asking::resource_that_asks())
        .resources(interviews::resources())
        .templates(resources::templates())
        .prompts(prompts::prompts())
        .prompt(asking::prompt_that_asks())
        .prompts(interviews::prompts())
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
