//! The cipher, and the secrets that it takes.
//!
//! XChaCha20-Poly1305: its nonces are long enough to be random, however many tokens
//! a key seals, and it compares tags in constant time.
//!
//! Source: draft-irtf-cfrg-xchacha-03, sections 2 and 3.1.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, Generate, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

/// The bytes of a nonce.
pub(crate) const NONCE: usize = 24;

/// The bytes by which a ciphertext is longer than what is in it.
pub(crate) const TAG: usize = 16;

/// Returns bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    Generate::generate()
}

/// A secret, which is wiped from memory when it is dropped. It stays where it was
/// made, so that no copy is left behind.
pub(crate) struct Secret(Box<Zeroizing<[u8; 32]>>);

impl Secret {
    /// Makes one that nobody knows.
    pub(crate) fn random() -> Self {
        Self::copy(&Zeroizing::new(random()))
    }

    /// Reads one as it is written in a file.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(text).ok()?);
        Some(Self::copy(bytes.as_slice().try_into().ok()?))
    }

    /// Writes it for a file.
    pub(crate) fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(URL_SAFE_NO_PAD.encode(self.0.as_slice()))
    }

    /// Seals `plain`; returns the nonce and the ciphertext. Only something of many
    /// gigabytes cannot be sealed.
    pub(crate) fn seal(&self, plain: &[u8], associated: &[u8]) -> Option<([u8; NONCE], Vec<u8>)> {
        let nonce = random();
        let payload = Payload {
            msg: plain,
            aad: associated,
        };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload).ok()?;
        Some((nonce, sealed))
    }

    /// Opens what the same secret has sealed with the same associated data.
    pub(crate) fn open(
        &self,
        nonce: &[u8; NONCE],
        sealed: &[u8],
        associated: &[u8],
    ) -> Option<Vec<u8>> {
        let payload = Payload {
            msg: sealed,
            aad: associated,
        };
        self.cipher().decrypt(&XNonce::from(*nonce), payload).ok()
    }

    fn copy(bytes: &[u8; 32]) -> Self {
        let mut secret = Box::new(Zeroizing::new([0; 32]));
        secret.copy_from_slice(bytes);
        Self(secret)
    }

    /// The cipher wipes its copy of the key itself.
    fn cipher(&self) -> XChaCha20Poly1305 {
        let secret: &[u8; 32] = &self.0;
        XChaCha20Poly1305::new(secret.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
