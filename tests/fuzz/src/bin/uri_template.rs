//! URI templates. The input is a template, a URI, and what variables shall stand for,
//! each in a line.
//!
//! - What is a template, and what a URI, is as a second reader of the rules sees it.
//! - A URI matches if there is any way to split it, and then each variable takes as
//!   little as it can, decoded once.
//! - What variables stand for comes back from the URI that RFC 6570 makes of it.
//! - Templates of one shape match the same URIs.

#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;

use crate::uri_template::{BrokenEscape, UriTemplate, check_uri};

/// The file itself: the crate around it, with its dependencies, takes minutes to build.
#[rustfmt::skip]
#[path = "../../../../crates/server/src/uri_template.rs"]
mod uri_template;

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let (pattern, uri) = (lines.next().unwrap_or_default(), lines.next());
    let uri = uri.unwrap_or_default();
    let values: Vec<&str> = lines.filter(|value| !value.is_empty()).collect();
    for text in [pattern, uri] {
        assert_eq!(
            check_uri(text).is_ok(),
            has_scheme(text) && is_literal(text)
        );
    }
    let expected = Pattern::read(pattern);
    match (UriTemplate::new(pattern), expected) {
        (Ok(template), Some(pattern)) => {
            assert_eq!(template.as_str(), pattern.text);
            assert_eq!(template.to_string(), pattern.text);
            assert!(template.variables().eq(pattern.names()));
            check(&template, &pattern, pattern.text);
            check(&template, &pattern, uri);
            check_shape(&template, &pattern, uri);
            check_expanded(&template, &pattern, &values);
        }
        (Err(error), None) => assert!(error.to_string().contains(pattern), "{error}"),
        (read, expected) => panic!("{read:?} and not {expected:?}"),
    }
});

/// Holds what a URI matches against the split that comes first of all that there are.
fn check(template: &UriTemplate, pattern: &Pattern<'_>, uri: &str) {
    let expected = match pattern.split(uri) {
        None => Ok(None),
        Some(values) => {
            let values = values
                .into_iter()
                .map(|value| decode(value).ok_or(BrokenEscape));
            let values = values.collect::<Result<Vec<_>, _>>();
            values.map(|values| Some(pattern.names().zip(values).collect()))
        }
    };
    assert_eq!(template.matches(uri), expected, "{uri}");
}

fn check_expanded(template: &UriTemplate, pattern: &Pattern<'_>, values: &[&str]) {
    if values.is_empty() {
        return;
    }
    let values: Vec<&str> = values
        .iter()
        .copied()
        .cycle()
        .take(pattern.variables.len())
        .collect();
    let uri = pattern.expand(&values);
    check(template, pattern, &uri);
    let found = template
        .matches(&uri)
        .expect("no broken escape")
        .expect("a match");
    if pattern.is_told_apart() {
        assert!(found.iter().map(|(_, value)| &**value).eq(values), "{uri}");
    }
}

