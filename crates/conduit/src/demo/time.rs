//! `time`: tells the time anywhere.

use conduit_server::{Context, ToolBuilder, ToolError};
use jiff::Timestamp;
use jiff::tz::{self, TimeZone};
use schemars::JsonSchema;
use serde::Deserialize;

/// How many names are suggested instead of a wrong one.
const SUGGESTIONS: usize = 3;

/// Letters that a suggestion and the wrong name begin with, at least.
const ALIKE: usize = 3;

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
        Some(name) => find(name)?,
    };
    Ok(tell(Timestamp::now(), zone))
}

// === Behind the tool ===

/// Such as `Saturday, 2026-08-01 14:05:09 (Europe/Berlin, UTC+02:00)`.
fn tell(now: Timestamp, zone: TimeZone) -> String {
    let now = now.to_zoned_datetime(zone);
    now.strftime("%A, %Y-%m-%d %H:%M:%S (%Q, UTC%:z)")
        .to_string()
}

/// Takes names that the database lists, and nothing that could be a path.
fn find(wanted: &str) -> Result<TimeZone, ToolError> {
    let names: Vec<_> = tz::db().available().map(|name| name.to_string()).collect();
    match names.iter().find(|name| name.eq_ignore_ascii_case(wanted)) {
        Some(name) => Ok(TimeZone::get(name)?),
        None => Err(ToolError::new(unknown(wanted, &suggest(wanted, &names)))),
    }
}

fn unknown(wanted: &str, suggestions: &[&str]) -> String {
    match suggestions {
        [] => format!(
            "there is no time zone `{wanted}`; pass a name of the IANA time zone database, such \
             as `Europe/Berlin` or `America/New_York`"
        ),
        suggestions => format!(
            "there is no time zone `{wanted}`; did you mean `{}`?",
            suggestions.join("`, or `")
        ),
    }
}

/// Finds names with the same place in them, else those whose place begins alike.
fn suggest<'a>(wanted: &str, names: &'a [String]) -> Vec<&'a str> {
    let place = place(wanted).replace(' ', "_");
    if place.len() < ALIKE {
        return Vec::new();
    }
    let likeness = |name: &str| {
        let name = self::place(name);
        if name.contains(&place) {
            return usize::MAX;
        }
        let pairs = name.chars().zip(place.chars());
        pairs.take_while(|(one, other)| one == other).count()
    };
    let mut found: Vec<_> = names
        .iter()
        .map(|name| (likeness(name), name.as_str()))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    let best = found.iter().map(|(likeness, _)| *likeness).max();
    found.retain(|(likeness, _)| Some(*likeness) == best);
    found
        .into_iter()
        .map(|(_, name)| name)
        .take(SUGGESTIONS)
        .collect()
}

/// Returns what follows the last slash, in small letters.
fn place(name: &str) -> String {
    let place = name.rsplit('/').next().unwrap_or_default();
    place.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, suggestions: &[&str]) {
        let names = [
            "America/New_York",
            "Asia/Tokyo",
            "Europe/Berlin",
            "Europe/Bern",
            "UTC",
        ];
        let names = names.map(str::to_owned);

        assert_eq!(suggest(wanted, &names), suggestions);
    }

    #[test]
    fn the_time_is_told_with_its_zone() {
        let now: Timestamp = "2026-08-01T12:05:09Z".parse().expect("a time");

        assert_eq!(
            tell(now, find("europe/berlin").expect("a zone")),
            "Saturday, 2026-08-01 14:05:09 (Europe/Berlin, UTC+02:00)"
        );
        assert_eq!(
            tell(now, TimeZone::UTC),
            "Saturday, 2026-08-01 12:05:09 (UTC, UTC+00:00)"
        );
    }

    #[test]
    fn a_place_without_its_continent_is_suggested_with_it() {
        check("berlin", &["Europe/Berlin"]);
        check("New York", &["America/New_York"]);
        check("Asia/Berlin", &["Europe/Berlin"]);
    }

    #[test]
    fn a_slip_of_the_pen_finds_what_begins_alike() {
        check("Europe/Berlim", &["Europe/Berlin"]);
        check("Asia/Tokio", &["Asia/Tokyo"]);
    }

    #[test]
    fn for_what_is_like_nothing_there_is_no_suggestion() {
        check("Middle-earth/Mordor", &[]);
        check("", &[]);
        check("../../etc/passwd", &[]);
    }

    #[test]
    fn an_unknown_zone_is_refused_with_a_suggestion() {
        assert_eq!(
            unknown("berlin", &["Europe/Berlin"]),
            "there is no time zone `berlin`; did you mean `Europe/Berlin`?"
        );
        assert!(find("../../etc/passwd").is_err());
    }
}
