//! The keys of a ring, and how they are written down. Pure, but for random numbers.
//!
//! ```text
//! # Keys of Conduit, the newest one last. Keep them secret.
//! # id created (seconds since 1970) secret (base64url)
//! 1f6a09c3 1785542400 q1f…
//! ```

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::{MOST_KEYS, Rotated};
use crate::Flaw;
use crate::cipher::{self, Secret};

/// Names a key in a token; 8 hexadecimal digits as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId([u8; 4]);

/// One key.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) id: KeyId,
    /// When it was made, in seconds since 1970.
    pub(crate) created: u64,
    pub(crate) secret: Secret,
}

/// At least one key, and at most [`MOST_KEYS`].
#[derive(Clone, Debug)]
pub(super) struct Keys {
    /// Oldest first. What counts is the order, not the time: clocks are set.
    superseded: Vec<Arc<Key>>,
    newest: Arc<Key>,
}

/// Why a text is no ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// What is wrong with which line; the first one is 1.
    Line(usize, Flaw),
    /// There is no key.
    Empty,
}

impl Keys {
    pub(super) fn of(key: Key) -> Self {
        Self {
            superseded: Vec::new(),
            newest: Arc::new(key),
        }
    }

    /// Reads a file. Of too many keys it takes the newest.
    pub(super) fn from_text(text: &[u8]) -> Result<Self, Unreadable> {
        let mut keys: Vec<Arc<Key>> = Vec::new();
        for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let fail = |flaw| Unreadable::Line(index + 1, flaw);
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let key = Key::from_line(line).map_err(fail)?;
            if keys.iter().any(|other| other.id == key.id) {
                return Err(fail(Flaw::Repeated));
            }
            keys.push(Arc::new(key));
        }
        let newest = keys.pop().ok_or(Unreadable::Empty)?;
        let mut keys = Self {
            superseded: keys,
            newest,
        };
        keys.shorten();
        Ok(keys)
    }

    pub(super) fn to_text(&self) -> Zeroizing<String> {
        // Grown by pieces, a text would leave pieces behind.
        let mut text = Zeroizing::new(String::with_capacity(HEAD.len() + MOST_KEYS * LONGEST_LINE));
        text.push_str(HEAD);
        for key in self.superseded.iter().chain([&self.newest]) {
            text.push_str(&key.to_line());
        }
        text
    }

    /// Adds a key that nobody knows, and drops those that were superseded longer than
    /// `keep` before `now`, in seconds since 1970.
    pub(super) fn rotate(&mut self, now: u64, keep: Duration) -> Rotated {
        let before = self.ids();
        let mut key = Key::random(now);
        while self.find(key.id).is_some() {
            key = Key::random(now);
        }
        let id = key.id;
        let last = std::mem::replace(&mut self.newest, Arc::new(key));
        self.superseded.push(last);
        let successors: Vec<u64> = self
            .superseded
            .iter()
            .skip(1)
            .chain([&self.newest])
            .map(|key| key.created)
            .collect();
        let mut since = successors.into_iter();
        self.superseded.retain(|_| {
            let since = since.next().unwrap_or(now);
            Duration::from_secs(now.saturating_sub(since)) <= keep
        });
        self.shorten();
        let dropped = |id: &KeyId| self.find(*id).is_none();
        Rotated {
            id,
            dropped: before.into_iter().filter(dropped).collect(),
        }
    }

    pub(super) fn newest(&self) -> Arc<Key> {
        Arc::clone(&self.newest)
    }

    pub(super) fn find(&self, id: KeyId) -> Option<Arc<Key>> {
        let mut keys = [&self.newest].into_iter().chain(&self.superseded);
        keys.find(|key| key.id == id).cloned()
    }

    /// Returns all ids, oldest first.
    pub(super) fn ids(&self) -> Vec<KeyId> {
        let keys = self.superseded.iter().chain([&self.newest]);
        keys.map(|key| key.id).collect()
    }

    fn shorten(&mut self) {
        let surplus = (self.superseded.len() + 1).saturating_sub(MOST_KEYS);
        self.superseded.drain(..surplus);
    }
}

impl Key {
    /// Makes one that nobody knows.
    pub(super) fn random(created: u64) -> Self {
        Self {
            id: KeyId(cipher::random()),
            created,
            secret: Secret::random(),
        }
    }

    fn from_line(line: &[u8]) -> Result<Self, Flaw> {
        let line = str::from_utf8(line).ok().ok_or(Flaw::Fields)?;
        let mut fields = line.split_ascii_whitespace();
        let (Some(id), Some(created), Some(secret), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(Flaw::Fields);
        };
        Ok(Self {
            id: KeyId::from_text(id).ok_or(Flaw::Id)?,
            created: created.parse().ok().ok_or(Flaw::Created)?,
            secret: Secret::from_text(secret).ok_or(Flaw::Secret)?,
        })
    }

    fn to_line(&self) -> Zeroizing<String> {
        let mut line = Zeroizing::new(String::with_capacity(LONGEST_LINE));
        line.push_str(&format!("{} {} ", self.id, self.created));
        line.push_str(&self.secret.to_text());
        line.push('\n');
        line
    }
}

