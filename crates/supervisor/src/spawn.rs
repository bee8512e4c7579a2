//! Starts a child process and keeps it until it is reaped.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use command_fds::{CommandFdExt, FdMapping};
use conduit_link::{Role, Slot};
use parking_lot::Mutex;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};
use uuid::Uuid;

use crate::balance::Balance;
use crate::children::Exit;
use crate::claim::Ground;
use crate::plan::Plan;

/// Starts children; each incarnation of each slot comes from here.
#[derive(Debug)]
pub(crate) struct Launcher {
    /// The first word of a child's command line: what a person sees in a list of
    /// processes.
    name: OsString,
    ground: Ground,
    args: Vec<OsString>,
    settings: Arc<[u8]>,
    /// Our own copy of the listening socket, until the tree stops.
    door: Mutex<Option<TcpListener>>,
    balance: Balance,
}

/// A child process that runs, and what it has to be told first.
#[derive(Debug)]
pub(crate) struct Launched {
    /// Its process id.
    pub(crate) pid: u32,
    child: Child,
    settings: Arc<[u8]>,
}

impl Launcher {
    /// Prepares what all children have in common.
    pub(crate) fn new(plan: &Plan, listener: TcpListener) -> io::Result<Self> {
        Ok(Self {
            name: std::env::args_os()
                .next()
                .unwrap_or_else(|| "conduit".into()),
            ground: Ground::of(&plan.state_dir)?,
            args: plan.child_args.clone(),
            settings: Arc::from(plan.settings_json.as_slice()),
            door: Mutex::new(Some(listener)),
            balance: Balance::create()?,
        })
    }

    /// Starts a process for a slot.
    ///
    /// It runs the file that we run, even if that was replaced on disk. It is in
    /// a process group of its own, so that the terminal's signals reach us alone
    /// and the stop keeps its order. It is killed if nobody keeps it.
    pub(crate) fn launch(&self, slot: &Slot, life: Uuid) -> io::Result<Launched> {
        self.restore_run_dir()?;
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0(&self.name)
            .arg(CHILD)
            .arg("--slot")
            .arg(slot.to_string())
            .arg("--life")
            .arg(life.to_string())
            .arg("--parent")
            .arg(std::process::id().to_string())
            .arg("--run-dir")
            .arg(self.ground.run())
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .process_group(0)
            .kill_on_drop(true);
        if slot.role == Role::Gateway {
            let inherited = [self.listener()?, self.balance.handle()?];
            let mappings = inherited
                .into_iter()
                .zip(FIRST_FD..)
                .map(|(parent_fd, child_fd)| FdMapping {
                    parent_fd,
                    child_fd,
                })
                .collect();
            command.fd_mappings(mappings).map_err(io::Error::other)?;
        }
        let child = command.spawn()?;
        let pid = child
            .id()
            .ok_or_else(|| io::Error::other("it has no process id"))?;
        Ok(Launched {
            pid,
            child,
            settings: Arc::clone(&self.settings),
        })
    }

    /// Makes the directory of the sockets again if somebody took it away.
    pub(crate) fn restore_run_dir(&self) -> io::Result<()> {
        let restored = self.ground.restore().map_err(|source| {
            io::Error::new(
                source.kind(),
                format!("cannot use the state directory: {source}"),
            )
        })?;
        if restored {
            warn!(path = %self.ground.run().display(), "directory of the sockets was taken away, made again");
        }
        Ok(())
    }

    /// Lets go of the listening socket; no gateway can be started from now on.
    pub(crate) fn close_door(&self) {
        drop(self.door.lock().take());
    }

    /// Returns the counters that the gateways share.
    pub(crate) const fn balance(&self) -> &Balance {
        &self.balance
    }
}

impl Launched {
    /// Feeds the process its settings, kills it when asked, and reaps it.
    ///
    /// A process that never reads its settings holds up nobody but itself.
    ///
    /// # Cancel safety
    ///
    /// A dropped future kills the process.
    pub(crate) async fn keep(self, kill: CancellationToken) -> Exit {
        let Self {
            pid,
            mut child,
            settings,
        } = self;
        let stdin = child.stdin.take();
        let feed = async move {
            if let Some(mut stdin) = stdin
                && let Err(error) = stdin.write_all(&settings).await
            {
                debug!(pid, %error, "child did not read its settings");
            }
            std::future::pending::<()>().await;
        };
        let ended = tokio::select! {
            biased;
            ended = child.wait() => Some(ended),
            () = kill.cancelled() => None,
            () = feed => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => match child.start_kill() {
                Ok(()) => child.wait().await,
                Err(error) => Err(error),
            },
        };
        match ended {
            Ok(status) => exit(status),
            Err(error) => Exit::NotWaited(error.to_string()),
        }
    }
}

// === Behind the child ===

/// The command by which a child is started; its slot says what it is to be.
const CHILD: &str = "child";

impl Launcher {
    fn listener(&self) -> io::Result<OwnedFd> {
        let door = self.door.lock();
        let listener = door.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        Ok(listener.try_clone()?.into())
    }
}

/// The first descriptor that is handed down: the listening socket. After it come
/// the counters.
const FIRST_FD: i32 = 3;

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Status(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::NotWaited(status.to_string()),
    }
}
