//! The sockets in the run directory.
//!
//! A socket's path may have 107 bytes, a state directory any number of them. So
//! paths lead through the open directory: `/proc/self/fd/<fd>/<name>`.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use tokio::net::{UnixListener, UnixStream};

/// The directory in which sockets meet; it stays open.
#[derive(Debug)]
pub(crate) struct RunDir {
    directory: OwnedFd,
}

impl RunDir {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { directory })
    }

    /// Listens at `<name>.sock` with mode 0600, in place of whatever was there.
    ///
    /// The socket appears complete: it is made under another name and moved. It
    /// stays when the listener is gone, until the next one replaces it.
    ///
    /// Needs the context of a runtime.
    pub(crate) fn listen(&self, name: &str) -> io::Result<UnixListener> {
        let fresh = self.path(&format!("{name}.new"));
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = StdListener::bind(&fresh)?;
        fs::set_permissions(&fresh, Permissions::from_mode(0o600))?;
        fs::rename(&fresh, self.path(&format!("{name}.sock")))?;
        listener.set_nonblocking(true)?;
        UnixListener::from_std(listener)
    }

    /// Connects to `<name>.sock`.
    pub(crate) async fn connect(&self, name: &str) -> io::Result<UnixStream> {
        UnixStream::connect(self.path(&format!("{name}.sock"))).await
    }

    fn path(&self, file: &str) -> PathBuf {
        PathBuf::from(format!(
            "/proc/self/fd/{}/{file}",
            self.directory.as_raw_fd()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_for_its_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::open(folder.path()).unwrap();

        let _listener = run.listen("hub-0").unwrap();

        let mode = fs::metadata(folder.path().join("hub-0.sock"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_new_listener_takes_the_place_of_one_that_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::open(folder.path()).unwrap();
        drop(run.listen("hub-0").unwrap());
        run.connect("hub-0").await.expect_err("nobody listens");

        let _listener = run.listen("hub-0").unwrap();

        run.connect("hub-0").await.expect("somebody listens again");
    }

    #[tokio::test]
    async fn a_path_may_be_longer_than_a_socket_address() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(120)).join("e".repeat(120));
        fs::create_dir_all(&deep).unwrap();
        let run = RunDir::open(&deep).unwrap();

        let _listener = run.listen("hub-0").unwrap();

        run.connect("hub-0").await.expect("a connection");
    }
}
