//! What every backend has to pass about tasks.

use std::collections::HashSet;

use conduit_link::{
    Asker, Holding, NewTask, TakenTask, TaskEntry, TaskEra, TaskOwner, TaskRecord, TaskStatus,
};
use serde_bytes::ByteBuf;
use uuid::Uuid;

use super::{look, open, run, session};
use crate::backend::{
    Answering, Backend, Cancelling, Creating, Expired, Failure, Holdings, Listed, Losses, Place,
    Spending, TaskReader, Which,
};
use crate::clock::Moment;
use crate::retention::Second;
use crate::tally::Census;
use crate::task::{Holder, Limits, Loss, ROOM, SLICE};

const NOW: Moment = Moment::new(1_000_000);
const LATER: Moment = Moment::new(1_000_100);
const ONE: Holder = Holder {
    life: Uuid::from_u128(0xa1),
    slot: 1,
};
const OTHER: Holder = Holder {
    life: Uuid::from_u128(0xa2),
    slot: 2,
};
const LIMITS: Limits = Limits {
    total: 100_000,
    per_owner: 100_000,
    running: 100_000,
    running_per_owner: 100_000,
    result: 1_000,
    spent: 10,
};
/// Nothing starts at once.
const NO_ROOM: Limits = Limits {
    running: 0,
    ..LIMITS
};

/// Panics at the first statement that does not hold.
pub(super) fn pass<B: Backend>(make: impl Fn() -> B) {
    a_task_comes_back_as_it_was_made(make());
    whatever_else_a_task_has_comes_back(make());
    an_unknown_task_is_nothing(make());
    making_a_task_again_changes_nothing(make());
    whoever_makes_a_task_holds_it_unless_too_many_run(make());
    running_tasks_are_counted_by_gateway_server_and_owner(make());
    no_task_fits_above_a_cap(make());
    no_owner_has_more_tasks_than_it_may(make());
    whoever_only_knows_ids_owns_nothing(make());
    a_task_whose_time_is_over_makes_room(make());
    the_oldest_ready_tasks_are_taken_first(make());
    work_comes_with_all_that_it_needs(make());
    what_is_taken_is_no_longer_ready(make());
    more_work_than_one_message_holds_is_taken_in_parts(make());
    a_thousand_tasks_that_may_not_run_hide_no_other(make());
    a_note_is_a_change(make());
    a_task_asks_and_goes_on_with_the_answers(make());
    a_key_that_was_not_asked_is_ignored(make());
    an_answer_counts_once(make());
    answers_to_a_task_that_does_not_wait_are_ignored(make());
    answers_that_are_too_large_are_not_kept(make());
    the_next_round_begins_without_the_last_ones_questions(make());
    a_round_that_is_ended_again_is_answered_as_it_is(make());
    questions_that_are_too_large_are_not_kept(make());
    a_task_ends_once_with_its_outcome(make());
    an_end_that_is_told_again_is_answered_again(make());
    nobody_acts_on_a_holding_that_is_no_more(make());
    a_cancelled_task_is_told_who_held_it(make());
    a_task_that_has_ended_is_not_cancelled(make());
    a_cancelled_task_asks_nothing(make());
    nobody_sees_a_task_of_another(make());
    a_life_that_is_over_loses_its_tasks(make());
    a_life_loses_only_what_it_gives_back(make());
    a_life_loses_what_it_does_not_name(make());
    a_life_loses_a_slice_at_a_time(make());
    a_task_whose_time_is_over_is_found_by_nothing(make());
    what_has_left_leaves_nothing_behind(make());
    a_sweep_removes_a_slice_at_a_time(make());
    a_task_without_end_stays(make());
    versions_are_those_of_the_tasks_that_there_are(make());
    a_list_has_its_owners_tasks_the_newest_first(make());
    a_list_goes_on_where_it_stopped(make());
    holders_and_what_they_hold_are_known(make());
    the_next_end_is_known(make());
    a_state_is_spent_once(make());
    spent_states_are_kept_while_they_count(make());
    sessions_and_tasks_do_not_mind_each_other(make());
    what_failed_counts_for_nothing(make());
}

/// A task with every field of its own.
pub(crate) fn task(number: u128) -> NewTask {
    NewTask {
        id: id(number),
        server: "demo".to_owned(),
        era: TaskEra::Modern,
        owner: TaskOwner::Principal("ann".to_owned()),
        tool: format!("tool {number}"),
        ttl_ms: Some(1_000),
        poll_ms: Some(50),
        message: Some("begun".to_owned()),
        input: ByteBuf::from(format!("input {number}")),
        journal: ByteBuf::from([0, 255]),
        attempts: 1,
    }
}

// === Made, and taken ===

