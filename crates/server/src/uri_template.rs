//! URI templates of RFC 6570, level 1: text with variables in braces. Pure.

#[cfg(test)]
mod tests;

use std::fmt;

/// A URI with variables, such as `user://{id}/avatar`.
///
/// A variable stands for at least one character, up to the text that follows it, and
/// never for one of `/ ? #` or a control character. What it stands for is decoded once,
/// after the match: `%2F` becomes `/`, `%2525` becomes `%25`, and `+` stays `+`. So a
/// decoded value may well contain a slash, or be `..`: never make a path of it.
///
/// All else has to be the same, character by character: neither letter case nor escapes
/// are evened out.
///
/// ```
/// use conduit_server::UriTemplate;
///
/// let template = UriTemplate::new("user://{id}/avatar")?;
/// let variables = template.matches("user://a%20b/avatar")?.unwrap();
/// assert_eq!(variables, [("id", "a b".to_owned())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: RFC 6570, sections 1.2, 2.1 and 3.2.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    text: Box<str>,
    /// What stands before the first variable.
    start: Box<str>,
    variables: Vec<Variable>,
}

/// Says why a text is no URI, or no template that can be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidUri {
    /// Nothing tells where it belongs.
    #[error("`{uri}` has to begin with a scheme, such as `file:`")]
    NoScheme {
        /// The text.
        uri: String,
    },
    /// A URI has no such character.
    #[error("`{uri}` has a character that has to be escaped: {character:?}")]
    Character {
        /// The text.
        uri: String,
        /// The character.
        character: char,
    },
    /// A percent sign without two hexadecimal digits.
    #[error("`{uri}` has a percent sign that escapes nothing")]
    Escape {
        /// The text.
        uri: String,
    },
    /// A brace without its other one.
    #[error("`{uri}` has a brace without its other one")]
    Brace {
        /// The text.
        uri: String,
    },
    /// It is a resource, not a template.
    #[error("`{uri}` has no variable, so it is a resource and not a template")]
    NoVariable {
        /// The text.
        uri: String,
    },
    /// Only plain names are served.
    #[error(
        "`{{{variable}}}` in `{uri}` is not served: a variable is a name of letters, digits, `_` and `.`"
    )]
    Variable {
        /// The text.
        uri: String,
        /// What stands between the braces.
        variable: String,
    },
    /// Nobody could say which of the two is meant.
    #[error("`{uri}` has the variable `{variable}` twice")]
    SameVariable {
        /// The text.
        uri: String,
        /// The name.
        variable: String,
    },
    /// Nobody could say where the first one ends.
    #[error("`{uri}` needs some text between `{{{first}}}` and the next variable")]
    Adjacent {
        /// The text.
        uri: String,
        /// The name of the first of them.
        first: String,
    },
}

/// A URI has the form of a template, but an escape in it is broken, or what it
/// escapes is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the URI has an escape that stands for no character")]
pub struct BrokenEscape;

impl UriTemplate {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// [`InvalidUri`], also for templates of a higher level.
    pub fn new(text: &str) -> Result<Self, InvalidUri> {
        let (start, mut rest) = literal(text, text)?;
        check_literal(start, text)?;
        check_scheme(start, text)?;
        let mut variables: Vec<Variable> = Vec::new();
        while let Some(inside) = rest {
            let (name, after) = inside
                .split_once('}')
                .ok_or_else(|| InvalidUri::Brace { uri: text.into() })?;
            check_name(name, text)?;
            if variables.iter().any(|known| *known.name == *name) {
                return Err(InvalidUri::SameVariable {
                    uri: text.into(),
                    variable: name.into(),
                });
            }
            let (end, next) = literal(after, text)?;
            check_literal(end, text)?;
            if end.is_empty() && next.is_some() {
                return Err(InvalidUri::Adjacent {
                    uri: text.into(),
                    first: name.into(),
                });
            }
            variables.push(Variable {
                name: name.into(),
                end: end.into(),
            });
            rest = next;
        }
        if variables.is_empty() {
            return Err(InvalidUri::NoVariable { uri: text.into() });
        }
        Ok(Self {
            text: text.into(),
            start: start.into(),
            variables,
        })
    }

