//! JSON in one spelling: members sorted, no white space, strings escaped in one way.
//!
//! Numbers keep their text (R35). No recursion, so that depth costs no stack.

use std::borrow::Cow;

/// Writes valid JSON in its one spelling.
pub(super) fn write(out: &mut Vec<u8>, json: &str) {
    let nodes = Reader::new(json).read();
    let mut steps = vec![Step::Value(0)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Text(text) => out.extend_from_slice(text.as_bytes()),
            Step::Value(place) => {
                let Some(node) = nodes.get(place) else {
                    continue;
                };
                node.write(out, &mut steps);
            }
        }
    }
}

// === Behind the handle ===

/// What is still to be written, the last of it first.
enum Step<'n> {
    Text(&'n str),
    Value(usize),
}

/// A value; those in it are named by their places.
enum Node<'a> {
    Scalar(Cow<'a, str>),
    Array(Vec<usize>),
    /// Keys are spelt as they are written.
    Object(Vec<(Cow<'a, str>, usize)>),
}

impl Node<'_> {
    fn write<'n>(&'n self, out: &mut Vec<u8>, steps: &mut Vec<Step<'n>>) {
        match self {
            Self::Scalar(text) => out.extend_from_slice(text.as_bytes()),
            Self::Array(items) => {
                steps.push(Step::Text("]"));
                for (place, item) in items.iter().enumerate().rev() {
                    steps.push(Step::Value(*item));
                    steps.push(Step::Text(if place == 0 { "" } else { "," }));
                }
                out.push(b'[');
            }
            Self::Object(members) => {
                steps.push(Step::Text("}"));
                for (place, (key, value)) in members.iter().enumerate().rev() {
                    steps.push(Step::Value(*value));
                    steps.push(Step::Text(":"));
                    steps.push(Step::Text(key));
                    steps.push(Step::Text(if place == 0 { "" } else { "," }));
                }
                out.push(b'{');
            }
        }
    }
}

/// Takes valid JSON apart.
struct Reader<'a> {
    rest: &'a str,
    nodes: Vec<Node<'a>>,
    /// The arrays and objects that are open, the innermost last.
    open: Vec<usize>,
    /// The key, of the innermost object, whose value comes next.
    key: Option<Cow<'a, str>>,
}

impl<'a> Reader<'a> {
    const fn new(json: &'a str) -> Self {
        Self {
            rest: json,
            nodes: Vec::new(),
            open: Vec::new(),
            key: None,
        }
    }

    fn read(mut self) -> Vec<Node<'a>> {
        while let Some(first) = self.rest.bytes().next() {
            match first {
                b'{' => self.enter(Node::Object(Vec::new())),
                b'[' => self.enter(Node::Array(Vec::new())),
                b'}' | b']' => self.leave(),
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                    self.take(1);
                }
                b'"' => self.string(),
                _ => self.plain(),
            }
        }
        self.nodes
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn enter(&mut self, node: Node<'a>) {
        self.take(1);
        let place = self.add(node);
        self.open.push(place);
    }

    fn leave(&mut self) {
        self.take(1);
        let closed = self.open.pop();
        if let Some(Node::Object(members)) = closed.and_then(|place| self.nodes.get_mut(place)) {
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
    }

    /// Takes a string, which is a key where an object waits for one.
    fn string(&mut self) {
        let size = quoted(self.rest);
        let text = respelt(self.take(size));
        let wants_key = self.key.is_none() && matches!(self.innermost(), Some(Node::Object(_)));
        if wants_key {
            self.key = Some(text);
        } else {
            self.add(Node::Scalar(text));
        }
    }

    /// Takes a number, `true`, `false` or `null`.
    fn plain(&mut self) {
        let ends = |c: char| matches!(c, ',' | ']' | '}' | ' ' | '\t' | '\n' | '\r');
        let size = self.rest.find(ends).unwrap_or(self.rest.len());
        let text = self.take(size);
        self.add(Node::Scalar(Cow::Borrowed(text)));
    }

    fn innermost(&mut self) -> Option<&mut Node<'a>> {
        self.open
            .last()
            .and_then(|place| self.nodes.get_mut(*place))
    }

    /// Puts a value where it belongs and returns its place.
    fn add(&mut self, node: Node<'a>) -> usize {
        let place = self.nodes.len();
        let key = self.key.take().unwrap_or_default();
        match self.innermost() {
            Some(Node::Array(items)) => items.push(place),
            Some(Node::Object(members)) => members.push((key, place)),
            Some(Node::Scalar(_)) | None => {}
        }
        self.nodes.push(node);
        place
    }
}

/// The length of the string that `text` starts with, its quotes included.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    let inner = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    inner.map_or(text.len(), |inner| inner + 2)
}

/// Spells a string in one way; one that is no Unicode text stays as it is.
fn respelt(quoted: &str) -> Cow<'_, str> {
    if !quoted.contains('\\') {
        return Cow::Borrowed(quoted);
    }
    let text = serde_json::from_str::<String>(quoted);
    let respelt = text.and_then(|text| serde_json::to_string(&text));
    respelt.map_or(Cow::Borrowed(quoted), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        let mut out = Vec::new();

        write(&mut out, json);

        assert_eq!(str::from_utf8(&out).expect("text"), expected);
    }

    #[test]
    fn members_are_sorted_at_every_depth_and_items_are_not() {
        check(
            r#"{ "b" : [ {"y":1, "x":[ ]} , 2,null ], "a" : {"d":{},"c":true} }"#,
            r#"{"a":{"c":true,"d":{}},"b":[{"x":[],"y":1},2,null]}"#,
        );
    }

    #[test]
    fn a_string_has_one_spelling() {
        check(
            r#"{"\u0062":"\u0061\/\u00e9\"","a":"\\","":"}"}"#,
            r#"{"":"}","a":"\\","b":"a/é\""}"#,
        );
        check(r#""\ud800""#, r#""\ud800""#);
    }

    #[test]
    fn numbers_keep_their_text() {
        check(
            "[1.0,1,1e2,123456789012345678901,-0]",
            "[1.0,1,1e2,123456789012345678901,-0]",
        );
    }

    #[test]
    fn a_name_that_occurs_twice_stays_twice() {
        check(r#"{"b":0,"a":2,"a":1}"#, r#"{"a":2,"a":1,"b":0}"#);
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("{}{}", r#"{"a":["#.repeat(100_000), "]}".repeat(100_000));

        check(&deep, &deep);
    }
}
