//! A log line with the name of its process in front.

use std::fmt;

use serde_json::Value;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Full, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// How a line looks.
pub(super) enum Line {
    /// `gateway-0  2025-… INFO target: message field=value`.
    Text { process: String, rest: Format<Full> },
    /// `{"process":"gateway-0","timestamp":…}`; the process is a JSON string, quotes
    /// and all.
    Json { process: String, rest: Format<Json> },
}

impl Line {
    pub(super) fn text(process: &str, colours: bool) -> Self {
        Self::Text {
            process: process.to_owned(),
            rest: Format::default().with_ansi(colours),
        }
    }

    pub(super) fn json(process: &str) -> Self {
        Self::Json {
            process: Value::from(process).to_string(),
            rest: Format::default().json().flatten_event(false),
        }
    }
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        match self {
            Self::Text { process, rest } => {
                write!(writer, "{process:<10} ")?;
                rest.format_event(context, writer, event)
            }
            Self::Json { process, rest } => {
                let mut line = String::new();
                rest.format_event(context, Writer::new(&mut line), event)?;
                let members = line.strip_prefix('{').ok_or(fmt::Error)?;
                write!(writer, "{{\"process\":{process},{members}")
            }
        }
    }
}
