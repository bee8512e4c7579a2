use conduit_link::{ShardMap, Subject};
use proptest::prelude::*;

use super::*;

const ROOM: usize = 8;

fn topic(name: &str) -> Topic {
    Topic {
        server: "test".to_owned(),
        subject: Subject::Resource(name.to_owned()),
    }
}

fn life(of: u16) -> Uuid {
    Uuid::from_u128(u128::from(of))
}

fn roll(epoch: u64, told: &[u16], reaped: &[u16]) -> Roll {
    Roll {
        map: ShardMap {
            epoch,
            shards: vec![0],
        },
        told: told.iter().copied().map(life).collect(),
        reaped: reaped.iter().copied().map(life).collect(),
    }
}

/// A shard with these gateways, each on the link of its own number, settled by map 1.
fn shard(gateways: &[u16]) -> Shard<u64> {
    let mut shard = Shard::new(ROOM);
    shard.roll(roll(1, gateways, &[]));
    for &gateway in gateways {
        attach(&mut shard, gateway, u64::from(gateway));
        follow(&mut shard, u64::from(gateway), 1);
    }
    shard
}

fn attach(shard: &mut Shard<u64>, gateway: u16, link: u64) {
    let attached = shard.attach(Slot::gateway(gateway), life(gateway), link, link);
    assert_eq!(attached, Ok(()));
}

fn follow(shard: &mut Shard<u64>, link: u64, epoch: u64) {
    assert_eq!(shard.enter(link, epoch), Ok(()));
    assert_eq!(shard.settle(link, epoch), Ok(()));
}

fn register(shard: &mut Shard<u64>, link: u64, name: &str) -> Number {
    let epoch = shard.epoch();
    shard
        .register(link, epoch, vec![topic(name)])
        .expect("room")
}

/// Tells the gateway behind a link everything, and lets it note that.
fn tell_all(shard: &mut Shard<u64>, link: u64) -> Vec<Tell> {
    let mut told = Vec::new();
    while let Some(tell) = shard.next_tell(link) {
        told.push(tell);
        shard.noted(link);
    }
    told
}

fn audience(shard: &mut Shard<u64>, name: &str) -> Result<(Vec<u64>, bool), Unknown> {
    let epoch = shard.epoch();
    let audience = shard.audience(epoch, &topic(name))?;
    Ok((audience.links, audience.is_partial))
}

#[test]
fn those_who_registered_are_told() {
    let mut shard = shard(&[1, 2, 3]);
    register(&mut shard, 1, "a");
    register(&mut shard, 3, "a");
    assert_eq!(shard.unregister(3, &[topic("a")]), Ok(()));

    assert_eq!(audience(&mut shard, "a"), Ok((vec![1], false)));
    assert_eq!(audience(&mut shard, "b"), Ok((vec![], false)));
}

#[test]
fn nothing_is_told_before_everybody_who_is_awaited_has_settled() {
    let mut shard = Shard::new(ROOM);
    attach(&mut shard, 1, 1);
    follow(&mut shard, 1, 1);
    assert_eq!(audience(&mut shard, "a"), Err(Unknown::NotYet), "no roll");

    shard.roll(roll(1, &[1, 2], &[]));
    assert_eq!(
        audience(&mut shard, "a"),
        Err(Unknown::NotYet),
        "one is away"
    );

    attach(&mut shard, 2, 2);
    follow(&mut shard, 2, 1);
    assert_eq!(audience(&mut shard, "a"), Ok((vec![], false)));
}

#[test]
fn who_is_reaped_is_not_awaited_and_leaves_nothing() {
    let mut shard = shard(&[1, 2]);
    register(&mut shard, 1, "a");
    shard.roll(roll(2, &[1, 2], &[]));
    follow(&mut shard, 2, 2);
    assert!(!shard.is_open());

    shard.roll(roll(2, &[2], &[1]));

    assert!(shard.is_open());
    assert_eq!((shard.topics(), shard.registrations()), (0, 0));
    assert_eq!(tell_all(&mut shard, 2).last().unwrap().complete, Some(2));
}

#[test]
fn a_reaped_life_cannot_attach() {
    let mut shard = shard(&[1]);
    shard.roll(roll(1, &[], &[1]));

    let late = shard.attach(Slot::gateway(1), life(1), 10, 10);

    assert_eq!(late, Err(NotAttached::Dead));
    assert_eq!(shard.enter(1, 1), Err(Refused::Detached));
}

#[test]
fn a_later_roll_of_the_same_map_adds_nobody() {
    let mut shard = shard(&[1]);

    shard.roll(roll(1, &[1, 2], &[]));

    assert!(shard.is_open());
}

