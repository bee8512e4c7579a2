mod tasks;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use uuid::Uuid;

use super::*;
use crate::backend::suite::{self, session};
use crate::backend::{Reader, Tables};
use crate::retention::{Retention, Second};

const NOW: Second = Second::new(1_000_000);
const KEPT: Retention = Retention {
    idle: Duration::from_mins(1),
    cap: u64::MAX,
};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("conduit.db")
    }

    fn open(&self) -> Sqlite {
        Sqlite::open(&self.path()).expect("a database")
    }
}

fn keep(sqlite: &mut Sqlite, numbers: impl IntoIterator<Item = u128>) {
    let mut numbers = numbers.into_iter();
    sqlite
        .transaction(&mut |tables: &mut dyn Tables| {
            numbers.try_for_each(|number| tables.open(&session(number), KEPT, NOW).map(drop))
        })
        .expect("a transaction");
}

fn holds(sqlite: &Sqlite, number: u128) -> bool {
    let reader = sqlite.reader().expect("a reader");
    let found = reader.session(Uuid::from_u128(number)).expect("a look");
    found == Some(session(number))
}

fn pragma<T: rusqlite::types::FromSql>(sqlite: &Sqlite, name: &str) -> T {
    sqlite
        .connection
        .pragma_query_value(None, name, |row| row.get(0))
        .expect("a pragma")
}

#[test]
fn sqlite_passes_the_suite_of_backends() {
    let folders = tempfile::tempdir().expect("a folder");

    suite::pass(|| {
        let folder = tempfile::tempdir_in(&folders).expect("a folder").keep();
        Sqlite::open(&folder.join("conduit.db")).expect("a database")
    });
}

#[test]
fn the_settings_that_durability_rests_on_are_in_effect() {
    let folder = Folder::new();
    let sqlite = folder.open();

    assert_eq!(pragma::<String>(&sqlite, "journal_mode"), "wal");
    assert_eq!(pragma::<i64>(&sqlite, "synchronous"), 2, "FULL");
    assert_eq!(pragma::<i64>(&sqlite, "foreign_keys"), 1);
    assert_eq!(pragma::<i64>(&sqlite, "busy_timeout"), 5000);
    assert_eq!(pragma::<i64>(&sqlite, "journal_size_limit"), 16 << 20);
    assert_eq!(pragma::<i64>(&sqlite, "user_version"), migrate::newest());
}

#[test]
fn the_database_and_its_log_are_for_their_user_alone() {
    let folder = Folder::new();
    fs::write(folder.path(), "").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let mut sqlite = folder.open();
    keep(&mut sqlite, [1]);

    for file in fs::read_dir(folder.0.path()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.path().display());
    }
}

#[test]
fn sessions_outlive_their_database_handle() {
    let folder = Folder::new();
    keep(&mut folder.open(), 1..=3);

    let sqlite = folder.open();

    assert_eq!(sqlite.live(), 3);
    assert!((1..=3).all(|number| holds(&sqlite, number)));
}

#[test]
fn what_was_committed_is_in_the_files_of_a_process_that_dies_now() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let mut sqlite = folder.open();
    for number in 0..100 {
        keep(&mut sqlite, [number]);
    }

    for file in ["conduit.db", "conduit.db-wal"] {
        fs::copy(folder.0.path().join(file), copy.0.path().join(file)).unwrap();
    }

    let found = copy.open();
    assert_eq!(found.live(), 100);
    assert!((0..100).all(|number| holds(&found, number)));
}

#[test]
fn half_a_commit_in_the_log_is_no_commit() {
    let (folder, copy) = (Folder::new(), Folder::new());
    let mut sqlite = folder.open();
    keep(&mut sqlite, [1]);
    let log = folder.0.path().join("conduit.db-wal");
    let whole = fs::metadata(&log).unwrap().len();
    keep(&mut sqlite, [2]);

    fs::copy(folder.path(), copy.path()).unwrap();
    let torn = fs::read(&log).unwrap();
    let end = usize::try_from(whole).unwrap() + (torn.len() - usize::try_from(whole).unwrap()) / 2;
    fs::write(copy.0.path().join("conduit.db-wal"), &torn[..end]).unwrap();

    let found = copy.open();
    assert!(holds(&found, 1));
    assert!(!holds(&found, 2));
}

#[test]
fn a_file_of_the_first_version_keeps_its_sessions() {
    let folder = Folder::new();
    let old = Connection::open(folder.path()).unwrap();
    old.execute_batch(include_str!("../migrations/0001_sessions.sql"))
        .unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    old.execute(
        "INSERT INTO sessions VALUES (?1, 'server 1', '2025-11-25', NULL, ?2, ?3, NULL, 1, 1)",
        (
            Uuid::from_u128(1).as_bytes(),
            br#"{"roots":{}}"#.as_slice(),
            [0_u8, 255].as_slice(),
        ),
    )
    .unwrap();
    old.close().unwrap();

    let sqlite = folder.open();

    assert!(holds(&sqlite, 1));
    assert_eq!(pragma::<i64>(&sqlite, "user_version"), migrate::newest());
}

#[test]
fn a_newer_schema_is_refused_and_left_as_it_is() {
    let folder = Folder::new();
    drop(folder.open());
    let newer = Connection::open(folder.path()).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    newer.close().unwrap();
    let before = fs::read(folder.path()).unwrap();

    let refused = Sqlite::open(&folder.path()).expect_err("too new");

    assert!(
        matches!(refused, Error::TooNew { found: 99, .. }),
        "{refused}"
    );
    assert_eq!(fs::read(folder.path()).unwrap(), before);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
    let folder = Folder::new();
    let text = "not a database, but somebody's notes ".repeat(100);
    fs::write(folder.path(), &text).unwrap();

    let refused = Sqlite::open(&folder.path()).expect_err("no database");

    assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
    assert_eq!(fs::read_to_string(folder.path()).unwrap(), text);
}

#[test]
fn a_damaged_database_is_refused() {
    let folder = Folder::new();
    keep(&mut folder.open(), 0..1000);
    let mut bytes = fs::read(folder.path()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8192].fill(0xa5);
    fs::write(folder.path(), bytes).unwrap();

    let refused = Sqlite::open(&folder.path()).expect_err("damaged");

    assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
}

#[test]
fn a_folder_in_the_place_of_the_file_is_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path()).unwrap();

    let refused = Sqlite::open(&folder.path()).expect_err("a folder");

    assert!(matches!(refused, Error::File { .. }), "{refused}");
}

#[test]
fn a_full_disk_refuses_new_sessions_and_keeps_the_old() {
    let folder = Folder::new();
    let mut sqlite = folder.open();
    sqlite.limit_pages(30);
    let kept = (0_u128..)
        .take_while(|&number| {
            let opened = sqlite
                .transaction(&mut |tables| tables.open(&session(number), KEPT, NOW).map(drop));
            opened.is_ok()
        })
        .count();

    assert!(kept > 0);
    assert_eq!(u64::try_from(kept), Ok(sqlite.live()));
    assert!((0..sqlite.live()).all(|number| holds(&sqlite, number.into())));
}
