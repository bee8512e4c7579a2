//! Tasks: plans, full disks, and the flush before each answer.

use std::process::Command;

use conduit_link::{Holding, TaskStatus};
use rusqlite::StatementStatus;

use super::*;
use crate::backend::suite::task;
use crate::backend::{TaskReader, Which};
use crate::clock::Moment;
use crate::task::{Holder, Limits, Loss};

const THEN: Moment = Moment::new(1_000_000);
const HOLDER: Holder = Holder {
    life: Uuid::from_u128(0xa1),
    slot: 1,
};
const LIMITS: Limits = Limits {
    total: u64::MAX,
    per_owner: u64::MAX,
    running: u64::MAX,
    running_per_owner: u64::MAX,
    result: usize::MAX,
    spent: u64::MAX,
};

fn create(sqlite: &mut Sqlite, number: u128) -> Result<(), Failure> {
    sqlite.transaction(&mut |tables| {
        tables
            .create(&task(number), HOLDER, &LIMITS, THEN)
            .map(drop)
    })
}

fn finish(sqlite: &mut Sqlite, number: u128) -> Result<(), Failure> {
    let holding = Holding {
        id: Uuid::from_u128(number),
        fence: 1,
    };
    sqlite.transaction(&mut |tables| {
        tables
            .finish(holding, TaskStatus::Completed, &[b'x'; 3000], None, THEN)
            .map(drop)
    })
}

fn status(sqlite: &Sqlite, number: u128) -> Option<TaskStatus> {
    let reader = sqlite.reader().expect("a reader");
    let found = reader.task(Uuid::from_u128(number), THEN);
    found.expect("a look").map(|task| task.status)
}

#[test]
fn a_full_disk_refuses_tasks_and_keeps_what_was_acknowledged() {
    let folder = Folder::new();
    let mut sqlite = folder.open();
    sqlite.limit_pages(60);
    let (mut kept, mut ended) = (0, 0);
    while kept < 100 && create(&mut sqlite, kept).is_ok() {
        kept += 1;
    }
    while ended < kept && finish(&mut sqlite, ended).is_ok() {
        ended += 1;
    }

    assert!(kept > 0 && ended < kept, "{kept} {ended}");
    assert_eq!(sqlite.census().all(), u64::try_from(kept).unwrap());
    assert_eq!(sqlite.census().completed, u64::try_from(ended).unwrap());
    for number in 0..kept {
        let expected = if number < ended {
            TaskStatus::Completed
        } else {
            TaskStatus::Working
        };
        assert_eq!(status(&sqlite, number), Some(expected));
    }
    assert_eq!(status(&sqlite, kept), None);
}

#[test]
fn a_disk_that_was_full_takes_tasks_again_once_some_have_left() {
    let folder = Folder::new();
    let mut sqlite = folder.open();
    sqlite.limit_pages(60);
    let mut kept = 0;
    while create(&mut sqlite, kept).is_ok() {
        kept += 1;
    }

    let over = Moment::new(2_000_000);
    let mut left = 0;
    sqlite
        .transaction(&mut |tables| {
            left = tables.expire(over)?.len();
            Ok(())
        })
        .expect("room to delete");

    assert!(left > 0);
    create(&mut sqlite, kept).expect("room");
}

#[test]
fn tasks_and_their_counts_outlive_their_database_handle() {
    let folder = Folder::new();
    let mut sqlite = folder.open();
    for number in 0..5 {
        create(&mut sqlite, number).expect("room");
    }
    finish(&mut sqlite, 0).expect("room");
    let before = sqlite.census();
    drop(sqlite);

    let mut sqlite = folder.open();

    assert_eq!(sqlite.census(), before);
    assert_eq!((before.completed, before.held), (1, 4));
    let mut lost = 0;
    sqlite
        .transaction(&mut |tables| {
            lost = tables
                .lose(HOLDER.life, Which::All, Loss::Died, THEN)?
                .len();
            Ok(())
        })
        .expect("a transaction");
    assert_eq!((lost, sqlite.census().failed), (4, 4));
}

#[test]
fn a_file_of_the_second_version_gets_tasks_and_keeps_its_sessions() {
    let folder = Folder::new();
    let old = Connection::open(folder.path()).unwrap();
    for step in [
        include_str!("../../migrations/0001_sessions.sql"),
        include_str!("../../migrations/0002_session_subscriptions.sql"),
    ] {
        old.execute_batch(step).unwrap();
    }
    old.pragma_update(None, "user_version", 2).unwrap();
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

    let mut sqlite = folder.open();

    assert!(holds(&sqlite, 1));
    create(&mut sqlite, 1).expect("room");
}

