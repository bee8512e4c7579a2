use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;

use super::*;

const BINDING: Binding<'_> = Binding {
    server: "alpha",
    principal: Some("ada"),
    method: "tools/call",
    params: b"{\"name\":\"book\"}",
};

const LIFETIME: Duration = Duration::from_mins(10);

fn sealer() -> Sealer {
    Sealer::new(KeyRing::ephemeral(), LIFETIME)
}

/// A sealer whose clock stands where the number says, in milliseconds since 1970.
fn sealer_at(now_ms: u64) -> (Sealer, Arc<AtomicU64>) {
    let now = Arc::new(AtomicU64::new(now_ms));
    let clock = Arc::clone(&now);
    let clock = move || UNIX_EPOCH + Duration::from_millis(clock.load(Ordering::Relaxed));
    let sealer = Sealer::with_clock(KeyRing::ephemeral(), LIFETIME, clock);
    (sealer, now)
}

#[track_caller]
fn does_not_open(other: Binding<'_>) {
    let sealer = sealer();
    let token = sealer.seal(&BINDING, b"state").unwrap();

    let outcome = sealer.open(&other, &token);

    assert_eq!(outcome, Err(Rejected::Forged));
}

#[test]
fn what_was_sealed_opens() {
    let (sealer, _) = sealer_at(1_000);
    let token = sealer.seal(&BINDING, b"state").unwrap();

    let opened = sealer.open(&BINDING, &token).unwrap();

    assert_eq!(opened.payload, b"state");
    assert_eq!(opened.expires_ms, 601_000);
}

#[test]
fn an_empty_state_can_be_sealed() {
    let sealer = sealer();
    let token = sealer.seal(&BINDING, b"").unwrap();

    assert_eq!(sealer.open(&BINDING, &token).unwrap().payload, b"");
}

#[test]
fn a_token_opens_as_often_as_it_comes_and_is_the_same_each_time() {
    let sealer = sealer();
    let token = sealer.seal(&BINDING, b"state").unwrap();

    let (first, second) = (sealer.open(&BINDING, &token), sealer.open(&BINDING, &token));

    assert_eq!(first, second);
}

#[test]
fn the_same_state_sealed_twice_gives_two_tokens_with_two_ids() {
    let sealer = sealer();

    let one = sealer.seal(&BINDING, b"state").unwrap();
    let other = sealer.seal(&BINDING, b"state").unwrap();

    assert_ne!(one, other);
    let id = |token: &str| sealer.open(&BINDING, token).unwrap().id;
    assert_ne!(id(&one), id(&other));
}

#[test]
fn a_token_is_plain_letters_that_do_not_show_the_state() {
    let token = sealer().seal(&BINDING, b"hunter2!hunter2!").unwrap();

    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    assert!(token.bytes().all(letters), "{token}");
    let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
    assert!(!bytes.windows(7).any(|part| part == b"hunter2"));
}

#[test]
fn every_change_of_one_character_is_refused() {
    let sealer = sealer();
    let token = sealer.seal(&BINDING, b"a state of some length").unwrap();

    for index in 0..token.len() {
        for other in ["A", "B", "Q", "z", "9", "-", "_", "=", "+", " ", "é"] {
            let mut changed = token.clone();
            changed.replace_range(index..=index, other);
            if changed != token {
                let outcome = sealer.open(&BINDING, &changed);
                assert!(outcome.is_err(), "{index} {other}");
            }
        }
    }
}

#[test]
fn every_change_of_one_bit_is_refused() {
    let sealer = sealer();
    let token = sealer.seal(&BINDING, b"state").unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();

    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let outcome = sealer.open(&BINDING, &URL_SAFE_NO_PAD.encode(changed));
        assert!(outcome.is_err(), "{bit}");
    }
}

#[test]
fn a_token_that_was_cut_or_grew_is_refused() {
    let sealer = sealer();
    let token = sealer.seal(&BINDING, b"state").unwrap();

    for end in 0..token.len() {
        assert!(sealer.open(&BINDING, &token[..end]).is_err(), "{end}");
    }
    for more in ["A", "AA", "AAAA", "="] {
        let longer = format!("{token}{more}");
        assert!(sealer.open(&BINDING, &longer).is_err(), "{more}");
    }
}

#[test]
fn halves_of_two_tokens_do_not_make_a_third() {
    let sealer = sealer();
    let one = sealer.seal(&BINDING, b"state 1").unwrap();
    let other = sealer.seal(&BINDING, b"state 2").unwrap();

    for middle in 7..one.len() {
        let mixed = format!("{}{}", &one[..middle], &other[middle..]);
        if mixed != one && mixed != other {
            let outcome = sealer.open(&BINDING, &mixed);
            assert_eq!(outcome, Err(Rejected::Forged), "{middle}");
        }
    }
}

