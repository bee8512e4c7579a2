use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[track_caller]
fn template(text: &str) -> UriTemplate {
    UriTemplate::new(text).expect("a template")
}

/// What the variables of a template stand for.
#[track_caller]
fn check(text: &str, uri: &str, expected: &[&str]) {
    let template = template(text);
    let variables = template.matches(uri).expect("no broken escape");
    let values: Vec<_> = variables
        .expect("a match")
        .into_iter()
        .map(|v| v.1)
        .collect();
    assert_eq!(values, expected);
}

#[track_caller]
fn check_differs(text: &str, uri: &str) {
    assert_eq!(template(text).matches(uri), Ok(None), "{uri}");
}

#[track_caller]
fn check_broken(text: &str, uri: &str) {
    assert_eq!(template(text).matches(uri), Err(BrokenEscape), "{uri}");
}

/// Writes a value as RFC 6570 says for `{name}`.
fn expand(value: &str) -> String {
    let escape = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    value.bytes().map(escape).collect()
}

#[test]
fn a_variable_stands_for_what_is_there() {
    check("user://{id}", "user://42", &["42"]);
    check(
        "test://template/{id}/data",
        "test://template/7/data",
        &["7"],
    );
}

#[test]
fn a_value_is_decoded_once_and_after_the_match() {
    check(
        "doc:///{name}",
        "doc:///hello%20world%2Fx%25",
        &["hello world/x%"],
    );
    check("doc:///{name}", "doc:///%252e", &["%2e"]);
    check("doc:///{name}", "doc:///%c3%a9", &["é"]);
}

#[test]
fn a_plus_stays_a_plus() {
    check("doc:///{name}", "doc:///a+b", &["a+b"]);
}

#[test]
fn a_variable_never_reaches_over_a_slash() {
    check_differs("doc:///{name}", "doc:///a/b");
    check_differs("doc:///{name}", "doc:///../etc");
    check_differs("doc:///{name}/x", "doc:///a/b/x");
}

#[test]
fn a_query_or_a_fragment_is_no_part_of_a_value() {
    check_differs("doc:///{name}", "doc:///a?b");
    check_differs("doc:///{name}", "doc:///a#b");
}

#[test]
fn a_control_character_matches_only_when_it_is_escaped() {
    check_differs("doc:///{name}", "doc:///a\u{0}");
    check("doc:///{name}", "doc:///a%00", &["a\u{0}"]);
}

#[test]
fn a_variable_stands_for_something() {
    check_differs("user://{id}", "user://");
    check_differs("user://{id}/{part}", "user:///x");
    check_differs("user://{id}/x", "user:///x");
}

#[test]
fn a_broken_escape_is_told_from_another_form() {
    for uri in [
        "doc:///%zz",
        "doc:///%",
        "doc:///%4",
        "doc:///a%f",
        "doc:///%ff",
    ] {
        check_broken("doc:///{name}", uri);
    }
    check_differs("doc:///{name}", "user:///%zz");
}

#[test]
fn several_variables_take_as_little_as_they_can() {
    check("git://{owner}/{repo}", "git://a/b", &["a", "b"]);
    check("x:{a}-{b}", "x:1-2-3", &["1", "2-3"]);
    check("x:{name}.json", "x:a.json.json", &["a.json"]);
    check("x:{a}-{b}/{c}", "x:1-2-3/4", &["1", "2-3", "4"]);
}

#[test]
fn a_variable_may_end_like_the_text_behind_it_begins() {
    check("x:{a}--{b}", "x:---b", &["-", "b"]);
    check("x:{a}--{b}", "x:----b", &["-", "-b"]);
    check("x:{a}-{b}--{c}", "x:1-----2", &["1", "-", "-2"]);
    check("x:{a}2F2{b}", "x:%2F2F2y", &["/", "y"]);
}

#[test]
fn a_separator_is_not_found_within_an_escape() {
    check("x:{a}2{b}", "x:%2F2y", &["/", "y"]);
    check("x:{a}F", "x:%2FF", &["/"]);
    check_differs("x:{a}F", "x:%2F");
}

#[test]
fn text_around_the_variables_has_to_be_the_same() {
    check_differs("user://{id}/data", "user://1/Data");
    check_differs("user://{id}/data", "USER://1/data");
    check_differs("user://{id}/data", "user://1/dat%61");
    check_differs("user://{id}/data", "user://1/data/");
}

