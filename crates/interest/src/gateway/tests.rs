use conduit_link::Subject;
use proptest::prelude::*;

use super::*;

fn topic(name: &str) -> Topic {
    Topic {
        server: "test".to_owned(),
        subject: Subject::Resource(name.to_owned()),
    }
}

fn map(epoch: u64, shards: &[u16]) -> ShardMap {
    ShardMap {
        epoch,
        shards: shards.to_vec(),
    }
}

/// A ledger that has entered and settled at the one shard of map 1.
fn ledger() -> Ledger {
    let mut ledger = Ledger::new(5_000);
    ledger.take_map(&map(1, &[0]));
    ledger.up(0);
    settle(&mut ledger, 0);
    ledger
}

fn want(ledger: &mut Ledger, names: &[&str]) -> Vec<Arc<Topic>> {
    let topics = names.iter().map(|name| topic(name)).collect();
    ledger.want(topics).expect("room")
}

/// Answers everything until nothing is left to ask; returns what was asked.
fn settle(ledger: &mut Ledger, shard: u16) -> Vec<Question> {
    let mut asked = Vec::new();
    while let Some(ask) = ledger.next(shard) {
        asked.push(ask.question.clone());
        ledger.answered(shard, ask, Outcome::Done);
    }
    asked
}

fn next(ledger: &mut Ledger) -> Ask {
    ledger.next(0).expect("something to ask")
}

/// A topic that is owned by the second of two shards, and one that is not.
fn movers() -> (String, String) {
    let both = map(1, &[0, 1]);
    let by = |owner| {
        let mut names = (0..).map(|number: u32| number.to_string());
        let found = names.find(|name| owner_of(&both, topic(name).fingerprint()) == Some(owner));
        found.expect("one of many")
    };
    (by(1), by(0))
}

#[test]
fn a_shard_is_entered_then_told_of_everything_and_then_settled() {
    let mut ledger = Ledger::new(10);
    let wanted = want(&mut ledger, &["a"]);
    assert_eq!(ledger.next(0), None, "no map");
    ledger.take_map(&map(1, &[0]));
    assert_eq!(ledger.next(0), None, "no link");
    ledger.up(0);

    let asked = settle(&mut ledger, 0);

    let expected = [
        Question::Enter,
        Question::Register(wanted.clone()),
        Question::Settle,
    ];
    assert_eq!(asked, expected);
    assert_eq!(ledger.heard(&wanted[0]), Heard::Yes);
}

#[test]
fn a_topic_is_unregistered_when_the_last_who_wanted_it_is_gone() {
    let mut ledger = ledger();
    let first = want(&mut ledger, &["a"]);
    let second = want(&mut ledger, &["a"]);
    settle(&mut ledger, 0);

    ledger.release(&first);
    assert_eq!(settle(&mut ledger, 0), []);
    ledger.release(&second);

    assert_eq!(settle(&mut ledger, 0), [Question::Unregister(second)]);
    assert_eq!(ledger.wanted(), 0);
}

#[test]
fn what_is_wanted_again_before_it_was_unregistered_is_still_heard() {
    let mut ledger = ledger();
    let first = want(&mut ledger, &["a"]);
    settle(&mut ledger, 0);

    ledger.release(&first);
    let again = want(&mut ledger, &["a"]);

    assert_eq!(ledger.heard(&again[0]), Heard::Yes);
    assert_eq!(ledger.next(0), None);
}

#[test]
fn what_is_wanted_while_it_is_unregistered_is_registered_behind_that() {
    let mut ledger = ledger();
    let first = want(&mut ledger, &["a"]);
    settle(&mut ledger, 0);
    ledger.release(&first);
    let leaving = next(&mut ledger);

    let again = want(&mut ledger, &["a"]);

    assert_eq!(ledger.heard(&again[0]), Heard::NotYet);
    ledger.answered(0, leaving, Outcome::Done);
    assert_eq!(settle(&mut ledger, 0), [Question::Register(again.clone())]);
    assert_eq!(ledger.heard(&again[0]), Heard::Yes);
}

