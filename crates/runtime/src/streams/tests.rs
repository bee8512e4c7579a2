use std::time::Duration;

use conduit_link::Receiver;
use conduit_link::Subject;
use conduit_telemetry::Telemetry;
use tokio_util::task::TaskTracker;

use super::courier::{Parcel, Then, To};
use super::newest::Left;
use super::*;
use crate::interest::MOST;
use crate::mail::PostOffice;
use crate::store::StoreDoor;
use crate::tasks::Waiting;

const SESSION: Uuid = Uuid::from_u128(1);

fn gateway() -> Streams {
    let telemetry = Telemetry::new("test");
    let interest = Interest::new(false, telemetry.topics().clone());
    let watch = Watch {
        store: StoreDoor::new(None, None),
        patience: Duration::ZERO,
        tracker: TaskTracker::new(),
        waiting: Waiting::default(),
    };
    let receiver: Receiver = Arc::new(|_, _| {});
    let courier = Courier {
        post: PostOffice::new(None, receiver, Duration::ZERO),
        patience: Duration::ZERO,
        tracker: TaskTracker::new(),
    };
    Streams::new(Seat::new("streams"), interest, watch, courier, &telemetry)
}

fn topic(uri: &str) -> Topic {
    Topic {
        server: "test".to_owned(),
        subject: Subject::Resource(uri.to_owned()),
    }
}

fn topics(uris: &str) -> Vec<Topic> {
    uris.split_whitespace().map(topic).collect()
}

/// A stream that a client has opened.
struct Opened {
    outbox: Arc<Outbox>,
    place: Place,
    at: u64,
}

fn open(streams: &mut Streams, uris: &str, at: u64) -> Opened {
    let outbox = Arc::new(Outbox::of_changes(None, None, None));
    let listener = Listener {
        outbox: Arc::clone(&outbox),
        session: Some(SESSION),
        opened: at,
        topics: topics(uris),
        asker: None,
        missed: false,
        end: End::Finish(None),
    };
    let Attached { place, .. } = streams.attach(listener).expect("room");
    Opened { outbox, place, at }
}

fn close(streams: &mut Streams, opened: &Opened) {
    streams.detach(opened.place.number);
}

/// Lets a gateway hear of a change.
fn note(streams: &mut Streams, uri: &str) {
    streams.change(&Changed {
        topic: topic(uri),
        published: None,
    });
}

/// What the client reads, in the order of the alphabet.
fn told(opened: &Opened) -> String {
    let changes = opened.outbox.take_changes().into_iter();
    let mut told: Vec<String> = changes.map(|change| uri(&change.topic)).collect();
    told.sort();
    told.join(" ")
}

fn uri(topic: &Topic) -> String {
    match &topic.subject {
        Subject::Resource(uri) => uri.clone(),
        Subject::Task(_) => "task".to_owned(),
        Subject::Tools | Subject::Prompts | Subject::Resources => "list".to_owned(),
    }
}

/// Lets gateways hear of the stream that was opened at `to`, which is gateway 9.
fn claim(to: &mut Streams, at: u64, others: &mut [&mut Streams]) {
    let mut known = 0;
    for other in others.iter_mut() {
        match other.leave_to(SESSION, at, 9) {
            Left::Nothing => continue,
            Left::Known => {}
            Left::HandOver(parcel) => hand_over(other, to, &parcel),
        }
        known += 1;
    }
    to.claimed(SESSION, at, known == 0);
}

fn hand_over(from: &mut Streams, to: &mut Streams, parcel: &Parcel) {
    let topics = parcel.changes.iter();
    let topics = topics.map(|change| Topic::clone(&change.topic)).collect();
    assert!(to.unheard(parcel.session, topics, parcel.is_whole));
    from.moved_on(Moved {
        session: parcel.session,
        packed: parcel.packed,
        then: parcel.then,
    });
}

