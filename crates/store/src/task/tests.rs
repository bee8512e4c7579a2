use super::*;

const NOW: Moment = Moment::new(1_000_000);
const LATER: Moment = Moment::new(1_000_100);
const HOLDER: Holder = Holder {
    life: Uuid::from_u128(1),
    slot: 0,
};
const LIMITS: Limits = Limits {
    total: 10,
    per_owner: 3,
    running: 4,
    running_per_owner: 2,
    result: 100,
    spent: 10,
};

fn ready(attempts: u16) -> Course {
    Course::begin(attempts, None, NOW)
}

fn held(attempts: u16) -> Course {
    let mut course = ready(attempts);
    course.hold(HOLDER, NOW);
    course
}

fn waiting() -> Course {
    let mut course = held(1);
    course.suspend(1, NOW).expect("held");
    course
}

fn ended(status: TaskStatus) -> Course {
    let mut course = held(1);
    course.finish(1, status, None, NOW).expect("held");
    course
}

#[test]
fn a_new_task_works_and_is_ready() {
    let course = ready(1);

    assert_eq!((course.status, course.version), (TaskStatus::Working, 1));
    assert!(course.is_ready());
}

#[test]
fn no_client_sees_who_holds_a_task() {
    let course = held(1);

    assert_eq!((course.fence, course.attempt, course.version), (1, 1, 1));
    assert!(!course.is_ready());
}

#[test]
fn a_note_of_the_holder_is_a_change() {
    let mut course = held(1);

    assert_eq!(course.note(1, "half".to_owned(), LATER), Ok(()));

    assert_eq!(course.message.as_deref(), Some("half"));
    assert_eq!((course.version, course.updated), (2, LATER));
}

#[test]
fn nobody_but_the_holder_notes_suspends_or_finishes() {
    for course in [ready(2), held(2), waiting(), ended(TaskStatus::Completed)] {
        let fence = course.fence + 1;
        let mut late = course.clone();

        assert_eq!(late.note(fence, String::new(), LATER), Err(Fenced));
        assert_eq!(late.suspend(fence, LATER), Err(Fenced));
        let finished = late.finish(fence, TaskStatus::Completed, None, LATER);
        assert_eq!(finished, Err(Fenced));

        assert_eq!(late, course);
    }
}

#[test]
fn a_round_that_ended_gives_its_attempts_back() {
    let mut course = held(1);

    assert_eq!(course.suspend(1, LATER), Ok(Ending::Now));

    assert_eq!(course.status, TaskStatus::InputRequired);
    assert_eq!(
        (course.attempt, course.holder, course.version),
        (0, None, 2)
    );
    assert!(!course.is_ready());
}

#[test]
fn a_round_ends_once() {
    let mut course = waiting();
    let before = course.clone();

    assert_eq!(course.suspend(1, LATER), Ok(Ending::Before));
    assert_eq!(course, before);
    course.answer(true, LATER);
    assert_eq!(course.suspend(1, LATER), Ok(Ending::Before));
    course.hold(HOLDER, LATER);

    assert_eq!(course.suspend(1, LATER), Err(Fenced));
}

#[test]
fn work_that_was_given_back_ended_no_round() {
    let mut course = held(2);

    course.lose(Loss::Released, LATER);

    assert_eq!(course.suspend(1, LATER), Err(Fenced));
}

#[test]
fn a_task_goes_on_once_all_is_answered() {
    let mut course = waiting();

    course.answer(false, LATER);
    assert_eq!(course.status, TaskStatus::InputRequired);
    course.answer(true, LATER);

    assert!(course.is_ready());
    assert_eq!(course.version, 4);
}

#[test]
fn a_task_keeps_what_it_said_unless_it_says_something_else() {
    let mut course = held(1);
    course.note(1, "half".to_owned(), NOW).expect("held");
    let mut other = course.clone();

    course
        .finish(1, TaskStatus::Completed, None, NOW)
        .expect("held");
    other
        .finish(1, TaskStatus::Completed, Some("done".to_owned()), NOW)
        .expect("held");

    assert_eq!(course.message.as_deref(), Some("half"));
    assert_eq!(other.message.as_deref(), Some("done"));
}

