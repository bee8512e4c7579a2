use conduit_lifecycle::Backoff;

use super::*;

const PID: u32 = 42;
const LIFE: Uuid = Uuid::from_u128(1);
const OTHER: Uuid = Uuid::from_u128(2);
const GRACE: Duration = secs(10);

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn options() -> Options {
    Options {
        restarts: 2,
        window: secs(60),
        backoff: Backoff {
            first: millis(50),
            most: secs(5),
        },
        ready_timeout: secs(10),
        dead_after: secs(3),
        stall_limit: secs(5),
        kill_after: secs(2),
        parked_retry: secs(30),
        ..Options::default()
    }
}

fn idle() -> Place {
    Place::new(&options())
}

/// A slot whose process was started at second zero.
fn starting() -> Place {
    let mut place = idle();
    place.begin(secs(0));
    assert_eq!(place.due(secs(0)), [Effect::Start]);
    place.started(secs(0), PID, LIFE);
    place
}

/// A slot whose process was started and ready at second zero.
fn serving() -> Place {
    let mut place = starting();
    assert!(place.link(PID, LIFE));
    place.ready(secs(0));
    place
}

fn draining() -> Place {
    let mut place = serving();
    assert_eq!(place.drain(secs(0), GRACE), [Effect::Drain(GRACE)]);
    place
}

/// A slot that failed so often that it is parked, at second zero.
fn parked() -> Place {
    let mut place = idle();
    place.begin(secs(0));
    for _ in 0..=options().restarts {
        place.not_started(secs(0), "no".to_owned());
    }
    assert_eq!(place.phase(), Phase::Parked);
    place
}

/// What a kill for this reason asks for.
fn kill(reason: KillReason) -> Vec<Effect> {
    vec![
        Effect::Kill,
        Effect::Tell(News::Killed { pid: PID, reason }),
    ]
}

fn exited(cause: ExitCause, exit: Exit) -> Effect {
    Effect::Tell(News::Exited {
        pid: Some(PID),
        cause,
        exit,
    })
}

#[test]
fn nothing_starts_before_its_turn() {
    let mut place = idle();

    assert_eq!(place.due(secs(100)), []);
    assert_eq!(place.next_due(), None);
}

#[test]
fn the_turn_starts_a_process_at_once() {
    let mut place = idle();

    place.begin(secs(7));

    assert_eq!(place.next_due(), Some(secs(7)));
    assert_eq!(place.due(secs(7)), [Effect::Start]);
}

#[test]
fn a_turn_that_comes_again_changes_nothing() {
    let mut place = serving();

    place.begin(secs(1));

    assert_eq!(place.phase(), Phase::Serving);
    assert_eq!(place.due(secs(1)), []);
}

#[test]
fn the_first_start_is_no_restart() {
    let mut place = idle();
    place.begin(secs(0));

    let effects = place.started(secs(0), PID, LIFE);

    let news = News::Started {
        pid: PID,
        delay: None,
    };
    assert_eq!(effects, [Effect::Tell(news)]);
    assert_eq!(place.restarts(), 0);
}

#[test]
fn only_the_process_that_was_started_here_speaks_for_the_slot() {
    let mut place = starting();

    assert!(!place.link(PID + 1, LIFE), "another process");
    assert!(!place.link(PID, OTHER), "another life");
    assert!(place.link(PID, LIFE));
}

#[test]
fn nobody_speaks_for_an_empty_slot() {
    assert!(!idle().link(PID, LIFE));
    assert!(!parked().link(PID, LIFE));
}

#[test]
fn readiness_tells_how_long_the_start_took() {
    let mut place = starting();

    let effects = place.ready(millis(80));

    let took = millis(80);
    assert_eq!(effects, [Effect::Tell(News::Ready { pid: PID, took })]);
    assert_eq!(place.phase(), Phase::Serving);
}

#[test]
fn readiness_that_is_said_twice_counts_once() {
    let mut place = serving();

    assert_eq!(place.ready(secs(1)), []);
}

#[test]
fn a_process_that_is_not_ready_in_time_is_killed() {
    let mut place = starting();
    assert_eq!(place.due(millis(9_999)), []);

    let effects = place.due(secs(10));

    assert_eq!(effects, kill(KillReason::NeverReady));
}

#[test]
fn a_ready_process_is_not_killed_for_its_start() {
    let mut place = serving();

    assert_eq!(place.due(secs(1000)), []);
    assert_eq!(place.next_due(), None);
}

#[test]
fn a_silent_process_is_killed() {
    let mut place = serving();

    assert_eq!(place.unlink(secs(5), true), kill(KillReason::Silent));
}

#[test]
fn a_process_that_falls_silent_while_it_starts_is_killed() {
    let mut place = starting();
    place.link(PID, LIFE);

    assert_eq!(place.unlink(secs(5), true), kill(KillReason::Silent));
}

#[test]
fn silence_is_heard_even_after_the_broken_link_was_seen() {
    let mut place = serving();
    place.unlink(secs(5), false);

    assert_eq!(place.unlink(secs(5), true), kill(KillReason::Silent));
}