#[test]
fn what_is_released_while_its_registration_is_on_its_way_is_unregistered() {
    for outcome in [Outcome::Done, Outcome::Failed] {
        let mut ledger = ledger();
        let wanted = want(&mut ledger, &["a"]);
        let ask = next(&mut ledger);

        ledger.release(&wanted);
        ledger.answered(0, ask, outcome);

        assert_eq!(settle(&mut ledger, 0), [Question::Unregister(wanted)]);
        assert_eq!(ledger.next(0), None);
    }
}

#[test]
fn a_registration_that_failed_is_unregistered_across_maps() {
    let mut ledger = ledger();
    let wanted = want(&mut ledger, &["a"]);
    let ask = next(&mut ledger);
    ledger.answered(0, ask, Outcome::Failed);

    ledger.release(&wanted);
    ledger.take_map(&map(2, &[0]));

    let asked = settle(&mut ledger, 0);
    assert_eq!(asked.last(), Some(&Question::Unregister(wanted)));
}

#[test]
fn a_refused_chunk_is_halved_until_the_one_that_is_too_much_is_refused() {
    let mut ledger = ledger();
    let wanted = want(&mut ledger, &["a", "b", "c", "d"]);
    let mut sizes = Vec::new();
    let mut refused = Vec::new();
    // A shard with room for one.
    let mut room = 1;
    while let Some(ask) = ledger.next(0) {
        let mut outcome = Outcome::Done;
        if let Question::Register(topics) = &ask.question {
            sizes.push(topics.len());
            match topics.len() <= room {
                true => room -= topics.len(),
                false => outcome = Outcome::Full,
            }
        }
        refused.extend(ledger.answered(0, ask, outcome));
    }

    assert_eq!(sizes[..3], [4, 2, 1]);
    assert_eq!(refused.len(), 3);
    for topic in &wanted {
        let is_refused = ledger.heard(topic) == Heard::Refused;
        assert_eq!(is_refused, refused.contains(topic));
    }
}

#[test]
fn what_was_refused_is_tried_again_by_the_next_map() {
    let mut ledger = ledger();
    let wanted = want(&mut ledger, &["a"]);
    let ask = next(&mut ledger);
    assert_eq!(ledger.answered(0, ask, Outcome::Full), wanted);

    ledger.take_map(&map(2, &[0]));
    settle(&mut ledger, 0);

    assert_eq!(ledger.heard(&wanted[0]), Heard::Yes);
}

#[test]
fn a_new_link_is_told_everything_anew() {
    let mut ledger = ledger();
    let wanted = want(&mut ledger, &["a"]);
    settle(&mut ledger, 0);

    ledger.down(0);
    assert_eq!(ledger.next(0), None);
    assert_eq!(ledger.heard(&wanted[0]), Heard::NotYet);
    ledger.up(0);

    let expected = [
        Question::Enter,
        Question::Register(wanted),
        Question::Settle,
    ];
    assert_eq!(settle(&mut ledger, 0), expected);
}

#[test]
fn an_answer_that_comes_from_an_earlier_link_counts_for_nothing() {
    let mut ledger = ledger();
    let wanted = want(&mut ledger, &["a"]);
    let late = next(&mut ledger);
    // The shard leaves the map, and comes back.
    ledger.take_map(&map(2, &[1]));
    ledger.take_map(&map(3, &[0]));
    ledger.up(0);

    ledger.answered(0, late, Outcome::Done);

    assert_eq!(ledger.heard(&wanted[0]), Heard::NotYet);
}

#[test]
fn a_topic_that_moves_is_registered_there_and_unregistered_here() {
    let (mover, stayer) = movers();
    let mut ledger = ledger();
    let wanted = want(&mut ledger, &[&mover, &stayer]);
    settle(&mut ledger, 0);

    ledger.take_map(&map(2, &[0, 1]));
    ledger.up(1);

    assert_eq!(ledger.heard(&wanted[0]), Heard::NotYet);
    assert_eq!(ledger.heard(&wanted[1]), Heard::Yes);
    let moved = || vec![Arc::clone(&wanted[0])];
    let here = [
        Question::Enter,
        Question::Settle,
        Question::Unregister(moved()),
    ];
    assert_eq!(settle(&mut ledger, 0), here);
    let there = [
        Question::Enter,
        Question::Register(moved()),
        Question::Settle,
    ];
    assert_eq!(settle(&mut ledger, 1), there);
}