#[test]
fn an_end_that_was_not_heard_may_be_told_again() {
    let mut course = ended(TaskStatus::Completed);
    let before = course.clone();

    let again = course.finish(1, TaskStatus::Completed, None, LATER);
    let other = course.finish(1, TaskStatus::Failed, None, LATER);

    assert_eq!(again, Ok(Ending::Before));
    assert_eq!(other, Err(Fenced));
    assert_eq!(course, before);
}

#[test]
fn a_task_that_has_ended_is_not_cancelled() {
    for status in [TaskStatus::Completed, TaskStatus::Failed] {
        let mut course = ended(status);

        assert_eq!(course.cancel(LATER), Err(Ended));

        assert_eq!(course, ended(status));
    }
}

#[test]
fn cancelling_ends_a_task_and_fences_its_holder() {
    let mut course = held(2);

    assert_eq!(course.cancel(LATER), Ok(Some(HOLDER)));

    assert_eq!(course.status, TaskStatus::Cancelled);
    let late = course.finish(1, TaskStatus::Completed, None, LATER);
    assert_eq!(late, Err(Fenced));
    assert_eq!(course.cancel(LATER), Err(Ended));
    assert_eq!(waiting().cancel(LATER), Ok(None));
}

#[test]
fn a_task_with_attempts_left_outlives_its_holder() {
    let mut course = held(2);

    assert_eq!(course.lose(Loss::Died, LATER), Fate::Ready);

    assert!(course.is_ready());
    assert_eq!(course.version, 1, "no client can see it");
    assert_eq!(course.note(1, String::new(), LATER), Err(Fenced));
    course.hold(HOLDER, LATER);
    assert_eq!((course.attempt, course.fence), (2, 3));
    assert_eq!(course.lose(Loss::Died, LATER), Fate::Failed);
}

#[test]
fn a_task_without_attempts_fails_with_its_holder() {
    let mut course = held(1);

    assert_eq!(course.lose(Loss::Died, LATER), Fate::Failed);

    assert_eq!(course.status, TaskStatus::Failed);
    assert_eq!(
        course.message.as_deref(),
        Some("the process that ran this task has died")
    );
    assert_eq!(
        Loss::Died.outcome(),
        br#"{"code":-32603,"message":"the process that ran this task has died"}"#
    );
}

#[test]
fn time_never_goes_back() {
    let mut course = held(1);

    course.note(1, "late".to_owned(), LATER).expect("held");
    course.note(1, "early".to_owned(), NOW).expect("held");

    assert_eq!((course.updated, course.version), (LATER, 3));
}

#[test]
fn what_a_task_says_is_cut_between_characters() {
    let long = format!("a{}", "é".repeat(600));

    let cut = cut(long);

    assert_eq!(cut.len(), 1_023);
    assert!(cut.ends_with('é'));
}

#[test]
fn one_task_past_a_cap_is_too_many() {
    let load = |all, of_owner| Load { all, of_owner };

    assert!(LIMITS.may_keep(load(9, Some(2))));
    assert!(LIMITS.may_keep(load(9, None)));
    assert!(!LIMITS.may_keep(load(10, Some(2))));
    assert!(!LIMITS.may_keep(load(9, Some(3))));
    assert!(LIMITS.may_hold(load(3, Some(1))));
    assert!(!LIMITS.may_hold(load(4, None)));
    assert!(!LIMITS.may_hold(load(3, Some(2))));
}

#[test]
fn an_outcome_past_the_limit_is_too_large() {
    assert!(LIMITS.may_end_with(&[0; 100]));
    assert!(!LIMITS.may_end_with(&[0; 101]));
    let endless = Limits {
        result: usize::MAX,
        ..LIMITS
    };
    assert!(!endless.may_end_with(&vec![0; ROOM + 1]));
}

#[test]
fn a_short_lease_leaves_time_for_the_news_of_it() {
    let short = named_by_now(Duration::from_secs(3), NOW);
    let long = named_by_now(Duration::from_secs(30), NOW);

    assert_eq!(NOW.since(short), Duration::from_secs(2));
    assert_eq!(NOW.since(long), Duration::from_secs(10));
}
