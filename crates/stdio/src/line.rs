//! Cuts a stream of bytes into lines. Pure.

use bytes::{Buf, Bytes, BytesMut};

/// A byte-order mark, which some writers put before their first line.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Collects bytes until a line is whole.
#[derive(Debug)]
pub(crate) struct Lines {
    buffer: BytesMut,
    /// Bytes of the buffer that are known to hold no line feed.
    searched: usize,
    most: usize,
    /// Whether the rest of an over-long line is being thrown away.
    skipping: bool,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A line that is not blank, without its end.
    Line(Bytes),
    /// A line longer than allowed; it is thrown away.
    TooLong,
}

impl Lines {
    /// No line is longer than `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            most,
            skipping: false,
        }
    }

    /// Returns where the next bytes go.
    pub(crate) const fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Takes the next line out, if one is whole.
    pub(crate) fn next(&mut self) -> Option<Found> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(end) = unsearched.iter().position(|&byte| byte == b'\n') else {
                return self.wait_for_more();
            };
            let mut line = self.buffer.split_to(self.searched + end);
            self.buffer.advance(1);
            self.searched = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if line.len() > self.most {
                return Some(Found::TooLong);
            }
            trim(&mut line);
            if !line.is_empty() {
                return Some(Found::Line(line.freeze()));
            }
        }
    }

    /// Takes what is left when the stream has ended without a last line feed.
    pub(crate) fn rest(&mut self) -> Option<Found> {
        let mut line = std::mem::take(&mut self.buffer);
        if std::mem::take(&mut self.skipping) {
            return None;
        }
        trim(&mut line);
        (!line.is_empty()).then(|| Found::Line(line.freeze()))
    }

    fn wait_for_more(&mut self) -> Option<Found> {
        self.searched = self.buffer.len();
        if self.searched <= self.most {
            return None;
        }
        self.buffer.clear();
        self.searched = 0;
        (!std::mem::replace(&mut self.skipping, true)).then_some(Found::TooLong)
    }
}

/// Cuts off a byte-order mark, and white space at both ends.
fn trim(line: &mut BytesMut) {
    if line.starts_with(MARK) {
        line.advance(MARK.len());
    }
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let end = line
        .iter()
        .rposition(|byte| !blank(byte))
        .map_or(0, |last| last + 1);
    line.truncate(end);
    let start = line.iter().position(|byte| !blank(byte)).unwrap_or(0);
    line.advance(start);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(chunks: &[&[u8]], most: usize) -> Vec<Found> {
        let mut lines = Lines::new(most);
        let mut found = Vec::new();
        for chunk in chunks {
            lines.buffer().extend_from_slice(chunk);
            found.extend(std::iter::from_fn(|| lines.next()));
        }
        found.extend(lines.rest());
        found
    }

    fn line(text: &str) -> Found {
        Found::Line(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn lines_end_with_either_kind_of_line_end() {
        assert_eq!(cut(&[b"{}\r\n[]\n"], 9), [line("{}"), line("[]")]);
    }

    #[test]
    fn blank_lines_and_a_byte_order_mark_are_skipped() {
        assert_eq!(
            cut(&[b"\xef\xbb\xbf{}\n\r\n  \n[]\n"], 9),
            [line("{}"), line("[]")]
        );
    }

    #[test]
    fn a_line_may_come_in_pieces_and_the_last_without_its_end() {
        assert_eq!(
            cut(&[b"{", b"}", b"\n[", b"]"], 9),
            [line("{}"), line("[]")]
        );
    }

    #[test]
    fn a_line_that_is_too_long_costs_only_itself() {
        let found = cut(&[b"12345", b"67890", b"12345\n{}\n"], 4);
        assert_eq!(found, [Found::TooLong, line("{}")]);
        let at_once = cut(&[b"1234567\n{}\n"], 4);
        assert_eq!(at_once, [Found::TooLong, line("{}")]);
    }

    proptest! {
        #[test]
        fn where_the_stream_is_cut_does_not_matter(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b' '), any::<u8>()], 0..200),
            at in 0_usize..200,
        ) {
            let at = at.min(bytes.len());
            let (head, tail) = bytes.split_at(at);

            prop_assert_eq!(cut(&[head, tail], 1_000), cut(&[&bytes], 1_000));
        }

        #[test]
        fn the_buffer_never_holds_more_than_a_line_and_a_chunk(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..50),
        ) {
            let mut lines = Lines::new(20);
            for chunk in &chunks {
                lines.buffer().extend_from_slice(chunk);
                while lines.next().is_some() {}
                prop_assert!(lines.buffer().len() <= 20);
            }
        }
    }
}