#[test]
fn a_broken_link_may_come_back_in_time() {
    let mut place = serving();
    assert_eq!(place.unlink(secs(5), false), []);
    assert_eq!(place.next_due(), Some(secs(8)));

    place.link(PID, LIFE);

    assert_eq!(place.next_due(), None);
    assert_eq!(place.due(secs(8)), []);
}

#[test]
fn a_link_that_stays_broken_kills_its_process_whoever_says_it_again() {
    let mut place = serving();
    place.unlink(secs(5), false);
    place.unlink(secs(7), false);

    assert_eq!(place.due(secs(8)), kill(KillReason::Unlinked));
}

#[test]
fn a_process_is_killed_for_a_loop_that_stands_still_longer_than_it_may() {
    let mut place = serving();
    assert_eq!(place.lag(secs(5)), []);

    assert_eq!(place.lag(millis(5_001)), kill(KillReason::Stalled));
}

#[test]
fn a_process_that_starts_may_be_busy() {
    assert_eq!(starting().lag(secs(9)), []);
}

#[test]
fn a_killed_process_is_not_replaced_before_it_is_reaped() {
    let mut place = serving();
    place.unlink(secs(5), true);

    assert_eq!(place.due(secs(1000)), []);
    assert_eq!(place.next_due(), None);
    assert_eq!(place.occupant().map(|occupant| occupant.pid), Some(PID));
}

#[test]
fn a_killed_process_is_not_killed_again() {
    let mut place = serving();
    place.unlink(secs(5), true);

    assert_eq!(place.unlink(secs(6), true), []);
    assert_eq!(place.lag(secs(100)), []);
    assert_eq!(place.kill(), []);
}

#[test]
fn a_reaped_process_is_replaced_after_the_backoff() {
    let mut place = serving();

    let effects = place.exited(secs(20), LIFE, Exit::Signal(9));

    assert_eq!(effects, [exited(ExitCause::Signal, Exit::Signal(9))]);
    assert_eq!(place.next_due(), Some(secs(20) + millis(50)));
    assert_eq!(place.due(secs(20)), []);
    assert_eq!(place.due(secs(20) + millis(50)), [Effect::Start]);
    let delay = Some(millis(50));
    let effects = place.started(secs(21), PID, OTHER);
    assert_eq!(effects, [Effect::Tell(News::Started { pid: PID, delay })]);
    assert_eq!(place.restarts(), 1);
}

#[test]
fn the_end_of_an_earlier_life_is_not_ours() {
    let mut place = serving();

    assert_eq!(place.exited(secs(1), OTHER, Exit::Status(0)), []);
    assert_eq!(place.phase(), Phase::Serving);
}

#[test]
fn an_end_that_is_told_twice_counts_once() {
    let mut place = serving();
    place.exited(secs(1), LIFE, Exit::Status(1));

    assert_eq!(place.exited(secs(1), LIFE, Exit::Status(1)), []);
}

#[test]
fn leaving_unasked_is_a_failure_even_with_status_zero() {
    let mut place = serving();

    let effects = place.exited(secs(1), LIFE, Exit::Status(0));

    assert_eq!(effects, [exited(ExitCause::Left, Exit::Status(0))]);
    assert_eq!(place.phase(), Phase::Waiting);
}

#[test]
fn a_failure_past_the_budget_parks_the_slot() {
    let mut place = idle();
    place.begin(secs(0));
    place.not_started(secs(0), "no".to_owned());
    place.not_started(secs(1), "no".to_owned());
    assert_eq!(place.phase(), Phase::Waiting);

    let effects = place.not_started(secs(2), "no".to_owned());

    let pause = secs(30);
    assert_eq!(effects.last(), Some(&Effect::Tell(News::Parked { pause })));
    assert_eq!(place.phase(), Phase::Parked);
    assert_eq!(place.next_due(), Some(secs(32)));
}

#[test]
fn a_parked_slot_is_tried_again_with_a_full_budget() {
    let mut place = parked();
    assert_eq!(place.due(secs(29)), []);

    assert_eq!(place.due(secs(30)), [Effect::Start]);

    place.not_started(secs(30), "no".to_owned());
    assert_eq!(place.phase(), Phase::Waiting, "the budget is full again");
}

#[test]
fn a_parked_slot_is_not_counted_on_until_it_is_ready() {
    let mut place = parked();
    assert!(!place.counted_on());

    place.due(secs(30));
    place.started(secs(30), PID, LIFE);
    assert!(!place.counted_on());
    place.ready(secs(31));

    assert!(place.counted_on());
}

#[test]
fn a_slot_between_two_lives_is_still_counted_on() {
    let mut place = serving();

    place.exited(secs(1), LIFE, Exit::Signal(11));

    assert!(place.counted_on());
}

#[test]
fn a_start_is_settled_by_readiness_or_by_parking() {
    assert!(!starting().settled());
    assert!(serving().settled());
    assert!(parked().settled());
}

