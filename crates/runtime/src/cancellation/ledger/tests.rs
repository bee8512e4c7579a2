use std::net::IpAddr;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::admission::Admission;
use crate::exchange::Reply;

const CLIENT: Scope = Scope::Address(0, IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

fn session(number: u128) -> Scope {
    Scope::Session(uuid::Uuid::from_u128(number))
}

fn id(json: &str) -> RequestId {
    RequestId::from_json(json).expect("an id")
}

/// A call in flight, as its ledger and its client see it.
struct Call {
    place: Place,
    token: CancellationToken,
    _answer: oneshot::Receiver<Reply>,
}

fn enter(ledger: &Ledger, scope: &Scope, name: &str, loose: bool) -> Call {
    let telemetry = conduit_telemetry::Telemetry::new("test");
    let admission = Admission::new(
        1_000,
        telemetry.in_flight().clone(),
        telemetry
            .streams(conduit_telemetry::StreamKind::Call)
            .clone(),
    );
    let admitted = admission.admit().expect("room");
    let token = admitted.token().clone();
    let (reply, answer) = oneshot::channel();
    let entry = Entry {
        responder: Responder::new(reply, admitted, None),
        callback: "tool".into(),
        loose,
        overdue_at: Some(Instant::now()),
    };
    Call {
        place: ledger.enter(scope.clone(), id(name), entry),
        token,
        _answer: answer,
    }
}

fn ledger(address_scope: AddressScope) -> Ledger {
    Ledger::new(address_scope, 2)
}

#[test]
fn a_cancel_stops_the_call_of_its_scope_only() {
    let ledger = ledger(AddressScope::Strict);
    let mine = enter(&ledger, &session(1), "7", false);
    let other = enter(&ledger, &session(2), "7", false);

    let outcome = ledger.cancel(&session(1), &id("7"));

    assert_eq!(outcome, Cancelled::Stopped);
    assert!(mine.token.is_cancelled());
    assert!(!other.token.is_cancelled());
}

#[test]
fn ids_of_another_json_type_are_other_ids() {
    let ledger = ledger(AddressScope::Strict);
    let call = enter(&ledger, &session(1), "42", false);

    assert_eq!(
        ledger.cancel(&session(1), &id("\"42\"")),
        Cancelled::Unknown
    );
    assert!(!call.token.is_cancelled());
}

#[test]
fn a_finished_call_is_unknown() {
    let ledger = ledger(AddressScope::Strict);
    let call = enter(&ledger, &session(1), "7", false);
    ledger.leave(&call.place);

    assert_eq!(ledger.cancel(&session(1), &id("7")), Cancelled::Unknown);
    assert_eq!(ledger.len(), 0);
}

#[test]
fn two_calls_with_one_id_are_tracked_apart() {
    let ledger = ledger(AddressScope::Strict);
    let first = enter(&ledger, &session(1), "7", false);
    let second = enter(&ledger, &session(1), "7", false);
    ledger.leave(&first.place);

    assert_eq!(ledger.cancel(&session(1), &id("7")), Cancelled::Stopped);
    assert!(second.token.is_cancelled());
    assert!(!first.token.is_cancelled());
}

#[test]
fn a_scope_at_its_quota_is_told_so_until_a_call_ends() {
    let ledger = ledger(AddressScope::Strict);
    let calls: Vec<Call> = (0..3)
        .map(|number| enter(&ledger, &session(1), &number.to_string(), false))
        .collect();
    ledger.cancel(&session(1), &id("0"));
    ledger.cancel(&session(1), &id("1"));

    assert_eq!(ledger.cancel(&session(1), &id("2")), Cancelled::Full);
    assert!(!calls[2].token.is_cancelled());

    ledger.leave(&calls[0].place);
    assert_eq!(ledger.cancel(&session(1), &id("2")), Cancelled::Stopped);
}

#[test]
fn cancelling_twice_costs_one_place_of_the_quota() {
    let ledger = ledger(AddressScope::Strict);
    let _calls = [
        enter(&ledger, &session(1), "1", false),
        enter(&ledger, &session(1), "2", false),
    ];

    assert_eq!(ledger.cancel(&session(1), &id("1")), Cancelled::Stopped);
    for _ in 0..5 {
        assert_eq!(ledger.cancel(&session(1), &id("1")), Cancelled::Again);
    }

    assert_eq!(ledger.cancel(&session(1), &id("2")), Cancelled::Stopped);
}

#[test]
fn an_address_reaches_its_one_loose_call() {
    let ledger = ledger(AddressScope::Strict);
    let call = enter(&ledger, &CLIENT, "1", true);

    assert_eq!(ledger.cancel(&CLIENT, &id("1")), Cancelled::Stopped);
    assert!(call.token.is_cancelled());
}

#[test]
fn strangers_behind_one_address_cannot_guess_each_others_calls() {
    let ledger = ledger(AddressScope::Strict);
    let calls = [
        enter(&ledger, &CLIENT, "1", true),
        enter(&ledger, &CLIENT, "1", true),
        enter(&ledger, &CLIENT, "2", false),
    ];

    assert_eq!(
        ledger.cancel(&CLIENT, &id("1")),
        Cancelled::Unknown,
        "two bear it"
    );
    assert_eq!(
        ledger.cancel(&CLIENT, &id("2")),
        Cancelled::Unknown,
        "a modern one"
    );
    assert!(calls.iter().all(|call| !call.token.is_cancelled()));
}

#[test]
fn the_seeds_rule_reaches_all_and_off_reaches_none() {
    let seeds = ledger(AddressScope::Seeds);
    let _calls = [
        enter(&seeds, &CLIENT, "1", true),
        enter(&seeds, &CLIENT, "1", true),
    ];
    let off = ledger(AddressScope::Off);
    let _call = enter(&off, &CLIENT, "1", true);

    assert_eq!(seeds.cancel(&CLIENT, &id("1")), Cancelled::Stopped);
    assert_eq!(off.cancel(&CLIENT, &id("1")), Cancelled::Unknown);
}
