//! What every backend has to pass.
//!
//! [`pass`] takes a constructor of empty databases, so that each statement below
//! starts with one of its own.

mod tasks;

pub(crate) use self::tasks::task;

use std::time::Duration;

use conduit_link::SessionRecord;
use serde_bytes::ByteBuf;
use uuid::Uuid;

use super::{Backend, Failure, Opening, Reader, Subscribing, Tables};
use crate::retention::{Retention, SLICE, SUBSCRIPTIONS, Second};

const NOW: Second = Second::new(1_000_000);
const LATER: Second = Second::new(1_000_100);
const KEPT: Retention = Retention {
    idle: Duration::from_secs(50),
    cap: 100,
};

/// Panics at the first statement that does not hold.
pub(crate) fn pass<B: Backend>(make: impl Fn() -> B) {
    a_session_comes_back_as_it_was(make());
    an_unknown_session_is_nothing(make());
    opening_again_changes_nothing(make());
    a_level_is_kept(make());
    a_level_of_nobody_is_no_change(make());
    subscriptions_are_kept_in_order(make());
    subscribing_again_changes_nothing(make());
    unsubscribing_again_changes_nothing(make());
    nobody_without_a_session_subscribes(make());
    a_session_subscribes_to_so_much_and_no_more(make());
    subscriptions_end_with_their_session(make());
    subscribing_is_a_use(make());
    an_ended_session_is_returned_once(make());
    what_failed_leaves_no_trace(make());
    the_oldest_leaves_for_a_new_one(make());
    nobody_leaves_who_was_used_within_a_minute(make());
    no_session_fits_under_a_cap_of_zero(make());
    a_lowered_cap_makes_more_than_one_leave(make());
    a_use_keeps_a_session(make());
    a_use_never_goes_back(make());
    a_sweep_ends_what_is_over_and_nothing_else(make());
    a_sweep_ends_a_slice_at_a_time(make());
    a_use_in_the_future_counts_as_now(make());
    a_reader_sees_what_is_committed_and_only_that(make());
    tasks::pass(make);
}

