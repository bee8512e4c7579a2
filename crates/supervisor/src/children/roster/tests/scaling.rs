//! How many there are to be changes while the tree runs.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A life of a slot that no other has.
fn life(index: usize, now: Duration) -> Uuid {
    Uuid::from_u128((u128::from(now.as_secs()) << 64) | index as u128)
}

/// Advances, starts what has to be started and lets it be ready at once.
fn run(roster: &mut Roster, now: Duration) -> Vec<(usize, Effect)> {
    let mut done = Vec::new();
    loop {
        let effects = roster.advance(now);
        let idle = effects.is_empty();
        for (index, effect) in effects {
            if effect == Effect::Start {
                place(roster, index).started(now, 1, life(index, now));
                assert!(place(roster, index).link(1, life(index, now)));
                place(roster, index).ready(now);
            }
            done.push((index, effect));
        }
        if idle {
            return done;
        }
    }
}

fn end(roster: &mut Roster, index: usize, now: Duration) {
    let life = place(roster, index).occupant().unwrap().life;
    place(roster, index).exited(now, life, Exit::Status(0));
}

/// Store (0), hub-0 (1), gateway-0 (2), gateway-1 (3); all serve.
fn running() -> Roster {
    let slots = vec![
        Slot::STORE,
        Slot::hub(0),
        Slot::gateway(0),
        Slot::gateway(1),
    ];
    let mut roster = Roster::new(slots, &Options::default());
    roster.begin();
    run(&mut roster, ZERO);
    assert!(roster.whole());
    roster
}

fn scaled(role: Role, count: u16) -> Roster {
    let mut roster = running();
    roster.scale(role, count, ZERO);
    run(&mut roster, ZERO);
    roster.remap();
    roster
}

fn drained(effects: &[(usize, Effect)]) -> Vec<usize> {
    let drains = effects
        .iter()
        .filter(|(_, effect)| matches!(effect, Effect::Drain(_)));
    drains.map(|(index, _)| *index).collect()
}

fn names(roster: &Roster) -> Vec<String> {
    let there = roster.members().iter().filter(|member| !member.has_left());
    there.map(|member| member.slot.to_string()).collect()
}

#[test]
fn more_slots_are_added_at_the_end_and_started() {
    let mut roster = running();

    roster.scale(Role::Gateway, 4, SECOND);

    assert_eq!(start(&mut roster, SECOND), [4, 5]);
    assert_eq!(
        names(&roster)[2..],
        ["gateway-0", "gateway-1", "gateway-2", "gateway-3"]
    );
}

#[test]
fn a_new_hub_is_in_the_map_once_it_is_ready() {
    let mut roster = running();
    roster.scale(Role::Hub, 3, ZERO);
    assert_eq!(start(&mut roster, ZERO), [4, 5]);
    assert_eq!(roster.remap(), None);

    place(&mut roster, 5).ready(ZERO);

    let map = roster.remap().unwrap();
    assert_eq!((map.epoch, &*map.shards), (2, &[0, 2][..]));
    place(&mut roster, 4).ready(ZERO);
    let map = roster.remap().unwrap();
    assert_eq!((map.epoch, &*map.shards), (3, &[0, 1, 2][..]));
}

#[test]
fn a_hub_that_never_gets_ready_is_not_in_the_map_and_degrades_the_tree_once_it_is_parked() {
    let mut roster = running();
    roster.options.restarts = 0;
    roster.scale(Role::Hub, 2, ZERO);
    start(&mut roster, ZERO);
    assert!(roster.whole(), "it is not missed while it is started");

    place(&mut roster, 4).exited(ZERO, LIFE, Exit::Status(1));
    roster.advance(ZERO);

    assert_eq!(place(&mut roster, 4).phase(), Phase::Parked);
    assert!(!roster.whole() && roster.settled());
    assert_eq!(roster.remap(), None);
}

#[test]
fn a_new_gateway_counts_once_its_pipeline_has_answered() {
    let mut roster = running();
    roster.scale(Role::Gateway, 3, ZERO);
    run(&mut roster, ZERO);
    assert!(!roster.members()[4].counts());

    roster.member(4).unwrap().join();

    assert!(roster.members()[4].counts());
    place(&mut roster, 4).unlink(ZERO, true);
    assert!(!roster.whole(), "it is missed from now on");
}