/// Lets a gateway with an older stream hear that the one that was opened at `from` is
/// closed, and have what that had not said.
fn give_back(from: &mut Streams, to: &mut Streams, at: u64) {
    assert!(to.take_back(SESSION, at));
    let (changes, packed) = from.parking.changes(SESSION).expect("it is parked");
    let parcel = Parcel {
        session: SESSION,
        to: To::Others,
        changes,
        is_whole: true,
        packed,
        then: Then::Forget,
    };
    hand_over(from, to, &parcel);
}

/// Lets a client listen that has no session.
fn listen(streams: &mut Streams, topics: Vec<Topic>) -> Result<Attached, Full> {
    streams.attach(Listener {
        outbox: Arc::new(Outbox::of_changes(None, None, None)),
        session: None,
        opened: 1,
        topics,
        asker: None,
        missed: false,
        end: End::Finish(None),
    })
}

/// Lets clients listen to all but one of the topics that a gateway may have.
fn listen_to_all_but_one(streams: &mut Streams) {
    let many = (1..MOST).map(|number| topic(&format!("listened-{number}")));
    drop(listen(streams, many.collect()).expect("room"));
}

fn parked(uris: &str) -> Streams {
    let mut streams = gateway();
    streams.park(SESSION, topics(uris)).expect("room");
    streams
}

#[test]
fn what_changed_before_the_first_stream_is_told_once_and_nothing_else() {
    let mut here = parked("a b");
    for changed in ["a", "a", "c"] {
        note(&mut here, changed);
    }

    let mut stream = open(&mut here, "a b", 1);
    claim(&mut here, 1, &mut []);

    assert_eq!(told(&stream), "a");
    close(&mut here, &stream);
    stream = open(&mut here, "a b", 2);
    claim(&mut here, 2, &mut []);
    assert_eq!(told(&stream), "", "nothing has changed since");
}

#[test]
fn the_gateway_that_opens_a_stream_gets_what_another_has_kept() {
    let (mut there, mut here) = (parked("a b"), gateway());
    note(&mut there, "a");

    let stream = open(&mut here, "a b", 1);
    claim(&mut here, 1, &mut [&mut there]);

    assert_eq!(told(&stream), "a");
    note(&mut here, "b");
    note(&mut there, "b");
    assert_eq!(told(&stream), "b");
    claim(&mut here, 1, &mut [&mut there]);
    assert_eq!(told(&stream), "", "it was told once already");
    assert_eq!(there.parking.len(), 0, "nothing can come late any more");
    claim(&mut here, 1, &mut [&mut there]);
    assert!(here.claims.is_empty());
}

#[test]
fn what_comes_late_to_the_former_gateway_is_told_too() {
    let (mut there, mut here) = (parked("a b"), gateway());
    let stream = open(&mut here, "a b", 1);
    claim(&mut here, 1, &mut [&mut there]);

    note(&mut there, "a");
    claim(&mut here, 1, &mut [&mut there]);

    assert_eq!(told(&stream), "a");
}

#[test]
fn if_nobody_has_kept_it_everything_counts_as_changed() {
    let (mut there, mut here) = (parked("a b"), gateway());
    there.parking.forget(SESSION);

    let stream = open(&mut here, "a b", 1);
    claim(&mut here, 1, &mut [&mut there]);

    assert_eq!(told(&stream), "a b");
}

#[test]
fn whoever_has_handed_a_session_over_does_not_answer_for_it() {
    let (mut there, mut here) = (parked("a b"), gateway());
    let first = open(&mut here, "a b", 1);
    claim(&mut here, 1, &mut [&mut there]);
    assert_eq!(told(&first), "");
    note(&mut here, "a");
    let mut third = gateway();

    // The gateway with the stream dies.
    let stream = open(&mut third, "a b", 2);
    claim(&mut third, 2, &mut [&mut there]);

    assert_eq!(told(&stream), "a b");
}

#[test]
fn a_stream_that_is_closed_before_it_was_claimed_answers_for_nothing() {
    let mut here = gateway();
    let stream = open(&mut here, "a b", 1);
    close(&mut here, &stream);

    let stream = open(&mut here, "a b", 2);
    claim(&mut here, 2, &mut []);

    assert_eq!(told(&stream), "a b");
}

