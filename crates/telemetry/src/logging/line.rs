//! A log line with the name of its process in front.

use std::fmt;

use serde_json::Value;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Full, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// `gateway-0  2025-… INFO target: message field=value`.
pub(super) struct TextLine {
    process: String,
    rest: Format<Full>,
}

/// `{"process":"gateway-0","timestamp":…}`.
pub(super) struct JsonLine {
    process: String,
    rest: Format<Json>,
}

impl TextLine {
    pub(super) fn new(process: &str, rest: Format<Full>) -> Self {
        Self {
            process: process.to_owned(),
            rest,
        }
    }
}

impl JsonLine {
    pub(super) fn new(process: &str, rest: Format<Json>) -> Self {
        Self {
            // As a JSON string, quotes and all.
            process: Value::from(process).to_string(),
            rest,
        }
    }
}

impl<S, N> FormatEvent<S, N> for TextLine
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
        write!(writer, "{:<10} ", self.process)?;
        self.rest.format_event(context, writer, event)
    }
}

impl<S, N> FormatEvent<S, N> for JsonLine
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
        let mut line = String::new();
        self.rest
            .format_event(context, Writer::new(&mut line), event)?;
        let members = line.strip_prefix('{').ok_or(fmt::Error)?;
        write!(writer, "{{\"process\":{},{members}", self.process)
    }
}
