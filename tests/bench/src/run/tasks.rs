//! What durable tasks cost: to make them, to look at one of many, and to lose many that
//! expire at once.

mod database;
mod raw;
mod report;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow, bail};
use tempfile::TempDir;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::{Run, say};
use crate::args::Name;
use crate::generator::{self, Job};
use crate::load::Load;
use crate::target::{Setup, Target};

use self::raw::Raw;
use self::report::{Creates, Expiry, Looks};

/// The connections over which tasks are made.
const MAKING: [u32; 3] = [1, 32, 256];
/// The connections over which tasks are looked at.
const LOOKING: [u32; 2] = [1, 32];
/// The connections over which tasks are made while others expire.
const MEANWHILE: u32 = 32;
/// So few tasks that a store is as good as empty.
const FEW: u64 = 100;
/// How long tasks are kept that do not expire meanwhile.
const KEPT: Duration = Duration::from_hours(24);
/// How long it takes at most to fill a store with tasks, and to make some others, before
/// those expire.
const AHEAD: Duration = Duration::from_secs(20);
/// For how long tasks are made at least before those expire.
const BEFORE: Duration = Duration::from_secs(3);
/// The longest that what was done may take to be known, and expiry in all.
const PATIENCE: Duration = Duration::from_mins(5);
/// How often it is looked whether something is over.
const LOOK: Duration = Duration::from_millis(20);

/// As many tasks as the settings allow: more than are ever made.
const SETTINGS: &[(&str, &str)] = &[("CONDUIT_TASKS_MAX", "10000000")];

/// Measures the fixture servers among the targets, what is stored in the last of them.
pub(super) async fn measure(run: &Run<'_>) -> anyhow::Result<()> {
    let names = run.args.targets.iter().copied();
    let names: Vec<Name> = names.filter(|name| name.is_fixture()).collect();
    let Some(last) = names.last() else {
        bail!("--tasks needs a fixture server among the targets");
    };
    for name in &names {
        say(&report::creates(&creates(run, *name).await?))?;
    }
    say(&report::looks(&looks(run, *last).await?))?;
    say(&report::expiry(&expiry(run, *last).await?))
}

// === Behind the measurements ===

/// A server and where it keeps its state, which goes with this.
struct House {
    target: Target,
    folder: TempDir,
}

/// Makes tasks that wait, tasks that are done at once, and rows in a bare database, in
/// turn.
async fn creates(run: &Run<'_>, name: Name) -> anyhow::Result<Creates> {
    let waiting = House::start(run, name).await?;
    let done = House::start(run, name).await?;
    let mut expected = [0; 2];
    for (expected, (house, load)) in expected
        .iter_mut()
        .zip([(&waiting, Load::Create), (&done, Load::CreateDone)])
    {
        *expected = house.answer(load).await?.len();
    }
    let bytes = database::bytes_of_a_task(&waiting.database())?;
    let raw = Raw::open(&waiting.folder.path().join("raw.db"), bytes)?;
    let lasting = Duration::from_secs(run.args.seconds);
    let mut creates = Creates::new(name, bytes);
    for connections in MAKING {
        let job = |house: &House, load, expected| Job {
            expected,
            ..job(run, house, load, connections, lasting)
        };
        let waiting = job(&waiting, Load::Create, expected[0]);
        let done = job(&done, Load::CreateDone, expected[1]);
        let row = creates.row(connections);
        for _ in 0..run.args.reps {
            run.wait_for_quiet().await;
            let core = run.cores.map(|cores| cores.generator);
            row.raw.push(raw.run(connections, lasting, core).await?);
            row.waiting.push(run.sample(&waiting).await?);
            row.done.push(run.sample(&done).await?);
        }
    }
    Ok(creates)
}

