use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::Input;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Meal {
    WithMeat,
    /// Without meat.
    Vegetarian,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Booking {
    #[schemars(length(max = 5))]
    name: String,
    #[schemars(email)]
    mail: Option<String>,
    #[schemars(extend("format" = "date"))]
    day: Option<String>,
    count: i8,
    meals: Vec<Meal>,
    #[serde(default)]
    vip: bool,
}

/// What becomes of an accepted form; `None` when it is asked for again.
fn accepted<Q: Questions>(question: Q, content: &str) -> Option<Q::Answers> {
    let answer = format!(r#"{{"action":"accept","content":{content}}}"#);
    let answer = RawValue::from_string(answer).expect("JSON");
    let input = Input::new(vec![("key".to_owned(), answer)], None);
    question.put(&mut Asking::new(&input))
}

#[track_caller]
fn booking(content: &Value) -> Option<Booking> {
    let answer = accepted(form::<Booking>("key", "Well?"), &content.to_string())?;
    Some(answer.accepted().expect("accepted"))
}

#[test]
fn a_form_becomes_its_type() {
    let content = json!({
        "name": "Ada",
        "mail": "ada@example.com",
        "day": "2026-07-28",
        "count": 2.0,
        "meals": ["vegetarian", "withMeat"],
        "unknown": {"to": "all"},
    });

    assert_eq!(
        booking(&content),
        Some(Booking {
            name: "Ada".to_owned(),
            mail: Some("ada@example.com".to_owned()),
            day: Some("2026-07-28".to_owned()),
            count: 2,
            meals: vec![Meal::Vegetarian, Meal::WithMeat],
            vip: false,
        })
    );
}

#[test]
fn a_form_that_breaks_its_schema_or_its_type_is_none() {
    let base = json!({"name": "Ada", "count": 2, "meals": []});
    assert!(booking(&base).is_some());

    for (field, value) in [
        ("name", json!("Ada Lovelace")),
        ("name", json!(null)),
        ("mail", json!("not a mail")),
        ("day", json!("tomorrow")),
        ("count", json!(2.5)),
        ("count", json!(200)),
        ("meals", json!(["none"])),
        ("meals", json!("vegetarian")),
        ("vip", json!("yes")),
    ] {
        let mut content = base.clone();
        content[field] = value.clone();

        assert_eq!(booking(&content), None, "{field}: {value}");
    }
}

#[test]
fn a_type_that_denies_unknown_fields_never_sees_any() {
    let question = form::<crate::NoArguments>("key", "Go on?");

    assert_eq!(
        accepted(question, r#"{"unknown":1}"#),
        Some(Elicited::Accepted(crate::NoArguments {}))
    );
}

#[test]
fn a_raw_form_gives_what_was_filled_in() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "number"}}});
    let question = || raw_form("key", "A number", &schema);

    let Some(Elicited::Accepted(content)) = accepted(question(), r#"{"n":1.5,"m":"x"}"#) else {
        panic!("an answer");
    };
    assert_eq!(Value::from(content), json!({"n": 1.5, "m": "x"}));
    assert_eq!(accepted(question(), r#"{"n":"x"}"#), None);
}

#[test]
fn a_number_that_would_be_rounded_is_none() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "number"}}});

    let answer = accepted(
        raw_form("key", "?", &schema),
        r#"{"n":18446744073709551616}"#,
    );

    assert_eq!(answer, None);
}

#[test]
fn a_visit_has_no_content() {
    let visit = visit("key", "Go", "https://example.com/");

    assert_eq!(
        accepted(visit, r#"{"password":"secret"}"#),
        Some(Elicited::Accepted(()))
    );
}

#[test]
fn the_schema_of_a_type_is_made_once() {
    let first = FormSchema::of::<Booking>().expect("a form");
    let second = FormSchema::of::<Booking>().expect("a form");

    assert!(Arc::ptr_eq(&first, &second));
}
