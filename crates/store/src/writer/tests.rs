use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc as blocking;
use std::time::Duration;

use futures_util::future::{join, join_all, join3};
use tempfile::TempDir;
use uuid::Uuid;

use super::*;
use crate::backend::suite::session;
use crate::backend::{Body, Opening, Reader};
use crate::retention::{Retention, Second};
use crate::sqlite::{Sqlite, SqliteReader};
use crate::tally::Census;

const NOW: Second = Second::new(1_000_000);
const KEPT: Retention = Retention {
    idle: Duration::from_mins(1),
    cap: u64::MAX,
};

/// `SQLite`, with its transactions counted.
struct Counting {
    sqlite: Sqlite,
    transactions: Arc<AtomicUsize>,
}

impl Backend for Counting {
    type Reader = SqliteReader;

    fn reader(&self) -> Result<SqliteReader, Failure> {
        self.sqlite.reader()
    }

    fn transaction(&mut self, body: Body<'_>) -> Result<(), Failure> {
        self.transactions.fetch_add(1, Ordering::Relaxed);
        self.sqlite.transaction(body)
    }

    fn live(&self) -> u64 {
        self.sqlite.live()
    }

    fn census(&self) -> Census {
        self.sqlite.census()
    }
}

struct Desk {
    _folder: TempDir,
    reader: SqliteReader,
    writer: Writer,
    thread: Thread,
    transactions: Arc<AtomicUsize>,
}

impl Desk {
    fn start(prepare: impl FnOnce(&Sqlite)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let sqlite = Sqlite::open(&folder.path().join("conduit.db")).expect("a database");
        prepare(&sqlite);
        let reader = sqlite.reader().expect("a reader");
        let transactions = Arc::default();
        let backend = Counting {
            sqlite,
            transactions: Arc::clone(&transactions),
        };
        let number = |number| NonZeroUsize::new(number).expect("not zero");
        let options = Options {
            batch: number(64),
            queue: number(64),
        };
        let (writer, thread) =
            Writer::start(backend, options, Telemetry::new("store")).expect("a thread");
        Self {
            _folder: folder,
            reader,
            writer,
            thread,
            transactions,
        }
    }

    async fn open(&self, number: u128) -> Result<Opening, Refused> {
        self.writer
            .run(move |tables| tables.open(&session(number), KEPT, NOW))
            .await
    }

    async fn fail(&self) -> Result<(), Refused> {
        self.writer
            .run(|_| Err(Failure::new("do it", fmt::Error)))
            .await
    }

    /// Acts inside a transaction that is open meanwhile; what `act` does with the
    /// writer waits for its end.
    async fn meanwhile<T>(&self, act: impl Future<Output = T>) -> T {
        let (entered, inside) = blocking::channel();
        let (leave, left) = blocking::channel::<()>();
        let hold = self.writer.run(move |_| {
            entered.send(()).expect("the test waits");
            left.recv().expect("the test goes on");
            Ok(())
        });
        let release = async {
            leave.send(()).expect("the writer waits");
        };
        let held = async {
            inside.recv().expect("the writer is in the transaction");
            join(act, release).await.0
        };
        let (done, acted) = join(hold, held).await;
        done.expect("the transaction ends");
        acted
    }

    fn holds(&self, number: u128) -> bool {
        let found = self
            .reader
            .session(Uuid::from_u128(number))
            .expect("a look");
        found == Some(session(number))
    }
}

#[tokio::test]
async fn what_was_answered_is_committed() {
    let desk = Desk::start(|_| {});

    let opened = desk.open(1).await;

    assert!(opened.is_ok());
    assert!(desk.holds(1));
}

#[tokio::test]
async fn jobs_that_wait_share_a_transaction() {
    let desk = Desk::start(|_| {});

    let opened = desk
        .meanwhile(join_all((0..50).map(|number| desk.open(number))))
        .await;

    assert!(opened.iter().all(Result::is_ok));
    assert_eq!(desk.transactions.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_job_that_fails_takes_no_other_with_it() {
    let desk = Desk::start(|_| {});

    let (before, failed, after) = desk
        .meanwhile(join3(desk.open(1), desk.fail(), desk.open(2)))
        .await;

    assert_eq!(failed, Err(Refused::Failed));
    assert!(before.is_ok() && after.is_ok());
    assert!(desk.holds(1) && desk.holds(2));
}

#[tokio::test]
async fn a_look_does_not_wait_for_a_transaction() {
    let desk = Desk::start(|_| {});
    desk.open(1).await.expect("opened");

    let seen = desk.meanwhile(async { desk.holds(1) }).await;

    assert!(seen);
}

#[tokio::test]
async fn a_full_disk_loses_nothing_that_was_answered() {
    let desk = Desk::start(|sqlite| sqlite.limit_pages(5));

    let opened = desk
        .meanwhile(join_all((0..60).map(|number| desk.open(number))))
        .await;

    assert!(opened.iter().any(Result::is_ok));
    assert!(opened.contains(&Err(Refused::Failed)));
    for (number, opened) in (0..).zip(&opened) {
        assert_eq!(desk.holds(number), opened.is_ok(), "{number}");
    }
}

#[tokio::test]
async fn a_disk_with_room_again_takes_changes_again() {
    let desk = Desk::start(|sqlite| sqlite.limit_pages(30));
    let mut next = 0;
    while desk.open(next).await.is_ok() {
        next += 1;
    }

    for number in 0..next {
        let id = Uuid::from_u128(number);
        let ended = desk.writer.run(move |tables| tables.end(id)).await;
        ended.expect("an end").expect("a session");
    }

    assert!(desk.open(0).await.is_ok());
}

#[tokio::test]
async fn a_panic_ends_the_writer_and_leaves_nobody_waiting() {
    let desk = Desk::start(|_| {});

    let (panicked, waiting) = join(
        desk.writer
            .run(|_| -> Result<(), Failure> { panic!("as asked") }),
        desk.open(1),
    )
    .await;

    assert_eq!(panicked, Err(Refused::Gone));
    assert_eq!(waiting, Err(Refused::Gone));
    desk.thread.ended().await;
    assert_eq!(desk.open(2).await, Err(Refused::Gone));
    assert!(!desk.thread.join().await);
}

#[tokio::test]
async fn closing_finishes_what_is_in_the_queue() {
    let desk = Desk::start(|_| {});

    let (opened, ()) = desk
        .meanwhile(join(desk.open(1), desk.writer.close()))
        .await;

    assert!(opened.is_ok());
    assert!(desk.thread.join().await);
    assert!(
        desk.reader
            .session(Uuid::from_u128(1))
            .expect("a look")
            .is_some()
    );
}
