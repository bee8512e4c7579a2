//! Children that have outlived their supervisor: whoever claims its state directory
//! lets them finish before it starts others in their slots.
//!
//! Each child leaves a mark, a locked file whose name ends in its process id, before it
//! looks whether its supervisor is there. The file is empty: a full disk still takes it. The lock ends with the process, however that ends. So behind
//! a claim every mark that is still locked is an orphan's, and a child that leaves one
//! later finds its supervisor gone and ends at once.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::time::{Instant, sleep};
use tracing::{debug, info, warn};
use uuid::Uuid;

use crate::Error;
use crate::claim::{Claim, RUN};

/// The directory of the marks, below that of the sockets.
const LIVES: &str = "lives";
/// How often a mark that is locked is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long a killed process may take to end.
const DYING: Duration = Duration::from_secs(5);

/// The mark of this process, until it ends or this is dropped.
#[derive(Debug)]
pub struct Mark {
    path: PathBuf,
    _lock: File,
}

impl Mark {
    /// Leaves the mark of a child. To be called before it looks for its supervisor.
    ///
    /// # Errors
    ///
    /// Fails when the mark cannot be made.
    pub fn leave(run_dir: &Path, life: Uuid) -> io::Result<Self> {
        let folder = run_dir.join(LIVES);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let path = folder.join(format!("{life}.{}", std::process::id()));
        let lock = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { path, _lock: lock })
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // Whoever claims the directory next finds it unlocked otherwise.
        drop(fs::remove_file(&self.path));
    }
}

impl Claim {
    /// Waits until every child of a former supervisor has ended, for at most `patience`;
    /// those that have not are killed.
    ///
    /// # Errors
    ///
    /// [`Error::StateUnusable`] when the marks cannot be read, or a child does not even
    /// die.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn outlive_orphans(&self, patience: Duration) -> Result<(), Error> {
        let folder = self.path().join(RUN).join(LIVES);
        outlive(&folder, patience)
            .await
            .map_err(|source| Error::StateUnusable {
                path: folder,
                source,
            })
    }
}

// === Behind the claim ===

async fn outlive(folder: &Path, patience: Duration) -> io::Result<()> {
    let marks = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        marks => marks?,
    };
    let until = Instant::now() + patience;
    for mark in marks {
        let path = mark?.path();
        if ended_by(&path, until).await? {
            continue;
        }
        kill(&path).await?;
        if !ended_by(&path, Instant::now() + DYING).await? {
            return Err(io::Error::other(
                "a child of a former instance does not end",
            ));
        }
    }
    Ok(())
}

/// Waits for the end of the process that has left a mark, and removes it.
async fn ended_by(path: &Path, until: Instant) -> io::Result<bool> {
    let mark = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        mark => mark?,
    };
    let mut told = false;
    loop {
        match rustix::fs::flock(&mark, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                if let Err(error) = fs::remove_file(path) {
                    debug!(%error, "the mark of an ended child is gone already");
                }
                return Ok(true);
            }
            Err(Errno::WOULDBLOCK) if Instant::now() < until => {
                if !told {
                    info!(
                        pid = pid_of(path),
                        "waiting for a child of a former instance"
                    );
                    told = true;
                }
                sleep(LOOK).await;
            }
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Kills whoever holds a mark: while it is locked, its process id is nobody else's.
async fn kill(path: &Path) -> io::Result<()> {
    let Some(pid) = pid_of(path).and_then(Pid::from_raw) else {
        return Err(io::Error::other("a child has not said who it is"));
    };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return Ok(());
    };
    // It has the id that was opened if it holds its mark still.
    if ended_by(path, Instant::now()).await? {
        return Ok(());
    }
    warn!(
        pid = pid.as_raw_pid(),
        "a child of a former instance does not end, killing it"
    );
    pidfd_send_signal(process, Signal::KILL)?;
    Ok(())
}

fn pid_of(path: &Path) -> Option<i32> {
    path.extension()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn claimed() -> (tempfile::TempDir, Claim) {
        let home = tempfile::tempdir().unwrap();
        let claim = Claim::take(home.path()).unwrap();
        (home, claim)
    }

    /// Starts a process that holds a mark for so many seconds.
    fn child(claim: &Claim, seconds: &str) -> (std::process::Child, PathBuf) {
        let folder = claim.path().join(RUN).join(LIVES);
        fs::create_dir_all(&folder).unwrap();
        let mark = folder.join(Uuid::new_v4().to_string());
        let script = "exec 9>\"$1.$$\"; flock 9; echo ready; exec sleep \"$2\"";
        let mut child = Command::new("bash")
            .args(["-c", script, "child"])
            .arg(&mark)
            .arg(seconds)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        child.stdout.take().unwrap().read_exact(&mut ready).unwrap();
        let path = mark.with_extension(child.id().to_string());
        (child, path)
    }

    #[tokio::test]
    async fn nobody_is_waited_for_where_nobody_is_left() {
        let (_home, claim) = claimed();

        claim.outlive_orphans(Duration::ZERO).await.unwrap();

        let run = claim.path().join(RUN);
        drop(Mark::leave(&run, Uuid::new_v4()).unwrap());
        claim.outlive_orphans(Duration::ZERO).await.unwrap();
    }

    #[tokio::test]
    async fn an_orphan_that_ends_in_time_is_not_killed() {
        let (_home, claim) = claimed();
        let (mut child, path) = child(&claim, "0.3");

        claim
            .outlive_orphans(Duration::from_secs(10))
            .await
            .unwrap();

        assert!(child.wait().unwrap().success());
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn an_orphan_that_does_not_end_is_killed() {
        let (_home, claim) = claimed();
        let (mut child, path) = child(&claim, "600");

        claim
            .outlive_orphans(Duration::from_millis(50))
            .await
            .unwrap();

        assert!(!child.wait().unwrap().success());
        assert!(!path.exists());
    }
}