    /// Returns the template as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the names of the variables, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|variable| &*variable.name)
    }

    /// Returns what the variables stand for in `uri`, in order; `None` when the URI
    /// is not of this form.
    ///
    /// Takes no longer than the URI is long, times the length of the template.
    ///
    /// # Errors
    ///
    /// [`BrokenEscape`] when it is of this form but cannot be decoded.
    pub fn matches(&self, uri: &str) -> Result<Option<Vec<(&str, String)>>, BrokenEscape> {
        let Some(values) = self.split(uri) else {
            return Ok(None);
        };
        let decoded = self.variables().zip(values).map(|(name, raw)| {
            let value = decode(raw).ok_or(BrokenEscape)?;
            Ok((name, value))
        });
        decoded.collect::<Result<_, _>>().map(Some)
    }

    /// Returns what it has in common with all templates that match the same URIs, and
    /// with no other: they may call their variables different names.
    pub(crate) fn shape(&self) -> String {
        let ends = self.variables.iter().map(|variable| &*variable.end);
        std::iter::once(&*self.start)
            .chain(ends)
            .collect::<Vec<_>>()
            .join("{}")
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Checks that a text could be the URI of a resource.
pub(crate) fn check_uri(uri: &str) -> Result<(), InvalidUri> {
    check_scheme(uri, uri)?;
    if uri.contains(['{', '}']) {
        return Err(InvalidUri::Brace { uri: uri.into() });
    }
    check_literal(uri, uri)
}

// === Behind the handle ===

#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    name: Box<str>,
    /// What stands behind it, up to the next one or to the end.
    end: Box<str>,
}

impl UriTemplate {
    /// Finds what each variable stands for, not decoded yet.
    ///
    /// Each takes as little as it can. No variable may contain a slash, so whatever
    /// matches at all matches this way, and nothing is ever tried twice.
    fn split<'a>(&self, uri: &'a str) -> Option<Vec<&'a str>> {
        let mut rest = uri.strip_prefix(&*self.start)?;
        let mut values = Vec::with_capacity(self.variables.len());
        let (last, others) = self.variables.split_last()?;
        for variable in others {
            let at = find(rest, &variable.end)?;
            let (value, after) = rest.split_at_checked(at)?;
            values.push(value);
            rest = after.strip_prefix(&*variable.end)?;
        }
        let value = rest.strip_suffix(&*last.end)?;
        if value.is_empty() || is_within_escape(rest, value.len()) {
            return None;
        }
        values.push(value);
        values.iter().all(|value| is_value(value)).then_some(values)
    }
}

/// Finds where a text first stands in another, but neither at the start nor within
/// an escape.
fn find(text: &str, wanted: &str) -> Option<usize> {
    let stands = |at: &usize| text.get(*at..).is_some_and(|rest| rest.starts_with(wanted));
    // One by one, for the first place may overlap one that is not to be had.
    let mut places = text.char_indices().map(|(at, _)| at);
    places.find(|at| *at > 0 && stands(at) && !is_within_escape(text, *at))
}

/// Whether a place is between a percent sign and the second digit behind it.
fn is_within_escape(text: &str, at: usize) -> bool {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let before = before.iter().rev().take(2);
    at < text.len() && before.copied().any(|byte| byte == b'%')
}

fn is_value(raw: &str) -> bool {
    !raw.contains(|character: char| matches!(character, '/' | '?' | '#') || character.is_control())
}

/// Undoes the escapes, once.
fn decode(raw: &str) -> Option<String> {
    if !raw.contains('%') {
        return Some(raw.to_owned());
    }
    let mut bytes = raw.bytes();
    let mut decoded = Vec::with_capacity(raw.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => (digit(bytes.next()?)? << 4) | digit(bytes.next()?)?,
            plain => plain,
        });
    }
    String::from_utf8(decoded).ok()
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Takes the text up to the next variable, and what follows its opening brace.
fn literal<'a>(text: &'a str, uri: &str) -> Result<(&'a str, Option<&'a str>), InvalidUri> {
    let (literal, rest) = match text.split_once('{') {
        Some((literal, rest)) => (literal, Some(rest)),
        None => (text, None),
    };
    if literal.contains('}') {
        return Err(InvalidUri::Brace { uri: uri.into() });
    }
    Ok((literal, rest))
}

/// Source: RFC 3986, section 3.1.
fn check_scheme(text: &str, uri: &str) -> Result<(), InvalidUri> {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    };
    match text.split_once(':') {
        Some((scheme, _)) if is_scheme(scheme) => Ok(()),
        Some(_) | None => Err(InvalidUri::NoScheme { uri: uri.into() }),
    }
}

/// Source: RFC 6570, section 2.1, which lets letters of all languages pass.
fn check_literal(literal: &str, uri: &str) -> Result<(), InvalidUri> {
    let forbidden = |character: &char| {
        character.is_control()
            || character.is_whitespace()
            || matches!(character, '"' | '<' | '>' | '\\' | '^' | '`' | '|')
    };
    if let Some(character) = literal.chars().find(forbidden) {
        return Err(InvalidUri::Character {
            uri: uri.into(),
            character,
        });
    }
    if decode(literal).is_none() {
        return Err(InvalidUri::Escape { uri: uri.into() });
    }
    Ok(())
}

/// Source: RFC 6570, section 2.3, but for escapes in names.
fn check_name(name: &str, uri: &str) -> Result<(), InvalidUri> {
    let is_plain = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if name.split('.').all(is_plain) {
        return Ok(());
    }
    Err(InvalidUri::Variable {
        uri: uri.into(),
        variable: name.into(),
    })
}