#[test]
fn whoever_speaks_of_a_newer_map_closes_the_shard_until_its_roll() {
    let mut shard = shard(&[1, 2]);

    follow(&mut shard, 1, 2);

    assert_eq!(shard.audience(1, &topic("a")), Err(Unknown::Stale));
    assert_eq!(shard.audience(2, &topic("a")), Err(Unknown::NotYet));
    assert_eq!(shard.register(2, 1, vec![topic("a")]), Err(Refused::Stale));
    shard.roll(roll(2, &[1, 2], &[]));
    follow(&mut shard, 2, 2);
    assert_eq!(audience(&mut shard, "a"), Ok((vec![], false)));
}

#[test]
fn a_gateway_that_is_away_makes_a_change_partial() {
    let mut shard = shard(&[1, 2]);
    register(&mut shard, 1, "a");
    register(&mut shard, 2, "a");

    shard.detach(1);

    assert_eq!(audience(&mut shard, "a"), Ok((vec![2], true)));
    assert_eq!(audience(&mut shard, "b"), Ok((vec![], false)));
}

#[test]
fn what_is_not_registered_again_goes_when_its_gateway_settles() {
    let mut shard = shard(&[1]);
    register(&mut shard, 1, "a");
    register(&mut shard, 1, "b");

    attach(&mut shard, 1, 10);
    shard.detach(1);
    assert_eq!(shard.enter(10, 1), Ok(()));
    register(&mut shard, 10, "a");
    assert_eq!(audience(&mut shard, "b"), Ok((vec![], true)));
    assert_eq!(shard.settle(10, 1), Ok(()));

    assert_eq!(audience(&mut shard, "a"), Ok((vec![10], false)));
    assert_eq!(audience(&mut shard, "b"), Ok((vec![], false)));
    assert_eq!(shard.registrations(), 1);
}

#[test]
fn a_link_that_was_replaced_may_do_nothing() {
    let mut shard = shard(&[1]);
    attach(&mut shard, 1, 10);

    assert_eq!(shard.enter(1, 1), Err(Refused::Detached));
    assert_eq!(
        shard.register(1, 1, vec![topic("a")]),
        Err(Refused::Detached)
    );
    assert_eq!(shard.unregister(1, &[topic("a")]), Err(Refused::Detached));
    assert_eq!(shard.next_tell(1), None);
}

#[test]
fn who_has_not_entered_registers_nothing() {
    let mut shard = Shard::new(ROOM);
    attach(&mut shard, 1, 1);

    assert_eq!(shard.register(1, 1, vec![topic("a")]), Err(Refused::Stale));
    assert_eq!(shard.settle(1, 1), Err(Refused::Stale));
}

#[test]
fn what_does_not_fit_as_a_whole_is_not_registered_in_part() {
    let mut shard = shard(&[1, 2]);
    let names: Vec<Topic> = (0..ROOM).map(|number| topic(&number.to_string())).collect();
    assert!(shard.register(1, 1, names.clone()).is_ok());

    assert_eq!(
        shard.register(1, 1, vec![topic("x"), topic("0")]),
        Err(Refused::Full)
    );
    assert_eq!(shard.register(2, 1, vec![topic("0")]), Err(Refused::Full));

    assert!(shard.register(1, 1, names).is_ok(), "that needs no room");
    assert_eq!((shard.topics(), shard.registrations()), (ROOM, ROOM));
}

#[test]
fn a_new_topic_is_known_when_each_believer_has_noted_it() {
    let mut shard = shard(&[1, 2]);
    tell_all(&mut shard, 1);
    assert_eq!(shard.next_tell(2).unwrap().complete, Some(1));

    let number = register(&mut shard, 1, "a");

    assert!(!shard.is_known(number));
    tell_all(&mut shard, 1);
    assert!(
        !shard.is_known(number),
        "what is on its way to the other does not say so"
    );
    shard.noted(2);
    assert!(!shard.is_known(number));
    let told = tell_all(&mut shard, 2);
    assert_eq!(told[0].added, [topic("a").fingerprint()]);
    assert!(shard.is_known(number));
}

#[test]
fn a_believer_that_is_away_keeps_a_topic_unknown_until_it_enters_again_or_is_reaped() {
    let mut shard = shard(&[1, 2]);
    tell_all(&mut shard, 1);
    tell_all(&mut shard, 2);
    shard.detach(2);
    let number = register(&mut shard, 1, "a");
    tell_all(&mut shard, 1);
    assert!(!shard.is_known(number));

    attach(&mut shard, 2, 20);
    assert!(
        !shard.is_known(number),
        "it may not have noticed its new link yet"
    );
    assert_eq!(shard.enter(20, 1), Ok(()));
    assert!(shard.is_known(number));

    tell_all(&mut shard, 20);
    shard.detach(20);
    let number = register(&mut shard, 1, "b");
    tell_all(&mut shard, 1);
    assert!(!shard.is_known(number));
    shard.roll(roll(1, &[1], &[2]));
    assert!(shard.is_known(number));
}

