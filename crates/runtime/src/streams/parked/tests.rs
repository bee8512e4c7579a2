use bytes::Bytes;
use conduit_link::Subject;
use conduit_telemetry::Telemetry;

use super::*;
use crate::interest::Interest;

fn interest() -> Interest {
    Interest::new(false, Telemetry::new("test").topics().clone())
}

fn topic(uri: &str) -> Topic {
    Topic {
        server: "test".to_owned(),
        subject: Subject::Resource(uri.to_owned()),
    }
}

fn wanted(interest: &Interest, uris: &[&str]) -> Arc<Wanted> {
    let topics = uris.iter().map(|uri| topic(uri)).collect();
    Arc::new(interest.want(topics).expect("room"))
}

fn state(task: u128, version: u64) -> Change {
    let notification = Bytes::from_static(b"{}").into();
    Change {
        topic: Arc::new(Topic {
            server: String::new(),
            subject: Subject::Task(Uuid::from_u128(task)),
        }),
        news: Some(TaskNews::status(version, notification)),
    }
}

fn versions(taken: Option<Taken>) -> Vec<u64> {
    let changes = taken.expect("it is parked").changes;
    changes.iter().filter_map(version).collect()
}

const SESSION: Uuid = Uuid::from_u128(1);

#[test]
fn one_more_than_may_be_parked_takes_the_place_of_the_oldest() {
    let (interest, mut parking) = (interest(), Parking::default());
    let topics = wanted(&interest, &["a"]);
    for session in 0..=MOST as u128 {
        parking.park(
            Uuid::from_u128(session),
            Arc::clone(&topics),
            Vec::new(),
            None,
        );
    }

    assert_eq!(parking.len(), MOST);
    assert!(!parking.contains(Uuid::from_u128(0)));
    assert!(parking.contains(Uuid::from_u128(1)));
}

#[test]
fn changes_come_in_the_order_in_which_they_happened_last() {
    let (interest, mut parking) = (interest(), Parking::default());
    parking.park(
        SESSION,
        wanted(&interest, &["a", "b", "c"]),
        Vec::new(),
        None,
    );
    for uri in ["c", "a", "b", "a"] {
        parking.note(&topic(uri));
    }

    let taken = parking.take(SESSION).expect("it is parked");

    let topics: Vec<_> = taken.changes.iter().map(|change| &*change.topic).collect();
    assert_eq!(topics, [&topic("c"), &topic("b"), &topic("a")]);
    assert!(parking.topics.is_empty(), "nobody wants them any more");
}

#[test]
fn what_changes_again_while_it_is_on_its_way_stays() {
    let (interest, mut parking) = (interest(), Parking::default());
    parking.park(SESSION, wanted(&interest, &["a", "b"]), Vec::new(), None);
    parking.note(&topic("a"));
    parking.note(&topic("b"));
    let (changes, packed) = parking.changes(SESSION).expect("it is parked");
    assert_eq!(changes.len(), 2);

    parking.note(&topic("a"));
    parking.changes(SESSION);
    parking.leave_to(SESSION, 7, packed);

    assert_eq!(parking.leaving(SESSION), Some(7));
    let taken = parking.take(SESSION).expect("it is parked");
    assert!(taken.is_leaving);
    assert_eq!(taken.changes.len(), 1);
    assert_eq!(*taken.changes[0].topic, topic("a"));
}

#[test]
fn of_a_task_the_newest_state_is_kept_and_of_many_tasks_some() {
    let (interest, mut parking) = (interest(), Parking::default());
    parking.park(SESSION, wanted(&interest, &["a"]), Vec::new(), None);
    for (task, version) in [(1, 1), (2, 5), (1, 3), (1, 2)] {
        assert!(parking.hold_task(SESSION, state(task, version)));
    }
    assert_eq!(parking.states, 2);
    for task in 10..100 {
        parking.hold_task(SESSION, state(task, 1));
    }
    assert_eq!(parking.states, STATES);

    let versions = versions(parking.take(SESSION));

    assert_eq!(versions.len(), STATES);
    assert!(versions.contains(&3) && versions.contains(&5));
    assert_eq!(parking.states, 0);
}

#[test]
fn what_a_session_does_not_want_to_hear_of_is_not_kept() {
    let (interest, mut parking) = (interest(), Parking::default());
    let unheard = ["a", "b"].map(|uri| change(&Arc::new(topic(uri))));

    parking.park(SESSION, wanted(&interest, &["a"]), unheard.to_vec(), None);

    let taken = parking.take(SESSION).expect("it is parked");
    assert_eq!(taken.changes.len(), 1);
    assert!(!parking.add(SESSION, Vec::new()), "it is not here any more");
}