#[test]
fn surplus_gateways_drain_at_once_the_highest_first_to_go() {
    let mut roster = scaled(Role::Gateway, 4);

    roster.scale(Role::Gateway, 1, SECOND);
    let effects = run(&mut roster, SECOND);

    assert_eq!(drained(&effects), [3, 4, 5]);
    assert!(roster.whole(), "nobody misses them");
    for index in [3, 4, 5] {
        end(&mut roster, index, SECOND);
    }
    assert_eq!(run(&mut roster, SECOND), [], "they stay away");
    assert_eq!(names(&roster), ["store", "hub-0", "gateway-0"]);
}

#[test]
fn a_surplus_hub_leaves_the_map_first_and_drains_after_the_handover() {
    let mut roster = scaled(Role::Hub, 3);
    let handover = roster.options.handover;

    roster.scale(Role::Hub, 1, SECOND);

    assert_eq!(run(&mut roster, SECOND), []);
    let map = roster.remap().unwrap().clone();
    assert_eq!(map.shards, [0]);
    assert_eq!(roster.next_due(), Some(SECOND + handover));
    assert_eq!(drained(&run(&mut roster, SECOND + handover)), [4, 5]);
    for index in [4, 5] {
        end(&mut roster, index, SECOND + handover);
    }
    assert_eq!(roster.remap(), None);
    assert_eq!(names(&roster), ["store", "hub-0", "gateway-0", "gateway-1"]);
}

#[test]
fn a_surplus_hub_that_dies_meanwhile_is_not_filled_again() {
    let mut roster = scaled(Role::Hub, 2);
    roster.scale(Role::Hub, 1, SECOND);
    run(&mut roster, SECOND);

    end(&mut roster, 4, SECOND);

    assert_eq!(run(&mut roster, SECOND), []);
    assert_eq!(run(&mut roster, 9 * SECOND), []);
    assert!(roster.members()[4].has_left());
}

#[test]
fn a_hub_that_is_wanted_again_before_it_drains_goes_on_with_a_newer_map() {
    let mut roster = scaled(Role::Hub, 2);
    let before = place(&mut roster, 4).occupant();
    roster.scale(Role::Hub, 1, SECOND);
    let left = roster.remap().unwrap().epoch;

    roster.scale(Role::Hub, 2, SECOND);

    let map = roster.remap().unwrap();
    assert_eq!((map.epoch, &*map.shards), (left + 1, &[0, 1][..]));
    assert_eq!(run(&mut roster, 9 * SECOND), []);
    assert_eq!(place(&mut roster, 4).occupant(), before);
}

#[test]
fn a_slot_that_is_wanted_again_while_it_drains_is_filled_when_it_is_empty() {
    let mut roster = scaled(Role::Hub, 2);
    roster.scale(Role::Hub, 1, SECOND);
    roster.remap();
    run(&mut roster, 3 * SECOND);
    assert_eq!(place(&mut roster, 4).phase(), Phase::Draining);

    roster.scale(Role::Hub, 2, 3 * SECOND);

    assert_eq!(run(&mut roster, 3 * SECOND), [], "it is not empty yet");
    assert_eq!(roster.remap(), None);
    end(&mut roster, 4, 4 * SECOND);
    assert_eq!(run(&mut roster, 4 * SECOND), [(4, Effect::Start)]);
    assert_eq!(roster.remap().unwrap().shards, [0, 1]);
}

#[test]
fn an_index_that_was_left_is_used_again_by_a_slot_without_a_past() {
    let mut roster = scaled(Role::Gateway, 3);
    end(&mut roster, 4, SECOND);
    run(&mut roster, 2 * SECOND);
    assert_eq!(place(&mut roster, 4).restarts(), 1);
    roster.scale(Role::Gateway, 2, 3 * SECOND);
    run(&mut roster, 3 * SECOND);
    end(&mut roster, 4, 3 * SECOND);
    run(&mut roster, 3 * SECOND);
    assert!(roster.members()[4].has_left());

    roster.scale(Role::Gateway, 3, 4 * SECOND);

    assert_eq!(run(&mut roster, 4 * SECOND), [(4, Effect::Start)]);
    let place = &roster.members()[4].place;
    assert_eq!((place.restarts(), place.last_exit()), (0, None));
    assert_eq!(roster.members().len(), 5);
}

#[test]
fn a_parked_slot_that_is_scaled_away_is_gone_at_once() {
    let mut roster = running();
    roster.options.restarts = 0;
    roster.scale(Role::Hub, 2, ZERO);
    start(&mut roster, ZERO);
    place(&mut roster, 4).exited(ZERO, LIFE, Exit::Status(1));

    roster.scale(Role::Hub, 1, ZERO);
    roster.advance(ZERO);

    assert!(roster.members()[4].has_left());
    assert!(roster.whole());
}

