//! Starts a child process and keeps it until it is reaped.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use command_fds::{CommandFdExt, FdMapping};
use conduit_link::{Role, Slot};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;
use tracing::debug;
use uuid::Uuid;

use crate::balance::Balance;
use crate::children::Exit;
use crate::plan::Plan;

/// Starts children; each incarnation of each slot comes from here.
#[derive(Debug)]
pub(crate) struct Launcher {
    /// The first word of a child's command line: what a person sees in a list of
    /// processes.
    name: OsString,
    run_dir: PathBuf,
    args: Vec<OsString>,
    settings: Arc<[u8]>,
    listener: TcpListener,
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
            run_dir: plan.run_dir(),
            args: plan.child_args.clone(),
            settings: Arc::from(plan.settings_json.as_slice()),
            listener,
            balance: Balance::create(plan.gateways)?,
        })
    }

    /// Starts a process for a slot.
    ///
    /// It runs the file that we run, even if that was replaced on disk. It is in
    /// a process group of its own, so that the terminal's signals reach us alone
    /// and the stop keeps its order. It is killed if nobody keeps it.
    pub(crate) fn launch(&self, slot: &Slot, life: Uuid) -> io::Result<Launched> {
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0(&self.name)
            .arg(slot.role.as_str())
            .arg("--slot")
            .arg(slot.to_string())
            .arg("--life")
            .arg(life.to_string())
            .arg("--run-dir")
            .arg(&self.run_dir)
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .process_group(0)
            .kill_on_drop(true);
        if slot.role == Role::Gateway {
            let inherited = [
                OwnedFd::from(self.listener.try_clone()?),
                self.balance.handle()?,
            ];
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
