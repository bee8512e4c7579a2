//! The right to use a state directory: one instance at a time.
//!
//! The right is a lock on the open directory, so it ends with the process, however
//! that ends, and does not end when a file in it is deleted. Children do not
//! inherit it.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::Error;

/// The directory of the sockets, below the state directory.
pub(crate) const RUN: &str = "run";

/// A state directory that is ours until this is dropped.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    /// Hold the locks. That on the directory decides: the file can be deleted, and
    /// is there to say who we are.
    _locks: [File; 2],
}

impl Claim {
    /// Makes the state directory if it is missing, and takes it.
    ///
    /// New directories get mode 0700. The mode of a state directory that was
    /// there stays; `run` below it is always brought to 0700.
    ///
    /// # Errors
    ///
    /// [`Error::StateUnusable`] when it cannot be made or written,
    /// [`Error::StateHeld`] when another instance has it.
    pub fn take(state_dir: &Path) -> Result<Self, Error> {
        let run = state_dir.join(RUN);
        for directory in [state_dir, &run] {
            make(directory).map_err(|source| unusable(directory, source))?;
        }
        own(&run).map_err(|source| unusable(&run, source))?;
        let path = state_dir.join(LOCK);
        let directory = open_directory(state_dir).map_err(|source| unusable(state_dir, source))?;
        let mut lock = open(&path).map_err(|source| unusable(&path, source))?;
        for (file, path) in [(&directory, state_dir), (&lock, &path)] {
            match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    return Err(Error::StateHeld {
                        path: state_dir.to_owned(),
                        pid: read_pid(&lock),
                    });
                }
                Err(errno) => return Err(unusable(path, errno.into())),
            }
        }
        write_pid(&mut lock).map_err(|source| unusable(&path, source))?;
        Ok(Self {
            path: state_dir.to_owned(),
            _locks: [directory, lock],
        })
    }

    /// Returns the state directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The state directory while it is claimed, and the directory of the sockets in it.
#[derive(Debug)]
pub(crate) struct Ground {
    state: PathBuf,
    run: PathBuf,
    /// Which directory was claimed: device and inode.
    claimed: (u64, u64),
}

impl Ground {
    /// Remembers which directory was claimed.
    pub(crate) fn of(state: &Path) -> io::Result<Self> {
        Ok(Self {
            state: state.to_owned(),
            run: state.join(RUN),
            claimed: identity(state)?,
        })
    }

    /// Returns the directory of the sockets.
    pub(crate) fn run(&self) -> &Path {
        &self.run
    }

