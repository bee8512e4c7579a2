//! Serve the Model Context Protocol from a supervised tree of processes.
//!
//! Write a server, hand it to [`run`], and the binary has every role and command
//! of the stock one: `up`, `config`, `scale`, `explain`, and the hidden one by which
//! the supervisor starts it again.
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
mod handler;
mod panics;
mod role;
mod servers;

use std::process::ExitCode;

pub use conduit_server::*;

pub use conduit_http::{Front, warp};
pub use conduit_runtime::{Accepts, Event, Events, Head, MessageReply, Reply};
pub use {conduit_protocol as protocol, conduit_telemetry as telemetry};

pub use self::handler::{Handler, NotStarted};
pub use self::servers::{InvalidServers, Servers};

use self::args::{Args, Child, Command, Keys, Program};
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
pub fn run(server: impl IntoServer + 'static) -> ExitCode {
    run_several(Servers::new().with(server))
}

/// Runs this process in the role that its arguments name, for several servers, each at
/// `/NAME/mcp`. Else as [`run`].
///
/// ```no_run
/// use conduit::{Servers, Toolbox};
///
/// fn main() -> std::process::ExitCode {
///     let servers = Servers::new()
///         .with(Toolbox::builder("files", "1.0.0"))
///         .with(Toolbox::builder("mail", "1.0.0"));
///     conduit::run_several(servers)
/// }
/// ```
#[must_use]
pub fn run_several(servers: Servers) -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let program = Program::of(&arguments);
    let args = match Args::read(&program, &arguments) {
        Ok(args) => args,
        Err(message) => return exit::usage(&message),
    };
    match obey(&program, &args, servers) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if args.command.is_child() => exit::report_child(&program, &failure),
        Err(failure) => exit::report(&program, &failure),
    }
}

fn obey(program: &Program, args: &Args, servers: Servers) -> Result<(), Failure> {
    match &args.command {
        Command::Up => role::up::run(program, &args.sources(), &servers.build()?),
        Command::Stdio { server } => {
            let server = servers::choose(servers.build()?, server.as_deref())?;
            role::stdio::run(&args.sources(), server)
        }
        Command::Child(child) => fill(child, servers),
        Command::Config => {
            let answer = command::config::answer(&args.sources())?;
            Ok(command::print(&answer)?)
        }
        Command::Keys(Keys::Rotate) => {
            let answer = command::keys::rotate(&args.sources())?;
            Ok(command::print(&answer)?)
        }
        Command::Tasks(wanted) => {
            let answer = command::tasks::answer(&args.sources(), wanted)?;
            Ok(command::print(&answer)?)
        }
        Command::Scale(wanted) => {
            let answer = command::scale::answer(&args.sources(), wanted)?;
            Ok(command::print(&answer)?)
        }
        Command::Hub { json } => {
            let answer = command::hub::answer(&args.sources(), *json)?;
            Ok(command::print(&answer)?)
        }
        Command::Explain { code } => {
            let answer = command::explain::answer(code.as_deref())?;
            Ok(command::print(&answer)?)
        }
    }
}

/// Hubs and the store never build a server: a hundred schemas are compiled for nothing.
fn fill(child: &Child, servers: Servers) -> Result<(), Failure> {
    use conduit_link::Role;
    match child.slot.role {
        Role::Gateway => role::gateway::run(child, servers.build()?),
        Role::Hub => role::hub::run(child),
        Role::Store => role::store::run(child),
        // The command line lets none of them through.
        Role::Supervisor | Role::Operator => {
            Err(Failure::unstartable("no child fills such a slot".into()))
        }
    }
}
