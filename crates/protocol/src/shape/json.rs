//! Writes objects member by member.

use serde::Serialize;

use crate::meta::Meta;

/// An object that is being written.
#[derive(Debug)]
pub(super) struct Object<'b> {
    out: &'b mut Vec<u8>,
    empty: bool,
}

impl<'b> Object<'b> {
    pub(super) fn open(out: &'b mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// Writes a member from JSON text. Names need no escapes.
    pub(super) fn raw(&mut self, name: &str, json: &str) {
        self.name(name).extend_from_slice(json.as_bytes());
    }

    /// Writes a member from JSON text in pieces.
    pub(super) fn pieces<const N: usize>(&mut self, name: &str, pieces: [&str; N]) {
        let out = self.name(name);
        for piece in pieces {
            out.extend_from_slice(piece.as_bytes());
        }
    }

    pub(super) fn value<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        put(self.name(name), value);
    }

    pub(super) fn option<T: Serialize + ?Sized>(&mut self, name: &str, value: Option<&T>) {
        if let Some(value) = value {
            self.value(name, value);
        }
    }

    /// Writes a member whose name is an author's, from JSON text.
    pub(super) fn entry(&mut self, name: &str, json: &str) {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        put(self.out, name);
        self.out.push(b':');
        self.out.extend_from_slice(json.as_bytes());
    }

    /// Starts a member that is an object itself.
    pub(super) fn object(&mut self, name: &str) -> Object<'_> {
        Object::open(self.name(name))
    }

    /// Writes a member that is an array, one item at a time.
    pub(super) fn array<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Vec<u8>, T),
    ) {
        let out = self.name(name);
        out.push(b'[');
        for (place, item) in items.into_iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            write(out, item);
        }
        out.push(b']');
    }

    /// Writes the members that an author has chosen.
    pub(super) fn members(&mut self, author: Option<&Meta>) {
        let members = author.map_or("", Meta::members);
        if members.is_empty() {
            return;
        }
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        self.out.extend_from_slice(members.as_bytes());
    }

    pub(super) fn close(self) {
        self.out.push(b'}');
    }

    fn name(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }
}

/// Writes `value` as JSON; `null` in the place of what JSON cannot say.
pub(super) fn put<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn members_are_separated_by_commas() {
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);

        object.raw("a", "1");
        object.option("b", None::<&u8>);
        object.array("c", [1, 2], |out, item| put(out, &item));
        object.object("d").close();
        object.entry("e\"", "2");
        object.close();

        assert_eq!(out, br#"{"a":1,"c":[1,2],"d":{},"e\"":2}"#);
    }

    #[test]
    fn what_json_cannot_say_becomes_null() {
        let mut out = Vec::new();

        put(&mut out, &BTreeMap::from([((1, 2), 3)]));

        assert_eq!(out, b"null");
    }
}
