//! A JSON reader of our own, so that the product is not held against itself.
//!
//! It keeps what the product has to tell apart: the text of each value, members that
//! occur twice, and strings that are no Unicode text.

use std::ops::Range;

/// A value, and where it stands in the text.
#[derive(Debug)]
pub struct Json<'a> {
    /// As it was written.
    pub raw: &'a str,
    /// Its first byte and the one behind it.
    pub at: Range<usize>,
    pub kind: Kind<'a>,
}

#[derive(Debug)]
pub enum Kind<'a> {
    Null,
    Bool(bool),
    Number,
    /// Without text where a surrogate is alone.
    String(Option<String>),
    Array(Vec<Json<'a>>),
    Object(Vec<Member<'a>>),
}

#[derive(Debug)]
pub struct Member<'a> {
    /// Where it stands, from the key's quotation mark on.
    pub at: Range<usize>,
    pub key: Json<'a>,
    pub value: Json<'a>,
}

/// What an object holds under one name.
#[derive(Clone, Copy, Debug)]
pub enum Found<'j, 'a> {
    Absent,
    One(&'j Json<'a>),
    Twice,
}

/// Reads a whole text; `None` when it is not JSON.
///
/// Source: RFC 8259.
pub fn read(text: &str) -> Option<Json<'_>> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value()?;
    reader.space();
    (reader.at == text.len()).then_some(value)
}

impl<'a> Json<'a> {
    pub fn is_object(&self) -> bool {
        matches!(self.kind, Kind::Object(_))
    }

    pub fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    /// A number without fraction and exponent.
    pub fn is_integer(&self) -> bool {
        matches!(self.kind, Kind::Number) && !self.raw.contains(['.', 'e', 'E'])
    }

    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => text.as_deref(),
            _ => None,
        }
    }

    pub fn items(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The members of an object whose names are all text.
    pub fn members(&self) -> Option<&[Member<'a>]> {
        match &self.kind {
            Kind::Object(members) => {
                let readable = members.iter().all(|member| member.key.text().is_some());
                readable.then_some(members)
            }
            _ => None,
        }
    }

    /// What is under a name, nothing if this is no object.
    pub fn find(&self, name: &str) -> Found<'_, 'a> {
        let Kind::Object(members) = &self.kind else {
            return Found::Absent;
        };
        let mut named = members
            .iter()
            .filter(|member| member.key.text() == Some(name));
        match (named.next(), named.next()) {
            (None, _) => Found::Absent,
            (Some(member), None) => Found::One(&member.value),
            (Some(_), Some(_)) => Found::Twice,
        }
    }
}

impl<'j, 'a> Found<'j, 'a> {
    pub fn is_absent(self) -> bool {
        matches!(self, Self::Absent)
    }

    pub fn is_twice(self) -> bool {
        matches!(self, Self::Twice)
    }

    pub fn one(self) -> Option<&'j Json<'a>> {
        match self {
            Self::One(value) => Some(value),
            Self::Absent | Self::Twice => None,
        }
    }

    pub fn text(self) -> Option<&'j str> {
        self.one().and_then(Json::text)
    }

    pub fn object(self) -> Option<&'j Json<'a>> {
        self.one().filter(|value| value.members().is_some())
    }
}

// === Behind the handle ===

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn take(&mut self, wanted: &str) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        rest.starts_with(wanted.as_bytes()).then(|| {
            self.at += wanted.len();
        })
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Option<Json<'a>> {
        self.space();
        let start = self.at;
        let kind = match self.peek()? {
            b'n' => self.take("null").map(|()| Kind::Null)?,
            b't' => self.take("true").map(|()| Kind::Bool(true))?,
            b'f' => self.take("false").map(|()| Kind::Bool(false))?,
            b'"' => Kind::String(self.string()?),
            b'[' => Kind::Array(self.listed(b']', Self::value)?),
            b'{' => Kind::Object(self.listed(b'}', Self::member)?),
            _ => self.number().map(|()| Kind::Number)?,
        };
        Some(Json {
            raw: &self.text[start..self.at],
            at: start..self.at,
            kind,
        })
    }

    /// Reads what stands between brackets of one kind.
    fn listed<T>(&mut self, end: u8, read: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.at += 1;
        self.space();
        let mut items = Vec::new();
        if self.peek()? == end {
            self.at += 1;
            return Some(items);
        }
        loop {
            items.push(read(self)?);
            self.space();
            match self.next()? {
                b',' => {}
                last => return (last == end).then_some(items),
            }
        }
    }

    fn member(&mut self) -> Option<Member<'a>> {
        self.space();
        let start = self.at;
        let key = self
            .value()
            .filter(|key| matches!(key.kind, Kind::String(_)))?;
        self.space();
        self.take(":")?;
        let value = self.value()?;
        Some(Member {
            at: start..self.at,
            key,
            value,
        })
    }

    fn string(&mut self) -> Option<Option<String>> {
        self.at += 1;
        let mut units = Vec::new();
        loop {
            let rest = self.text.get(self.at..)?;
            let character = rest.chars().next()?;
            self.at += character.len_utf8();
            match character {
                '"' => return Some(String::from_utf16(&units).ok()),
                '\\' => units.push(self.escape()?),
                '\0'..='\x1f' => return None,
                plain => units.extend_from_slice(plain.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn escape(&mut self) -> Option<u16> {
        let character = match self.next()? {
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'f' => 12,
            b'r' => b'\r',
            b'u' => {
                let digits = self.text.get(self.at..self.at + 4)?;
                self.at += 4;
                let all = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                return u16::from_str_radix(digits, 16).ok().filter(|_| all);
            }
            same @ (b'"' | b'\\' | b'/') => same,
            _ => return None,
        };
        Some(character.into())
    }

    fn number(&mut self) -> Option<()> {
        let _ = self.take("-");
        if self.take("0").is_none() {
            self.digits()?;
        }
        if self.take(".").is_some() {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}
