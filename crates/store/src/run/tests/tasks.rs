//! Tasks.

use conduit_link::{
    Asker, Holding, NewTask, TakenTask, TaskAnswer, TaskEntry, TaskOwner, TaskQuestion, TaskRecord,
    TaskStatus,
};
use serde_bytes::ByteBuf;

use super::*;
use crate::backend::suite::task;

impl Gateway {
    async fn ask_task(&self, question: TaskQuestion) -> Answer {
        self.ask(ToStore::Task(question)).await
    }

    async fn create(&self, task: NewTask) -> (TaskRecord, Option<u64>) {
        let created = self.ask_task(TaskQuestion::Create(task)).await;
        let Answer::Task(TaskAnswer::Created { record, fence }) = created else {
            panic!("{created:?}");
        };
        (record, fence)
    }

    async fn get(&self, number: u128) -> Option<TaskRecord> {
        let (id, asker) = (id(number), ann());
        record(self.ask_task(TaskQuestion::Get { id, asker }).await)
    }

    async fn take(&self, limit: u16) -> Vec<TakenTask> {
        let taken = self.ask_task(TaskQuestion::Take { limit }).await;
        let Answer::Task(TaskAnswer::Taken(taken)) = taken else {
            panic!("{taken:?}");
        };
        taken
    }

    async fn finish(&self, number: u128, fence: u64) -> Answer {
        self.ask_task(TaskQuestion::Finish {
            holding: holding(number, fence),
            status: TaskStatus::Completed,
            outcome: ByteBuf::from(b"{}"),
            message: None,
        })
        .await
    }

    async fn cancel(&self, number: u128, asker: Option<Asker>) -> Answer {
        let id = id(number);
        self.ask_task(TaskQuestion::Cancel { id, asker }).await
    }

    async fn renew(&self, held: Vec<Holding>) -> Answer {
        self.ask_task(TaskQuestion::Renew { held }).await
    }

    /// Waits until the gateway was told this.
    async fn has_been_told(&mut self, word: FromStore) {
        let told = self.news.wait_for(|news| news.contains(&word));
        timeout(PATIENCE, told)
            .await
            .expect("in time")
            .expect("a link");
    }

    fn forget_news(&self) {
        // What was told before does not count.
        self.told.send_modify(Vec::clear);
    }

    async fn status_becomes(&self, number: u128, status: TaskStatus) -> TaskRecord {
        let became = async {
            loop {
                match self.get(number).await {
                    Some(task) if task.status == status => return task,
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        timeout(PATIENCE, became).await.expect("in time")
    }
}

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn holding(number: u128, fence: u64) -> Holding {
    Holding {
        id: id(number),
        fence,
    }
}

fn ann() -> Asker {
    Asker {
        server: "demo".to_owned(),
        era: conduit_link::TaskEra::Modern,
        principal: Some("ann".to_owned()),
        session: None,
    }
}

/// A task that stays for a while.
fn long(number: u128) -> NewTask {
    NewTask {
        ttl_ms: Some(3_600_000),
        ..task(number)
    }
}

fn restartable(number: u128) -> NewTask {
    NewTask {
        attempts: 3,
        ..long(number)
    }
}

#[track_caller]
fn record(answer: Answer) -> Option<TaskRecord> {
    let Answer::Task(TaskAnswer::Task(record)) = answer else {
        panic!("{answer:?}");
    };
    record
}

fn changed(numbers: &[u128]) -> FromStore {
    let ids = numbers.iter().copied().map(id).collect();
    FromStore::TasksChanged { ids }
}

fn stop(number: u128) -> FromStore {
    FromStore::StopTasks {
        ids: vec![id(number)],
    }
}

#[tokio::test]
async fn a_task_made_at_one_gateway_is_found_at_another() {
    let house = House::start(|_| {}).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let other = house.gateway(1, Behaviour::Forgets).await;

    let (made, fence) = one.create(long(7)).await;

    assert_eq!(fence, Some(1));
    assert_eq!(other.get(7).await, Some(made));
}

#[tokio::test]
async fn nobody_sees_the_task_of_another() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.create(long(7)).await;
    let bob = Asker {
        principal: Some("bob".to_owned()),
        ..ann()
    };

    let question = TaskQuestion::Get {
        id: id(7),
        asker: bob.clone(),
    };
    assert_eq!(record(gateway.ask_task(question).await), None);
    let nothing = TaskAnswer::Cancelled {
        record: None,
        had_ended: false,
    };
    let cancelled = gateway.cancel(7, Some(bob)).await;
    assert_eq!(cancelled, Answer::Task(nothing));
}

#[tokio::test]
async fn a_gateway_that_comes_is_told_to_look() {
    let house = House::start(|options| options.tasks.running = 0).await;
    let mut one = house.gateway(0, Behaviour::Forgets).await;
    one.has_been_told(changed(&[])).await;
    one.create(long(7)).await;

    let mut other = house.gateway(1, Behaviour::Forgets).await;

    other.has_been_told(changed(&[])).await;
    other.has_been_told(FromStore::TasksReady).await;
}

#[tokio::test]
async fn a_task_that_waits_is_called_out_once_another_ends() {
    let house = House::start(|options| options.tasks.running = 1).await;
    let mut gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.create(long(1)).await;
    let (_, fence) = gateway.create(long(2)).await;
    assert_eq!(fence, None);
    assert!(gateway.take(9).await.is_empty());
    gateway.forget_news();

    gateway.finish(1, 1).await;

    gateway.has_been_told(FromStore::TasksReady).await;
    let taken = gateway.take(9).await;
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].record.id, id(2));
}