/// A session with every field of its own.
pub(crate) fn session(number: u128) -> SessionRecord {
    SessionRecord {
        id: Uuid::from_u128(number),
        server: format!("server {number}"),
        version: "2025-11-25".to_owned(),
        principal: number.is_multiple_of(2).then(|| "ann".to_owned()),
        capabilities: ByteBuf::from(br#"{"roots":{}}"#),
        client: ByteBuf::from([0, 255]),
        level: None,
        subscriptions: Vec::new(),
    }
}

// === The statements ===

fn a_session_comes_back_as_it_was(mut backend: impl Backend) {
    open(&mut backend, 1, NOW);
    open(&mut backend, 2, NOW);
    let mut third = session(3);
    third.subscriptions = vec!["a".to_owned(), "b".to_owned()];
    run(&mut backend, |tables| tables.open(&third, KEPT, NOW));

    assert_eq!(look(&backend, 1), Some(session(1)));
    assert_eq!(look(&backend, 2), Some(session(2)));
    assert_eq!(look(&backend, 3), Some(third));
    assert_eq!(backend.live(), 3);
}

fn an_unknown_session_is_nothing(mut backend: impl Backend) {
    open(&mut backend, 1, NOW);

    assert_eq!(look(&backend, 2), None);
    assert_eq!(end(&mut backend, 2), None);
    assert_eq!(backend.live(), 1);
}

fn opening_again_changes_nothing(mut backend: impl Backend) {
    open(&mut backend, 1, NOW);

    assert_eq!(open(&mut backend, 1, LATER), opened(&[]));

    assert_eq!(backend.live(), 1);
    assert_eq!(look(&backend, 1), Some(session(1)));
}

fn a_level_is_kept(mut backend: impl Backend) {
    open(&mut backend, 1, NOW);

    assert!(set_level(&mut backend, 1, "warning"));

    let level = look(&backend, 1).and_then(|session| session.level);
    assert_eq!(level.as_deref(), Some("warning"));
}

fn a_level_of_nobody_is_no_change(mut backend: impl Backend) {
    assert!(!set_level(&mut backend, 1, "warning"));

    assert_eq!(look(&backend, 1), None);
}

fn subscriptions_are_kept_in_order(mut backend: impl Backend) {
    open(&mut backend, 1, NOW);
    open(&mut backend, 2, NOW);
    for uri in ["b", "é", "a", "B"] {
        assert_eq!(subscribe(&mut backend, 1, uri, true), Subscribing::Changed);
    }

    assert_eq!(subscriptions(&backend, 1), ["B", "a", "b", "é"]);
    assert_eq!(look(&backend, 2), Some(session(2)));
    assert_eq!(subscribe(&mut backend, 1, "a", false), Subscribing::Changed);
    assert_eq!(subscriptions(&backend, 1), ["B", "b", "é"]);
    assert_eq!(backend.live(), 2);
}

fn subscribing_again_changes_nothing(mut backend: impl Backend) {
    open(&mut backend, 1, NOW);
    subscribe(&mut backend, 1, "a", true);

    let again = subscribe(&mut backend, 1, "a", true);

    assert_eq!(again, Subscribing::Unchanged);
    assert_eq!(subscriptions(&backend, 1), ["a"]);
}

fn unsubscribing_again_changes_nothing(mut backend: impl Backend) {
    open(&mut backend, 1, NOW);
    subscribe(&mut backend, 1, "a", true);

    let other = subscribe(&mut backend, 1, "b", false);

    assert_eq!(other, Subscribing::Unchanged);
    assert_eq!(subscriptions(&backend, 1), ["a"]);
}

fn nobody_without_a_session_subscribes(mut backend: impl Backend) {
    for on in [true, false] {
        let became = subscribe(&mut backend, 1, "a", on);
        assert_eq!(became, Subscribing::Unknown);
    }

    open(&mut backend, 1, NOW);
    assert_eq!(look(&backend, 1), Some(session(1)));
}

fn a_session_subscribes_to_so_much_and_no_more(mut backend: impl Backend) {
    open(&mut backend, 1, NOW);
    run(&mut backend, |tables| {
        (0..SUBSCRIPTIONS).try_for_each(|number| {
            let uri = number.to_string();
            tables.subscribe(Uuid::from_u128(1), &uri, true, NOW)?;
            Ok(())
        })
    });

    let more = subscribe(&mut backend, 1, "one more", true);
    let known = subscribe(&mut backend, 1, "0", true);

    assert_eq!(more, Subscribing::Full);
    assert_eq!(known, Subscribing::Unchanged);
    let kept = subscriptions(&backend, 1);
    assert_eq!(u64::try_from(kept.len()), Ok(SUBSCRIPTIONS));
    assert_eq!(subscribe(&mut backend, 1, "0", false), Subscribing::Changed);
    let room = subscribe(&mut backend, 1, "one more", true);
    assert_eq!(room, Subscribing::Changed);
}

/// Whichever way it ends: a new session of the same id has none.
fn subscriptions_end_with_their_session(mut backend: impl Backend) {
    let kept = Retention { cap: 1, ..KEPT };
    let start = |backend: &mut _| {
        open(backend, 1, Second::new(1));
        subscribe_at(backend, 1, "a", Second::new(1));
    };

    start(&mut backend);
    let ended = end(&mut backend, 1).expect("what it was");
    assert_eq!(ended.subscriptions, ["a"]);
    start(&mut backend);
    assert_eq!(sweep(&mut backend, NOW), [Uuid::from_u128(1)]);
    start(&mut backend);
    assert_eq!(open_kept(&mut backend, 2, kept, NOW), opened(&[1]));

    open(&mut backend, 1, NOW);
    assert_eq!(look(&backend, 1), Some(session(1)));
}

fn subscribing_is_a_use(mut backend: impl Backend) {
    open(&mut backend, 1, NOW);

    subscribe_at(&mut backend, 1, "a", LATER);
    subscribe_at(&mut backend, 1, "b", NOW);

    assert!(sweep(&mut backend, LATER).is_empty());
}

fn an_ended_session_is_returned_once(mut backend: impl Backend) {
    open(&mut backend, 1, NOW);
    set_level(&mut backend, 1, "error");

    let ended = end(&mut backend, 1).expect("what it was");

    assert_eq!(ended.level.as_deref(), Some("error"));
    assert_eq!(end(&mut backend, 1), None);
    assert_eq!(look(&backend, 1), None);
    assert_eq!(backend.live(), 0);
}

fn what_failed_leaves_no_trace(mut backend: impl Backend) {
    open(&mut backend, 1, NOW);

    let failed = backend.transaction(&mut |tables| {
        tables.open(&session(2), KEPT, NOW)?;
        tables.end(Uuid::from_u128(1))?;
        Err(Failure::new("go on", std::fmt::Error))
    });

    failed.expect_err("as asked");
    assert_eq!(look(&backend, 1), Some(session(1)));
    assert_eq!(look(&backend, 2), None);
    assert_eq!(backend.live(), 1);
}

fn the_oldest_leaves_for_a_new_one(mut backend: impl Backend) {
    let kept = Retention { cap: 2, ..KEPT };
    open_kept(&mut backend, 1, kept, Second::new(2));
    open_kept(&mut backend, 2, kept, Second::new(1));

    assert_eq!(open_kept(&mut backend, 3, kept, NOW), opened(&[2]));

    assert_eq!(look(&backend, 2), None);
    assert_eq!(look(&backend, 1), Some(session(1)));
    assert_eq!(backend.live(), 2);
}

fn nobody_leaves_who_was_used_within_a_minute(mut backend: impl Backend) {
    let kept = Retention { cap: 1, ..KEPT };
    open_kept(&mut backend, 1, kept, Second::new(1));
    touch(&mut backend, &[1], NOW);

    assert_eq!(open_kept(&mut backend, 2, kept, NOW), Opening::Full);

    assert_eq!(look(&backend, 1), Some(session(1)));
    assert_eq!(backend.live(), 1);
}

fn no_session_fits_under_a_cap_of_zero(mut backend: impl Backend) {
    let kept = Retention { cap: 0, ..KEPT };

    assert_eq!(open_kept(&mut backend, 1, kept, NOW), Opening::Full);

    assert_eq!(backend.live(), 0);
}

fn a_lowered_cap_makes_more_than_one_leave(mut backend: impl Backend) {
    for number in 1..=4 {
        open(&mut backend, number, Second::new(1));
    }
    let kept = Retention { cap: 2, ..KEPT };

    let Opening::Opened { left } = open_kept(&mut backend, 5, kept, NOW) else {
        panic!("three may leave");
    };

    assert_eq!(left.len(), 3);
    assert_eq!(backend.live(), 2);
}

fn a_use_keeps_a_session(mut backend: impl Backend) {
    open(&mut backend, 1, NOW);

    touch(&mut backend, &[1, 99], LATER);

    assert!(sweep(&mut backend, LATER).is_empty());
}

fn a_use_never_goes_back(mut backend: impl Backend) {
    open(&mut backend, 1, LATER);

    touch(&mut backend, &[1], NOW);

    assert!(sweep(&mut backend, LATER).is_empty());
}

fn a_sweep_ends_what_is_over_and_nothing_else(mut backend: impl Backend) {
    open(&mut backend, 1, Second::new(1_000_049));
    open(&mut backend, 2, Second::new(1_000_050));

    assert_eq!(sweep(&mut backend, LATER), [Uuid::from_u128(1)]);

    assert_eq!(look(&backend, 2), Some(session(2)));
    assert_eq!(backend.live(), 1);
}

fn a_sweep_ends_a_slice_at_a_time(mut backend: impl Backend) {
    let kept = Retention {
        cap: u64::MAX,
        ..KEPT
    };
    run(&mut backend, |tables| {
        for number in 0..=u128::from(SLICE) {
            tables.open(&session(number), kept, NOW)?;
        }
        Ok(())
    });

    assert_eq!(u64::try_from(sweep(&mut backend, LATER).len()), Ok(SLICE));
    assert_eq!(sweep(&mut backend, LATER).len(), 1);
    assert!(sweep(&mut backend, LATER).is_empty());
}

fn a_use_in_the_future_counts_as_now(mut backend: impl Backend) {
    open(&mut backend, 1, Second::new(9_000_000));
    sweep(&mut backend, NOW);

    assert_eq!(sweep(&mut backend, LATER), [Uuid::from_u128(1)]);
}

fn a_reader_sees_what_is_committed_and_only_that(mut backend: impl Backend) {
    let reader = backend.reader().expect("a reader");
    open(&mut backend, 1, NOW);

    backend
        .transaction(&mut |tables| {
            tables.open(&session(2), KEPT, NOW)?;
            assert_eq!(reader.session(Uuid::from_u128(2))?, None, "not yet");
            assert_eq!(reader.session(Uuid::from_u128(1))?, Some(session(1)));
            Ok(())
        })
        .expect("a transaction");

    let seen = reader.session(Uuid::from_u128(2)).expect("a look");
    assert_eq!(seen, Some(session(2)));
}

// === How they act ===

fn run<T>(
    backend: &mut impl Backend,
    mut job: impl FnMut(&mut dyn Tables) -> Result<T, Failure>,
) -> T {
    let mut done = None;
    backend
        .transaction(&mut |tables| {
            done = Some(job(tables)?);
            Ok(())
        })
        .expect("a transaction");
    done.expect("the job ran")
}

fn open(backend: &mut impl Backend, number: u128, now: Second) -> Opening {
    open_kept(backend, number, KEPT, now)
}

fn open_kept(backend: &mut impl Backend, number: u128, kept: Retention, now: Second) -> Opening {
    run(backend, |tables| tables.open(&session(number), kept, now))
}

fn opened(left: &[u128]) -> Opening {
    let left = left.iter().copied().map(Uuid::from_u128).collect();
    Opening::Opened { left }
}

fn look(backend: &impl Backend, number: u128) -> Option<SessionRecord> {
    let reader = backend.reader().expect("a reader");
    reader.session(Uuid::from_u128(number)).expect("a look")
}

fn set_level(backend: &mut impl Backend, number: u128, level: &str) -> bool {
    let id = Uuid::from_u128(number);
    run(backend, |tables| tables.set_level(id, level, NOW))
}

fn subscribe(backend: &mut impl Backend, number: u128, uri: &str, on: bool) -> Subscribing {
    let id = Uuid::from_u128(number);
    run(backend, |tables| tables.subscribe(id, uri, on, NOW))
}

fn subscribe_at(backend: &mut impl Backend, number: u128, uri: &str, now: Second) {
    let id = Uuid::from_u128(number);
    run(backend, |tables| tables.subscribe(id, uri, true, now));
}

fn subscriptions(backend: &impl Backend, number: u128) -> Vec<String> {
    look(backend, number).expect("a session").subscriptions
}

fn touch(backend: &mut impl Backend, numbers: &[u128], now: Second) {
    let ids: Vec<_> = numbers.iter().copied().map(Uuid::from_u128).collect();
    run(backend, |tables| tables.touch(&ids, now));
}

fn end(backend: &mut impl Backend, number: u128) -> Option<SessionRecord> {
    run(backend, |tables| tables.end(Uuid::from_u128(number)))
}

fn sweep(backend: &mut impl Backend, now: Second) -> Vec<Uuid> {
    run(backend, |tables| tables.sweep(KEPT, now))
}