#[test]
fn what_a_closed_stream_had_not_said_yet_is_kept() {
    let mut here = parked("a b");
    let stream = open(&mut here, "a b", 1);
    claim(&mut here, 1, &mut []);
    note(&mut here, "a");

    close(&mut here, &stream);
    note(&mut here, "b");

    let stream = open(&mut here, "a b", 2);
    claim(&mut here, 2, &mut []);
    assert_eq!(told(&stream), "a b");
}

#[test]
fn a_parked_session_follows_what_it_wants_to_hear_of() {
    let mut here = parked("a b");
    note(&mut here, "c");
    note(&mut here, "a");

    here.retopic(SESSION, topics("b c"), false).expect("room");
    note(&mut here, "b");
    note(&mut here, "a");

    let stream = open(&mut here, "b c", 1);
    claim(&mut here, 1, &mut []);
    assert_eq!(told(&stream), "b");
}

#[test]
fn what_is_new_to_a_stream_that_follows_late_counts_as_changed() {
    let mut here = parked("a");
    let stream = open(&mut here, "a", 1);

    here.retopic(SESSION, topics("a b"), true).expect("room");

    assert_eq!(told(&stream), "b");
}

#[test]
fn an_older_stream_elsewhere_gets_what_a_closed_one_had_not_said() {
    let (mut there, mut here) = (parked("a b"), gateway());
    let older = open(&mut there, "a b", 1);
    claim(&mut there, 1, &mut [&mut here]);
    let newer = open(&mut here, "a b", 2);
    claim(&mut here, 2, &mut [&mut there]);
    for changed in ["a", "b"] {
        note(&mut here, changed);
    }
    assert_eq!(told(&older), "");

    close(&mut here, &newer);
    give_back(&mut here, &mut there, newer.at);

    assert_eq!(told(&older), "a b");
    note(&mut there, "a");
    assert_eq!(told(&older), "a");
    assert_eq!(here.parking.len(), 0);
}