#[tokio::test]
async fn a_task_that_was_answered_is_called_out_to_every_gateway() {
    let house = House::start(|_| {}).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let mut other = house.gateway(1, Behaviour::Forgets).await;
    one.create(long(7)).await;
    let entry = |json: &[u8]| TaskEntry {
        key: "a".to_owned(),
        json: ByteBuf::from(json),
    };
    one.ask_task(TaskQuestion::Suspend {
        holding: holding(7, 1),
        journal: ByteBuf::new(),
        questions: vec![entry(b"?")],
    })
    .await;

    let answers = vec![entry(b"!")];
    one.ask_task(TaskQuestion::Answer {
        id: id(7),
        asker: ann(),
        answers: answers.clone(),
    })
    .await;

    other.has_been_told(FromStore::TasksReady).await;
    assert_eq!(other.take(1).await[0].work.answers, answers);
}

#[tokio::test]
async fn cancelling_stops_the_holder_and_waits_for_nobody() {
    let house = House::start(|_| {}).await;
    let mut one = house.gateway(0, Behaviour::Stalls).await;
    let other = house.gateway(1, Behaviour::Forgets).await;
    one.has_been_told(changed(&[])).await;
    one.create(long(7)).await;

    let start = Instant::now();
    let cancelled = other.cancel(7, Some(ann())).await;

    assert!(start.elapsed() < PATIENCE / 2, "the holder answers nothing");
    let Answer::Task(TaskAnswer::Cancelled { record, had_ended }) = cancelled else {
        panic!("{cancelled:?}");
    };
    assert!(!had_ended);
    assert_eq!(record.expect("a task").status, TaskStatus::Cancelled);
    assert_eq!(one.finish(7, 1).await, Answer::Refused(Refusal::Fenced));
}

#[tokio::test]
async fn the_holder_of_a_cancelled_task_is_told_to_stop() {
    let house = House::start(|_| {}).await;
    let mut one = house.gateway(0, Behaviour::Forgets).await;
    let mut other = house.gateway(1, Behaviour::Forgets).await;
    one.create(long(7)).await;

    other.cancel(7, None).await;

    one.has_been_told(stop(7)).await;
    other.has_been_told(changed(&[7])).await;
    assert!(!other.news.borrow().contains(&stop(7)));
}

#[tokio::test]
async fn an_operator_cancels_and_asks_nothing_else() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.create(long(7)).await;
    let operator = house.peer(Slot::operator(0), Behaviour::Forgets).await;

    let refused = operator.cancel(7, Some(ann())).await;
    let cancelled = operator.cancel(7, None).await;

    assert_eq!(refused, Answer::Refused(Refusal::Misplaced));
    assert!(matches!(
        cancelled,
        Answer::Task(TaskAnswer::Cancelled {
            record: Some(_),
            ..
        })
    ));
    let look = operator.look(7).await;
    assert_eq!(look, Answer::Refused(Refusal::Misplaced));
}

