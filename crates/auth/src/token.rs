//! How a token and what is in it are laid out. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use crate::cipher::{NONCE, TAG};
use crate::ring::KeyId;

/// The most bytes of a token, as text.
pub const MOST_TOKEN: usize = 16 * 1024;

/// The most bytes that fit into a token.
pub const MOST_PAYLOAD: usize = MOST_TOKEN / 4 * 3 - HEAD - NONCE - TAG - CONTENT_HEAD;

/// What a token begins with, in the clear: its version and the id of its key.
const HEAD: usize = 5;

/// What comes before the payload: two times and an id.
const CONTENT_HEAD: usize = 32;

const VERSION: u8 = 1;

/// A token as it travels.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The key that sealed it.
    pub(crate) key: KeyId,
    pub(crate) nonce: [u8; NONCE],
    pub(crate) sealed: Vec<u8>,
}

/// What is inside.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// When it was sealed, in milliseconds since 1970.
    pub(crate) issued_ms: u64,
    /// From when on it is refused, in milliseconds since 1970.
    pub(crate) expires_ms: u64,
    pub(crate) id: Uuid,
    pub(crate) payload: Vec<u8>,
}

/// Returns the head of a token of this key, which is in the clear and yet bound.
pub(crate) fn head(key: KeyId) -> [u8; HEAD] {
    let [a, b, c, d] = key.to_bytes();
    [VERSION, a, b, c, d]
}

impl Frame {
    pub(crate) fn to_text(&self) -> String {
        let mut bytes = head(self.key).to_vec();
        bytes.extend_from_slice(&self.nonce);
        bytes.extend_from_slice(&self.sealed);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a token of our version; each has one form only.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (&[version, key @ ..], rest) = bytes.split_first_chunk::<HEAD>()?;
        let (&nonce, sealed) = rest.split_first_chunk()?;
        (version == VERSION).then(|| Self {
            key: KeyId::from_bytes(key),
            nonce,
            sealed: sealed.to_vec(),
        })
    }
}

impl Content {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(CONTENT_HEAD + self.payload.len());
        bytes.extend_from_slice(&self.issued_ms.to_be_bytes());
        bytes.extend_from_slice(&self.expires_ms.to_be_bytes());
        bytes.extend_from_slice(self.id.as_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (issued, rest) = bytes.split_first_chunk()?;
        let (expires, rest) = rest.split_first_chunk()?;
        let (id, payload) = rest.split_first_chunk()?;
        Some(Self {
            issued_ms: u64::from_be_bytes(*issued),
            expires_ms: u64::from_be_bytes(*expires),
            id: Uuid::from_bytes(*id),
            payload: payload.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_frame_reads_back_as_it_was_written(
            key: [u8; 4],
            nonce: [u8; NONCE],
            sealed: Vec<u8>,
        ) {
            let frame = Frame { key: KeyId::from_bytes(key), nonce, sealed };

            let again = Frame::from_text(&frame.to_text());

            prop_assert_eq!(again, Some(frame));
        }

        #[test]
        fn a_content_reads_back_as_it_was_written(
            issued_ms: u64,
            expires_ms: u64,
            id: u128,
            payload: Vec<u8>,
        ) {
            let id = Uuid::from_u128(id);
            let content = Content { issued_ms, expires_ms, id, payload };

            let again = Content::from_bytes(&content.to_bytes());

            prop_assert_eq!(again, Some(content));
        }

        #[test]
        fn two_texts_are_never_the_same_token(text in "AQ[A-Za-z0-9_-]{38,60}") {
            if let Some(frame) = Frame::from_text(&text) {
                prop_assert_eq!(frame.to_text(), text);
            }
        }
    }

    #[test]
    fn a_token_of_another_version_is_not_read() {
        let frame = Frame {
            key: KeyId::from_bytes([1; 4]),
            nonce: [2; NONCE],
            sealed: vec![3; TAG],
        };
        let mut bytes = URL_SAFE_NO_PAD.decode(frame.to_text()).unwrap();
        bytes[0] = VERSION + 1;

        let read = Frame::from_text(&URL_SAFE_NO_PAD.encode(bytes));

        assert_eq!(read, None);
    }
}