/// A template with other names is of the same shape, and one with more text is not.
fn check_shape(template: &UriTemplate, pattern: &Pattern<'_>, uri: &str) {
    let variables = pattern.variables.iter().enumerate();
    let variables: String = variables
        .map(|(at, (_, end))| format!("{{v.{at}}}{end}"))
        .collect();
    let renamed = UriTemplate::new(&format!("{}{variables}", pattern.start)).expect("a template");
    let longer = UriTemplate::new(&format!("{template}_")).expect("a template");
    assert_eq!(renamed.shape(), template.shape());
    assert_ne!(longer.shape(), template.shape());
    let values = |template: &UriTemplate| {
        let found = template.matches(uri)?.unwrap_or_default();
        Ok::<_, BrokenEscape>(
            found
                .into_iter()
                .map(|(_, value)| value)
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(values(&renamed), values(template));
}

/// A template, read a second time.
#[derive(Debug)]
struct Pattern<'a> {
    text: &'a str,
    start: &'a str,
    /// Each with the text behind it.
    variables: Vec<(&'a str, &'a str)>,
}

impl<'a> Pattern<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.split('{');
        let start = parts.next()?;
        let variables = parts
            .map(|part| part.split_once('}'))
            .collect::<Option<Vec<_>>>()?;
        let (_, between) = variables.split_last()?;
        let mut names = HashSet::new();
        let valid = has_scheme(start)
            && is_literal(start)
            && between.iter().all(|(_, end)| !end.is_empty())
            && variables
                .iter()
                .all(|(name, end)| is_name(name) && is_literal(end) && names.insert(*name));
        valid.then_some(Self {
            text,
            start,
            variables,
        })
    }

    fn names(&self) -> impl Iterator<Item = &'a str> {
        self.variables.iter().map(|(name, _)| *name)
    }

    /// Splits a URI, the first variable as short as it can be in any split, then the
    /// next; tries every one.
    fn split<'u>(&self, uri: &'u str) -> Option<Vec<&'u str>> {
        let start = uri
            .strip_prefix(self.start)
            .map(|rest| uri.len() - rest.len())?;
        let mut found = Vec::new();
        let tried = &mut HashSet::new();
        self.split_from(0, uri, start, tried, &mut found).then(|| {
            found.reverse();
            found
        })
    }

    fn split_from<'u>(
        &self,
        index: usize,
        uri: &'u str,
        start: usize,
        tried: &mut HashSet<(usize, usize)>,
        found: &mut Vec<&'u str>,
    ) -> bool {
        let Some((_, end)) = self.variables.get(index) else {
            return start == uri.len();
        };
        if !tried.insert((index, start)) {
            return false;
        }
        let last = index + 1 == self.variables.len();
        for (at, character) in uri[start..].char_indices() {
            if matches!(character, '/' | '?' | '#') || character.is_control() {
                return false;
            }
            let at = start + at + character.len_utf8();
            let behind = at + end.len();
            if uri[at..].starts_with(end)
                && (!last || behind == uri.len())
                && !is_within_escape(uri, at)
                && self.split_from(index + 1, uri, behind, tried, found)
            {
                found.push(&uri[start..at]);
                return true;
            }
        }
        false
    }

    /// Source: RFC 6570, section 3.2.2.
    fn expand(&self, values: &[&str]) -> String {
        let mut uri = self.start.to_owned();
        for ((_, end), value) in self.variables.iter().zip(values) {
            for character in value.chars() {
                if is_unreserved(character) {
                    uri.push(character);
                } else {
                    let bytes = String::from(character).into_bytes();
                    uri.extend(bytes.iter().map(|byte| format!("%{byte:02X}")));
                }
            }
            uri.push_str(end);
        }
        uri
    }

    /// Whether no value, as it is expanded, can contain the text that ends it.
    fn is_told_apart(&self) -> bool {
        let (_, between) = self.variables.split_last().expect("a variable");
        let apart = |character| !is_unreserved(character) && character != '%';
        between.iter().all(|(_, end)| end.contains(apart))
    }
}

fn is_unreserved(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~')
}

/// Source: RFC 3986, section 3.1.
fn has_scheme(start: &str) -> bool {
    let scheme = start
        .split(':')
        .next()
        .filter(|scheme| scheme.len() < start.len());
    scheme.is_some_and(|scheme| {
        let others = scheme.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let follows = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        others.len() < scheme.len() && others.chars().all(follows)
    })
}

/// Names of letters, digits and `_`, with dots between them.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let dotted = format!(".{name}.");
    name.chars().all(plain) && !dotted.contains("..")
}

fn is_literal(text: &str) -> bool {
    let forbidden = |c: char| c.is_control() || c.is_whitespace() || "\"<>\\^`|{}".contains(c);
    !text.contains(forbidden) && decode(text).is_some()
}

fn is_within_escape(uri: &str, at: usize) -> bool {
    let before = &uri.as_bytes()[at.saturating_sub(2)..at];
    at < uri.len() && before.contains(&b'%')
}

/// Undoes the escapes, once; `None` where one is broken, or stands for no text.
fn decode(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let digits = part
            .get(..2)
            .filter(|two| two.bytes().all(|c| c.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}