    /// Makes the directory of the sockets again if somebody took it away; returns
    /// whether that was so.
    ///
    /// The state directory itself is not made again, and another one in its place is
    /// not used: whoever took it away took our right to it as well.
    pub(crate) fn restore(&self) -> io::Result<bool> {
        if identity(&self.state)? != self.claimed {
            return Err(io::Error::other("another directory is in its place"));
        }
        match DirBuilder::new().mode(0o700).create(&self.run) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                own(&self.run)?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

// === Behind the claim ===

const LOCK: &str = "lock";

/// No process id in decimal digits is longer.
const PID_BYTES: u64 = 20;

fn unusable(path: &Path, source: io::Error) -> Error {
    Error::StateUnusable {
        path: path.to_owned(),
        source,
    }
}

fn identity(directory: &Path) -> io::Result<(u64, u64)> {
    let found = fs::metadata(directory)?;
    Ok((found.dev(), found.ino()))
}

/// Makes a directory with its parents, or checks that one is there to be written.
fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    rustix::fs::access(path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)?;
    Ok(())
}

/// Makes sure that the directory of the sockets is ours alone.
fn own(run: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(run)?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it belongs to somebody else",
        ));
    }
    if found.mode() & 0o777 != 0o700 {
        fs::set_permissions(run, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(File::from(rustix::fs::open(
        path,
        flags,
        Mode::RUSR | Mode::WUSR,
    )?))
}

/// Reads who holds the lock; nobody is known while the holder has not written yet.
fn read_pid(lock: &File) -> Option<u32> {
    let mut text = String::new();
    lock.take(PID_BYTES).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use conduit_errors::Coded;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_missing_state_directory_is_made_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join("a/b");

        let claim = Claim::take(&state).unwrap();

        assert_eq!(claim.path(), state);
        assert_eq!(mode(&state), 0o700);
        assert_eq!(mode(&state.join(RUN)), 0o700);
        assert_eq!(mode(&state.join(LOCK)), 0o600);
    }

    #[test]
    fn the_sockets_directory_is_closed_to_others_and_the_state_directory_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let run = home.path().join(RUN);
        fs::create_dir(&run).unwrap();
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o750)).unwrap();

        let _claim = Claim::take(home.path()).unwrap();

        assert_eq!(mode(&run), 0o700);
        assert_eq!(mode(home.path()), 0o750);
    }

    #[test]
    fn a_second_instance_hears_who_holds_the_directory() {
        let home = tempfile::tempdir().unwrap();
        let _first = Claim::take(home.path()).unwrap();

        let error = Claim::take(home.path()).unwrap_err();

        assert_eq!(error.code().exit_status(), 75);
        assert!(
            error
                .to_string()
                .contains(&format!("(process {})", std::process::id())),
            "{error}"
        );
    }

    #[test]
    fn a_dropped_claim_can_be_taken_again() {
        let home = tempfile::tempdir().unwrap();
        drop(Claim::take(home.path()).unwrap());

        Claim::take(home.path()).unwrap();
    }

    #[test]
    fn a_file_in_place_of_the_directory_is_unusable() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("state");
        fs::write(&file, "").unwrap();

        let error = Claim::take(&file).unwrap_err();

        assert_eq!(error.code().exit_status(), 73);
        assert!(
            error.to_string().contains(file.to_str().unwrap()),
            "{error}"
        );
    }

    #[test]
    fn a_place_where_nothing_can_be_made_is_unusable() {
        let error = Claim::take(Path::new("/proc/nowhere")).unwrap_err();

        assert_eq!(error.code().exit_status(), 73);
    }

    #[test]
    fn a_link_in_place_of_the_sockets_directory_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), home.path().join(RUN)).unwrap();

        let error = Claim::take(home.path()).unwrap_err();

        assert_eq!(error.code().exit_status(), 73);
    }

    #[test]
    fn a_deleted_lock_file_lets_nobody_in() {
        let home = tempfile::tempdir().unwrap();
        let _first = Claim::take(home.path()).unwrap();
        fs::remove_file(home.path().join(LOCK)).unwrap();

        let error = Claim::take(home.path()).unwrap_err();

        assert_eq!(error.code().exit_status(), 75);
    }

    #[test]
    fn a_sockets_directory_that_was_taken_away_is_made_again_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let _claim = Claim::take(home.path()).unwrap();
        let ground = Ground::of(home.path()).unwrap();
        assert!(!ground.restore().unwrap());
        fs::remove_dir(ground.run()).unwrap();

        assert!(ground.restore().unwrap());

        assert_eq!(mode(ground.run()), 0o700);
    }

    #[test]
    fn a_state_directory_that_was_taken_away_is_not_made_again_nor_another_one_used() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join("state");
        let _claim = Claim::take(&state).unwrap();
        let ground = Ground::of(&state).unwrap();
        fs::rename(&state, home.path().join("away")).unwrap();

        ground.restore().unwrap_err();
        assert!(!state.exists());

        fs::create_dir(&state).unwrap();
        ground.restore().unwrap_err();
        assert!(!ground.run().exists());
    }

    #[test]
    fn children_do_not_inherit_the_lock() {
        let home = tempfile::tempdir().unwrap();
        let claim = Claim::take(home.path()).unwrap();

        for lock in &claim._locks {
            let flags = rustix::io::fcntl_getfd(lock).unwrap();

            assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        }
    }
}
