//! What `SQLite` alone does on the same disk: one table, one thread that writes as many
//! rows in a transaction as wait for it, full synchronisation.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rusqlite::{Connection, params};
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use crate::affinity;
use crate::latency::Latency;
use crate::processes::Cpu;
use crate::statistics::Sample;

/// As many rows share a transaction as changes do in a store.
const BATCH: usize = 512;
/// More than ever wait.
const QUEUE: usize = 4096;
/// As a store has: the most memory for pages, in KiB, and the size in bytes to which the
/// log is cut.
const CACHE: i64 = 32 * 1024;
const LOG: i64 = 16 * 1024 * 1024;

/// A database and the thread that writes to it, which ends with this.
#[derive(Debug)]
pub(super) struct Raw {
    rows: mpsc::Sender<Row>,
    body: Arc<[u8]>,
}

/// A row that somebody waits for.
#[derive(Debug)]
struct Row {
    id: Uuid,
    body: Arc<[u8]>,
    reply: oneshot::Sender<()>,
}

impl Raw {
    /// Makes a database for rows of so many bytes in all.
    pub(super) fn open(database: &Path, bytes: usize) -> anyhow::Result<Self> {
        let connection = Connection::open(database).context("cannot make a bare database")?;
        connection.pragma_update(None, "cache_size", -CACHE)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update_and_check(None, "journal_size_limit", LOG, |_| Ok(()))?;
        connection.execute_batch(
            "CREATE TABLE rows (
                 number INTEGER NOT NULL PRIMARY KEY,
                 id     BLOB NOT NULL UNIQUE,
                 body   BLOB NOT NULL
             ) STRICT",
        )?;
        let (rows, queue) = mpsc::channel(QUEUE);
        thread::Builder::new()
            .name("raw-writer".to_owned())
            .spawn(move || {
                // Whoever waits for a row hears that it is gone.
                drop(write(connection, queue));
            })
            .context("cannot start the thread of a bare database")?;
        let body = bytes.saturating_sub(size_of::<Uuid>());
        Ok(Self {
            rows,
            body: vec![b'x'; body].into(),
        })
    }

    /// Lets so many submit a row at a time, each one after the other.
    pub(super) async fn run(
        &self,
        submitters: u32,
        lasting: Duration,
        core: Option<usize>,
    ) -> anyhow::Result<Sample> {
        let (rows, body) = (self.rows.clone(), Arc::clone(&self.body));
        let (sample, done) = oneshot::channel();
        thread::Builder::new()
            .name("raw-submitters".to_owned())
            .spawn(move || {
                let submitted = core.map_or(Ok(()), affinity::stay_on).and_then(|()| {
                    let runtime = Builder::new_current_thread().enable_all().build()?;
                    runtime.block_on(submit(&rows, &body, submitters, lasting))
                });
                // If nobody waits any more, nobody needs it.
                drop(sample.send(submitted));
            })
            .context("cannot start the thread of the submitters")?;
        done.await.context("the submitters broke off")?
    }
}

// === Behind the database ===

fn write(mut connection: Connection, mut queue: mpsc::Receiver<Row>) -> rusqlite::Result<()> {
    let mut rows = Vec::with_capacity(BATCH);
    while let Some(first) = queue.blocking_recv() {
        rows.push(first);
        while rows.len() < BATCH
            && let Ok(next) = queue.try_recv()
        {
            rows.push(next);
        }
        let transaction = connection.transaction()?;
        {
            let mut insert =
                transaction.prepare_cached("INSERT INTO rows (id, body) VALUES (?1, ?2)")?;
            for row in &rows {
                insert.execute(params![row.id.as_bytes(), &*row.body])?;
            }
        }
        transaction.commit()?;
        for row in rows.drain(..) {
            // Whoever left does not want to know.
            let _left = row.reply.send(());
        }
    }
    Ok(())
}

async fn submit(
    rows: &mpsc::Sender<Row>,
    body: &Arc<[u8]>,
    submitters: u32,
    lasting: Duration,
) -> anyhow::Result<Sample> {
    let (ours, machine) = (Cpu::of_ours(), Cpu::of_machine());
    let begin = Instant::now();
    let until = begin + lasting;
    let mut submitting = JoinSet::new();
    for _ in 0..submitters {
        submitting.spawn(one(rows.clone(), Arc::clone(body), until));
    }
    let mut latency = Latency::new();
    while let Some(done) = submitting.join_next().await {
        latency.merge(&done.context("a submitter broke off")??);
    }
    let wall = begin.elapsed();
    Ok(Sample {
        latency,
        served: wall,
        wall,
        servers: Cpu::of_ours().since(ours),
        generator: Cpu::default(),
        machine: Cpu::of_machine().since(machine),
        errors: 0,
        first_error: None,
    })
}

async fn one(rows: mpsc::Sender<Row>, body: Arc<[u8]>, until: Instant) -> anyhow::Result<Latency> {
    let mut latency = Latency::new();
    let mut begun = Instant::now();
    while begun < until {
        let (reply, done) = oneshot::channel();
        let row = Row {
            id: Uuid::new_v4(),
            body: Arc::clone(&body),
            reply,
        };
        let sent = rows.send(row).await;
        sent.map_err(|_gone| anyhow!("nobody writes to the bare database any more"))?;
        done.await.context("the bare database does not write")?;
        let now = Instant::now();
        latency.record(now - begun);
        begun = now;
    }
    Ok(latency)
}
