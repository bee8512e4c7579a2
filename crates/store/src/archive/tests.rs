use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use conduit_link::NewTask;
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::backend::suite::{session, task};
use crate::backend::{Backend, Tables};
use crate::retention::{Retention, Second};
use crate::task::{Holder, Limits};

const LIMITS: Limits = Limits {
    total: u64::MAX,
    per_owner: u64::MAX,
    running: 2,
    running_per_owner: u64::MAX,
    result: 1_000,
    spent: 0,
};
const HOLDER: Holder = Holder {
    life: Uuid::from_u128(0xa1),
    slot: 3,
};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("conduit.db")
    }

    fn sqlite(&self) -> Sqlite {
        Sqlite::open(&self.path()).expect("a database")
    }

    fn archive(&self) -> Archive {
        Archive::open(&self.path()).expect("an archive")
    }
}

fn create(sqlite: &mut Sqlite, numbers: impl IntoIterator<Item = u128>) {
    let now = Clock::start().moment();
    let mut numbers = numbers.into_iter();
    sqlite
        .transaction(&mut |tables: &mut dyn Tables| {
            numbers.try_for_each(|number| {
                let task = NewTask {
                    ttl_ms: Some(3_600_000),
                    ..task(number)
                };
                tables.create(&task, HOLDER, &LIMITS, now).map(drop)
            })
        })
        .expect("a transaction");
}

fn ids(page: &Page) -> Vec<u128> {
    page.tasks.iter().map(|task| task.id.as_u128()).collect()
}

#[test]
fn tasks_are_listed_while_a_store_runs_and_when_none_does() {
    let folder = Folder::new();
    let mut sqlite = folder.sqlite();
    create(&mut sqlite, 1..=3);

    let list = || {
        let page = folder.archive().list(&Filter::default(), 9, None);
        ids(&page.expect("a page"))
    };

    assert_eq!(list(), [3, 2, 1]);
    drop(sqlite);
    assert_eq!(list(), [3, 2, 1]);
}

#[test]
fn a_list_goes_on_where_it_stopped_and_keeps_to_its_filter() {
    let folder = Folder::new();
    let mut sqlite = folder.sqlite();
    create(&mut sqlite, 1..=4);
    sqlite
        .transaction(&mut |tables| {
            tables.cancel(Uuid::from_u128(2), None, Clock::start().moment())?;
            Ok(())
        })
        .expect("a transaction");
    let archive = folder.archive();
    let filter = |status, server: Option<&str>| Filter {
        status,
        server: server.map(str::to_owned),
    };
    let all = |filter| ids(&archive.list(&filter, 9, None).expect("a page"));

    let first = archive.list(&Filter::default(), 2, None).expect("a page");
    let next = first.next.as_deref();
    let second = archive.list(&Filter::default(), 2, next).expect("a page");

    assert_eq!((ids(&first), ids(&second)), (vec![4, 3], vec![2, 1]));
    assert_eq!(all(filter(Some(TaskStatus::Cancelled), None)), [2]);
    assert_eq!(
        all(filter(Some(TaskStatus::Working), Some("demo"))),
        [4, 3, 1]
    );
    assert_eq!(all(filter(None, Some("other"))), []);
}

#[test]
fn a_task_is_shown_with_its_holder() {
    let folder = Folder::new();
    create(&mut folder.sqlite(), 1..=3);
    let archive = folder.archive();
    let show = |number| archive.show(Uuid::from_u128(number)).expect("a look");

    let held = show(1).expect("a task");
    let ready = show(3).expect("a task");

    assert_eq!(held.holder, Some(Slot::gateway(3)));
    assert_eq!(held.life, Some(HOLDER.life));
    assert_eq!((held.attempt, held.attempts), (1, 1));
    assert_eq!((held.input_bytes, held.journal_bytes), (7, 2));
    assert!(held.leased_ms.is_some());
    assert_eq!((ready.holder, ready.attempt), (None, 0));
    assert_eq!(show(9), None);
}

