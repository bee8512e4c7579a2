//! The whole run: starts the targets, measures them in turn, prints the tables.

mod hub;
mod report;
mod tasks;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::affinity::{self, Cores};
use crate::args::{Args, Name};
use crate::binaries::Binaries;
use crate::generator::{self, Job};
use crate::load::{self, Load};
use crate::processes::{self, Cpu};
use crate::statistics::{Sample, Summary};
use crate::target::{Setup, Target};

use self::report::{Row, Verdict};

/// How often a start is measured.
const STARTS: usize = 7;
/// How long a tree of processes is left alone before its memory is read.
const SETTLING: Duration = Duration::from_secs(2);
/// How long the machine is watched at a time.
const WATCH: Duration = Duration::from_millis(250);
/// A machine is quiet when others use fewer cores than this.
const QUIET: f64 = 0.15;
/// A measurement is disturbed when others used more cores than this meanwhile.
const DISTURBED: f64 = 0.2;

/// Does everything that was asked for.
pub(crate) async fn everything(args: &Args) -> anyhow::Result<()> {
    let cores = args.pin.then(Cores::pick).transpose()?;
    let binaries = Binaries::beside_ours()?;
    if !args.no_build {
        binaries.build(&args.targets).await?;
    }
    binaries.check(&args.targets)?;
    if let Some(cores) = cores {
        // Whatever is started from here on stays there too.
        affinity::stay_on(cores.servers)?;
    }
    let run = Run {
        args,
        binaries,
        cores,
    };
    say(&report::heading(args))?;
    if args.startup {
        run.starts().await?;
    }
    if args.memory {
        run.memory().await?;
    }
    if args.tasks {
        tasks::measure(&run).await?;
    }
    if run.args.hub.is_some() {
        hub::measure(&run).await?;
    }
    let loads = args.chosen_loads();
    if !loads.is_empty() {
        run.loads(&loads).await?;
    }
    Ok(())
}

// === Behind the run ===

struct Run<'a> {
    args: &'a Args,
    binaries: Binaries,
    cores: Option<Cores>,
}

/// A target that answers a load, and its samples so far.
struct Driven<'a> {
    target: &'a Target,
    /// How long the body of a good answer is.
    expected: usize,
    samples: Vec<Sample>,
}