fn a_task_comes_back_as_it_was_made(mut backend: impl Backend) {
    let (record, fence) = create(&mut backend, &task(1));

    assert_eq!(fence, Some(1));
    assert_eq!(
        record,
        TaskRecord {
            id: id(1),
            server: "demo".to_owned(),
            era: TaskEra::Modern,
            owner: TaskOwner::Principal("ann".to_owned()),
            tool: "tool 1".to_owned(),
            version: 1,
            status: TaskStatus::Working,
            created_ms: 1_000_000,
            updated_ms: 1_000_000,
            ttl_ms: Some(1_000),
            poll_ms: Some(50),
            message: Some("begun".to_owned()),
            questions: Vec::new(),
            outcome: None,
        }
    );
    assert_eq!(get(&backend, 1), Some(record));
    assert_eq!(backend.census().working, 1);
}

fn whatever_else_a_task_has_comes_back(mut backend: impl Backend) {
    let other = NewTask {
        era: TaskEra::Legacy,
        owner: TaskOwner::Session(id(77)),
        ttl_ms: None,
        poll_ms: None,
        message: None,
        ..task(1)
    };
    let third = NewTask {
        owner: TaskOwner::Bearer,
        ttl_ms: Some(u64::MAX),
        ..task(2)
    };

    for made in [other, third] {
        let (record, _) = create(&mut backend, &made);
        assert_eq!(record.owner, made.owner);
        assert_eq!(record.era, made.era);
        assert_eq!(record.message, made.message);
        let found = backend.reader().expect("a reader").task(made.id, NOW);
        assert_eq!(found.expect("a look"), Some(record));
    }
}

fn an_unknown_task_is_nothing(mut backend: impl Backend) {
    create(&mut backend, &task(1));

    assert_eq!(get(&backend, 2), None);
    assert_eq!(cancel(&mut backend, 2, None, NOW), None);
    assert_eq!(finish(&mut backend, 2, 1, b"x"), Holdings::Fenced);
}

fn making_a_task_again_changes_nothing(mut backend: impl Backend) {
    create(&mut backend, &task(1));
    note(&mut backend, 1, 1, "half");
    let before = get(&backend, 1);

    let again = create(&mut backend, &task(1));
    let other = create_at(&mut backend, &task(1), OTHER, &LIMITS, LATER);

    assert_eq!(again, (before.clone().expect("a task"), Some(1)));
    assert_eq!(other.kept, Some((before.clone().expect("a task"), None)));
    assert_eq!(get(&backend, 1), before);
    assert_eq!(backend.census().all(), 1);
    let late = create_at(&mut backend, &task(1), ONE, &LIMITS, Moment::new(1_001_000));
    assert_eq!(
        late.kept,
        Some((before.expect("a task"), None)),
        "not twice"
    );
}

fn whoever_makes_a_task_holds_it_unless_too_many_run(mut backend: impl Backend) {
    let limits = Limits {
        running: 2,
        ..LIMITS
    };
    let mut fences = Vec::new();
    for number in 1..=3 {
        fences.push(create_kept(&mut backend, &task(number), ONE, &limits).1);
    }

    assert_eq!(fences, [Some(1), Some(1), None]);
    assert_eq!(backend.census().ready(), 1);
    finish(&mut backend, 1, 1, b"{}");
    let taken = take(&mut backend, ONE, 9, &limits);
    assert_eq!(numbers(&taken), [3]);
}

fn running_tasks_are_counted_by_gateway_server_and_owner(mut backend: impl Backend) {
    let limits = Limits {
        running: 2,
        running_per_owner: 1,
        ..LIMITS
    };
    let of = |number, owner: &str, server: &str| NewTask {
        owner: TaskOwner::Principal(owner.to_owned()),
        server: server.to_owned(),
        ..task(number)
    };
    let mut holds = |task: &NewTask, holder| {
        let (_, fence) = create_kept(&mut backend, task, holder, &limits);
        fence.is_some()
    };

    assert!(holds(&of(1, "ann", "demo"), ONE));
    assert!(!holds(&of(2, "ann", "demo"), ONE), "as many of ann");
    assert!(holds(&of(3, "bob", "demo"), ONE));
    assert!(!holds(&of(4, "cid", "demo"), ONE), "as many of the server");
    assert!(holds(&of(5, "ann", "other"), ONE));
    assert!(holds(&of(6, "ann", "demo"), OTHER));
}

fn no_task_fits_above_a_cap(mut backend: impl Backend) {
    let limits = Limits { total: 2, ..LIMITS };
    let bearer = |number| NewTask {
        owner: TaskOwner::Bearer,
        ..task(number)
    };
    create_kept(&mut backend, &task(1), ONE, &limits);
    create_kept(&mut backend, &bearer(2), ONE, &limits);
    finish(&mut backend, 1, 1, b"{}");

    let third = create_at(&mut backend, &bearer(3), ONE, &limits, NOW);
    let again = create_at(&mut backend, &bearer(2), ONE, &limits, NOW);

    assert_eq!(third.kept, None, "one that has ended counts");
    assert!(again.kept.is_some());
    assert!(get(&backend, 1).is_some());
    assert_eq!(backend.census().all(), 2);
}

