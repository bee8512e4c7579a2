//! Time zones of the IANA database: found, told, suggested.

use conduit_server::{CompletionRequest, Context};
use jiff::Timestamp;
use jiff::tz::{self, TimeZone};

/// How many names are suggested instead of a wrong one.
const SUGGESTIONS: usize = 3;

/// Letters that a suggestion and the wrong name begin with, at least.
const ALIKE: usize = 3;

/// How much of a wrong name is repeated, in characters.
const SHOWN: usize = 64;

/// Such as `Saturday, 2026-08-01 14:05:09 (Europe/Berlin, UTC+02:00)`.
pub(super) fn tell(now: Timestamp, zone: TimeZone) -> String {
    let now = now.to_zoned_datetime(zone);
    now.strftime("%A, %Y-%m-%d %H:%M:%S (%Q, UTC%:z)")
        .to_string()
}

/// Takes names that the database lists, and nothing that could be a path.
pub(super) fn find(wanted: &str) -> Option<TimeZone> {
    let names = names();
    let name = names
        .iter()
        .find(|name| name.eq_ignore_ascii_case(wanted))?;
    TimeZone::get(name).ok()
}

/// Says that there is no such time zone, and which one may have been meant.
pub(super) fn unknown(wanted: &str) -> String {
    refuse(wanted, &suggest(wanted, &names()))
}

/// Completes the name of a time zone, by its place or from its start.
pub(super) async fn complete(request: CompletionRequest, _context: Context) -> Vec<String> {
    complete_among(&request.value, names())
}

// === Behind the zones ===

fn names() -> Vec<String> {
    tz::db().available().map(|name| name.to_string()).collect()
}

/// Keeps names that begin so, after those whose place does.
fn complete_among(typed: &str, mut names: Vec<String>) -> Vec<String> {
    let typed = typed.to_lowercase().replace(' ', "_");
    names.retain(|name| name.to_lowercase().starts_with(&typed) || place(name).starts_with(&typed));
    names.sort_by_key(|name| !place(name).starts_with(&typed));
    names
}

fn refuse(wanted: &str, suggestions: &[&str]) -> String {
    let wanted: String = wanted.chars().take(SHOWN).collect();
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
            refuse("berlin", &["Europe/Berlin"]),
            "there is no time zone `berlin`; did you mean `Europe/Berlin`?"
        );
        assert!(find("../../etc/passwd").is_none());
    }

    #[test]
    fn a_name_is_completed_by_its_place_first() {
        let names = [
            "Atlantic/Bermuda",
            "America/New_York",
            "Berlin/Alt",
            "Europe/Berlin",
        ];
        let complete = |typed| complete_among(typed, names.map(str::to_owned).to_vec());

        assert_eq!(
            complete("Ber"),
            ["Atlantic/Bermuda", "Europe/Berlin", "Berlin/Alt"]
        );
        assert_eq!(complete("new y"), ["America/New_York"]);
        assert_eq!(complete("europe/"), ["Europe/Berlin"]);
        assert_eq!(complete("").len(), 4);
    }
}