impl Run<'_> {
    /// Measures starts, each with a state directory of its own, the targets in turn.
    async fn starts(&self) -> anyhow::Result<()> {
        let mut took: Vec<(Name, Vec<f64>)> = Vec::new();
        took.extend(self.args.targets.iter().map(|name| (*name, Vec::new())));
        for _ in 0..STARTS {
            for (name, took) in &mut took {
                self.wait_for_quiet().await;
                let target = Target::start(*name, &self.binaries, Setup::default()).await?;
                took.push(target.took.as_secs_f64() * 1e3);
            }
        }
        say(&report::starts(&took))
    }

    /// Measures idle trees, one at a time: two of one binary would share its pages.
    async fn memory(&self) -> anyhow::Result<()> {
        let mut found = Vec::new();
        for name in &self.args.targets {
            let target = Target::start(*name, &self.binaries, Setup::default()).await?;
            sleep(SETTLING).await;
            found.push((*name, processes::memory(target.root())?));
        }
        say(&report::memory(&found))
    }

    async fn loads(&self, loads: &[Load]) -> anyhow::Result<()> {
        let folder = TempDir::new().context("cannot make a temporary folder")?;
        let targets = self.start_all(loads, folder.path()).await?;
        let mut verdicts = Vec::new();
        for load in loads {
            say(&report::load_heading(*load))?;
            let rows = self.load(*load, &targets).await?;
            say(&report::load(&rows))?;
            verdicts.extend(Verdict::of(*load, &rows));
        }
        // What was promised was promised for servers that may use all cores.
        if !verdicts.is_empty() && !self.args.pin {
            say(&report::verdicts(&verdicts))?;
        }
        Ok(())
    }

    /// Starts all targets, the floor last: it answers with the list of another one, so
    /// that both send the same bytes.
    async fn start_all(&self, loads: &[Load], folder: &Path) -> anyhow::Result<Vec<Target>> {
        let mut targets = Vec::new();
        for name in self
            .args
            .targets
            .iter()
            .filter(|name| **name != Name::Floor)
        {
            targets.push(Target::start(*name, &self.binaries, Setup::default()).await?);
        }
        if self.args.targets.contains(&Name::Floor) {
            let mut list = None;
            if loads
                .iter()
                .any(|load| matches!(load, Load::List | Load::ListLegacy))
            {
                list = list_of_any(&targets, folder).await?;
            }
            let setup = Setup {
                list: list.as_deref(),
                ..Setup::default()
            };
            let floor = Target::start(Name::Floor, &self.binaries, setup).await?;
            targets.insert(0, floor);
        }
        Ok(targets)
    }

    /// Drives every target that answers this load, in turn in each repetition.
    async fn load(&self, load: Load, targets: &[Target]) -> anyhow::Result<Vec<Row>> {
        let mut driven = Vec::new();
        for target in targets {
            match target.answer(load).await {
                Ok(body) => driven.push(Driven {
                    target,
                    expected: body.len(),
                    samples: Vec::new(),
                }),
                Err(why) => say(&report::skipped(target.name, &why))?,
            }
        }
        let lasting = Duration::from_secs(self.args.seconds);
        for one in &driven {
            // Warm up: this is not counted.
            generator::run(self.job(one, load, lasting / 2)).await?;
        }
        for _ in 0..self.args.reps {
            for one in &mut driven {
                let sample = self.sample(&self.job(one, load, lasting)).await;
                let named = || format!("{} with {}", one.target.name, load.title());
                one.samples.push(sample.with_context(named)?);
            }
        }
        Ok(rows(&driven))
    }

    /// Measures once, or a few times if others use the machine, and keeps the quietest.
    async fn sample(&self, job: &Job) -> anyhow::Result<Sample> {
        self.wait_for_quiet().await;
        let mut quietest = generator::run(job.clone()).await?;
        for _ in 0..self.args.retries {
            if quietest.other_cores() <= DISTURBED {
                break;
            }
            self.wait_for_quiet().await;
            let again = generator::run(job.clone()).await?;
            if again.other_cores() < quietest.other_cores() {
                quietest = again;
            }
        }
        Ok(quietest)
    }

    fn job(&self, driven: &Driven<'_>, load: Load, lasting: Duration) -> Job {
        Job {
            endpoint: driven.target.endpoint.clone(),
            root: driven.target.root(),
            load,
            connections: self.args.connections,
            lasting,
            expected: driven.expected,
            stored: 0,
            stop: Arc::default(),
            core: self.cores.map(|cores| cores.generator),
        }
    }

    /// Waits until nobody uses the machine, or for as long as that may take.
    async fn wait_for_quiet(&self) {
        let until = Instant::now() + Duration::from_secs(self.args.quiet_wait);
        while Instant::now() < until {
            let (before, begin) = (Cpu::of_machine(), Instant::now());
            sleep(WATCH).await;
            let used = Cpu::of_machine().since(before).total();
            if used / begin.elapsed().as_secs_f64() < QUIET {
                return;
            }
        }
    }
}

fn rows(driven: &[Driven<'_>]) -> Vec<Row> {
    let floor = driven.iter().find(|one| one.target.name == Name::Floor);
    let floor = floor.map(|floor| floor.samples.as_slice());
    let row = |one: &Driven<'_>| Row {
        name: one.target.name,
        summary: Summary::of(&one.samples, floor),
    };
    driven.iter().map(row).collect()
}

/// Writes the list of the first target that has a long one into a file.
async fn list_of_any(targets: &[Target], folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    for target in targets {
        let Ok(body) = target.answer(Load::List).await else {
            continue;
        };
        let Some(result) = load::result(&body) else {
            bail!("{} lists its tools without a result", target.name);
        };
        let path = folder.join("list.json");
        fs::write(&path, result).context("cannot keep the list of tools")?;
        return Ok(Some(path));
    }
    Ok(None)
}

fn say(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