#[tokio::test]
async fn a_thousand_ends_race_with_as_many_cancels_and_each_task_ends_once() {
    let house = House::start(|options| {
        options.tasks.running = 2_000;
        options.tasks.running_per_owner = 2_000;
        options.tasks.per_owner = 2_000;
    })
    .await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let other = house.gateway(1, Behaviour::Forgets).await;

    for number in 1..=1_000 {
        one.create(long(number)).await;
        let (finished, cancelled) =
            tokio::join!(one.finish(number, 1), other.cancel(number, Some(ann())));

        let Answer::Task(TaskAnswer::Cancelled {
            record: Some(seen),
            had_ended,
        }) = cancelled
        else {
            panic!("{cancelled:?}");
        };
        let kept = other.get(number).await.expect("a task");
        assert_eq!(kept, seen);
        if had_ended {
            assert_eq!(record(finished), Some(kept));
        } else {
            assert_eq!(finished, Answer::Refused(Refusal::Fenced));
            assert_eq!(kept.status, TaskStatus::Cancelled);
        }
    }
}

// === The end of time ===

#[tokio::test]
async fn a_task_is_stopped_when_its_time_is_over_and_its_place_is_free() {
    let house = House::start(|options| {
        options.tasks.running = 1;
        options.sweep_every = Duration::from_hours(1);
    })
    .await;
    let mut gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.create(long(1)).await;
    gateway.finish(1, 1).await;
    let short = NewTask {
        ttl_ms: Some(300),
        ..task(7)
    };
    let start = Instant::now();
    gateway.create(short).await;
    gateway.create(long(8)).await;

    gateway.has_been_told(stop(7)).await;

    let took = start.elapsed();
    assert!(took >= Duration::from_millis(300), "{took:?}");
    assert!(took < Duration::from_millis(600), "{took:?}");
    gateway.has_been_told(changed(&[7])).await;
    assert_eq!(gateway.get(7).await, None);
    assert_eq!(gateway.finish(7, 1).await, Answer::Refused(Refusal::Fenced));
    gateway.has_been_told(FromStore::TasksReady).await;
    assert_eq!(gateway.take(1).await.len(), 1);
}

#[tokio::test]
async fn more_tasks_than_a_slice_leave_at_once_and_others_come_meanwhile() {
    let house = House::start(|options| {
        options.tasks.per_owner = 5_000;
        options.tasks.cap = 5_000;
    })
    .await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    let short = |number| NewTask {
        ttl_ms: Some(500),
        ..task(number)
    };
    let mut created = Vec::new();
    for number in 0..1_000 {
        created.push(gateway.create(short(number)));
    }
    futures_util::future::join_all(created).await;

    for number in 2_000..2_100 {
        gateway.create(long(number)).await;
    }

    let gone = async {
        while gateway.get(999).await.is_some() {}
        let path = house.folder.path().join("conduit.db");
        let connection = Connection::open(path).expect("a database");
        let left = || -> i64 {
            connection
                .query_row("SELECT count(*) FROM tasks", (), |row| row.get(0))
                .expect("a count")
        };
        while left() > 100 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, gone).await.expect("in time");
}

// === Deaths ===

#[tokio::test]
async fn the_tasks_of_a_gateway_that_was_reaped_are_ready_again_or_have_failed() {
    let house = House::start(|_| {}).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let mut other = house.gateway(1, Behaviour::Forgets).await;
    one.create(long(1)).await;
    one.create(restartable(2)).await;
    house.lives.send_replace(Some(vec![one.life, other.life]));

    one.links.stop(Duration::ZERO).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let still = other.get(1).await.expect("a task");
    assert_eq!(still.status, TaskStatus::Working, "it may still run");
    house.lives.send_replace(Some(vec![other.life]));

    let failed = other.status_becomes(1, TaskStatus::Failed).await;
    let outcome = failed.outcome.expect("an error");
    assert_eq!(
        outcome.as_slice(),
        br#"{"code":-32603,"message":"the process that ran this task has died"}"#
    );
    other.has_been_told(changed(&[1, 2])).await;
    other.has_been_told(FromStore::TasksReady).await;
    let taken = other.take(9).await;
    assert_eq!(taken.len(), 1);
    assert_eq!((taken[0].record.id, taken[0].work.attempt), (id(2), 2));
}