#[test]
fn a_first_failure_lets_the_others_start_but_settles_nothing() {
    let mut place = starting();
    assert!(!place.tried());

    place.exited(secs(1), LIFE, Exit::Status(78));

    assert!(place.tried());
    assert!(!place.settled());
}

#[test]
fn a_drained_process_is_not_replaced() {
    let mut place = draining();
    assert_eq!(place.phase(), Phase::Draining);

    let effects = place.exited(secs(1), LIFE, Exit::Status(0));

    assert_eq!(effects, [exited(ExitCause::Asked, Exit::Status(0))]);
    assert_eq!(place.phase(), Phase::Gone);
    assert_eq!(place.next_due(), None);
}

#[test]
fn a_process_that_does_not_drain_in_time_is_killed() {
    let mut place = draining();
    assert_eq!(place.next_due(), Some(GRACE + secs(2)));

    let effects = place.due(GRACE + secs(2));

    assert_eq!(effects, kill(KillReason::Lingering));
    let effects = place.exited(secs(13), LIFE, Exit::Signal(9));
    assert_eq!(effects, [exited(ExitCause::Hung, Exit::Signal(9))]);
    assert_eq!(place.phase(), Phase::Gone);
}

#[test]
fn a_process_that_falls_silent_while_it_drains_is_killed() {
    assert_eq!(draining().unlink(secs(4), true), kill(KillReason::Silent));
}

#[test]
fn a_draining_process_may_close_its_link() {
    let mut place = draining();

    assert_eq!(place.unlink(secs(4), false), []);
    assert_eq!(place.next_due(), Some(GRACE + secs(2)));
}

#[test]
fn draining_twice_does_not_prolong_the_grace() {
    let mut place = draining();

    assert_eq!(place.drain(secs(5), GRACE), []);
    assert_eq!(place.next_due(), Some(GRACE + secs(2)));
}

#[test]
fn a_process_that_cannot_be_asked_to_drain_is_killed() {
    assert_eq!(starting().drain(secs(1), GRACE), kill(KillReason::Stopped));
}

#[test]
fn an_empty_slot_is_drained_at_once() {
    for mut place in [idle(), parked()] {
        assert_eq!(place.drain(secs(1), GRACE), []);
        assert_eq!(place.phase(), Phase::Gone);
        assert_eq!(place.due(secs(1000)), []);
    }
}

#[test]
fn a_slot_that_waits_for_its_restart_is_drained_at_once() {
    let mut place = serving();
    place.exited(secs(1), LIFE, Exit::Status(1));

    place.drain(secs(1), GRACE);

    assert_eq!(place.phase(), Phase::Gone);
    assert_eq!(place.due(secs(1000)), []);
}

#[test]
fn a_process_that_is_being_killed_is_not_replaced_after_a_drain() {
    let mut place = serving();
    place.unlink(secs(5), true);

    assert_eq!(place.drain(secs(5), GRACE), []);
    place.exited(secs(5), LIFE, Exit::Signal(9));

    assert_eq!(place.phase(), Phase::Gone);
}

#[test]
fn a_kill_ends_a_drain() {
    let mut place = draining();

    assert_eq!(place.kill(), kill(KillReason::Stopped));
    let effects = place.exited(secs(1), LIFE, Exit::Signal(9));
    assert_eq!(effects, [exited(ExitCause::Asked, Exit::Signal(9))]);
    assert_eq!(place.phase(), Phase::Gone);
}

#[test]
fn readiness_in_a_drain_comes_too_late() {
    let mut place = starting();
    place.link(PID, LIFE);
    place.drain(secs(0), GRACE);

    assert_eq!(place.ready(secs(1)), []);
    assert_eq!(place.phase(), Phase::Draining);
}

#[test]
fn a_crash_in_a_drain_is_told_as_one_and_not_repaired() {
    let mut place = draining();

    let effects = place.exited(secs(1), LIFE, Exit::Signal(11));

    assert_eq!(effects, [exited(ExitCause::Signal, Exit::Signal(11))]);
    assert_eq!(place.phase(), Phase::Gone);
}

#[test]
fn the_last_exit_says_how_and_why() {
    let mut place = serving();
    place.unlink(secs(5), true);

    place.exited(secs(5), LIFE, Exit::Signal(9));

    let text = place.last_exit().map(ToString::to_string);
    assert_eq!(
        text.as_deref(),
        Some("signal 9 (hung), killed: no heartbeat")
    );
}

#[test]
fn a_hung_process_spends_the_budget_like_a_crash() {
    let mut place = starting();
    for (life, second) in [(LIFE, 10), (OTHER, 30), (LIFE, 50)] {
        place.started(secs(second), PID, life);
        assert_eq!(place.due(secs(second + 10)), kill(KillReason::NeverReady));
        place.exited(secs(second + 10), life, Exit::Signal(9));
    }

    assert_eq!(place.phase(), Phase::Parked);
}
