//! What a client can read, and what it sent (R24).

use conduit_runtime::Accepts;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};

/// Reads `Accept`: wildcards and parameters count, a quality of zero refuses, and the
/// more specific range wins (RFC 9110, section 12.5.1). `None` when it excludes both
/// of our media types.
pub(crate) fn accepts(headers: &HeaderMap) -> Option<Accepts> {
    let mut values = headers.get_all(ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return Some(Accepts {
            json: true,
            events: false,
        });
    }
    let (mut json, mut events) = (Verdict::default(), Verdict::default());
    for value in values {
        let Ok(value) = value.to_str() else { continue };
        for range in value.split(',') {
            let (kind, taken) = media_range(range);
            json.hear(
                specificity(kind, ["application/json", "application/*"]),
                taken,
            );
            events.hear(specificity(kind, ["text/event-stream", "text/*"]), taken);
        }
    }
    let accepts = Accepts {
        json: json.taken,
        events: events.taken,
    };
    (accepts.json || accepts.events).then_some(accepts)
}

/// Whether a body of this request is said to be JSON in UTF-8.
pub(crate) fn sends_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let Ok(value) = value.to_str() else {
        return false;
    };
    let mut parts = value.split(';').map(str::trim);
    let json = parts
        .next()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    json && parts.all(|parameter| match parameter.split_once('=') {
        Some((name, charset)) if name.trim().eq_ignore_ascii_case("charset") => charset
            .trim()
            .trim_matches('"')
            .eq_ignore_ascii_case("utf-8"),
        Some(_) | None => true,
    })
}

/// What the most specific range so far says of one media type.
#[derive(Default)]
struct Verdict {
    specificity: u8,
    taken: bool,
}

impl Verdict {
    /// Hears a range of this specificity; 0 is one that does not cover the type.
    fn hear(&mut self, specificity: u8, taken: bool) {
        if specificity > self.specificity {
            *self = Self { specificity, taken };
        } else if specificity == self.specificity && specificity > 0 {
            self.taken |= taken;
        }
    }
}

/// Splits a media range from its quality: whether that is more than zero.
fn media_range(range: &str) -> (&str, bool) {
    let mut parts = range.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let refused = parts.any(|parameter| {
        parameter
            .strip_prefix("q=")
            .or_else(|| parameter.strip_prefix("Q="))
            .and_then(|quality| quality.trim().parse::<f32>().ok())
            .is_some_and(|quality| quality <= 0.0)
    });
    (kind, !refused)
}

/// How specific a range is for the type `exact` of the family `family`.
fn specificity(kind: &str, [exact, family]: [&str; 2]) -> u8 {
    if kind.eq_ignore_ascii_case(exact) {
        3
    } else if kind.eq_ignore_ascii_case(family) {
        2
    } else {
        u8::from(kind == "*/*")
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(accept: &'static str, expected: Option<(bool, bool)>) {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let found = accepts(&headers).map(|accepts| (accepts.json, accepts.events));
        assert_eq!(found, expected, "{accept}");
    }

    #[test]
    fn both_types_are_found_in_any_order_and_spelling() {
        check("application/json, text/event-stream", Some((true, true)));
        check(
            "TEXT/EVENT-STREAM;q=0.9,Application/JSON",
            Some((true, true)),
        );
        check("*/*", Some((true, true)));
        check("text/*", Some((false, true)));
        check("application/*;q=0.1", Some((true, false)));
    }

    #[test]
    fn a_quality_of_zero_refuses() {
        check(
            "application/json;q=0, text/event-stream",
            Some((false, true)),
        );
        check("*/*;q=0", None);
    }

    #[test]
    fn the_more_specific_range_wins_in_any_order() {
        check("application/json;q=0, */*", Some((false, true)));
        check("*/*, application/json;q=0", Some((false, true)));
        check("*/*;q=0, application/*", Some((true, false)));
        check(
            "application/*;q=0, application/json, text/*;q=0",
            Some((true, false)),
        );
        check("application/json;q=0, text/event-stream;q=0, */*", None);
    }

    #[test]
    fn other_types_alone_are_not_enough() {
        check("text/html", None);
        check("image/*, text/html", None);
        check("", None);
    }

    #[test]
    fn no_accept_header_means_json() {
        let accepts = accepts(&HeaderMap::new()).expect("served");
        assert!(accepts.json && !accepts.events);
    }

    #[track_caller]
    fn check_content(content_type: &'static str, expected: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        assert_eq!(sends_json(&headers), expected, "{content_type}");
    }

    #[test]
    fn json_is_json_with_parameters_too() {
        check_content("application/json", true);
        check_content("Application/Json; charset=\"UTF-8\"", true);
        check_content("application/json;v=1", true);
    }

    #[test]
    fn anything_else_is_not_json() {
        check_content("text/plain", false);
        check_content("application/jsonp", false);
        check_content("application/json; charset=latin1", false);
        assert!(!sends_json(&HeaderMap::new()), "nor is nothing");
    }
}
