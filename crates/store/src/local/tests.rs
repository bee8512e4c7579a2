use conduit_link::{NewTask, TaskAnswer, TaskQuestion};
use tokio::sync::mpsc;

use super::*;
use crate::backend::suite::{session, task};
use crate::options::tests::options;

const LIFE: Uuid = Uuid::from_u128(1);

async fn start(folder: &tempfile::TempDir, life: Uuid) -> (Local, mpsc::Receiver<FromStore>) {
    let (told, hears) = mpsc::channel(100);
    let options = options(&folder.path().join("conduit.db"));
    let local = Local::start(options, life, Telemetry::new("stdio"), move |word| {
        told.try_send(word).expect("room");
    });
    (local.await.expect("a store"), hears)
}

async fn create(local: &Local, task: NewTask) -> Option<u64> {
    let question = ToStore::Task(TaskQuestion::Create(task));
    let created = local.ask(question).await;
    let Answer::Task(TaskAnswer::Created { fence, .. }) = created else {
        panic!("{created:?}");
    };
    fence
}

#[tokio::test]
async fn a_store_without_links_keeps_sessions_and_tasks() {
    let folder = tempfile::tempdir().expect("a folder");
    let (local, _hears) = start(&folder, LIFE).await;

    assert_eq!(
        local.ask(ToStore::OpenSession(session(1))).await,
        Answer::Done
    );
    assert_eq!(create(&local, task(1)).await, Some(1));

    let id = Uuid::from_u128(1);
    let look = local.ask(ToStore::LookSession { id }).await;
    assert_eq!(look, Answer::Session(Some(session(1))));
    local.close().await;
    assert!(!folder.path().join("conduit.db-wal").exists());
}

#[tokio::test]
async fn whoever_is_alone_is_told_what_a_gateway_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let (local, mut hears) = start(&folder, LIFE).await;
    let short = NewTask {
        ttl_ms: Some(50),
        ..task(7)
    };

    create(&local, short).await;

    let any = FromStore::TasksChanged { ids: Vec::new() };
    assert_eq!(hears.recv().await, Some(any));
    let ids = vec![Uuid::from_u128(7)];
    assert_eq!(hears.recv().await, Some(FromStore::StopTasks { ids }));
}

#[tokio::test]
async fn what_another_life_held_is_free() {
    let folder = tempfile::tempdir().expect("a folder");
    let (before, _hears) = start(&folder, LIFE).await;
    let restartable = NewTask {
        ttl_ms: None,
        attempts: 2,
        ..task(7)
    };
    create(&before, restartable).await;
    before.close().await;

    let (local, mut hears) = start(&folder, Uuid::from_u128(2)).await;

    while hears.recv().await != Some(FromStore::TasksReady) {}
    let taken = local.ask(ToStore::Task(TaskQuestion::Take { limit: 9 }));
    assert!(matches!(
        taken.await,
        Answer::Task(TaskAnswer::Taken(taken)) if taken.len() == 1
    ));
}

#[tokio::test]
async fn a_store_that_is_dropped_closes_its_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let (local, _hears) = start(&folder, LIFE).await;

    drop(local);

    // Its successor needs the file alone only for this question.
    let path = folder.path().join("conduit.db");
    while crate::Archive::cancel(&path, LIFE).is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
