//! Serve the Model Context Protocol from a supervised tree of processes.
//!
//! Write a server, hand it to [`run`], and the binary has every role and command
//! of the stock one: `up`, `config`, `explain`, and the hidden roles in which the
//! supervisor starts it again.
//!
//! ```no_run
//! use conduit::{Context, Toolbox, tool};
//!
//! #[derive(conduit::serde::Deserialize, conduit::schemars::JsonSchema)]
//! #[serde(crate = "conduit::serde")]
//! #[schemars(crate = "conduit::schemars")]
//! struct Greeting {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! async fn greet(greeting: Greeting, _context: Context) -> String {
//!     format!("Hello, {}!", greeting.name)
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     let greeter = Toolbox::builder("greeter", "1.0.0")
//!         .tool(tool("greet", "Greets somebody", greet));
//!     conduit::run(greeter)
//! }
//! ```

mod args;
mod command;
pub mod demo;
mod exit;
mod failure;
mod panics;
mod role;

use std::process::ExitCode;
use std::sync::Arc;

pub use conduit_server::*;

use self::args::{Args, Command, Program};
use self::failure::Failure;

/// Runs this process in the role that its arguments name, for one server.
///
/// This is an author's whole `main`. Without arguments it is `up`: a supervisor
/// that starts the same executable as gateways, hubs and store. A server that could
/// not be built ends the process with its reason.
///
/// The exit status is 0 after a stop as asked, 64 for a wrong command line, 69 for
/// an address in use, 70 for a fault of ours or of the server, 73 for a state
/// directory or a database that cannot be used, 75 if another instance holds it, and
/// 78 for a wrong configuration.
pub fn run(server: impl IntoServer) -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let program = Program::of(&arguments);
    let args = match Args::read(&program, &arguments) {
        Ok(args) => args,
        Err(message) => return exit::usage(&message),
    };
    // Hubs and the store never build it: a hundred schemas are compiled for nothing.
    let server = || {
        server
            .into_server()
            .map(|server| Arc::new(server) as Arc<dyn Server>)
            .map_err(Failure::server)
    };
    match obey(&program, &args, server) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if args.command.is_child() => exit::report_child(&program, &failure),
        Err(failure) => exit::report(&program, &failure),
    }
}

fn obey(
    program: &Program,
    args: &Args,
    server: impl FnOnce() -> Result<Arc<dyn Server>, Failure>,
) -> Result<(), Failure> {
    match &args.command {
        Command::Up => role::up::run(program, &args.sources(), &*server()?),
        Command::Stdio => role::stdio::run(&args.sources(), server()?),
        Command::Gateway(child) => role::gateway::run(child, server()?),
        Command::Hub(child) => role::hub::run(child),
        Command::Store(child) => role::store::run(child),
        Command::Config => {
            let answer = command::config::answer(&args.sources())?;
            Ok(command::print(&answer)?)
        }
        Command::Explain { code } => {
            let answer = command::explain::answer(code.as_deref())?;
            Ok(command::print(&answer)?)
        }
    }
}
