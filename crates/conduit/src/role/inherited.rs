//! What a gateway inherits from its supervisor.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// The descriptor of the listening socket.
const LISTENER: RawFd = 3;
/// The descriptor of the counters by which gateways balance connections.
const BALANCE: RawFd = 4;

/// Takes over the listening socket and the counters. To be called once, before
/// anything else opens a file.
pub(crate) fn take() -> io::Result<(TcpListener, File)> {
    Ok((TcpListener::from(own(LISTENER)?), File::from(own(BALANCE)?)))
}

#[expect(
    unsafe_code,
    reason = "there is no safe way to own an inherited descriptor"
)]
fn own(descriptor: RawFd) -> io::Result<OwnedFd> {
    std::fs::read_link(format!("/proc/self/fd/{descriptor}"))?;
    // SAFETY: the descriptor is open, and nothing else in this process owns it:
    // the supervisor put it there, and `take` runs once, before any file is opened.
    let owned = unsafe { OwnedFd::from_raw_fd(descriptor) };
    rustix::io::fcntl_setfd(&owned, rustix::io::FdFlags::CLOEXEC)?;
    Ok(owned)
}
