use super::*;

const SLOTS: [Slot; 4] = [
    Slot::STORE,
    Slot::hub(0),
    Slot::gateway(0),
    Slot::gateway(1),
];

fn table() -> Table {
    Table::new(SLOTS.to_vec(), &Options::default())
}

/// Fills a slot with a process of this life, as if it were started.
fn fill(table: &mut Table, index: usize, life: u128) {
    let place = &mut table.roster.member(index).unwrap().place;
    place.started(Duration::ZERO, 1, Uuid::from_u128(life));
}

#[test]
fn a_roll_names_the_gateways_that_were_told_a_map_and_live() {
    let mut table = table();
    for (index, life) in [(1, 1), (2, 2), (3, 3)] {
        fill(&mut table, index, life);
    }
    table.grip(2).unwrap().told = true;

    assert_eq!(table.roll().told, [Uuid::from_u128(2)]);
    assert_eq!(&table.roll().map, table.roster.map());
}

#[test]
fn a_slot_between_two_lives_is_not_waited_for() {
    let mut table = table();
    table.grip(2).unwrap().told = true;

    assert_eq!(table.roll().told, Vec::<Uuid>::new());
}

#[test]
fn a_roll_names_the_gateways_that_were_reaped_last_the_newest_at_the_end() {
    let mut table = table();
    for life in 0..2000 {
        table.bury(Uuid::from_u128(life));
    }

    let reaped = table.roll().reaped;

    assert_eq!(reaped.len(), MOST_REAPED);
    assert_eq!(reaped.first(), Some(&Uuid::from_u128(976)));
    assert_eq!(reaped.last(), Some(&Uuid::from_u128(1999)));
}

#[test]
fn slots_are_shown_kind_after_kind_whenever_they_were_added() {
    let mut table = table();
    table.scale(Role::Hub, 2, Duration::ZERO);
    table.scale(Role::Gateway, 3, Duration::ZERO);

    let shown: Vec<_> = table
        .shown()
        .iter()
        .map(|(member, _)| member.slot.to_string())
        .collect();

    let expected = [
        "store",
        "hub-0",
        "hub-1",
        "gateway-0",
        "gateway-1",
        "gateway-2",
    ];
    assert_eq!(shown, expected);
}
