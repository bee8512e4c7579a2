//! The head of an answer, as far as the load generator needs it.
//!
//! Only answers of a known length count: a chunked one, or one that the end of the
//! connection delimits, is an error by name.

/// What a head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The status.
    pub(crate) status: u16,
    /// How many bytes the head itself has.
    pub(crate) length: usize,
    /// How many bytes the body has.
    pub(crate) body: usize,
    /// Whether the connection ends with this answer.
    pub(crate) closes: bool,
}

/// Why a head is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    /// It does not begin like an answer of HTTP 1.
    #[error("not an answer of HTTP 1")]
    NotHttp,
    /// Its `Content-Length` is no number, or too large.
    #[error("a Content-Length that is no number, or too large")]
    Length,
    /// It has no `Content-Length`.
    #[error("an answer without a Content-Length")]
    Unbounded,
    /// The body comes in chunks.
    #[error("an answer in chunks")]
    Chunked,
    /// It does not end.
    #[error("a head without an end")]
    Endless,
}

/// The longest head that is read.
pub(crate) const LONGEST_HEAD: usize = 32 * 1024;
/// The longest body that is read.
const LONGEST_BODY: usize = 16 * 1024 * 1024;

/// Reads the head that these bytes begin with; nothing while it has no end yet.
pub(crate) fn head(bytes: &[u8]) -> Result<Option<Head>, Malformed> {
    let Some(length) = end_of_head(bytes) else {
        if bytes.len() > LONGEST_HEAD {
            return Err(Malformed::Endless);
        }
        return Ok(None);
    };
    let lines = bytes.get(..length).unwrap_or_default();
    let status = status(lines).ok_or(Malformed::NotHttp)?;
    let mut body = None;
    let mut closes = false;
    for (name, value) in fields(lines) {
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                body = Some(number(value).ok_or(Malformed::Length)?);
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                closes = value.eq_ignore_ascii_case(b"close");
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                return Err(Malformed::Chunked);
            }
            _ => {}
        }
    }
    let body = match body {
        Some(body) => body,
        None if status == 204 => 0,
        None => return Err(Malformed::Unbounded),
    };
    Ok(Some(Head {
        status,
        length,
        body,
        closes,
    }))
}

/// Finds a field of a head, by its name in any case.
pub(crate) fn field<'a>(head: &'a [u8], name: &str) -> Option<&'a str> {
    let found = fields(head).find(|(other, _)| other.eq_ignore_ascii_case(name.as_bytes()));
    found.and_then(|(_, value)| str::from_utf8(value).ok())
}

// === Behind the head ===

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let blank = b"\r\n\r\n";
    let start = bytes
        .windows(blank.len())
        .position(|window| window == blank)?;
    Some(start + blank.len())
}

fn status(head: &[u8]) -> Option<u16> {
    let rest = head.strip_prefix(b"HTTP/1.1 ")?;
    let status = number(rest.get(..3)?)?;
    u16::try_from(status).ok()
}

/// Returns the fields below the status line, trimmed.
fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.split(|byte| *byte == b'\n')
        .skip(1)
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at_checked(colon)?;
            Some((name, value.get(1..)?.trim_ascii()))
        })
}

fn number(digits: &[u8]) -> Option<usize> {
    let digits = str::from_utf8(digits).ok()?;
    // `parse` alone would take a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|number| *number <= LONGEST_BODY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &[u8] =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nContent-LENGTH:  12 \r\nMcp-Session-Id: a b\r\n\r\n{\"id\"";

    #[test]
    fn a_head_is_read_once_it_is_complete() {
        let length = GOOD.len() - 5;

        for end in 0..length {
            assert_eq!(head(&GOOD[..end]), Ok(None), "{end}");
        }
        let expected = Head {
            status: 200,
            length,
            body: 12,
            closes: false,
        };
        assert_eq!(head(&GOOD[..length]), Ok(Some(expected)));
        assert_eq!(head(GOOD), Ok(Some(expected)));
    }

    #[test]
    fn an_answer_whose_end_is_not_known_is_refused_by_name() {
        check(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            Malformed::Chunked,
        );
        check(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
            Malformed::Unbounded,
        );
        check(
            b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
            Malformed::Length,
        );
        check(
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
            Malformed::Length,
        );
        check(b"HTTP/1.1 2x0 OK\r\n\r\n", Malformed::NotHttp);
        check(b"SSH-2.0\r\n\r\n", Malformed::NotHttp);
        check(&[b'a'; LONGEST_HEAD + 1], Malformed::Endless);
    }

    #[test]
    fn an_answer_may_be_empty_and_may_be_the_last() {
        let last = head(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n");
        let empty = head(b"HTTP/1.1 204 No Content\r\n\r\n");

        assert!(last.expect("good").expect("complete").closes);
        assert_eq!(empty.expect("good").expect("complete").body, 0);
    }

    #[test]
    fn a_field_is_found_by_its_name_in_any_case() {
        assert_eq!(field(GOOD, "mcp-session-id"), Some("a b"));
        assert_eq!(field(GOOD, "content"), None);
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: Malformed) {
        assert_eq!(head(bytes), Err(expected));
    }
}
