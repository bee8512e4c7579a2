mod scaling;

use uuid::Uuid;

use super::super::effect::Exit;
use super::*;

const LIFE: Uuid = Uuid::from_u128(1);
const ZERO: Duration = Duration::ZERO;

/// Slots: store (0), hub-0 (1), hub-1 (2), gateway-0 (3), gateway-1 (4).
fn roster() -> Roster {
    let slots = vec![
        Slot::STORE,
        Slot::hub(0),
        Slot::hub(1),
        Slot::gateway(0),
        Slot::gateway(1),
    ];
    let options = Options {
        restarts: 0,
        parked_retry: Duration::from_secs(30),
        ..Options::default()
    };
    let mut roster = Roster::new(slots, &options);
    roster.begin();
    roster
}

/// Advances and starts what has to be started; returns where.
fn start(roster: &mut Roster, now: Duration) -> Vec<usize> {
    let effects = roster.advance(now);
    let started: Vec<_> = effects
        .into_iter()
        .filter(|(_, effect)| *effect == Effect::Start)
        .map(|(index, _)| index)
        .collect();
    for &index in &started {
        place(roster, index).started(now, 1, LIFE);
    }
    started
}

fn place(roster: &mut Roster, index: usize) -> &mut Place {
    &mut roster.member(index).unwrap().place
}

/// A budget of no restarts: the first failure parks.
fn park(roster: &mut Roster, index: usize) {
    place(roster, index).exited(ZERO, LIFE, Exit::Status(1));
    assert_eq!(place(roster, index).phase(), Phase::Parked);
}

/// A roster of which everything serves.
fn serving() -> Roster {
    let mut roster = roster();
    for _kind in ORDER {
        for index in start(&mut roster, ZERO) {
            place(&mut roster, index).ready(ZERO);
        }
    }
    assert!(roster.settled());
    roster
}

#[test]
fn nothing_starts_before_the_start_has_begun() {
    let mut roster = Roster::new(vec![Slot::STORE], &Options::default());

    assert_eq!(roster.advance(ZERO), []);
}

#[test]
fn each_kind_starts_once_all_of_the_kind_before_are_ready() {
    let mut roster = roster();
    assert_eq!(start(&mut roster, ZERO), [0]);
    assert_eq!(start(&mut roster, ZERO), [] as [usize; 0]);

    place(&mut roster, 0).ready(ZERO);
    assert_eq!(start(&mut roster, ZERO), [1, 2]);

    place(&mut roster, 1).ready(ZERO);
    assert_eq!(start(&mut roster, ZERO), [] as [usize; 0]);
    place(&mut roster, 2).ready(ZERO);
    assert_eq!(start(&mut roster, ZERO), [3, 4]);
}

#[test]
fn a_slot_that_fails_its_first_start_does_not_hold_up_the_others() {
    let mut roster = roster();
    start(&mut roster, ZERO);

    park(&mut roster, 0);

    assert_eq!(start(&mut roster, ZERO), [1, 2]);
}

#[test]
fn the_start_is_over_when_the_last_slot_is_ready_or_parked() {
    let mut roster = roster();
    start(&mut roster, ZERO);
    park(&mut roster, 0);
    for index in start(&mut roster, ZERO) {
        place(&mut roster, index).ready(ZERO);
    }
    start(&mut roster, ZERO);
    place(&mut roster, 3).ready(ZERO);
    assert!(!roster.settled());

    park(&mut roster, 4);

    assert!(roster.settled());
}

#[test]
fn a_later_failure_does_not_start_the_order_again() {
    let mut roster = serving();

    park(&mut roster, 0);

    let due = Duration::from_secs(30);
    assert_eq!(roster.next_due(), Some(due));
    assert_eq!(start(&mut roster, due), [0]);
}

#[test]
fn the_first_map_names_every_hub() {
    let map = roster().map().clone();

    assert_eq!((map.epoch, map.shards), (1, vec![0, 1]));
}

#[test]
fn the_map_stays_while_a_hub_is_between_two_lives() {
    let mut roster = serving();
    place(&mut roster, 1).unlink(ZERO, true);

    assert_eq!(roster.remap(), None);
}

#[test]
fn a_parked_hub_leaves_the_map_until_it_is_ready_again() {
    let mut roster = serving();
    park(&mut roster, 1);
    let map = roster.remap().unwrap();
    assert_eq!((map.epoch, &*map.shards), (2, &[1][..]));
    assert_eq!(roster.remap(), None, "one change, one map");

    start(&mut roster, Duration::from_secs(30));
    assert_eq!(roster.remap(), None);
    place(&mut roster, 1).ready(Duration::from_secs(31));

    let map = roster.remap().unwrap();
    assert_eq!((map.epoch, &*map.shards), (3, &[0, 1][..]));
}

#[test]
fn a_kind_is_gone_when_its_last_process_is() {
    let mut roster = serving();
    for index in [3, 4] {
        place(&mut roster, index).kill();
    }
    place(&mut roster, 3).exited(ZERO, LIFE, Exit::Signal(9));
    assert!(!roster.gone(Role::Gateway));

    place(&mut roster, 4).exited(ZERO, LIFE, Exit::Signal(9));

    assert!(roster.gone(Role::Gateway));
    assert!(!roster.gone(Role::Hub));
}

#[test]
fn a_tree_without_hubs_starts_its_gateways() {
    let slots = vec![Slot::STORE, Slot::gateway(0)];
    let mut roster = Roster::new(slots, &Options::default());
    roster.begin();
    start(&mut roster, ZERO);

    place(&mut roster, 0).ready(ZERO);

    assert_eq!(start(&mut roster, ZERO), [1]);
}