#[tokio::test]
async fn a_successor_in_the_slot_proves_that_a_gateway_is_dead() {
    let house = House::start(|_| {}).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    one.create(long(1)).await;
    one.links.stop(Duration::ZERO).await;

    let successor = house.gateway(0, Behaviour::Forgets).await;

    successor.status_becomes(1, TaskStatus::Failed).await;
}

#[tokio::test]
async fn an_attached_gateway_keeps_its_tasks_whatever_the_list_says() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.create(long(1)).await;

    house.lives.send_replace(Some(Vec::new()));
    tokio::time::sleep(Duration::from_millis(1_500)).await;

    let task = gateway.get(1).await.expect("a task");
    assert_eq!(task.status, TaskStatus::Working);
}

#[tokio::test]
async fn a_gateway_keeps_its_tasks_while_the_store_is_replaced() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.create(restartable(7)).await;

    let folder = house.end().await;
    let _successor = House::start_in(folder, |_| {}).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;

    let lost = gateway.renew(vec![holding(7, 1)]).await;
    assert_eq!(lost, Answer::Task(TaskAnswer::Lost(Vec::new())));
    let again = gateway.create(restartable(7)).await;
    assert_eq!(again.1, Some(1));
    let finished = record(gateway.finish(7, 1).await).expect("a task");
    assert_eq!(finished.status, TaskStatus::Completed);
    assert_eq!(
        gateway.finish(7, 1).await,
        Answer::Task(TaskAnswer::Task(Some(finished)))
    );
}

#[tokio::test]
async fn a_holder_that_does_not_name_a_task_has_lost_it() {
    let house = House::start(|_| {}).await;
    let mut gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.create(long(1)).await;
    gateway.create(restartable(2)).await;

    let lost = gateway.renew(vec![holding(1, 1), holding(9, 1)]).await;
    assert_eq!(lost, Answer::Task(TaskAnswer::Lost(vec![id(9)])));
    let early = gateway.take(9).await;
    assert!(early.is_empty(), "the news of it may be on its way");
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    gateway.forget_news();
    gateway.renew(vec![holding(1, 1)]).await;

    gateway.has_been_told(FromStore::TasksReady).await;
    let taken = gateway.take(9).await;
    assert_eq!((taken[0].record.id, taken[0].fence), (id(2), 3));
    let lost = gateway.renew(vec![holding(1, 1), holding(2, 1)]).await;
    assert_eq!(lost, Answer::Task(TaskAnswer::Lost(vec![id(2)])));
}

#[tokio::test]
async fn work_that_is_given_back_is_ready_for_another() {
    let house = House::start(|_| {}).await;
    let one = house.gateway(0, Behaviour::Forgets).await;
    let other = house.gateway(1, Behaviour::Forgets).await;
    one.create(long(1)).await;
    one.create(restartable(2)).await;

    let held = vec![holding(1, 1), holding(2, 1)];
    let given = one.ask_task(TaskQuestion::Release { held }).await;

    assert_eq!(given, Answer::Task(TaskAnswer::Done));
    let failed = other.get(1).await.expect("a task");
    assert_eq!(failed.status, TaskStatus::Failed);
    assert_eq!(other.take(9).await.len(), 1);
}

// === Refusals ===

#[tokio::test]
async fn a_task_above_a_cap_is_refused() {
    let house = House::start(|options| options.tasks.per_owner = 1).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.create(long(1)).await;

    let refused = gateway.ask_task(TaskQuestion::Create(long(2))).await;

    assert_eq!(refused, Answer::Refused(Refusal::Full));
    let bearer = NewTask {
        owner: TaskOwner::Bearer,
        ..long(3)
    };
    gateway.create(bearer).await;
}

#[tokio::test]
async fn caps_hold_after_a_restart() {
    let adjust = |options: &mut Options| {
        options.tasks.cap = 3;
        options.tasks.per_owner = 2;
        options.tasks.running = 2;
    };
    let house = House::start(adjust).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.create(long(1)).await;
    gateway.create(long(2)).await;

    let folder = house.end().await;
    let _successor = House::start_in(folder, adjust).await;

    let refused = gateway.ask_task(TaskQuestion::Create(long(3))).await;
    assert_eq!(refused, Answer::Refused(Refusal::Full));
    let bearer = |number| NewTask {
        owner: TaskOwner::Bearer,
        ..long(number)
    };
    let (_, fence) = gateway.create(bearer(4)).await;
    assert_eq!(fence, None, "as many run as may");
    let refused = gateway.ask_task(TaskQuestion::Create(bearer(5))).await;
    assert_eq!(refused, Answer::Refused(Refusal::Full));
}

