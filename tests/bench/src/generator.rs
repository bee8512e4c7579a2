//! The load generator: one thread of its own that drives one target for a while.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};

use crate::affinity;
use crate::connection::PATIENCE;
use crate::endpoint::Endpoint;
use crate::lane::{Lane, Tally};
use crate::load::Load;
use crate::processes::Cpu;
use crate::request::Ids;
use crate::statistics::Sample;
use crate::stored::Stored;

/// What is to be driven, and how.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) endpoint: Endpoint,
    /// The root of the target's processes.
    pub(crate) root: u32,
    pub(crate) load: Load,
    pub(crate) connections: u32,
    pub(crate) lasting: Duration,
    /// How long the body of a good answer is.
    pub(crate) expected: usize,
    /// How many tasks were stored, for a load that looks at them.
    pub(crate) stored: u64,
    /// Ends it before its time.
    pub(crate) stop: Arc<AtomicBool>,
    /// The core to stay on, if any.
    pub(crate) core: Option<usize>,
}

/// The longest that a job takes beyond what it lasts: sessions begin and end.
const MARGIN: Duration = Duration::from_mins(1);

/// Drives a target. Dropping this does not stop the thread; the end of the process does.
pub(crate) async fn run(job: Job) -> anyhow::Result<Sample> {
    let (sample, done) = oneshot::channel();
    thread::Builder::new()
        .name("generator".to_owned())
        .spawn(move || {
            // If nobody waits any more, nobody needs it.
            drop(sample.send(generate(&job)));
        })
        .context("cannot start the load generator")?;
    done.await.context("the load generator broke off")?
}

// === Behind the thread ===

fn generate(job: &Job) -> anyhow::Result<Sample> {
    if let Some(core) = job.core {
        affinity::stay_on(core)?;
    }
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the load generator's runtime")?;
    runtime.block_on(async {
        let driven = timeout(job.lasting + MARGIN, drive(job)).await;
        driven.context("the load generator takes too long")?
    })
}

async fn drive(job: &Job) -> anyhow::Result<Sample> {
    let mut open = Vec::new();
    for lane in 0..job.connections {
        let ids = Ids::of(lane, job.connections);
        let opened = Lane::open(&job.endpoint, job.load, ids, job.expected).await;
        let opened = opened.map_err(|why| anyhow!("cannot open a connection: {why}"))?;
        open.push(if job.load.looks() {
            opened.among(Stored::among(job.stored, lane))
        } else {
            opened
        });
    }

    let (servers, ours, machine) = readings(job.root);
    let begin = Instant::now();
    let until = begin + job.lasting;
    let mut driven = JoinSet::new();
    for mut lane in open {
        let stop = Arc::clone(&job.stop);
        driven.spawn(async move {
            let mut tally = Tally::new();
            if timeout_at(until + PATIENCE, lane.drive(until, &stop, &mut tally))
                .await
                .is_err()
            {
                tally.failed("no answer in time".to_owned());
            }
            (lane, tally)
        });
    }
    let mut lanes = Vec::new();
    let mut total = Tally::new();
    while let Some(done) = driven.join_next().await {
        let (lane, tally) = done.context("a connection broke off")?;
        lanes.push(lane);
        total.merge(tally);
    }
    let wall = begin.elapsed();
    let (servers_after, ours_after, machine_after) = readings(job.root);

    for lane in lanes {
        lane.close().await;
    }
    Ok(Sample {
        served: total.last.map_or(wall, |last| last - begin),
        latency: total.latency,
        wall,
        servers: servers_after.since(servers),
        generator: ours_after.since(ours),
        machine: machine_after.since(machine),
        errors: total.errors,
        first_error: total.first_error,
    })
}

fn readings(root: u32) -> (Cpu, Cpu, Cpu) {
    (Cpu::of_tree(root), Cpu::of_ours(), Cpu::of_machine())
}