#[test]
fn a_wish_that_comes_while_the_tree_ends_adds_no_slot_that_the_end_would_wait_for() {
    let mut roster = running();
    roster.end();
    for index in [2, 3] {
        place(&mut roster, index).drain(ZERO, SECOND);
    }

    roster.scale(Role::Gateway, 5, ZERO);

    assert_eq!(run(&mut roster, SECOND), []);
    for index in [2, 3] {
        end(&mut roster, index, ZERO);
    }
    assert!(roster.gone(Role::Gateway));
    assert_eq!(run(&mut roster, ZERO), []);
}

#[test]
fn a_beginning_that_is_told_again_does_not_undo_the_end() {
    let mut roster = running();
    roster.end();
    place(&mut roster, 3).drain(ZERO, SECOND);
    end(&mut roster, 3, ZERO);

    roster.begin();

    assert_eq!(run(&mut roster, ZERO), []);
    assert_eq!(place(&mut roster, 3).phase(), Phase::Gone);
}

#[test]
fn the_same_count_again_changes_nothing() {
    let mut roster = scaled(Role::Hub, 2);

    roster.scale(Role::Hub, 2, SECOND);

    assert_eq!(run(&mut roster, 9 * SECOND), []);
    assert_eq!(roster.remap(), None);
}

/// A number that follows from the last, for schedules that a seed fixes.
fn next(seed: &mut u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

#[test]
fn whatever_happens_the_last_wish_comes_true_and_no_slot_has_two_processes() {
    for mut seed in 0..2_000 {
        let (mut roster, mut now) = (running(), ZERO);
        let mut wanted = [1_u16, 2];
        let mut epoch = 1;
        for _step in 0..40 {
            now += Duration::from_millis(next(&mut seed) % 700);
            let kind = usize::from(next(&mut seed).is_multiple_of(2));
            let role = [Role::Hub, Role::Gateway][kind];
            let index = usize::try_from(next(&mut seed)).unwrap() % roster.members().len();
            match next(&mut seed) % 4 {
                0 => {
                    wanted[kind] = u16::try_from(next(&mut seed) % 5 + 1).unwrap();
                    roster.scale(role, wanted[kind], now);
                }
                1 if place(&mut roster, index).occupant().is_some() => {
                    end(&mut roster, index, now);
                }
                _ => {}
            }
            for (index, effect) in roster.advance(now) {
                if effect == Effect::Start {
                    assert_eq!(place(&mut roster, index).occupant(), None);
                    place(&mut roster, index).started(now, 1, life(index, now));
                    assert!(place(&mut roster, index).link(1, life(index, now)));
                } else if next(&mut seed).is_multiple_of(2) {
                    continue;
                }
                place(&mut roster, index).ready(now);
            }
            if let Some(map) = roster.remap() {
                assert!(map.epoch > epoch);
                epoch = map.epoch;
            }
            let map = roster.map().clone();
            for (index, member) in roster.members().iter().enumerate() {
                let named =
                    member.slot.role == Role::Hub && map.shards.contains(&member.slot.index);
                let drains = member.place.phase() == Phase::Draining;
                assert!(!(named && drains), "slot {index} drains, and owns topics");
            }
        }

        // From here on nothing fails, and who was asked to drain ends.
        for _round in 0..20 {
            now += 90 * SECOND;
            run(&mut roster, now);
            for index in 0..roster.members().len() {
                match place(&mut roster, index).phase() {
                    Phase::Draining => end(&mut roster, index, now),
                    Phase::Starting => drop(place(&mut roster, index).ready(now)),
                    Phase::Serving | Phase::Waiting | Phase::Parked | Phase::Gone => {}
                }
            }
            roster.remap();
        }

        let there = |role| {
            let members = roster.members().iter();
            let there = members.filter(|member| member.slot.role == role && !member.has_left());
            there
                .map(|member| (member.slot.index, member.place.serving()))
                .collect::<Vec<_>>()
        };
        let expected = |count| (0..count).map(|index| (index, true)).collect::<Vec<_>>();
        assert_eq!(there(Role::Hub), expected(wanted[0]), "{seed}");
        assert_eq!(there(Role::Gateway), expected(wanted[1]), "{seed}");
        assert_eq!(roster.map().shards, (0..wanted[0]).collect::<Vec<_>>());
    }
}