#[tokio::test]
async fn an_outcome_that_is_too_large_is_refused_and_the_task_goes_on() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.create(long(7)).await;

    let refused = gateway
        .ask_task(TaskQuestion::Finish {
            holding: holding(7, 1),
            status: TaskStatus::Completed,
            outcome: ByteBuf::from(vec![b'x'; 1_001]),
            message: None,
        })
        .await;

    assert_eq!(refused, Answer::Refused(Refusal::Full));
    assert!(record(gateway.finish(7, 1).await).is_some());
}

#[tokio::test]
async fn what_makes_no_sense_is_misplaced() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.create(long(7)).await;
    let holding = holding(7, 1);

    for question in [
        TaskQuestion::Suspend {
            holding,
            journal: ByteBuf::new(),
            questions: Vec::new(),
        },
        TaskQuestion::Finish {
            holding,
            status: TaskStatus::Cancelled,
            outcome: ByteBuf::new(),
            message: None,
        },
        TaskQuestion::List {
            asker: ann(),
            after: Some("not ours".to_owned()),
            limit: 10,
        },
    ] {
        let answer = gateway.ask_task(question).await;
        assert_eq!(answer, Answer::Refused(Refusal::Misplaced));
    }
}

#[tokio::test]
async fn a_list_is_answered_page_by_page() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    let session = Asker {
        session: Some(id(77)),
        ..ann()
    };
    for number in 1..=5 {
        let owner = if number % 2 == 0 {
            TaskOwner::Session(id(77))
        } else {
            TaskOwner::Principal("ann".to_owned())
        };
        gateway
            .create(NewTask {
                owner,
                ..long(number)
            })
            .await;
    }

    let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let question = TaskQuestion::List {
            asker: session.clone(),
            after,
            limit: 2,
        };
        let Answer::Task(TaskAnswer::Tasks { tasks, next }) = gateway.ask_task(question).await
        else {
            panic!("a page");
        };
        found.extend(tasks.into_iter().map(|task| task.id.as_u128()));
        pages += 1;
        after = next;
        if after.is_none() {
            break;
        }
    }

    assert_eq!(pages, 3);
    assert!(
        found.len() == 5 && found.contains(&1) && found.contains(&2),
        "{found:?}"
    );
    let unique: std::collections::BTreeSet<_> = found.iter().collect();
    assert_eq!(unique.len(), 5);
}

#[tokio::test]
async fn a_state_is_spent_once_even_over_a_restart() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    let spend = || TaskQuestion::Spend {
        nonce: id(7),
        until_ms: u64::MAX,
    };

    let first = gateway.ask_task(spend()).await;
    let folder = house.end().await;
    let _successor = House::start_in(folder, |_| {}).await;
    let second = gateway.ask_task(spend()).await;

    assert_eq!(first, Answer::Task(TaskAnswer::Done));
    assert_eq!(second, Answer::Refused(Refusal::Spent));
}

#[tokio::test]
async fn versions_are_told_of_more_tasks_than_others_wait_for() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    gateway.create(long(7)).await;

    let ids = (0..10_000).map(id).collect();
    let versions = gateway.ask_task(TaskQuestion::Versions { ids }).await;

    let expected = TaskAnswer::Versions(vec![(id(7), 1)]);
    assert_eq!(versions, Answer::Task(expected));
}

#[tokio::test]
async fn a_database_that_fails_refuses_tasks_and_the_store_goes_on() {
    let house = House::start(|_| {}).await;
    let gateway = house.gateway(0, Behaviour::Forgets).await;
    let vandal = Connection::open(house.folder.path().join("conduit.db")).expect("a database");
    vandal
        .execute_batch("ALTER TABLE task_work RENAME TO taken")
        .expect("a rename");

    let refused = gateway.ask_task(TaskQuestion::Create(long(7))).await;
    assert_eq!(refused, Answer::Refused(Refusal::Storage));
    vandal
        .execute_batch("ALTER TABLE taken RENAME TO task_work")
        .expect("a rename");

    assert_eq!(gateway.create(long(7)).await.1, Some(1));
}