#[test]
fn templates_that_differ_in_names_have_one_shape() {
    let shape = |text: &str| template(text).shape();

    assert_eq!(shape("user://{id}/x"), shape("user://{name}/x"));
    assert_ne!(shape("user://{id}/x"), shape("user://{id}/y"));
    assert_ne!(shape("user://{id}/x"), shape("user://{id}/x{more}"));
}

#[test]
fn what_is_no_template_is_refused() {
    let refused = |text: &str| UriTemplate::new(text).expect_err("no template").to_string();

    for (text, reason) in [
        ("user://me", "no variable"),
        ("/{id}", "scheme"),
        ("{scheme}://x", "scheme"),
        ("1x:{id}", "scheme"),
        ("x:{id", "brace"),
        ("x:id}", "brace"),
        ("x:{a}b}", "brace"),
        ("x:{a b}", "not served"),
        ("x:{}", "not served"),
        ("x:{+path}", "not served"),
        ("x:{a,b}", "not served"),
        ("x:{a*}", "not served"),
        ("x:{a:3}", "not served"),
        ("x:{a}{b}", "between `{a}`"),
        ("x:{a}/{a}", "twice"),
        ("x:{a}/ b", "escaped"),
        ("x:{a}/%2", "percent"),
    ] {
        let said = refused(text);
        assert!(said.contains(reason), "{text}: {said}");
    }
}

#[test]
fn what_could_be_a_uri_passes() {
    for uri in [
        "file:///a.txt",
        "urn:x",
        "test://static-text",
        "a+b.c-d:é%20",
    ] {
        assert_eq!(check_uri(uri), Ok(()), "{uri}");
    }
}

#[test]
fn what_is_no_uri_is_refused() {
    for uri in [
        "", "a.txt", ":x", "a b:c", "x:a b", "x:%2", "x:{id}", "x:\n",
    ] {
        assert!(check_uri(uri).is_err(), "{uri}");
    }
}

proptest! {
    #[test]
    fn any_value_comes_back_as_it_was_expanded(
        first in ".{1,20}",
        more in vec((prop::sample::select(vec!["/", ":", "?q=", "/x/", "#"]), ".{1,20}"), 0..4),
        end in prop::sample::select(vec!["", "/", "/end", "?"]),
    ) {
        let mut text = "x://{v0}".to_owned();
        let mut uri = format!("x://{}", expand(&first));
        let mut values = vec![first];
        for (separator, value) in more {
            text.push_str(&format!("{separator}{{v{}}}", values.len()));
            uri.push_str(separator);
            uri.push_str(&expand(&value));
            values.push(value);
        }
        text.push_str(end);
        uri.push_str(end);

        let template = UriTemplate::new(&text).expect("a template");

        let found = template.matches(&uri).expect("no broken escape").expect("a match");
        let found: Vec<_> = found.into_iter().map(|(_, value)| value).collect();
        prop_assert_eq!(found, values);
    }

    #[test]
    fn no_uri_makes_a_value_reach_further_than_it_may(
        start in prop::sample::select(vec!["", "x:/a", "x:/%2e%2e", "x:/%"]),
        rest in r"[a-c%2eEfF/.?#+é\x00-]{0,30}",
    ) {
        let uri = format!("{start}{rest}");
        for text in ["x:/{v}", "x:/{v}/b", "x:/{v}.{w}", "x:/{v}a{w}/{z}2"] {
            let template = UriTemplate::new(text).expect("a template");
            let Ok(Some(found)) = template.matches(&uri) else {
                continue;
            };
            let raw = template.split(&uri).expect("a match");
            let mut again = template.as_str().to_owned();
            for ((name, value), raw) in found.iter().zip(raw) {
                prop_assert!(!raw.is_empty() && !raw.contains(['/', '?', '#', '\0']));
                let decoded = decode(raw);
                prop_assert_eq!(decoded.as_ref(), Some(value));
                again = again.replace(&format!("{{{name}}}"), raw);
            }
            prop_assert_eq!(again, uri.clone());
        }
    }

    #[test]
    fn any_text_is_a_template_or_refused(text in ".{0,40}|x:[a{}.,+*%/]{0,20}") {
        if let Ok(template) = UriTemplate::new(&text) {
            prop_assert_eq!(template.as_str(), text.as_str());
            prop_assert!(template.variables().count() > 0);
            prop_assert!(template.matches(&text).is_ok());
        }
        drop(check_uri(&text));
    }
}
