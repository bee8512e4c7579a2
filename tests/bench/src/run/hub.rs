//! What the subscription hub costs: to hold streams, to tell all of them of a change, to
//! tell nobody, and what happens when it dies or its clients come and go.

mod churn;
mod death;
mod fan_out;
mod publish;
mod storm;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::{Instant, timeout};

use super::{Run, say};
use crate::args::{Binary, HubLoad, Name};
use crate::audience::{Audience, Opening};
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::load::calls;
use crate::processes::{self, Cpu};
use crate::target::{Setup, Target};

/// The longest that opening all streams, or reaching all of them, may take.
const PATIENCE: Duration = Duration::from_mins(3);
/// How many streams are being opened at once, unless all are.
const AT_ONCE: usize = 64;
/// How long everything is left alone before memory is read.
const SETTLING: Duration = Duration::from_secs(2);
/// The resource that all streams have in common.
const COMMON: &str = "bench://resource/1";
/// Descriptors that the bench and its targets need beside those of the streams.
const RESERVED: u64 = 1_000;

/// As many connections as descriptors allow.
const SETTINGS: &[(&str, &str)] = &[("CONDUIT_HTTP_MAX_CONNECTIONS", "20000")];

/// Measures what was chosen: the fan-outs with all targets, the others with the last
/// fixture server among them.
pub(super) async fn measure(run: &Run<'_>) -> anyhow::Result<()> {
    let room = raise_descriptors()?;
    let streams = run.args.streams as usize;
    if streams > room {
        bail!("{streams} streams need more descriptors: there is room for {room}");
    }
    let mut fixtures = run.args.targets.iter().filter(|name| name.is_fixture());
    let Some(last) = fixtures.next_back().copied() else {
        bail!("--hub needs a fixture server among the targets");
    };
    for chosen in run.args.chosen_of_hub() {
        let text = match chosen {
            HubLoad::FanOut => fan_out::measure(run, Kind::Listen, room).await,
            HubLoad::FanOutLegacy => fan_out::measure(run, Kind::Session, room).await,
            HubLoad::Storm => storm::measure(run, last).await,
            HubLoad::Publish => publish::measure(run, last).await,
            HubLoad::Death => death::measure(run, last).await,
            HubLoad::Churn => churn::measure(run, last).await,
        };
        say(&text.with_context(|| format!("cannot measure {chosen:?}"))?)?;
    }
    Ok(())
}

// === Behind the measurements ===

/// What kind of stream is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A listen stream.
    Listen,
    /// A session with one subscription, and its stream.
    Session,
}

/// A server, where it keeps its state, and its admin port.
struct House {
    target: Target,
    admin: Option<Endpoint>,
    program: PathBuf,
    folder: TempDir,
}

/// What the processors do from some moment on.
struct Meter {
    root: u32,
    begin: Instant,
    servers: u64,
    ours: Cpu,
    machine: Cpu,
}

/// What they did.
#[derive(Clone, Copy, Debug)]
struct Used {
    /// Microseconds of the target's processes.
    micros: f64,
    /// Cores that neither the target nor the bench used.
    other_cores: f64,
}

impl House {
    async fn start(run: &Run<'_>, name: Name) -> anyhow::Result<Self> {
        let folder = TempDir::new().context("cannot make a temporary folder")?;
        let state = folder.path().join("state");
        let setup = Setup {
            state: Some(&state),
            settings: SETTINGS,
            ..Setup::default()
        };
        let mut target = Target::start(name, &run.binaries, setup).await?;
        let admin = match name {
            Name::Floor => None,
            Name::House { .. } => Some(target.admin().await?),
        };
        Ok(Self {
            target,
            admin,
            program: run.binaries.path(Binary::Fixture),
            folder,
        })
    }

    /// Opens streams that all listen to the common resource, and waits until they do.
    async fn audience(
        &self,
        kind: Kind,
        count: usize,
        at_once: usize,
    ) -> anyhow::Result<(Audience, Duration)> {
        let endpoint = &self.target.endpoint;
        let begin = Instant::now();
        let (opening, requests) = match kind {
            Kind::Listen => {
                let listen = calls::listen(endpoint, COMMON);
                (Opening::Acknowledged, vec![listen; count])
            }
            Kind::Session => {
                let sessions = fan_out::sessions(endpoint, count).await?;
                let sessions = sessions.iter();
                let streams = sessions.map(|session| calls::stream(endpoint, session));
                (Opening::Head, streams.collect())
            }
        };
        let audience = Audience::open(endpoint.address, opening, requests, at_once);
        audience.all_open(PATIENCE).await?;
        Ok((audience, begin.elapsed()))
    }

