//! What a token belongs to.

use std::fmt;

use sha2::{Digest, Sha256};

/// The request that a token is sealed for. For any other one it does not open.
///
/// Source: MCP 2026-07-28, M-MRTR-07 and M-MRTR-08.
#[derive(Clone, Copy)]
pub struct Binding<'a> {
    /// The server that the request is for.
    pub server: &'a str,
    /// On whose behalf the request comes; nobody's differs from everybody's.
    pub principal: Option<&'a str>,
    /// The method of the request.
    pub method: &'a str,
    /// What tells the request from others of its method, in a form in which equal
    /// requests are equal bytes. Only its digest is used.
    pub params: &'a [u8],
}

impl Binding<'_> {
    /// Returns the bytes that are authenticated with a token of this head. No two
    /// bindings have the same ones: what varies in length has its length before it.
    pub(crate) fn associated(&self, head: &[u8]) -> Vec<u8> {
        let mut bytes = PURPOSE.to_vec();
        push(&mut bytes, head);
        push(&mut bytes, self.server.as_bytes());
        bytes.push(u8::from(self.principal.is_some()));
        push(&mut bytes, self.principal.unwrap_or_default().as_bytes());
        push(&mut bytes, self.method.as_bytes());
        bytes.extend_from_slice(&Sha256::digest(self.params));
        bytes
    }
}

impl fmt::Debug for Binding<'_> {
    /// Leaves out the parameters, which may hold anything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binding")
            .field("server", &self.server)
            .field("principal", &self.principal)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

/// Keeps what the same keys may seal one day for another purpose apart.
const PURPOSE: &[u8] = b"conduit request state\0";

fn push(bytes: &mut Vec<u8>, part: &[u8]) {
    // A length of memory fits into 64 bits on every machine.
    let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINDING: Binding<'_> = Binding {
        server: "alpha",
        principal: None,
        method: "tools/call",
        params: b"{}",
    };

    #[track_caller]
    fn differ(one: Binding<'_>, other: Binding<'_>) {
        assert_ne!(one.associated(b"head"), other.associated(b"head"));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        differ(
            Binding {
                server: "ab",
                principal: Some("c"),
                ..BINDING
            },
            Binding {
                server: "a",
                principal: Some("bc"),
                ..BINDING
            },
        );
        differ(
            Binding {
                principal: Some("ab"),
                method: "c",
                ..BINDING
            },
            Binding {
                principal: Some("a"),
                method: "bc",
                ..BINDING
            },
        );
    }

    #[test]
    fn nobody_is_not_a_principal_without_a_name() {
        differ(
            BINDING,
            Binding {
                principal: Some(""),
                ..BINDING
            },
        );
    }

    #[test]
    fn a_binding_does_not_print_its_parameters() {
        let binding = Binding {
            params: b"hunter2!",
            ..BINDING
        };

        let text = format!("{binding:?}");

        assert!(
            !text.contains("hunter2") && !text.contains("104, 117"),
            "{text}"
        );
    }
}