fn no_owner_has_more_tasks_than_it_may(mut backend: impl Backend) {
    let limits = Limits {
        per_owner: 1,
        ..LIMITS
    };
    let of = |number, owner| NewTask {
        owner,
        ..task(number)
    };
    let ann = || TaskOwner::Principal("ann".to_owned());
    let session = TaskOwner::Session(id(7));
    let mut keeps = |task: &NewTask, now| {
        let created = create_at(&mut backend, task, ONE, &limits, now);
        created.kept.is_some()
    };

    assert!(keeps(&of(1, ann()), NOW));
    assert!(!keeps(&of(2, ann()), NOW));
    assert!(keeps(&of(3, session.clone()), NOW));
    assert!(!keeps(&of(4, session), NOW));
    assert!(keeps(&of(5, TaskOwner::Principal("bob".to_owned())), NOW));
    assert!(
        keeps(&of(6, ann()), Moment::new(1_001_000)),
        "the first is over"
    );
    assert!(!keeps(&of(7, ann()), Moment::new(1_001_000)));
}

fn whoever_only_knows_ids_owns_nothing(mut backend: impl Backend) {
    let limits = Limits {
        per_owner: 1,
        running_per_owner: 1,
        ..LIMITS
    };

    for number in 1..=3 {
        let bearer = NewTask {
            owner: TaskOwner::Bearer,
            ..task(number)
        };
        let (_, fence) = create_kept(&mut backend, &bearer, ONE, &limits);
        assert!(fence.is_some());
    }
}

fn a_task_whose_time_is_over_makes_room(mut backend: impl Backend) {
    let limits = Limits { total: 1, ..LIMITS };
    create_kept(&mut backend, &task(1), ONE, &limits);

    let second = create_at(
        &mut backend,
        &task(2),
        OTHER,
        &limits,
        Moment::new(1_001_000),
    );

    let expired = Expired {
        id: id(1),
        holder: Some(ONE),
        had_ended: false,
    };
    assert_eq!(second.expired, [expired]);
    assert!(second.kept.is_some());
    assert_eq!(backend.census().all(), 1);
}

fn the_oldest_ready_tasks_are_taken_first(mut backend: impl Backend) {
    for (number, created) in [(1, 30), (2, 10), (3, 20)] {
        let now = Moment::new(1_000_000 + created);
        create_at(&mut backend, &task(number), ONE, &NO_ROOM, now);
    }

    let first = take(&mut backend, OTHER, 2, &LIMITS);
    let rest = take(&mut backend, OTHER, 2, &LIMITS);

    assert_eq!(numbers(&first), [2, 3]);
    assert_eq!(numbers(&rest), [1]);
}

fn work_comes_with_all_that_it_needs(mut backend: impl Backend) {
    ready(&mut backend, &task(1));

    let taken = take(&mut backend, ONE, 1, &LIMITS);

    let [
        TakenTask {
            record,
            work,
            fence,
        },
    ] = &taken[..]
    else {
        panic!("one task: {taken:?}");
    };
    assert_eq!(Some(record), get(&backend, 1).as_ref());
    assert_eq!(work.input, task(1).input);
    assert_eq!(work.journal, task(1).journal);
    assert_eq!((work.answers.len(), work.attempt, *fence), (0, 1, 1));
}

fn what_is_taken_is_no_longer_ready(mut backend: impl Backend) {
    ready(&mut backend, &task(1));
    ready(&mut backend, &task(2));

    let taken = take_at(&mut backend, ONE, 9, &LIMITS, Moment::new(1_001_000));
    assert!(taken.is_empty(), "their time is over");
    take(&mut backend, ONE, 9, &LIMITS);

    assert!(take(&mut backend, OTHER, 9, &LIMITS).is_empty());
    let expected = Census {
        working: 2,
        held: 2,
        ..Census::default()
    };
    assert_eq!(backend.census(), expected);
}

fn more_work_than_one_message_holds_is_taken_in_parts(mut backend: impl Backend) {
    for number in 1..=3 {
        let large = NewTask {
            input: ByteBuf::from(vec![b'x'; 1_500_000]),
            ..task(number)
        };
        ready(&mut backend, &large);
    }

    for number in 1..=3 {
        let taken = take(&mut backend, ONE, 9, &LIMITS);
        assert_eq!(numbers(&taken), [number]);
    }
}

fn a_thousand_tasks_that_may_not_run_hide_no_other(mut backend: impl Backend) {
    let limits = Limits {
        running_per_owner: 1,
        ..LIMITS
    };
    run(&mut backend, |tables| {
        for number in 0..1_000 {
            tables.create(&task(number), ONE, &NO_ROOM, NOW)?;
        }
        for number in 1_000..1_003 {
            let other = NewTask {
                owner: TaskOwner::Session(id(number)),
                ..task(number)
            };
            tables.create(&other, ONE, &NO_ROOM, LATER)?;
        }
        Ok(())
    });

    let taken = take_at(&mut backend, ONE, 9, &limits, LATER);
    assert_eq!(taken.len(), 4);
    let more = take_at(&mut backend, ONE, 9, &limits, LATER);
    assert!(more.is_empty());
    let other = take_at(&mut backend, OTHER, 9, &limits, LATER);
    assert_eq!(other.len(), 1, "{other:?}");
}

