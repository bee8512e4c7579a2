use std::collections::BTreeMap;

use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
struct Order {
    item: String,
    count: u8,
    color: Option<Color>,
    #[serde(default)]
    urgent: bool,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Id(u64);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its fields are looked at")]
struct Strict {
    a: String,
}

#[track_caller]
fn refused<T: DeserializeOwned + fmt::Debug>(texts: &[(&str, &str)]) -> (String, String) {
    let Mismatch { name, reason, .. } = read::<T>(texts).expect_err("a mismatch");
    (name.unwrap_or_default(), reason)
}

#[test]
fn a_struct_gets_them_by_name() {
    let texts = [("count", "3"), ("item", "7"), ("color", "red"), ("x", "y")];

    assert_eq!(
        read(&texts),
        Ok(Order {
            item: "7".to_owned(),
            count: 3,
            color: Some(Color::Red),
            urgent: false,
        })
    );
}

#[test]
fn a_map_gets_them_all() {
    assert_eq!(
        read(&[("b", "2"), ("a", "1")]),
        Ok(BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]))
    );
    assert_eq!(read(&[]), Ok(BTreeMap::<String, String>::new()));
}

#[test]
fn a_tuple_gets_them_in_order() {
    let texts = [("b", "x"), ("a", "1")];

    assert_eq!(read(&texts), Ok(("x".to_owned(), 1)));
    assert_eq!(read(&texts[..1]), Ok(("x".to_owned(),)));
}

#[test]
fn anything_else_gets_the_only_one() {
    let one = [("a", "1")];

    assert_eq!(read(&one), Ok("1".to_owned()));
    assert_eq!(read(&one), Ok(1));
    assert_eq!(read(&one), Ok(1.0));
    assert_eq!(read(&one), Ok(Id(1)));
    assert_eq!(read(&one), Ok(Some('1')));
    assert_eq!(read(&[("a", "red")]), Ok(Color::Red));
    assert_eq!(read(&[("a", "true")]), Ok(true));
    assert_eq!(read(&one), Ok(()));
}

#[test]
fn several_are_not_the_only_one() {
    let (name, reason) = refused::<String>(&[("a", "1"), ("b", "2")]);

    assert_eq!((&*name, &*reason), ("", "one text is expected, not 2"));
    refused::<(String, String, String)>(&[("a", "1"), ("b", "2")]);
    refused::<String>(&[]);
}

#[test]
fn what_is_wrong_is_named() {
    let texts = [("item", "a"), ("count", "256")];
    let wrong = (
        "count".to_owned(),
        "is not a positive integer of this size".to_owned(),
    );

    assert_eq!(refused::<Order>(&texts), wrong);
    assert_eq!(refused::<(String, u8)>(&texts), wrong);
    assert_eq!(refused::<Id>(&[("count", "-1")]), wrong);
}

#[test]
fn an_unknown_choice_is_refused() {
    let (name, reason) = refused::<Order>(&[("item", "a"), ("count", "1"), ("color", "pink")]);

    assert_eq!(name, "color");
    assert!(reason.contains("`red`"), "{reason}");
}

#[test]
fn what_is_missing_is_said() {
    let (_, reason) = refused::<Order>(&[("item", "a")]);

    assert_eq!(reason, "`count` is missing");
}

#[test]
fn what_can_never_be_met_is_seen_without_values() {
    assert!(never_met::<String>(&["a", "b"]).is_some());
    assert!(never_met::<(String, u8)>(&["a"]).is_some());
    assert!(never_met::<Order>(&["item"]).is_some());
    assert!(never_met::<Strict>(&["a", "b"]).is_some());
    assert_eq!(never_met::<Order>(&["item", "count", "x"]), None);
    assert_eq!(never_met::<Color>(&["a"]), None);
    assert_eq!(never_met::<BTreeMap<String, String>>(&["a", "b"]), None);
}

#[test]
fn a_struct_tells_its_fields_in_order() {
    assert_eq!(field_names::<Order>(), ["item", "count", "color", "urgent"]);
    assert_eq!(field_names::<BTreeMap<String, String>>(), [""; 0]);
    assert_eq!(field_names::<String>(), [""; 0]);
}
