//! Where log lines go: to standard error, with the name of the process.
//!
//! Standard output belongs to MCP and to what a person asked for.

mod line;
mod stderr;
#[cfg(test)]
pub(crate) mod tests;

use std::io::{self, IsTerminal as _};

use tracing::Dispatch;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

use self::line::Line;
pub(crate) use self::stderr::lost_lines;
use crate::Error;

/// What a log line looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// `gateway-0  2025-11-30T05:34:00.000000Z  INFO conduit_http: listening …`
    #[default]
    Text,
    /// One JSON object a line: `process`, `timestamp`, `level`, `target`,
    /// `fields` with `message` among them.
    Json,
}

/// Sends the log lines of this process to standard error.
///
/// `filter` is a comma-separated list of `target=level` and at most one level for
/// the rest, such as `info,conduit_http=debug`. A reader of standard error that
/// stalls loses lines, which are counted; it never holds us up.
///
/// # Errors
///
/// [`Error::Filter`] when the filter is none, the user's fault;
/// [`Error::Logging`] when lines go somewhere already, ours.
pub fn init_logging(format: LogFormat, filter: &str, process: &str) -> Result<(), Error> {
    let colours = io::stderr().is_terminal();
    let dispatch = dispatch(format, filter, process, || stderr::Stderr, colours)?;
    tracing::dispatcher::set_global_default(dispatch).map_err(|taken| Error::Logging(taken.into()))
}

// === Behind the function ===

/// Leaves out the spans of the actor library, which tell an operator nothing, unless
/// somebody asks for them.
fn quiet(parsed: EnvFilter, filter: &str) -> EnvFilter {
    match "ractor=warn".parse() {
        Ok(directive) if !filter.contains("ractor") => parsed.add_directive(directive),
        Ok(_) | Err(_) => parsed,
    }
}

fn dispatch<W>(
    format: LogFormat,
    filter: &str,
    process: &str,
    writer: W,
    colours: bool,
) -> Result<Dispatch, Error>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let parsed = EnvFilter::builder().parse(filter);
    let parsed = parsed.map_err(|wrong| Error::Filter {
        filter: filter.to_owned(),
        source: wrong.into(),
    })?;
    let registry = tracing_subscriber::registry().with(quiet(parsed, filter));
    let layer = tracing_subscriber::fmt::layer().with_writer(writer);
    Ok(match format {
        LogFormat::Text => {
            let layer = layer.with_ansi(colours);
            Dispatch::new(registry.with(layer.event_format(Line::text(process, colours))))
        }
        LogFormat::Json => {
            let layer = layer.with_ansi(false).json();
            Dispatch::new(registry.with(layer.event_format(Line::json(process))))
        }
    })
}