// === Rounds ===

fn a_note_is_a_change(mut backend: impl Backend) {
    create(&mut backend, &task(1));

    let noted = done(note(&mut backend, 1, 1, "half"));

    assert_eq!(noted.message.as_deref(), Some("half"));
    assert_eq!((noted.version, noted.updated_ms), (2, 1_000_100));
    assert_eq!(get(&backend, 1), Some(noted));
}

fn a_task_asks_and_goes_on_with_the_answers(mut backend: impl Backend) {
    create(&mut backend, &task(1));

    let asked = done(suspend(&mut backend, 1, 1, &["b", "a"]));
    assert_eq!(asked.status, TaskStatus::InputRequired);
    assert_eq!(asked.questions, entries(&["b", "a"], "?"), "in their order");
    assert_eq!(get(&backend, 1), Some(asked));
    assert!(take(&mut backend, ONE, 9, &LIMITS).is_empty());

    let (some, resumed) = answer(&mut backend, 1, &["a"]);
    assert!(!resumed);
    assert_eq!(some.questions, entries(&["b"], "?"));
    assert_eq!((some.version, some.status), (3, TaskStatus::InputRequired));
    let (all, resumed) = answer(&mut backend, 1, &["b"]);
    assert!(resumed);
    assert_eq!((all.version, all.status), (4, TaskStatus::Working));
    assert!(all.questions.is_empty());

    let taken = take(&mut backend, OTHER, 9, &LIMITS);
    assert_eq!(taken[0].work.answers, entries(&["b", "a"], "!"));
    assert_eq!(taken[0].work.journal, ByteBuf::from(b"journal"));
    assert_eq!((taken[0].work.attempt, taken[0].fence), (1, 2));
}

fn a_key_that_was_not_asked_is_ignored(mut backend: impl Backend) {
    waiting(&mut backend, 1, &["a"]);
    let before = get(&backend, 1);

    let (record, resumed) = answer(&mut backend, 1, &["x"]);

    assert!(!resumed);
    assert_eq!(Some(record), before);
}

fn an_answer_counts_once(mut backend: impl Backend) {
    waiting(&mut backend, 1, &["a", "b"]);
    answer(&mut backend, 1, &["a"]);
    let before = get(&backend, 1);

    let (record, resumed) = answer(&mut backend, 1, &["a", "a"]);

    assert!(!resumed);
    assert_eq!(Some(record), before);
}

fn answers_to_a_task_that_does_not_wait_are_ignored(mut backend: impl Backend) {
    create(&mut backend, &task(1));
    let before = get(&backend, 1);

    let (record, resumed) = answer(&mut backend, 1, &["a"]);

    assert!(!resumed);
    assert_eq!(Some(record), before);
}

fn answers_that_are_too_large_are_not_kept(mut backend: impl Backend) {
    waiting(&mut backend, 1, &["a"]);
    let before = get(&backend, 1);
    let large = [TaskEntry {
        key: "a".to_owned(),
        json: ByteBuf::from(vec![b'x'; ROOM]),
    }];

    let answered = run(&mut backend, |tables| {
        tables.answer(id(1), &ann(), &large, LATER)
    });

    assert_eq!(answered, Answering::Full);
    assert_eq!(get(&backend, 1), before);
}

fn the_next_round_begins_without_the_last_ones_questions(mut backend: impl Backend) {
    waiting(&mut backend, 1, &["a", "b"]);
    answer(&mut backend, 1, &["a", "b"]);
    take(&mut backend, ONE, 1, &LIMITS);

    let asked = done(suspend(&mut backend, 1, 2, &["c"]));
    assert_eq!(asked.questions, entries(&["c"], "?"));
    answer(&mut backend, 1, &["a", "c"]);

    let taken = take(&mut backend, ONE, 1, &LIMITS);
    assert_eq!(taken[0].work.answers, entries(&["c"], "!"));
}

fn a_round_that_is_ended_again_is_answered_as_it_is(mut backend: impl Backend) {
    waiting(&mut backend, 1, &["a"]);
    let before = get(&backend, 1).expect("a task");

    let again = suspend(&mut backend, 1, 1, &["a"]);

    assert_eq!(again, Holdings::Done(Box::new(before)));
}

fn questions_that_are_too_large_are_not_kept(mut backend: impl Backend) {
    create(&mut backend, &task(1));
    let before = get(&backend, 1);
    let (holding, large) = (holding(1, 1), vec![b'x'; ROOM]);

    let suspended = run(&mut backend, |tables| {
        tables.suspend(holding, &large, &entries(&["a"], "?"), LATER)
    });

    assert_eq!(suspended, Holdings::Full);
    assert_eq!(get(&backend, 1), before);
}

// === Ends ===

