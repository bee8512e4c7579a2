//! The supervisor, as its child sees it: there, or gone for good.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tracing::debug;

/// The process that started us.
#[derive(Debug)]
pub(crate) struct Parent {
    pidfd: AsyncFd<OwnedFd>,
}

impl Parent {
    /// Watches the process that started us, if it still lives.
    ///
    /// A supervisor that has died is our parent no longer, and its id may name somebody
    /// else by now. So we look who our parent is after its id was opened: if it is the
    /// one that started us, it lived when it was opened.
    ///
    /// # Errors
    ///
    /// Also when it has ended.
    pub(crate) fn watch(pid: i32) -> io::Result<Self> {
        let gone = || io::Error::new(io::ErrorKind::NotFound, "it has ended");
        let supervisor = Pid::from_raw(pid).ok_or_else(gone)?;
        let pidfd = pidfd_open(supervisor, PidfdFlags::NONBLOCK)?;
        if getppid() != Some(supervisor) {
            return Err(gone());
        }
        let pidfd = watched(pidfd)?;
        Ok(Self { pidfd })
    }

    /// Waits until it has ended.
    ///
    /// # Cancel safety
    ///
    /// Safe: it stays ended.
    pub(crate) async fn ended(&self) {
        if let Err(error) = self.pidfd.readable().await {
            debug!(%error, "the supervisor can no longer be watched");
        }
    }
}

// === Behind the parent ===

#[expect(
    unsafe_code,
    reason = "there is no other way to wait for a process that is not a child"
)]
fn watched(pidfd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open, and the same, for as long as the value lives.
    unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) }
        .map_err(|refused| refused.into_parts().1)
}