impl KeyId {
    pub(crate) const fn from_bytes(bytes: [u8; 4]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn to_bytes(self) -> [u8; 4] {
        self.0
    }

    /// Reads exactly what `Display` writes.
    fn from_text(text: &str) -> Option<Self> {
        let number = u32::from_str_radix(text, 16).ok()?;
        let id = Self(number.to_be_bytes());
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

// === Behind the handle ===

const HEAD: &str = "\
# Keys of Conduit, the newest one last. Keep them secret.
# id created (seconds since 1970) secret (base64url)
";

/// Id, time, secret, two spaces and the end of the line.
const LONGEST_LINE: usize = 8 + 20 + 43 + 3;

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
    const DAY: Duration = Duration::from_hours(24);

    fn ring(lines: &[&str]) -> Keys {
        let lines: Vec<_> = lines
            .iter()
            .map(|line| format!("{line} {SECRET}"))
            .collect();
        Keys::from_text(lines.join("\n").as_bytes()).unwrap()
    }

    fn texts(ids: &[KeyId]) -> Vec<String> {
        ids.iter().map(ToString::to_string).collect()
    }

    #[track_caller]
    fn refuses(text: &str, line: usize, flaw: Flaw) {
        let text = text.replace("SECRET", SECRET);

        let outcome = Keys::from_text(text.as_bytes());

        assert_eq!(outcome.unwrap_err(), Unreadable::Line(line, flaw));
    }

    #[test]
    fn a_ring_reads_back_as_it_was_written() {
        let keys = ring(&["00000001 10", "fffffffe 20"]);

        let again = Keys::from_text(keys.to_text().as_bytes()).unwrap();

        assert_eq!(*again.to_text(), *keys.to_text());
        assert_eq!(texts(&again.ids()), ["00000001", "fffffffe"]);
    }

    #[test]
    fn the_last_key_of_the_file_is_the_newest_whatever_its_time() {
        let keys = ring(&["00000001 20", "00000002 10"]);

        assert_eq!(keys.newest().id.to_string(), "00000002");
    }

    #[test]
    fn comments_and_empty_lines_are_no_keys() {
        let text = format!("# one\r\n\n  00000001\t10  {SECRET} \r\n\n");

        let keys = Keys::from_text(text.as_bytes()).unwrap();

        assert_eq!(texts(&keys.ids()), ["00000001"]);
    }

    #[test]
    fn a_line_that_is_no_key_is_refused_with_its_number() {
        refuses("00000001 10 SECRET\n00000002 10\n", 2, Flaw::Fields);
        refuses("00000001 10 SECRET more", 1, Flaw::Fields);
        refuses("1 10 SECRET", 1, Flaw::Id);
        refuses("+0000001 10 SECRET", 1, Flaw::Id);
        refuses("0000000A 10 SECRET", 1, Flaw::Id);
        refuses("00000001 -1 SECRET", 1, Flaw::Created);
        refuses("00000001 10 SECRETA", 1, Flaw::Secret);
        refuses("00000001 10 AAAA", 1, Flaw::Secret);
        refuses(
            "# one\n\n00000001 1 SECRET\n00000001 2 SECRET",
            4,
            Flaw::Repeated,
        );
    }

    #[test]
    fn what_is_not_text_is_no_key() {
        let outcome = Keys::from_text(b"\xff\xfe");

        assert_eq!(outcome.unwrap_err(), Unreadable::Line(1, Flaw::Fields));
    }

    #[test]
    fn a_file_without_a_key_is_no_ring() {
        assert_eq!(Keys::from_text(b"# none\n").unwrap_err(), Unreadable::Empty);
    }

    #[test]
    fn a_rotation_drops_what_was_superseded_for_longer_than_it_keeps() {
        // The first was superseded at 200, the second at 300, the third is now.
        let mut keys = ring(&["00000001 100", "00000002 200", "00000003 300"]);

        let rotated = keys.rotate(1_250, Duration::from_secs(1_000));

        assert_eq!(texts(&rotated.dropped), ["00000001"]);
        assert_eq!(
            texts(&keys.ids()),
            ["00000002", "00000003", &rotated.id.to_string()]
        );
    }

    #[test]
    fn a_key_that_was_in_use_until_now_stays_however_old_it_is() {
        let mut keys = ring(&["00000001 0"]);

        let rotated = keys.rotate(1_000_000, Duration::ZERO);

        assert_eq!(rotated.dropped, []);
    }

    #[test]
    fn a_clock_that_was_set_back_drops_nothing() {
        let mut keys = ring(&["00000001 1000", "00000002 2000"]);

        let rotated = keys.rotate(500, Duration::ZERO);

        assert_eq!(rotated.dropped, []);
    }

    #[test]
    fn the_oldest_key_goes_when_there_are_too_many() {
        let mut keys = ring(&["00000001 10"]);

        for _ in 1..MOST_KEYS {
            assert_eq!(keys.rotate(20, DAY).dropped, []);
        }
        let rotated = keys.rotate(20, DAY);

        assert_eq!(texts(&rotated.dropped), ["00000001"]);
        assert_eq!(keys.ids().len(), MOST_KEYS);
    }

    #[test]
    fn keys_do_not_print_their_secrets() {
        let text = format!("{:?}", ring(&["00000001 10"]));

        assert!(text.contains("00000001"), "{text}");
        assert!(
            !text.contains("AAEC") && !text.contains("1, 2, 3"),
            "{text}"
        );
    }
}