fn a_task_ends_once_with_its_outcome(mut backend: impl Backend) {
    create(&mut backend, &task(1));

    let ended = done(finish(&mut backend, 1, 1, br#"{"ok":true}"#));

    assert_eq!(ended.status, TaskStatus::Completed);
    assert_eq!(ended.outcome, Some(ByteBuf::from(br#"{"ok":true}"#)));
    assert_eq!((ended.version, ended.updated_ms), (2, 1_000_100));
    assert_eq!(get(&backend, 1), Some(ended));
    let expected = Census {
        completed: 1,
        ..Census::default()
    };
    assert_eq!(backend.census(), expected);
}

fn an_end_that_is_told_again_is_answered_again(mut backend: impl Backend) {
    create(&mut backend, &task(1));
    let first = finish(&mut backend, 1, 1, b"1");

    assert_eq!(finish(&mut backend, 1, 1, b"1"), first);
    assert_eq!(finish(&mut backend, 1, 1, b"2"), Holdings::Fenced);

    assert_eq!(get(&backend, 1), Some(done(first)));
}

fn nobody_acts_on_a_holding_that_is_no_more(mut backend: impl Backend) {
    let restartable = NewTask {
        attempts: 9,
        ..task(1)
    };
    create(&mut backend, &restartable);
    lose(&mut backend, ONE, Which::All);
    take(&mut backend, OTHER, 1, &LIMITS);
    let before = get(&backend, 1);

    for fence in [0, 1, 2, 4] {
        assert_eq!(note(&mut backend, 1, fence, "x"), Holdings::Fenced);
        assert_eq!(suspend(&mut backend, 1, fence, &["a"]), Holdings::Fenced);
        assert_eq!(finish(&mut backend, 1, fence, b"x"), Holdings::Fenced);
    }

    assert_eq!(get(&backend, 1), before);
    done(note(&mut backend, 1, 3, "the holder's"));
}

fn a_cancelled_task_is_told_who_held_it(mut backend: impl Backend) {
    create(&mut backend, &task(1));

    let cancelled = cancel(&mut backend, 1, Some(&ann()), LATER).expect("a task");

    assert_eq!(cancelled.holder, Some(ONE));
    assert!(!cancelled.had_ended);
    assert_eq!(cancelled.record.status, TaskStatus::Cancelled);
    assert_eq!(get(&backend, 1), Some(cancelled.record));
    assert_eq!(finish(&mut backend, 1, 1, b"x"), Holdings::Fenced);
    assert_eq!(backend.census().held, 0);
}

fn a_task_that_has_ended_is_not_cancelled(mut backend: impl Backend) {
    create(&mut backend, &task(1));
    let ended = done(finish(&mut backend, 1, 1, b"1"));

    let cancelled = cancel(&mut backend, 1, None, LATER).expect("a task");

    assert!(cancelled.had_ended);
    assert_eq!(cancelled.record, ended);
    assert_eq!(get(&backend, 1), Some(ended));
}

fn a_cancelled_task_asks_nothing(mut backend: impl Backend) {
    waiting(&mut backend, 1, &["a"]);

    cancel(&mut backend, 1, None, LATER);

    let (record, resumed) = answer(&mut backend, 1, &["a"]);
    assert!(!resumed && record.questions.is_empty());
    assert_eq!(record.status, TaskStatus::Cancelled);
    assert!(take(&mut backend, ONE, 1, &LIMITS).is_empty());
}

fn nobody_sees_a_task_of_another(mut backend: impl Backend) {
    waiting(&mut backend, 1, &["a"]);
    let bob = Asker {
        principal: Some("bob".to_owned()),
        ..ann()
    };
    let elsewhere = Asker {
        server: "other".to_owned(),
        ..ann()
    };
    let before = get(&backend, 1);

    for asker in [bob, elsewhere] {
        let answers = entries(&["a"], "!");
        let answered = run(&mut backend, |tables| {
            tables.answer(id(1), &asker, &answers, LATER)
        });
        assert_eq!(answered, Answering::Unknown);
        assert_eq!(cancel(&mut backend, 1, Some(&asker), LATER), None);
    }

    assert_eq!(get(&backend, 1), before);
}

// === Losses ===

fn a_life_that_is_over_loses_its_tasks(mut backend: impl Backend) {
    let restartable = NewTask {
        attempts: 2,
        ..task(2)
    };
    create(&mut backend, &task(1));
    create(&mut backend, &restartable);
    create_kept(&mut backend, &task(3), OTHER, &LIMITS);

    let losses = lose(&mut backend, ONE, Which::All);

    let expected = Losses {
        ready: vec![id(2)],
        failed: vec![id(1)],
    };
    assert_eq!(losses, expected);
    let failed = get(&backend, 1).expect("a task");
    assert_eq!(failed.status, TaskStatus::Failed);
    let outcome = failed.outcome.expect("an error");
    assert!(outcome.starts_with(br#"{"code":-32603,"#));
    assert!(failed.message.expect("a message").contains("died"));
    let taken = take(&mut backend, OTHER, 9, &LIMITS);
    assert_eq!(numbers(&taken), [2]);
    assert_eq!(taken[0].work.attempt, 2);
    assert_eq!(lose(&mut backend, OTHER, Which::All).failed.len(), 2);
}

fn a_life_loses_only_what_it_gives_back(mut backend: impl Backend) {
    for number in 1..=3 {
        create(&mut backend, &task(number));
    }
    let given = HashSet::from([holding(1, 1), holding(2, 9)]);

    let losses = lose(&mut backend, ONE, Which::Only(&given));

    assert_eq!(losses.failed, [id(1)]);
    assert!(
        lose(&mut backend, OTHER, Which::Only(&given))
            .failed
            .is_empty()
    );
    assert_eq!(backend.census().held, 2);
}

fn a_life_loses_what_it_does_not_name(mut backend: impl Backend) {
    for (number, leased) in [(1, NOW), (2, NOW), (3, LATER)] {
        create_at(&mut backend, &task(number), ONE, &LIMITS, leased);
    }
    let named = HashSet::from([holding(1, 1)]);

    let losses = lose(&mut backend, ONE, Which::AllBut(&named, LATER));

    assert_eq!(losses.failed, [id(2)]);
}

fn a_life_loses_a_slice_at_a_time(mut backend: impl Backend) {
    run(&mut backend, |tables| {
        for number in 0..=u128::try_from(SLICE).expect("small") {
            tables.create(&task(number), ONE, &LIMITS, NOW)?;
        }
        Ok(())
    });

    assert_eq!(lose(&mut backend, ONE, Which::All).len(), SLICE);
    assert_eq!(lose(&mut backend, ONE, Which::All).len(), 1);
    assert_eq!(lose(&mut backend, ONE, Which::All).len(), 0);
}

// === The end of time ===

fn a_task_whose_time_is_over_is_found_by_nothing(mut backend: impl Backend) {
    let (last, over) = (Moment::new(1_000_999), Moment::new(1_001_000));
    create(&mut backend, &task(1));
    let reader = backend.reader().expect("a reader");
    let found = |now| reader.task(id(1), now).expect("a look").is_some();

    assert!(found(last) && !found(over));
    assert!(reader.versions(&[id(1)], over).expect("a look").is_empty());
    assert!(list(&backend, "ann", None, 9, over).is_empty());
    let holding = holding(1, 1);
    let finished = run(&mut backend, |tables| {
        tables.finish(holding, TaskStatus::Completed, b"x", None, over)
    });
    assert_eq!(finished, Holdings::Fenced);
    assert_eq!(cancel(&mut backend, 1, None, over), None);
    let answered = run(&mut backend, |tables| {
        tables.answer(id(1), &ann(), &[], over)
    });
    assert_eq!(answered, Answering::Unknown);
}

fn what_has_left_leaves_nothing_behind(mut backend: impl Backend) {
    waiting(&mut backend, 1, &["a"]);
    create(&mut backend, &task(2));
    finish(&mut backend, 2, 1, b"x");
    create(&mut backend, &task(3));

    let expired = expire(&mut backend, Moment::new(1_001_000));

    let held: Vec<_> = expired.iter().map(|task| task.holder).collect();
    assert_eq!(held, [None, None, Some(ONE)]);
    let ended: Vec<_> = expired.iter().map(|task| task.had_ended).collect();
    assert_eq!(ended, [false, true, false]);
    assert_eq!(backend.census(), Census::default());
    // Numbers come again, and must find nothing of their predecessors.
    for number in 1..=3 {
        let (record, fence) = create(&mut backend, &task(number));
        assert_eq!((record.version, fence), (1, Some(1)));
        assert_eq!(get(&backend, number), Some(record));
    }
}

fn a_sweep_removes_a_slice_at_a_time(mut backend: impl Backend) {
    run(&mut backend, |tables| {
        for number in 0..=u128::try_from(SLICE).expect("small") {
            tables.create(&task(number), ONE, &LIMITS, NOW)?;
        }
        Ok(())
    });
    let over = Moment::new(1_001_000);

    assert!(expire(&mut backend, Moment::new(1_000_999)).is_empty());
    assert_eq!(expire(&mut backend, over).len(), SLICE);
    assert_eq!(expire(&mut backend, over).len(), 1);
    assert!(expire(&mut backend, over).is_empty());
}

fn a_task_without_end_stays(mut backend: impl Backend) {
    let endless = NewTask {
        ttl_ms: None,
        ..task(1)
    };
    create(&mut backend, &endless);

    assert!(expire(&mut backend, Moment::new(i64::MAX)).is_empty());
}

// === Reads ===

fn versions_are_those_of_the_tasks_that_there_are(mut backend: impl Backend) {
    create(&mut backend, &task(1));
    create(&mut backend, &task(2));
    note(&mut backend, 2, 1, "half");

    let reader = backend.reader().expect("a reader");
    let versions = reader
        .versions(&[id(2), id(9), id(1)], NOW)
        .expect("a look");

    assert_eq!(versions, [(id(2), 2), (id(1), 1)]);
}

fn a_list_has_its_owners_tasks_the_newest_first(mut backend: impl Backend) {
    let other = |number, change: &dyn Fn(&mut NewTask)| {
        let mut task = task(number);
        change(&mut task);
        task
    };
    create_at(&mut backend, &task(1), ONE, &LIMITS, LATER);
    create(&mut backend, &task(3));
    create(&mut backend, &task(2));
    finish(&mut backend, 2, 1, b"x");
    let bob = TaskOwner::Principal("bob".to_owned());
    create(&mut backend, &other(4, &|task| task.owner = bob.clone()));
    create(
        &mut backend,
        &other(5, &|task| task.owner = TaskOwner::Bearer),
    );
    create(&mut backend, &other(6, &|task| task.era = TaskEra::Legacy));
    create(
        &mut backend,
        &other(7, &|task| task.server = "x".to_owned()),
    );

    let tasks = list(&backend, "ann", None, 9, NOW);

    let found: Vec<_> = tasks.iter().map(|task| task.id).collect();
    assert_eq!(found, [id(1), id(3), id(2)]);
    assert_eq!(tasks[2].status, TaskStatus::Completed);
    assert_eq!(tasks[2].outcome, None);
    assert!(list(&backend, "cid", None, 9, NOW).is_empty());
}

fn a_list_goes_on_where_it_stopped(mut backend: impl Backend) {
    for number in 1..=5 {
        create(&mut backend, &task(number));
    }
    let page = |backend: &_, after| {
        let tasks = list(backend, "ann", after, 2, NOW);
        let found = tasks.iter().map(|task| task.id).collect::<Vec<_>>();
        (found, tasks.last().map(Place::of))
    };

    let (first, after) = page(&backend, None);
    create_at(&mut backend, &task(6), ONE, &LIMITS, LATER);
    let (second, after) = page(&backend, after);
    let (third, _) = page(&backend, after);

    assert_eq!(first, [id(5), id(4)]);
    assert_eq!(second, [id(3), id(2)]);
    assert_eq!(third, [id(1)]);
}

fn holders_and_what_they_hold_are_known(mut backend: impl Backend) {
    create(&mut backend, &task(1));
    create(&mut backend, &task(2));
    create_kept(&mut backend, &task(3), OTHER, &LIMITS);
    ready(&mut backend, &task(4));

    let reader = backend.reader().expect("a reader");

    assert_eq!(reader.holders().expect("a look"), [ONE, OTHER]);
    let held = reader.held(OTHER.life).expect("a look");
    assert_eq!(held, [(holding(3, 1), NOW)]);
    finish(&mut backend, 3, 1, b"x");
    assert_eq!(reader.holders().expect("a look"), [ONE]);
}

fn the_next_end_is_known(mut backend: impl Backend) {
    let reader = backend.reader().expect("a reader");
    let next = || reader.next_expiry().expect("a look");
    assert_eq!(next(), None);
    create(&mut backend, &task(1));
    let shorter = NewTask {
        ttl_ms: Some(10),
        ..task(2)
    };
    assert_eq!(next(), Some(Moment::new(1_001_000)));

    create(&mut backend, &shorter);

    assert_eq!(next(), Some(Moment::new(1_000_010)));
}

// === Spent states ===

fn a_state_is_spent_once(mut backend: impl Backend) {
    assert_eq!(spend(&mut backend, 1, NOW), Spending::Now);
    assert_eq!(spend(&mut backend, 1, NOW), Spending::Before);
    assert_eq!(spend(&mut backend, 2, NOW), Spending::Now);
}

fn spent_states_are_kept_while_they_count(mut backend: impl Backend) {
    for number in 0..10 {
        assert_eq!(spend(&mut backend, number, NOW), Spending::Now);
    }
    let forget = |backend: &mut _, now| run(backend, |tables| tables.forget_spent(now));

    assert_eq!(spend(&mut backend, 10, NOW), Spending::Full);
    assert_eq!(spend(&mut backend, 0, NOW), Spending::Before);
    assert_eq!(forget(&mut backend, Moment::new(1_060_000)), 0);
    assert_eq!(
        spend(&mut backend, 10, Moment::new(1_060_001)),
        Spending::Now
    );
    assert_eq!(
        spend(&mut backend, 0, Moment::new(1_060_001)),
        Spending::Now
    );
}

// === Together ===

fn sessions_and_tasks_do_not_mind_each_other(mut backend: impl Backend) {
    open(&mut backend, 1, Second::new(1_000));
    create(&mut backend, &task(1));

    expire(&mut backend, Moment::new(1_001_000));

    assert_eq!(look(&backend, 1), Some(session(1)));
    assert_eq!((backend.live(), backend.census().all()), (1, 0));
}

fn what_failed_counts_for_nothing(mut backend: impl Backend) {
    create(&mut backend, &task(1));
    let before = backend.census();

    let failed = backend.transaction(&mut |tables| {
        tables.create(&task(2), ONE, &LIMITS, NOW)?;
        tables.cancel(id(1), None, NOW)?;
        tables.spend(id(1), NOW, &LIMITS, NOW)?;
        Err(Failure::new("go on", std::fmt::Error))
    });

    failed.expect_err("as asked");
    assert_eq!(backend.census(), before);
    assert_eq!(get(&backend, 2), None);
    done(finish(&mut backend, 1, 1, b"x"));
    assert_eq!(spend(&mut backend, 1, NOW), Spending::Now);
}

// === How they act ===

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
        era: TaskEra::Modern,
        principal: Some("ann".to_owned()),
        session: None,
    }
}

fn entries(keys: &[&str], mark: &str) -> Vec<TaskEntry> {
    let entry = |key: &&str| TaskEntry {
        key: (*key).to_owned(),
        json: ByteBuf::from(format!("{key}{mark}")),
    };
    keys.iter().map(entry).collect()
}

fn numbers(taken: &[TakenTask]) -> Vec<u128> {
    taken.iter().map(|task| task.record.id.as_u128()).collect()
}

#[track_caller]
fn done(holdings: Holdings) -> TaskRecord {
    match holdings {
        Holdings::Done(record) => *record,
        Holdings::Fenced | Holdings::Full => panic!("{holdings:?}"),
    }
}

fn create_at(
    backend: &mut impl Backend,
    task: &NewTask,
    holder: Holder,
    limits: &Limits,
    now: Moment,
) -> Creating {
    run(backend, |tables| tables.create(task, holder, limits, now))
}

fn create_kept(
    backend: &mut impl Backend,
    task: &NewTask,
    holder: Holder,
    limits: &Limits,
) -> (TaskRecord, Option<u64>) {
    create_at(backend, task, holder, limits, NOW)
        .kept
        .expect("room")
}

fn create(backend: &mut impl Backend, task: &NewTask) -> (TaskRecord, Option<u64>) {
    create_kept(backend, task, ONE, &LIMITS)
}

fn ready(backend: &mut impl Backend, task: &NewTask) {
    create_kept(backend, task, ONE, &NO_ROOM);
}

fn waiting(backend: &mut impl Backend, number: u128, keys: &[&str]) {
    create(backend, &task(number));
    done(suspend(backend, number, 1, keys));
}

fn get(backend: &impl Backend, number: u128) -> Option<TaskRecord> {
    let reader = backend.reader().expect("a reader");
    reader.task(id(number), NOW).expect("a look")
}

fn list(
    backend: &impl Backend,
    owner: &str,
    after: Option<Place>,
    limit: usize,
    now: Moment,
) -> Vec<TaskRecord> {
    let owner = TaskOwner::Principal(owner.to_owned());
    let of = Listed {
        owner: &owner,
        server: "demo",
        era: TaskEra::Modern,
    };
    let reader = backend.reader().expect("a reader");
    reader.tasks(of, after, limit, now).expect("a list")
}

fn take(backend: &mut impl Backend, holder: Holder, limit: u16, limits: &Limits) -> Vec<TakenTask> {
    take_at(backend, holder, limit, limits, LATER)
}

fn take_at(
    backend: &mut impl Backend,
    holder: Holder,
    limit: u16,
    limits: &Limits,
    now: Moment,
) -> Vec<TakenTask> {
    run(backend, |tables| tables.take(holder, limit, limits, now))
}

fn note(backend: &mut impl Backend, number: u128, fence: u64, message: &str) -> Holdings {
    let holding = holding(number, fence);
    run(backend, |tables| tables.note(holding, message, LATER))
}

fn suspend(backend: &mut impl Backend, number: u128, fence: u64, keys: &[&str]) -> Holdings {
    let (holding, questions) = (holding(number, fence), entries(keys, "?"));
    run(backend, |tables| {
        tables.suspend(holding, b"journal", &questions, LATER)
    })
}

fn answer(backend: &mut impl Backend, number: u128, keys: &[&str]) -> (TaskRecord, bool) {
    let answers = entries(keys, "!");
    let answered = run(backend, |tables| {
        tables.answer(id(number), &ann(), &answers, LATER)
    });
    match answered {
        Answering::Kept { record, resumed } => (*record, resumed),
        Answering::Full | Answering::Unknown => panic!("{answered:?}"),
    }
}

fn finish(backend: &mut impl Backend, number: u128, fence: u64, outcome: &[u8]) -> Holdings {
    let holding = holding(number, fence);
    run(backend, |tables| {
        tables.finish(holding, TaskStatus::Completed, outcome, None, LATER)
    })
}

fn cancel(
    backend: &mut impl Backend,
    number: u128,
    asker: Option<&Asker>,
    now: Moment,
) -> Option<Cancelling> {
    run(backend, |tables| tables.cancel(id(number), asker, now))
}

fn lose(backend: &mut impl Backend, holder: Holder, which: Which<'_>) -> Losses {
    run(backend, |tables| {
        tables.lose(holder.life, which, Loss::Died, LATER)
    })
}

fn expire(backend: &mut impl Backend, now: Moment) -> Vec<Expired> {
    run(backend, |tables| tables.expire(now))
}

fn spend(backend: &mut impl Backend, number: u128, now: Moment) -> Spending {
    run(backend, |tables| {
        tables.spend(id(number), NOW, &LIMITS, now)
    })
}
