//! Servers that differ in what they say that they can do, each at a path of its own.

use std::process::ExitCode;

use conduit::{
    CompletionRequest, Context, Lists, NoArguments, ServerCapabilities, Servers, Toolbox,
    ToolboxBuilder, tool,
};

fn main() -> ExitCode {
    let servers = Servers::new()
        .with(declares_tools())
        .with(plain("declares-nothing"))
        .with(with_callbacks());
    conduit::run_several(servers)
}

/// Declares a set of its own; that it writes to the log lies over it.
fn declares_tools() -> ToolboxBuilder {
    let declared = ServerCapabilities {
        tools: Some(Lists::default()),
        ..ServerCapabilities::default()
    };
    plain("declares-tools").capabilities(declared).logging()
}

/// Has a callback for each thing that lies over what a server declares.
fn with_callbacks() -> ToolboxBuilder {
    plain("with-callbacks")
        .completion(async |_: CompletionRequest, _: Context| ["a"])
        .logging()
        .resource_updates()
}

fn plain(name: &str) -> ToolboxBuilder {
    let greet = tool(
        "greet",
        "Greets.",
        async |_: NoArguments, _: Context| "hello",
    );
    Toolbox::builder(name, env!("CARGO_PKG_VERSION")).tool(greet)
}