    /// Opens listen streams, each to a resource of its own, without waiting.
    fn listeners(&self, prefix: &str, numbers: impl Iterator<Item = usize>) -> Audience {
        let endpoint = &self.target.endpoint;
        let listen = |number| calls::listen(endpoint, &format!("{prefix}{number}"));
        let requests = numbers.map(listen).collect();
        Audience::open(endpoint.address, Opening::Acknowledged, requests, AT_ONCE)
    }

    /// Tells of a change; returns when that began, once everybody has noted it.
    async fn touch(&self, uri: &str) -> anyhow::Result<Instant> {
        let mut connection = Connection::open(self.target.endpoint.address).await?;
        let arguments = format!(r#"{{"uri":"{uri}"}}"#);
        let begin = Instant::now();
        call(&self.target.endpoint, &mut connection, "touch", &arguments).await?;
        Ok(begin)
    }

    /// Returns the memory of all its processes, in KiB.
    fn memory(&self) -> anyhow::Result<u64> {
        let memory = processes::memory(self.target.root())?;
        Ok(memory.iter().map(|process| process.pss).sum())
    }

    /// Returns the sum of a metric over all its labels, 0 if there is none.
    async fn metric(&self, name: &str) -> anyhow::Result<f64> {
        let admin = self.admin.as_ref().context("no admin port")?;
        let mut connection = Connection::open(admin.address).await?;
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", admin.address);
        let head = connection.ask(request.as_bytes()).await?;
        let body = String::from_utf8_lossy(connection.body(head)).into_owned();
        let value = |line: &str| {
            let rest = line.strip_prefix(name)?;
            let is_it = rest.starts_with('{') || rest.starts_with(' ');
            let value = rest.rsplit_once(' ').filter(|_| is_it)?.1;
            value.parse::<f64>().ok()
        };
        // A sum of nothing would be negative.
        Ok(body
            .lines()
            .filter_map(value)
            .fold(0.0, |sum, value| sum + value))
    }

    /// Asks for so many shards, and waits for them.
    async fn scale(&self, shards: u32) -> anyhow::Result<()> {
        let mut command = Command::new(&self.program);
        command
            .args(["scale", "hub", &shards.to_string(), "--state-dir"])
            .arg(self.folder.path().join("state"))
            .kill_on_drop(true);
        let output = timeout(PATIENCE, command.output())
            .await
            .context("scaling takes too long")?
            .context("cannot ask for shards")?;
        if !output.status.success() {
            bail!(
                "scaling fails: {}",
                String::from_utf8_lossy(&output.stderr).trim_end()
            );
        }
        Ok(())
    }
}

impl Meter {
    fn start(root: u32) -> Self {
        Self {
            root,
            begin: Instant::now(),
            servers: processes::nanoseconds(root),
            ours: Cpu::of_ours(),
            machine: Cpu::of_machine(),
        }
    }

    fn read(&self) -> Used {
        let servers = processes::nanoseconds(self.root).saturating_sub(self.servers);
        let ours = Cpu::of_ours().since(self.ours).total();
        let machine = Cpu::of_machine().since(self.machine).total();
        let others = machine - ours - servers as f64 / 1e9;
        Used {
            micros: servers as f64 / 1e3,
            other_cores: (others / self.begin.elapsed().as_secs_f64()).max(0.0),
        }
    }
}

/// Calls a tool and returns the text of its answer.
async fn call(
    endpoint: &Endpoint,
    connection: &mut Connection,
    tool: &str,
    arguments: &str,
) -> anyhow::Result<String> {
    let request = calls::tool(endpoint, tool, arguments);
    let head = timeout(PATIENCE, connection.exchange(request.bytes()))
        .await
        .with_context(|| format!("{tool} is not answered"))??;
    let body = connection.body(head);
    let said = || anyhow!("{tool} fails: {}", String::from_utf8_lossy(body));
    let answer: Value = serde_json::from_slice(body).map_err(|_no_json| said())?;
    let fails = answer.pointer("/result/isError").and_then(Value::as_bool) == Some(true);
    let text = answer.pointer("/result/content/0/text");
    let text = text.and_then(Value::as_str).filter(|_| !fails);
    text.map(str::to_owned).ok_or_else(said)
}

/// Tells of the first trouble with a stream, below a table.
fn first(trouble: Option<String>) -> String {
    trouble.map_or_else(String::new, |why| {
        format!("\nThe first stream that was refused or broke off: {why}\n")
    })
}

/// Lets us, and all that we start, have as many descriptors as are allowed; returns for
/// how many streams that is enough.
fn raise_descriptors() -> anyhow::Result<usize> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, limit).context("cannot raise the limit of descriptors")?;
    let room = maximum.unwrap_or(u64::MAX).saturating_sub(RESERVED);
    Ok(usize::try_from(room).unwrap_or(usize::MAX))
}
