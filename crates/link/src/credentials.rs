//! Who is at the other end of a socket, as the kernel says.

use std::io;

use tokio::net::UnixStream;

/// Returns whether the peer runs as the same user as this process
/// (`SO_PEERCRED`).
///
/// # Errors
///
/// Fails when the kernel does not say, which no peer can bring about.
pub(crate) fn same_user(stream: &UnixStream) -> io::Result<bool> {
    let peer = stream.peer_cred()?.uid();
    Ok(peer == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_is_the_same_user_as_itself() {
        let (stream, _other) = UnixStream::pair().unwrap();

        assert!(same_user(&stream).unwrap());
    }
}