/// With a million tasks each of these would be a pause.
#[test]
fn no_statement_reads_or_sorts_all_tasks() {
    let folder = Folder::new();
    let sqlite = folder.open();
    let statements = [
        "SELECT version FROM tasks WHERE id = ?1 AND (expires_ms IS NULL OR expires_ms > ?2)",
        "SELECT id, fence, leased_ms FROM tasks WHERE holder = ?1",
        "SELECT holder, holder_slot FROM tasks WHERE holder > ?1 ORDER BY holder LIMIT 1",
        "SELECT min(expires_ms) FROM tasks WHERE expires_ms IS NOT NULL",
        "SELECT number FROM tasks WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT 9",
        "SELECT number, server, owner FROM tasks
         WHERE ready = 1 AND (expires_ms IS NULL OR expires_ms > ?1) ORDER BY created_ms LIMIT 9",
        "SELECT number, server, owner FROM tasks
         WHERE ready = 1 AND (server, owner) > (?1, ?2) ORDER BY server, owner LIMIT 1",
        "SELECT number, server, owner FROM tasks
         WHERE ready = 1 AND server = ?1 AND owner = ?2
           AND (expires_ms IS NULL OR expires_ms > ?3) ORDER BY created_ms LIMIT 9",
        "SELECT number FROM tasks t
         WHERE t.owner = (SELECT number FROM task_owners WHERE owner = ?1)
           AND t.owner <> 0 AND t.server = ?2 AND t.era = ?3 AND (t.created_ms, t.id) < (?4, ?5)
         ORDER BY t.created_ms DESC, t.id DESC LIMIT 9",
        "SELECT t.number, d.outcome, q.key FROM tasks t
         LEFT JOIN task_owners o ON o.number = t.owner
         LEFT JOIN task_outcomes d ON d.task = t.number
         LEFT JOIN task_questions q ON q.task = t.number AND q.answer IS NULL AND t.status = 1
         WHERE t.id = ?1 ORDER BY q.place",
        "SELECT nonce FROM spent_states WHERE until_ms < ?1 ORDER BY until_ms LIMIT 9",
        "DELETE FROM tasks WHERE number = ?1",
        "DELETE FROM task_questions WHERE task = ?1",
    ];

    for statement in statements {
        let plan: Vec<String> = sqlite
            .connection
            .prepare(&format!("EXPLAIN QUERY PLAN {statement}"))
            .unwrap()
            .raw_query()
            .mapped(|row| row.get(3))
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        let is_bounded = |step: &String| {
            let walks = step.starts_with("SCAN") && !step.contains("INDEX tasks_ready");
            !walks && !step.contains("TEMP B-TREE")
        };
        assert!(plan.iter().all(is_bounded), "{statement}: {plan:#?}");
    }
}

#[test]
fn a_statement_is_prepared_once_however_often_it_is_used() {
    let folder = Folder::new();
    let mut sqlite = folder.open();
    create(&mut sqlite, 1).expect("room");
    let reader = open::reader(&folder.path()).expect("a reader");

    for connection in [&sqlite.connection, &reader] {
        for _ in 0..3 {
            let sql = "SELECT version FROM tasks WHERE id = ?1 AND owner <> ?2 AND ready = 1";
            let mut look = connection.prepare_cached(sql).unwrap();
            look.exists((Uuid::from_u128(1).as_bytes(), 0)).unwrap();

            assert_eq!(look.get_status(StatementStatus::RePrepare), 0);
        }
    }
}

/// What the power takes shows in no file before it fails, so the system calls are
/// watched: with `strace`, where there is one that works.
#[test]
fn every_commit_is_flushed_before_it_is_answered() {
    let folder = Folder::new();
    let trace = folder.0.path().join("trace");
    let traced = Command::new("strace")
        .args(["-f", "-e", "trace=pwrite64,fsync,fdatasync,readlink", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "sqlite::tests::tasks::commits_that_a_trace_watches",
        ])
        .args(["--ignored", "--test-threads=1"])
        .output();
    if !traced.is_ok_and(|traced| traced.status.success()) {
        println!("there is no strace that works: nothing was watched");
        return;
    }

    let trace = fs::read_to_string(trace).unwrap();
    let (mut is_flushed, mut answered) = (false, 0_u32);
    for call in trace.lines() {
        if call.contains("pwrite64(") {
            is_flushed = false;
        } else if call.contains("fdatasync(") || call.contains("fsync(") {
            is_flushed = true;
        } else if call.contains(ANSWERED) {
            assert!(is_flushed, "commit {answered} was answered before\n{trace}");
            is_flushed = false;
            answered += 1;
        }
    }
    assert_eq!(u128::from(answered), COMMITS, "{trace}");
}

const COMMITS: u128 = 20;

/// No such file: to look for it is a mark in the trace, and no more.
const ANSWERED: &str = "/nowhere/answered";

#[test]
#[ignore = "a test runs it under strace"]
fn commits_that_a_trace_watches() {
    let folder = Folder::new();
    let mut sqlite = folder.open();
    for number in 0..COMMITS {
        create(&mut sqlite, number).expect("room");
        fs::read_link(ANSWERED).expect_err("nothing there");
    }
}
