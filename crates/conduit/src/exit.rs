//! What the shell sees at the end.

use std::process::ExitCode;

use conduit_errors::{Code, Coded, chain};
use tracing::error;

use crate::args::Program;

/// Explains a failure on standard error, in one line and where to read on, and
/// returns the status.
///
/// Source: `sysexits.h`.
#[expect(clippy::print_stderr, reason = "the one place that talks to a shell")]
pub(crate) fn report(program: &Program, failure: &dyn Coded) -> ExitCode {
    eprintln!("{}", explanation(program, failure));
    ExitCode::from(failure.code().exit_status())
}

/// Says in one line of the log why a child ends, and returns the status.
///
/// Before it has a log, there is only the shell.
pub(crate) fn report_child(program: &Program, failure: &dyn Coded) -> ExitCode {
    if !tracing::dispatcher::has_been_set() {
        return report(program, failure);
    }
    let code = failure.code();
    error!(target: "conduit", %code, error = %chain(failure), "ending, this process cannot go on");
    ExitCode::from(code.exit_status())
}

/// Prints the help, the version or a mistake in the command line, and returns the
/// status.
pub(crate) fn usage(message: &clap::Error) -> ExitCode {
    // Whether or not somebody could read it, the status says the same.
    drop(message.print());
    usage_status(message)
}

// === Behind the shell ===

fn explanation(program: &Program, failure: &dyn Coded) -> String {
    let code = failure.code();
    let name = &program.name;
    format!(
        "{name}: {code}: {}\nsee: {name} explain {code}",
        chain(failure)
    )
}

fn usage_status(message: &clap::Error) -> ExitCode {
    if message.use_stderr() {
        ExitCode::from(Code::USAGE.exit_status())
    } else {
        ExitCode::SUCCESS
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use conduit_config::{Sources, load};

    use super::*;
    use crate::args::Args;

    #[track_caller]
    fn check_usage(argument: &str, expected: ExitCode) {
        let arguments = [OsString::from("conduit"), argument.into()];

        let message = Args::read(&Program::of(&arguments), &arguments).unwrap_err();

        assert_eq!(usage_status(&message), expected);
    }

    #[test]
    fn a_failure_is_one_line_and_a_way_to_read_on() {
        let program = Program::of(&["/bin/my-server".into()]);
        let failure = load(&Sources {
            environment: vec![("CONDUIT_HUB_COUNT".into(), "0".into())],
            ..Sources::default()
        })
        .unwrap_err();

        assert_eq!(
            explanation(&program, &failure),
            "my-server: CONFIG-002: environment CONDUIT_HUB_COUNT: \
             `hub.count` must be a whole number from 1 to 64\n\
             see: my-server explain CONFIG-002"
        );
    }

    #[test]
    fn asking_for_help_is_no_failure() {
        check_usage("--help", ExitCode::SUCCESS);
        check_usage("--version", ExitCode::SUCCESS);
    }

    #[test]
    fn a_mistake_in_the_command_line_ends_with_64() {
        check_usage("--no-such-option", ExitCode::from(64));
        check_usage("no-such-command", ExitCode::from(64));
        check_usage("--set=x", ExitCode::from(64));
        check_usage("--listen", ExitCode::from(64));
    }
}