/// Looks at tasks in a store with few and in one with many, in turn.
async fn looks(run: &Run<'_>, name: Name) -> anyhow::Result<Looks> {
    let until = SystemTime::now() + KEPT;
    let many = run.args.stored;
    let (few, many) = (
        House::filled(run, name, FEW, until).await?,
        House::filled(run, name, many, until).await?,
    );
    let lasting = Duration::from_secs(run.args.seconds);
    let mut looks = Looks::new(name, run.args.stored, many.target.took);
    for connections in LOOKING {
        let row = looks.row(connections);
        for _ in 0..run.args.reps {
            for (house, stored, samples) in [
                (&few, FEW, &mut row.few),
                (&many, run.args.stored, &mut row.many),
            ] {
                let expected = house.answer(Load::LookTask).await?.len();
                let job = Job {
                    expected,
                    stored,
                    ..job(run, house, Load::LookTask, connections, lasting)
                };
                samples.push(run.sample(&job).await?);
            }
        }
    }
    Ok(looks)
}

/// Makes tasks before many others expire, and from then on until those are gone.
async fn expiry(run: &Run<'_>, name: Name) -> anyhow::Result<Expiry> {
    let end = SystemTime::now() + AHEAD;
    let house = House::filled(run, name, run.args.expiring, end).await?;
    let expected = house.answer(Load::Create).await?.len();
    let job = Job {
        expected,
        ..job(run, &house, Load::Create, MEANWHILE, PATIENCE)
    };

    let left = end.duration_since(SystemTime::now()).unwrap_or_default();
    let Some(lasting) = left.checked_sub(LOOK).filter(|lasting| *lasting >= BEFORE) else {
        bail!("filling the store takes too long: {left:?} are left of {AHEAD:?}");
    };
    let before = generator::run(Job {
        lasting,
        ..job.clone()
    });
    let before = before.await?;
    sleep(end.duration_since(SystemTime::now()).unwrap_or_default()).await;
    let (meanwhile, took) = tokio::join!(
        generator::run(job.clone()),
        gone(house.database(), end, &job.stop)
    );
    Ok(Expiry {
        name,
        count: run.args.expiring,
        before,
        meanwhile: meanwhile?,
        took: took?,
    })
}

/// Waits until no task is left that ended by then, and stops what goes on meanwhile.
async fn gone(
    database: PathBuf,
    end: SystemTime,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    let until = begin + PATIENCE;
    let mut found = Ok(true);
    while matches!(found, Ok(true)) && Instant::now() < until {
        sleep(LOOK).await;
        found = database::has_expired(&database, end);
    }
    stop.store(true, Ordering::Relaxed);
    if found? {
        bail!("tasks that have expired are there after {PATIENCE:?}");
    }
    Ok(begin.elapsed())
}

impl House {
    async fn start(run: &Run<'_>, name: Name) -> anyhow::Result<Self> {
        let folder = TempDir::new().context("cannot make a temporary folder")?;
        Self::start_in(run, name, folder).await
    }

    /// Starts a server whose store was filled while it was stopped.
    async fn filled(
        run: &Run<'_>,
        name: Name,
        count: u64,
        end: SystemTime,
    ) -> anyhow::Result<Self> {
        let house = Self::start(run, name).await?;
        house.answer(Load::CreateDone).await?;
        let database = house.database();
        let until = Instant::now() + PATIENCE;
        while !database::has_done(&database)? {
            if Instant::now() >= until {
                bail!("a task that is done at once is never done");
            }
            sleep(LOOK).await;
        }
        house.target.stop().await?;
        let filling = spawn_blocking(move || database::fill(&database, count, end));
        filling.await.context("filling the store broke off")??;
        Self::start_in(run, name, house.folder).await
    }

    async fn start_in(run: &Run<'_>, name: Name, folder: TempDir) -> anyhow::Result<Self> {
        let state = folder.path().join("state");
        let setup = Setup {
            state: Some(&state),
            settings: SETTINGS,
            ..Setup::default()
        };
        let target = Target::start(name, &run.binaries, setup).await?;
        Ok(Self { target, folder })
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("state/conduit.db")
    }

    async fn answer(&self, load: Load) -> anyhow::Result<Vec<u8>> {
        let answer = self.target.answer(load).await;
        answer.map_err(|why| anyhow!("{} with {}: {why}", self.target.name, load.title()))
    }
}

fn job(run: &Run<'_>, house: &House, load: Load, connections: u32, lasting: Duration) -> Job {
    Job {
        endpoint: house.target.endpoint.clone(),
        root: house.target.root(),
        load,
        connections,
        lasting,
        expected: 0,
        stored: 0,
        stop: Arc::default(),
        core: run.cores.map(|cores| cores.generator),
    }
}
