//! The sockets in the run directory.
//!
//! A socket's path may have 107 bytes, a state directory any number of them. So
//! paths lead through the open directory: `/proc/self/fd/<fd>/<name>`. It is opened
//! anew for each socket: somebody may tidy it away, and somebody else put it back.
//! The directory around it stays open: in another one of that name are the sockets
//! of another instance.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use tokio::net::{UnixListener, UnixStream};

/// The directory in which sockets meet.
#[derive(Debug)]
pub(crate) struct RunDir {
    around: OwnedFd,
    name: OsString,
}

impl RunDir {
    /// Finds the directory, which has to be there.
    pub(crate) fn find(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let around = path
            .parent()
            .filter(|around| !around.as_os_str().is_empty());
        let around = rustix::fs::open(
            around.unwrap_or_else(|| Path::new(".")),
            FLAGS,
            Mode::empty(),
        )?;
        let directory = Self {
            around,
            name: name.to_owned(),
        };
        directory.open()?;
        Ok(directory)
    }

    /// Listens at `<name>.sock` with mode 0600, in place of whatever was there.
    ///
    /// The socket appears complete: it is made under another name and moved. It
    /// stays when the listener is gone, until the next one replaces it.
    ///
    /// Needs the context of a runtime.
    pub(crate) fn listen(&self, name: &str) -> io::Result<UnixListener> {
        let directory = self.open()?;
        let fresh = within(&directory, &format!("{name}.new"));
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = StdListener::bind(&fresh)?;
        fs::set_permissions(&fresh, Permissions::from_mode(0o600))?;
        fs::rename(&fresh, within(&directory, &format!("{name}.sock")))?;
        listener.set_nonblocking(true)?;
        UnixListener::from_std(listener)
    }

    /// Connects to `<name>.sock`.
    pub(crate) async fn connect(&self, name: &str) -> io::Result<UnixStream> {
        let directory = self.open()?;
        UnixStream::connect(within(&directory, &format!("{name}.sock"))).await
    }

    /// Returns whether the directory is there, and `<name>.sock` is not in it.
    pub(crate) fn misses(&self, name: &str) -> bool {
        self.open().is_ok_and(|directory| {
            fs::symlink_metadata(within(&directory, &format!("{name}.sock")))
                .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        })
    }

    fn open(&self) -> io::Result<OwnedFd> {
        let name = self.name.as_os_str();
        Ok(rustix::fs::openat(
            &self.around,
            name,
            FLAGS,
            Mode::empty(),
        )?)
    }
}

// === Behind the directory ===

/// How a directory is opened that is only passed through.
const FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn within(directory: &OwnedFd, file: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{file}", directory.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_for_its_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::find(folder.path()).unwrap();

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
        let run = RunDir::find(folder.path()).unwrap();
        drop(run.listen("hub-0").unwrap());
        run.connect("hub-0").await.expect_err("nobody listens");

        let _listener = run.listen("hub-0").unwrap();

        run.connect("hub-0").await.expect("somebody listens again");
    }

    #[tokio::test]
    async fn a_socket_that_was_taken_away_is_missed_once_its_directory_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        fs::create_dir(&path).unwrap();
        let run = RunDir::find(&path).unwrap();
        let _listener = run.listen("hub-0").unwrap();
        assert!(!run.misses("hub-0"));

        fs::remove_dir_all(&path).unwrap();
        assert!(!run.misses("hub-0"), "there is no place for it");
        fs::create_dir(&path).unwrap();

        assert!(run.misses("hub-0"));
        let _listener = run.listen("hub-0").unwrap();
        run.connect("hub-0").await.expect("somebody listens again");
    }

    #[tokio::test]
    async fn the_sockets_of_another_instance_are_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let path = state.join("run");
        fs::create_dir_all(&path).unwrap();
        let run = RunDir::find(&path).unwrap();
        fs::remove_dir_all(&state).unwrap();
        fs::create_dir_all(&path).unwrap();
        let _another = RunDir::find(&path).unwrap().listen("store").unwrap();

        run.connect("store").await.expect_err("another store");

        assert!(!run.misses("hub-0"));
        run.listen("hub-0").expect_err("another directory");
    }

    #[tokio::test]
    async fn a_path_may_be_longer_than_a_socket_address() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(120)).join("e".repeat(120));
        fs::create_dir_all(&deep).unwrap();
        let run = RunDir::find(&deep).unwrap();

        let _listener = run.listen("hub-0").unwrap();

        run.connect("hub-0").await.expect("a connection");
    }
}
