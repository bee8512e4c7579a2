//! A server that was started to be measured; dropping it kills all its processes.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::ChildStdout;
use tokio::time::{Instant, sleep, timeout};

use crate::args::Name;
use crate::binaries::Binaries;
use crate::connection::Connection;
use crate::endpoint::{self, Endpoint};
use crate::lane::Lane;
use crate::load::Load;
use crate::processes;
use crate::request::Ids;

/// The longest that a start may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a start that is not answered yet is left alone.
const PAUSE: Duration = Duration::from_millis(1);
/// The longest line that a start prints.
const LONGEST_LINE: usize = 4096;

/// With what a server is started, beyond its name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Setup<'a> {
    /// A file with what the floor lists.
    pub(crate) list: Option<&'a Path>,
    /// Where the state is kept; else in a folder of its own.
    pub(crate) state: Option<&'a Path>,
    /// Settings, as environment variables.
    pub(crate) settings: &'a [(&'a str, &'a str)],
}

/// A server that answers.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: Name,
    pub(crate) endpoint: Endpoint,
    /// From its start to its first good answer.
    pub(crate) took: Duration,
    processes: Processes,
}

impl Target {
    /// Starts a server and returns once it has answered a request.
    pub(crate) async fn start(
        name: Name,
        binaries: &Binaries,
        setup: Setup<'_>,
    ) -> anyhow::Result<Self> {
        let begin = Instant::now();
        let mut processes = Processes::start(name, binaries, setup)?;
        let endpoint = match timeout(PATIENCE, answering(&mut processes)).await {
            Ok(Ok(endpoint)) => endpoint,
            Ok(Err(error)) => {
                let said = processes.said();
                return Err(error.context(format!("{name} does not start{said}")));
            }
            Err(_elapsed) => bail!("{name} does not answer{}", processes.said()),
        };
        Ok(Self {
            name,
            endpoint,
            took: begin.elapsed(),
            processes,
        })
    }

    /// Asks it to end, and waits until it has.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        processes::terminate(self.root());
        let until = Instant::now() + PATIENCE;
        while !self.processes.has_ended() {
            if Instant::now() >= until {
                bail!("{} does not end{}", self.name, self.processes.said());
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Returns where its admin port is, which it prints after its endpoint.
    ///
    /// Not cancel safe, and good for one time: what was read is gone.
    pub(crate) async fn admin(&mut self) -> anyhow::Result<Endpoint> {
        timeout(PATIENCE, self.processes.endpoint("admin"))
            .await
            .context("no admin port")?
    }

    /// Returns the root of its processes.
    pub(crate) fn root(&self) -> u32 {
        self.processes.child.id()
    }

    /// Returns the body of its answer to a load's request, if that is as expected.
    pub(crate) async fn answer(&self, load: Load) -> Result<Vec<u8>, String> {
        let mut lane = Lane::open(&self.endpoint, load, Ids::of(0, 1), 0).await?;
        let (status, body) = lane
            .try_once()
            .await
            .map_err(|trouble| trouble.to_string())?;
        let body = body.to_vec();
        lane.close().await;
        load.check(status, &body)?;
        Ok(body)
    }
}

// === Behind the target ===

/// The processes, and the folder that they keep their state in.
#[derive(Debug)]
struct Processes {
    child: Child,
    /// Stays open: a server may say something later.
    stdout: Option<BufReader<ChildStdout>>,
    folder: TempDir,
}

impl Processes {
    fn start(name: Name, binaries: &Binaries, setup: Setup<'_>) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("conduit-bench-")
            .tempdir()
            .context("cannot make a temporary folder")?;
        let stderr = File::create(folder.path().join("stderr")).context("cannot make a log")?;
        let mut command = command(name, binaries, setup, folder.path());
        let mut child = command
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let stdout = child.stdout.take();
        let mut processes = Self {
            child,
            stdout: None,
            folder,
        };
        let stdout = stdout.context("no standard output")?;
        let stdout = ChildStdout::from_std(stdout).context("cannot read standard output")?;
        processes.stdout = Some(BufReader::new(stdout));
        Ok(processes)
    }

    /// Says whether the root has ended; it is waited for then.
    fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Reads until the line with an endpoint of this name.
    async fn endpoint(&mut self, name: &str) -> anyhow::Result<Endpoint> {
        let stdout = self.stdout.as_mut().context("no standard output")?;
        let mut line = String::new();
        loop {
            line.clear();
            let read = stdout.read_line(&mut line).await;
            if read.context("cannot read standard output")? == 0 {
                bail!("it ended without an endpoint");
            }
            if line.len() > LONGEST_LINE {
                bail!("it prints no lines");
            }
            if let Some(endpoint) = endpoint::in_line(&line, name)? {
                return Ok(endpoint);
            }
        }
    }

    /// Returns the end of what was written to standard error, for a message.
    fn said(&self) -> String {
        let raw = fs::read(self.folder.path().join("stderr")).unwrap_or_default();
        let text = String::from_utf8_lossy(&raw);
        let mut last: Vec<&str> = text.lines().rev().take(5).collect();
        last.reverse();
        last.iter().map(|line| format!("\n  {line}")).collect()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        processes::kill_tree(self.child.id());
        // It was killed: this does not wait for long.
        drop(self.child.wait());
    }
}

fn command(name: Name, binaries: &Binaries, setup: Setup<'_>, folder: &Path) -> Command {
    match name {
        Name::Floor => {
            let mut command = Command::new(binaries.own());
            command.arg("floor");
            if let Some(list) = setup.list {
                command.arg("--list").arg(list);
            }
            command
        }
        Name::House { binary, gateways } => {
            let mut command = Command::new(binaries.path(binary));
            command
                .args(["up", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
                .arg("--state-dir")
                .arg(
                    setup
                        .state
                        .map_or_else(|| folder.join("state"), Path::to_owned),
                )
                .env("CONDUIT_GATEWAY_COUNT", gateways.to_string())
                .envs(setup.settings.iter().copied());
            command
        }
    }
}

/// Waits for a good answer and returns where it came from.
async fn answering(processes: &mut Processes) -> anyhow::Result<Endpoint> {
    let endpoint = processes.endpoint("endpoint").await?;
    let request = Load::Modern.request(&endpoint, None);
    loop {
        if let Some(status) = processes.child.try_wait().context("cannot wait for it")? {
            bail!("it ended: {status}");
        }
        if let Ok(mut connection) = Connection::open(endpoint.address).await
            && let Ok(head) = connection.ask(request.bytes()).await
        {
            let checked = Load::Modern.check(head.status, connection.body(head));
            match checked {
                Ok(()) => return Ok(endpoint),
                Err(why) if head.status != 503 => return Err(anyhow!("it answers wrongly: {why}")),
                Err(_not_ready) => {}
            }
        }
        sleep(PAUSE).await;
    }
}
