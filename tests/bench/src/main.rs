//! Drives the release binaries beside a bare hyper server, on loopback only.
//!
//! README.md beside this says how to run it and how to read what it prints.

mod affinity;
mod args;
mod audience;
mod binaries;
mod connection;
mod endpoint;
mod floor;
mod generator;
mod lane;
mod latency;
mod load;
mod processes;
mod request;
mod response;
mod run;
mod statistics;
mod stored;
mod table;
mod target;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use self::args::{Args, Command};

/// The status of a program that a signal ended, for shells.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.command {
        Some(Command::Floor(options)) => floor::serve(options).map(|()| ExitCode::SUCCESS),
        None => bench(&args),
    };
    match done {
        Ok(status) => status,
        Err(error) => report(&error),
    }
}

// === Behind main ===

/// Runs the bench until it is done or a signal asks to end; either way every target
/// is dropped, which kills its processes.
fn bench(args: &Args) -> anyhow::Result<ExitCode> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for Ctrl-C")?;
        let mut terminate = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
        tokio::select! {
            biased;
            _ = interrupt.recv() => Ok(ExitCode::from(INTERRUPTED)),
            _ = terminate.recv() => Ok(ExitCode::from(INTERRUPTED)),
            done = run::everything(args) => done.map(|()| ExitCode::SUCCESS),
        }
    })
}

#[expect(clippy::print_stderr, reason = "the one place that reports a failure")]
fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("conduit-bench: {error:#}");
    ExitCode::FAILURE
}