#[test]
fn what_comes_back_to_a_shard_that_never_forgot_it_is_registered_anew() {
    let (mover, _) = movers();
    let mut ledger = ledger();
    let first = want(&mut ledger, &[&mover]);
    settle(&mut ledger, 0);
    ledger.take_map(&map(2, &[0, 1]));
    ledger.release(&first);

    ledger.take_map(&map(3, &[0]));
    let again = want(&mut ledger, &[&mover]);

    assert_eq!(ledger.heard(&again[0]), Heard::NotYet);
    settle(&mut ledger, 0);
    assert_eq!(ledger.heard(&again[0]), Heard::Yes);
}

#[test]
fn a_registration_by_an_older_map_does_not_count() {
    let mut ledger = ledger();
    let wanted = want(&mut ledger, &["a"]);
    let ask = next(&mut ledger);
    ledger.take_map(&map(2, &[0]));

    ledger.answered(0, ask, Outcome::Done);

    assert_eq!(ledger.heard(&wanted[0]), Heard::NotYet);
    settle(&mut ledger, 0);
    assert_eq!(ledger.heard(&wanted[0]), Heard::Yes);
}

#[test]
fn an_older_map_is_not_taken() {
    let mut ledger = ledger();

    assert!(!ledger.take_map(&map(1, &[7])));
    assert_eq!(ledger.route(&topic("a")), Some((0, 1)));
}

#[test]
fn nobody_is_believed_to_listen_only_by_what_the_owner_says_of_this_map_on_this_link() {
    let mut ledger = ledger();
    let heard = topic("a").fingerprint();
    assert!(!ledger.is_unheard(&topic("b")), "nothing was said");
    ledger.hear(0, &[heard], &[], None);
    assert!(!ledger.is_unheard(&topic("b")), "that was not all");

    ledger.hear(0, &[], &[], Some(1));
    assert!(ledger.is_unheard(&topic("b")));
    assert!(!ledger.is_unheard(&topic("a")));
    ledger.hear(0, &[], &[heard], None);
    assert!(ledger.is_unheard(&topic("a")));

    ledger.take_map(&map(2, &[0]));
    assert!(!ledger.is_unheard(&topic("b")));
    ledger.hear(0, &[], &[], Some(2));
    assert!(ledger.is_unheard(&topic("b")));
    ledger.down(0);
    ledger.hear(0, &[], &[], Some(2));
    ledger.up(0);
    assert!(!ledger.is_unheard(&topic("b")));
}

#[test]
fn more_topics_than_may_be_are_refused_and_nothing_is_wanted() {
    let mut ledger = Ledger::new(2);
    want(&mut ledger, &["a"]);

    assert_eq!(ledger.want(vec![topic("b"), topic("c")]), Err(Full));

    assert_eq!(ledger.wanted(), 1);
    want(&mut ledger, &["a", "b"]);
}

#[test]
fn one_question_holds_so_many_topics_and_so_many_bytes() {
    let mut ledger = ledger();
    let many: Vec<Topic> = (0..MOST_TOPICS + 1)
        .map(|number| topic(&number.to_string()))
        .collect();
    ledger.want(many).expect("room");

    let sizes = |ledger: &mut Ledger| -> Vec<usize> {
        let asked = settle(ledger, 0)
            .into_iter()
            .map(|question| match question {
                Question::Register(topics) => topics.len(),
                Question::Enter | Question::Settle | Question::Unregister(_) => usize::MAX,
            });
        asked.collect()
    };

    assert_eq!(sizes(&mut ledger), [MOST_TOPICS, 1]);
    let large = (0..3).map(|number| topic(&format!("{number}{}", "x".repeat(MOST_BYTES))));
    ledger.want(large.collect()).expect("room");
    assert_eq!(sizes(&mut ledger), [1, 1, 1]);
}

