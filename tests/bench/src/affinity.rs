//! Which processor core does what: pinned runs keep servers and generator apart.

use anyhow::{Context as _, bail};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores of a pinned run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    /// Where the load generator runs: the first that we may use.
    pub(crate) generator: usize,
    /// Where the servers run: the last that we may use.
    pub(crate) servers: usize,
}

impl Cores {
    /// Picks the first and the last core that we may use.
    pub(crate) fn pick() -> anyhow::Result<Self> {
        let allowed = sched_getaffinity(None).context("cannot ask for our cores")?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        match (cores.next(), cores.next_back()) {
            (Some(generator), Some(servers)) => Ok(Self { generator, servers }),
            _ => bail!("--pin needs two cores"),
        }
    }
}

/// Keeps the calling thread on one core, and whatever it starts from now on.
pub(crate) fn stay_on(core: usize) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).with_context(|| format!("cannot stay on core {core}"))
}