#[test]
fn a_stream_that_is_closed_while_a_newer_one_is_open_elsewhere_leaves_what_it_had_to_that() {
    let (mut there, mut here) = (parked("a b"), gateway());
    let older = open(&mut there, "a b", 1);
    claim(&mut there, 1, &mut []);
    note(&mut there, "a");
    let newer = open(&mut here, "a b", 2);
    claim(&mut here, 2, &mut [&mut there]);

    close(&mut there, &older);
    claim(&mut here, 2, &mut [&mut there]);

    assert_eq!(told(&newer), "a");
    assert_eq!(there.parking.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_older_stream_hears_of_everything_once_the_newest_is_not_believed_any_more() {
    let (mut there, mut here) = (parked("a b"), gateway());
    let older = open(&mut there, "a b", 1);
    claim(&mut there, 1, &mut []);
    let _newer = open(&mut here, "a b", 2);
    claim(&mut here, 2, &mut [&mut there]);

    // The gateway with the newest stream dies.
    tokio::time::advance(Duration::from_secs(16)).await;
    there.sweep();

    assert_eq!(told(&older), "a b");
}

#[test]
fn a_session_that_has_ended_is_kept_no_longer() {
    let mut here = parked("a b");

    here.end_sessions(&[SESSION]);

    assert_eq!(here.parking.len(), 0);
    note(&mut here, "a");
    let stream = open(&mut here, "a b", 1);
    here.end_sessions(&[SESSION]);
    close(&mut here, &stream);
    assert_eq!(here.parking.len(), 0);
}

#[test]
fn those_who_listen_have_room_where_sessions_are_parked() {
    let mut here = gateway();
    for session in 0..100 {
        let many = (0..1_000).map(|number| topic(&format!("{session}-{number}")));
        let session = Uuid::from_u128(1_000 + session);
        here.park(session, many.collect()).expect("room");
    }

    let _stream = open(&mut here, "a b", 1);

    assert!(here.parking.len() < 100, "the oldest are forgotten");
    assert!(here.parking.len() > 50, "the others are not");
}

#[test]
fn what_is_told_already_is_not_told_again_when_the_rest_is_lost() {
    let (mut there, mut here) = (parked("a b"), gateway());
    let _lost = open(&mut here, "a b", 1);
    claim(&mut here, 1, &mut [&mut there]);
    note(&mut there, "a");

    let stream = open(&mut there, "a b", 2);
    assert_eq!(told(&stream), "a");
    claim(&mut there, 2, &mut []);

    assert_eq!(told(&stream), "b");
}

#[test]
fn what_a_newer_stream_elsewhere_did_not_say_is_told_though_it_was_told_before() {
    let (mut there, mut here) = (parked("a b"), gateway());
    let older = open(&mut there, "a b", 1);
    there.claimed(SESSION, older.at, false);
    note(&mut there, "a");
    assert_eq!(told(&older), "a");

    let newer = open(&mut here, "a b", 2);
    claim(&mut here, 2, &mut [&mut there]);
    for gateway in [&mut here, &mut there] {
        note(gateway, "a");
    }
    for _ in 0..2 {
        claim(&mut here, 2, &mut [&mut there]);
    }
    close(&mut here, &newer);
    give_back(&mut here, &mut there, newer.at);

    assert_eq!(told(&older), "a");
}

#[test]
fn what_comes_late_to_an_older_stream_is_told_though_the_closed_one_was_told_before() {
    let mut here = parked("a b");
    let older = open(&mut here, "a b", 1);
    let newer = open(&mut here, "a b", 2);
    here.claimed(SESSION, newer.at, false);
    note(&mut here, "a");
    assert_eq!(told(&newer), "a");

    close(&mut here, &newer);
    assert!(here.unheard(SESSION, topics("a"), false));

    assert_eq!(told(&older), "a");
    assert!(here.claims.is_empty());
}

#[test]
fn an_older_stream_hears_of_everything_if_the_newest_is_closed_before_it_was_claimed() {
    let mut here = gateway();
    let older = open(&mut here, "a b", 1);
    let newer = open(&mut here, "a b", 2);

    close(&mut here, &newer);

    assert_eq!(told(&older), "a b");
}

#[test]
fn what_was_held_for_a_stream_elsewhere_is_told_to_one_that_is_opened_here_once() {
    let (mut there, mut here) = (parked("a b"), gateway());
    let _older = open(&mut there, "a b", 1);
    claim(&mut there, 1, &mut []);
    let _newer = open(&mut here, "a b", 2);
    claim(&mut here, 2, &mut [&mut there]);
    // From before the other gateway listened.
    note(&mut there, "a");

    let third = open(&mut there, "a b", 3);
    assert_eq!(told(&third), "a");
    note(&mut here, "a");
    for _ in 0..2 {
        claim(&mut there, 3, &mut [&mut here]);
    }

    assert_eq!(told(&third), "");
}

#[test]
fn whoever_needs_more_than_parked_sessions_have_gets_nothing_and_they_stay() {
    let mut here = parked("parked");
    listen_to_all_but_one(&mut here);

    let refused = listen(&mut here, topics("a b"));

    assert!(refused.is_err());
    assert!(here.parking.contains(SESSION));
    assert!(listen(&mut here, topics("a parked")).is_err());
    assert!(
        here.parking.contains(SESSION),
        "its topic would be wanted still"
    );
    assert!(listen(&mut here, topics("a")).is_ok());
    assert!(!here.parking.contains(SESSION), "it could make room");
}

#[test]
fn a_session_that_wants_lists_alone_is_not_forgotten_for_their_room() {
    let mut here = gateway();
    let tools = Topic {
        server: "test".to_owned(),
        subject: Subject::Tools,
    };
    here.park(SESSION, vec![tools]).expect("room");
    listen_to_all_but_one(&mut here);

    assert!(listen(&mut here, topics("a")).is_err());

    assert!(here.parking.contains(SESSION));
}