proptest! {
    /// Whatever is wanted, released and answered, and how, the shard ends up with exactly
    /// what is wanted.
    #[test]
    fn a_shard_ends_up_with_what_is_wanted(
        steps in proptest::collection::vec((0..4_u8, 0..5_u8), 0..80),
    ) {
        let mut ledger = ledger();
        let mut held: Vec<Vec<Arc<Topic>>> = Vec::new();
        let mut shard: BTreeSet<Arc<Topic>> = BTreeSet::new();
        let mut asked = None;
        let mut epoch = 1;
        let done = |shard: &mut BTreeSet<Arc<Topic>>, question: &Question| match question {
            Question::Register(topics) => shard.extend(topics.iter().cloned()),
            Question::Unregister(topics) => shard.retain(|topic| !topics.contains(topic)),
            Question::Enter | Question::Settle => {}
        };
        for (kind, number) in steps {
            match (kind, number) {
                (0, _) => held.push(want(&mut ledger, &[&number.to_string()])),
                (1, _) if !held.is_empty() => {
                    let gone = held.swap_remove(usize::from(number) % held.len());
                    ledger.release(&gone);
                }
                (2, _) => asked = asked.or_else(|| ledger.next(0)),
                (3, 0) => {
                    epoch += 1;
                    ledger.take_map(&map(epoch, &[0]));
                }
                _ => {
                    let Some(ask) = asked.take() else { continue };
                    // It may be done and not answered, or not done at all.
                    if number != 4 {
                        done(&mut shard, &ask.question);
                    }
                    let outcome = if number < 3 { Outcome::Done } else { Outcome::Failed };
                    ledger.answered(0, ask, outcome);
                }
            }
        }
        while let Some(ask) = asked.take().or_else(|| ledger.next(0)) {
            done(&mut shard, &ask.question);
            ledger.answered(0, ask, Outcome::Done);
        }
        let wanted: BTreeSet<Arc<Topic>> = held.into_iter().flatten().collect();
        prop_assert_eq!(shard, wanted);
    }
}

#[test]
fn a_shard_is_settled_though_topics_come_without_an_end() {
    let mut ledger = Ledger::new(100);
    let _before = want(&mut ledger, &["before"]);
    ledger.take_map(&map(1, &[0]));
    ledger.up(0);
    let mut names = (0..).map(|number: u32| number.to_string());

    let settled = (0..5).any(|_| {
        let ask = next(&mut ledger);
        want(&mut ledger, &[&names.next().expect("a name")]);
        let is_settle = ask.question == Question::Settle;
        ledger.answered(0, ask, Outcome::Done);
        is_settle
    });

    assert!(settled, "the changes of others wait for that");
}

#[test]
fn what_comes_and_goes_is_unregistered_though_more_comes() {
    let mut ledger = ledger();
    let gone = want(&mut ledger, &["gone"]);
    settle(&mut ledger, 0);
    ledger.release(&gone);
    let mut names = (0..).map(|number: u32| number.to_string());

    let unregistered = (0..5).any(|_| {
        want(&mut ledger, &[&names.next().expect("a name")]);
        let ask = next(&mut ledger);
        let is_unregister = matches!(ask.question, Question::Unregister(_));
        ledger.answered(0, ask, Outcome::Done);
        is_unregister
    });

    assert!(unregistered);
}

#[test]
fn where_there_is_no_room_what_is_no_longer_wanted_makes_some_first() {
    let mut ledger = ledger();
    let gone = want(&mut ledger, &["gone"]);
    settle(&mut ledger, 0);
    let wanted = want(&mut ledger, &["new"]);
    let ask = next(&mut ledger);
    assert_eq!(ask.question, Question::Register(wanted.clone()));
    ledger.release(&gone);

    assert_eq!(ledger.answered(0, ask, Outcome::Full), []);

    let asked = settle(&mut ledger, 0);
    let expected = [Question::Unregister(gone), Question::Register(wanted)];
    assert_eq!(asked, expected);
}

#[test]
fn a_topic_that_was_refused_is_tried_again_for_whoever_comes_next_and_at_another_life() {
    let mut ledger = ledger();
    let kept = want(&mut ledger, &["full"]);
    let ask = next(&mut ledger);
    assert_eq!(ledger.answered(0, ask, Outcome::Full), kept);
    settle(&mut ledger, 0);
    assert_eq!(ledger.heard(&kept[0]), Heard::Refused);

    want(&mut ledger, &["full"]);
    assert_eq!(ledger.heard(&kept[0]), Heard::NotYet);
    let ask = next(&mut ledger);
    ledger.answered(0, ask, Outcome::Full);
    settle(&mut ledger, 0);
    assert_eq!(ledger.heard(&kept[0]), Heard::Refused);

    ledger.down(0);
    ledger.up(0);
    settle(&mut ledger, 0);
    assert_eq!(ledger.heard(&kept[0]), Heard::Yes);
}
