//! Kills and stops store, gateways and supervisor at random, while clients make tasks,
//! answer, cancel and look at them.
//!
//! The clients keep their own record of what was acknowledged to them (`record.rs` says
//! what may never happen to that), and the tools prove by locks that no task is worked
//! on twice at the same time.

mod client;
mod harm;
mod record;

use std::sync::Arc;
use std::time::Duration;

use conduit_testkit::{PATIENCE, wait_until};
use tokio::task::{JoinError, JoinSet};

use self::client::{Client, LONGEST, Shared};
use self::harm::{House, LEASE, Strike};
use crate::dice::Dice;
use crate::{report, turn};

/// How many clients there are.
const CLIENTS: u64 = 8;
/// After so many rounds it is quiet, and everything has to come to its end.
const QUIET: usize = 20;
/// How long whatever is no lease may take until a task goes on.
const REST: Duration = Duration::from_secs(5);

#[tokio::test]
async fn no_acknowledged_task_is_lost_or_done_twice_whoever_dies() {
    let _turn = turn().await;
    // Each kind of strike is among the first ten of this seed.
    rounds(365, 10).await;
}

#[tokio::test]
#[ignore = "takes minutes: `tests/run --long` runs it"]
async fn no_acknowledged_task_is_lost_or_done_twice_whoever_dies_for_long() {
    let _turn = turn().await;
    rounds(2, 200).await;
}

/// Harms a tree so many times. The seed says who is harmed, how and when; what that
/// meets is for the machine to say.
async fn rounds(seed: u64, rounds: usize) {
    let mut dice = Dice::new(seed);
    let mut house = House::start().await;
    let shared = house.shared();
    let clients = (0..CLIENTS).map(|name| Client::new(name, seed, Arc::clone(&shared)));
    let mut crowd = Crowd::of(clients.collect(), shared);
    for round in 1..=rounds {
        let strike = Strike::choose(&mut dice);
        report(&format!("seed {seed}, round {round}: {strike:?}"));
        let is_quiet = round % QUIET == 0 || round == rounds;
        match one_round(&mut house, strike, crowd, is_quiet).await {
            Ok(same) => crowd = same,
            Err(wrong) => panic!("seed {seed}, round {round}: {wrong}"),
        }
    }
    drop(crowd);
    house.stop().await;
}

async fn one_round(
    house: &mut House,
    strike: Strike,
    mut crowd: Crowd,
    is_quiet: bool,
) -> Result<Crowd, String> {
    crowd.makes_tasks().await?;
    house.suffer(strike).await;
    let shared = house.shared();
    no_violations(&shared)?;
    crowd.check()?;
    if is_quiet {
        let clients = crowd.stop().await?;
        house.rest().await;
        let clients = settle(clients).await?;
        no_violations(&shared)?;
        sum_up(&clients, &shared);
        crowd = Crowd::of(clients, shared);
    }
    Ok(crowd)
}

/// Clients at work.
#[derive(Debug)]
struct Crowd {
    clients: JoinSet<Result<Client, String>>,
    shared: Arc<Shared>,
}

impl Crowd {
    fn of(clients: Vec<Client>, shared: Arc<Shared>) -> Self {
        shared.stop(false);
        let clients = clients.into_iter().map(Client::run).collect();
        Self { clients, shared }
    }

    /// Waits until more tasks are made: whoever is harmed then has some.
    async fn makes_tasks(&mut self) -> Result<(), String> {
        let goal = self.shared.made() + CLIENTS;
        let (wrong, _) = wait_until("tasks to be made", PATIENCE, async || match self.check() {
            Ok(()) => (self.shared.made() >= goal).then_some(Ok(())),
            wrong => Some(wrong),
        })
        .await;
        wrong
    }

    /// Tells what a client has found to be wrong: it ends then.
    fn check(&mut self) -> Result<(), String> {
        match self.clients.try_join_next() {
            Some(ended) => Err(found(ended).err().unwrap_or_default()),
            None => Ok(()),
        }
    }

    async fn stop(self) -> Result<Vec<Client>, String> {
        self.shared.stop(true);
        all(self.clients).await
    }
}

async fn settle(clients: Vec<Client>) -> Result<Vec<Client>, String> {
    let within = LEASE + Duration::from_millis(LONGEST as u64) + REST;
    let settling = clients.into_iter().map(|client| client.settle(within));
    all(settling.collect()).await
}

async fn all(mut clients: JoinSet<Result<Client, String>>) -> Result<Vec<Client>, String> {
    let mut done = Vec::new();
    while let Some(ended) = clients.join_next().await {
        done.push(found(ended)?);
    }
    Ok(done)
}

fn found(ended: Result<Result<Client, String>, JoinError>) -> Result<Client, String> {
    ended.unwrap_or_else(|broken| Err(format!("a client broke off: {broken}")))
}

/// No tool has found that somebody else does its work.
fn no_violations(shared: &Shared) -> Result<(), String> {
    let violations = shared.violations();
    if violations.is_empty() {
        return Ok(());
    }
    Err(format!("done twice at the same time:\n{violations}"))
}

/// Says what has become of all tasks. A test in which nobody was hit proves nothing.
fn sum_up(clients: &[Client], shared: &Shared) {
    let entries = || clients.iter().flat_map(Client::entries);
    let failed = entries().filter(|entry| entry.has_failed()).count();
    let again = entries()
        .filter(|entry| shared.starts_of(&entry.id).contains("attempt 2 "))
        .count();
    let all = entries().count();
    report(&format!(
        "all of {all} tasks are well: {failed} failed, {again} were started again"
    ));
    assert!(failed > 0 && again > 0, "nobody was hit");
}