#[test]
fn a_copy_is_whole_private_and_a_database() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let mut sqlite = folder.sqlite();
    create(&mut sqlite, 1..=300);
    let kept = Retention {
        idle: std::time::Duration::MAX,
        cap: 10,
    };
    sqlite
        .transaction(&mut |tables| tables.open(&session(1), kept, Second::new(1)).map(drop))
        .expect("a transaction");

    folder.archive().export(&copy.path()).expect("a copy");

    let mode = fs::metadata(copy.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let files = fs::read_dir(copy.0.path()).unwrap().count();
    assert_eq!(files, 1, "no log beside it");
    let found = copy.sqlite();
    assert_eq!((found.live(), found.census().all()), (1, 300));
}

#[test]
fn a_copy_of_what_somebody_writes_is_of_one_moment() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let mut sqlite = folder.sqlite();
    create(&mut sqlite, 0..20_000);
    let archive = folder.archive();
    let stop = AtomicBool::new(false);

    thread::scope(|scope| {
        scope.spawn(|| {
            // Tasks come in pairs.
            let mut next = 20_000;
            while !stop.load(Ordering::Relaxed) {
                create(&mut sqlite, next..next + 2);
                next += 2;
            }
        });
        archive.export(&copy.path()).expect("a copy");
        stop.store(true, Ordering::Relaxed);
    });

    let found = copy.sqlite();
    assert!(found.census().all() >= 20_000);
    assert_eq!(found.census().all() % 2, 0);
}

#[test]
fn no_file_is_overwritten_by_a_copy() {
    let (folder, copy) = (Folder::new(), Folder::new());
    create(&mut folder.sqlite(), 1..=1);
    fs::write(copy.path(), "mine").unwrap();

    let refused = folder.archive().export(&copy.path()).expect_err("a file");

    assert!(matches!(refused, Error::File { .. }), "{refused}");
    assert_eq!(fs::read_to_string(copy.path()).unwrap(), "mine");
}

#[test]
fn a_task_is_cancelled_when_no_store_runs() {
    let folder = Folder::new();
    create(&mut folder.sqlite(), 1..=1);
    let cancel = |number| Archive::cancel(&folder.path(), Uuid::from_u128(number));

    let first = cancel(1).expect("a change").expect("a task");
    let second = cancel(1).expect("a change").expect("a task");

    assert_eq!(first.record.status, TaskStatus::Cancelled);
    assert_eq!((first.had_ended, second.had_ended), (false, true));
    assert_eq!(cancel(2).expect("a change"), None);
    assert_eq!(folder.sqlite().census().cancelled, 1);
}

#[test]
fn nothing_is_cancelled_behind_the_back_of_a_store() {
    let folder = Folder::new();
    let mut sqlite = folder.sqlite();
    create(&mut sqlite, 1..=1);

    let refused = Archive::cancel(&folder.path(), Uuid::from_u128(1)).expect_err("a store");

    assert!(matches!(refused, Error::Busy { .. }), "{refused}");
    create(&mut sqlite, 2..=2);
    assert_eq!(sqlite.census().working, 2);
}

#[test]
fn no_database_and_another_versions_are_refused() {
    let folder = Folder::new();
    assert!(matches!(
        Archive::open(&folder.path()),
        Err(Error::Open { .. })
    ));
    assert!(!folder.path().exists());
    let old = Connection::open(folder.path()).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();

    let refused = Archive::open(&folder.path()).expect_err("too old");
    assert!(
        matches!(refused, Error::TooOld { found: 1, .. }),
        "{refused}"
    );
    old.pragma_update(None, "user_version", 99).unwrap();
    let refused = Archive::open(&folder.path()).expect_err("too new");
    assert!(
        matches!(refused, Error::TooNew { found: 99, .. }),
        "{refused}"
    );
}