#[test]
fn a_token_of_another_server_is_refused() {
    does_not_open(Binding {
        server: "beta",
        ..BINDING
    });
}

#[test]
fn a_token_of_another_principal_is_refused() {
    does_not_open(Binding {
        principal: Some("bob"),
        ..BINDING
    });
    does_not_open(Binding {
        principal: None,
        ..BINDING
    });
}

#[test]
fn a_token_of_another_method_is_refused() {
    does_not_open(Binding {
        method: "prompts/get",
        ..BINDING
    });
}

#[test]
fn a_token_of_other_parameters_is_refused() {
    does_not_open(Binding {
        params: b"{\"name\":\"pay\"}",
        ..BINDING
    });
}

#[test]
fn a_token_of_another_ring_is_refused() {
    let token = sealer().seal(&BINDING, b"state").unwrap();

    let outcome = sealer().open(&BINDING, &token);

    assert_eq!(outcome, Err(Rejected::UnknownKey));
}

#[test]
fn a_token_opens_until_it_expires() {
    let (sealer, now) = sealer_at(1_000);
    let token = sealer.seal(&BINDING, b"state").unwrap();

    now.store(600_999, Ordering::Relaxed);
    assert!(sealer.open(&BINDING, &token).is_ok());

    now.store(601_000, Ordering::Relaxed);
    assert_eq!(sealer.open(&BINDING, &token), Err(Rejected::Expired));
}

#[test]
fn a_token_opens_where_the_clock_is_a_little_behind() {
    let (sealer, now) = sealer_at(100_000);
    let token = sealer.seal(&BINDING, b"state").unwrap();

    now.store(40_000, Ordering::Relaxed);
    assert!(sealer.open(&BINDING, &token).is_ok());

    now.store(39_999, Ordering::Relaxed);
    assert_eq!(sealer.open(&BINDING, &token), Err(Rejected::Expired));
}

#[test]
fn the_largest_state_fits_and_one_byte_more_does_not() {
    let sealer = sealer();

    let token = sealer.seal(&BINDING, &[7; MOST_PAYLOAD]).unwrap();
    let outcome = sealer.seal(&BINDING, &[7; MOST_PAYLOAD + 1]);

    assert_eq!(token.len(), MOST_TOKEN);
    assert!(sealer.open(&BINDING, &token).is_ok());
    assert_eq!(
        outcome,
        Err(TooLarge {
            bytes: MOST_PAYLOAD + 1
        })
    );
}

#[test]
fn a_token_that_is_too_long_is_refused_whatever_is_in_it() {
    let outcome = sealer().open(&BINDING, &"!".repeat(MOST_TOKEN + 1));

    assert_eq!(outcome, Err(Rejected::TooLong));
}

#[test]
fn a_text_that_is_no_token_is_malformed() {
    for text in ["", "state", "AQ", "é", "AQ=="] {
        let outcome = sealer().open(&BINDING, text);

        assert_eq!(outcome, Err(Rejected::Malformed), "{text}");
    }
}

#[test]
fn neither_a_sealer_nor_what_it_opened_prints_what_is_secret() {
    let sealer = sealer();
    let token = sealer.seal(&BINDING, b"hunter2!").unwrap();
    let opened = sealer.open(&BINDING, &token).unwrap();

    let text = format!("{sealer:?} {opened:?}");

    assert!(!text.contains("Secret"), "{text}");
    assert!(!text.contains("104, 117"), "{text}");
}

#[test]
fn each_kind_of_refusal_has_a_word_of_its_own() {
    let words = [
        Rejected::TooLong,
        Rejected::Malformed,
        Rejected::UnknownKey,
        Rejected::Forged,
        Rejected::Expired,
    ]
    .map(Rejected::as_str);

    assert_eq!(
        words,
        ["too_long", "malformed", "unknown_key", "forged", "expired"]
    );
}

proptest! {
    #[test]
    fn any_text_is_refused(text: String) {
        prop_assert!(sealer().open(&BINDING, &text).is_err());
    }

    #[test]
    fn any_bytes_that_name_our_key_are_refused(bytes: Vec<u8>) {
        let sealer = sealer();
        let mut token = head(sealer.shared.ring.newest().id).to_vec();
        token.extend_from_slice(&bytes);

        let outcome = sealer.open(&BINDING, &URL_SAFE_NO_PAD.encode(token));

        prop_assert!(matches!(outcome, Err(Rejected::Malformed | Rejected::Forged)));
    }

    #[test]
    fn any_state_opens_as_it_was_sealed(payload: Vec<u8>, server: String, principal: Option<String>) {
        let sealer = sealer();
        let binding = Binding { server: &server, principal: principal.as_deref(), ..BINDING };
        let token = sealer.seal(&binding, &payload).unwrap();

        let opened = sealer.open(&binding, &token).unwrap();

        prop_assert_eq!(opened.payload, payload);
    }
}