#[test]
fn the_belief_of_a_gateway_that_nobody_awaits_lasts_until_it_enters_on_its_new_link() {
    let mut shard = shard(&[1]);
    attach(&mut shard, 2, 2);
    follow(&mut shard, 2, 1);
    tell_all(&mut shard, 1);
    tell_all(&mut shard, 2);

    attach(&mut shard, 2, 20);
    let number = register(&mut shard, 1, "a");
    tell_all(&mut shard, 1);

    assert!(!shard.is_known(number));
    assert_eq!(shard.enter(20, 1), Ok(()));
    assert!(shard.is_known(number));
}

#[test]
fn who_follows_an_older_map_is_not_told_that_nobody_listens() {
    let mut shard = shard(&[1, 2]);
    register(&mut shard, 1, "a");
    tell_all(&mut shard, 2);

    follow(&mut shard, 1, 2);
    assert_eq!(shard.unregister(1, &[topic("a")]), Ok(()));

    assert_eq!(shard.next_tell(2), None);
    assert_eq!(shard.enter(2, 2), Ok(()));
    let told = tell_all(&mut shard, 2);
    assert_eq!(told[0].removed, [topic("a").fingerprint()]);
    assert_eq!(told[0].complete, None, "the roll of that map is not there");
}

#[test]
fn entering_the_same_map_again_means_nothing_new() {
    let mut shard = shard(&[1, 2]);
    tell_all(&mut shard, 2);

    assert_eq!(shard.enter(2, 1), Ok(()));

    let number = register(&mut shard, 1, "a");
    tell_all(&mut shard, 1);
    assert!(!shard.is_known(number), "it believes as before");
}

#[test]
fn more_gateways_than_may_be_are_refused() {
    let most = u16::try_from(MOST_LIVES).expect("small");
    let mut shard = Shard::new(ROOM);
    for gateway in 0..most {
        attach(&mut shard, gateway, u64::from(gateway));
    }

    let one_more = shard.attach(Slot::gateway(most), life(most), 5_000, 5_000);

    assert_eq!(one_more, Err(NotAttached::Full));
    attach(&mut shard, 0, 5_001);
}

#[derive(Clone, Debug)]
enum Step {
    Register(u16, Vec<u8>),
    Unregister(u16, Vec<u8>),
    Reconnect(u16),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let names = || proptest::collection::btree_set(0..6_u8, 0..5);
    let names = || names().prop_map(|names| names.into_iter().collect::<Vec<_>>());
    let step = prop_oneof![
        4 => (0..3_u16, names()).prop_map(|(of, names)| Step::Register(of, names)),
        3 => (0..3_u16, names()).prop_map(|(of, names)| Step::Unregister(of, names)),
        1 => (0..3_u16).prop_map(Step::Reconnect),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest! {
    #[test]
    fn whatever_happens_it_is_a_set_with_a_bound(steps in steps()) {
        let mut shard = shard(&[0, 1, 2]);
        let mut links = [0, 1, 2];
        let mut model: BTreeSet<(u16, u8)> = BTreeSet::new();
        let topics = |names: &[u8]| -> Vec<Topic> {
            names.iter().map(|name| topic(&name.to_string())).collect()
        };
        for (step, new_link) in steps.into_iter().zip(10..) {
            match step {
                Step::Register(of, names) => {
                    let mut grown = model.clone();
                    grown.extend(names.iter().map(|&name| (of, name)));
                    let fits = grown.len() <= ROOM;
                    let registered = shard.register(links[usize::from(of)], 1, topics(&names));
                    prop_assert_eq!(registered.is_ok(), fits);
                    if fits {
                        model = grown;
                    }
                }
                Step::Unregister(of, names) => {
                    let gone = shard.unregister(links[usize::from(of)], &topics(&names));
                    prop_assert_eq!(gone, Ok(()));
                    model.retain(|(holder, name)| *holder != of || !names.contains(name));
                }
                Step::Reconnect(of) => {
                    attach(&mut shard, of, new_link);
                    follow(&mut shard, new_link, 1);
                    links[usize::from(of)] = new_link;
                    model.retain(|(holder, _)| *holder != of);
                }
            }
            prop_assert_eq!(shard.registrations(), model.len());
            for name in 0..6_u8 {
                let holders = model.iter().filter(|(_, other)| *other == name);
                let expected: BTreeSet<u64> =
                    holders.map(|(of, _)| links[usize::from(*of)]).collect();
                let (told, is_partial) = audience(&mut shard, &name.to_string()).expect("open");
                prop_assert_eq!(BTreeSet::from_iter(told), expected);
                prop_assert!(!is_partial);
            }
        }
    }
}
