//! `time`: tells the time anywhere.

use conduit_server::{Context, ToolBuilder, ToolError};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

use super::zone;

#[derive(Deserialize, JsonSchema)]
struct Time {
    /// A name of the IANA time zone database, such as `Europe/Berlin`; `UTC` if it is
    /// left out.
    #[schemars(length(max = 64))]
    zone: Option<String>,
}

pub(super) fn tool() -> ToolBuilder {
    conduit_server::tool(
        "time",
        "Tells the date and the time, in any time zone.",
        time,
    )
    .title("Time")
    .read_only(true)
    .open_world(false)
}

async fn time(arguments: Time, _context: Context) -> Result<String, ToolError> {
    let zone = match &arguments.zone {
        None => TimeZone::UTC,
        Some(name) => zone::find(name).ok_or_else(|| ToolError::new(zone::unknown(name)))?,
    };
    Ok(zone::tell(Timestamp::now(), zone))
}
