//! What holds for every answer, read as its client would.

use conduit_protocol::Rendered;

use crate::json::{self, Json};

/// Checks that an answer is JSON on one line, and repeats this id byte for byte; that
/// it has no id, where there is none.
pub fn check(answer: Rendered, id: Option<&str>) {
    let bytes = answer.into_bytes();
    let text = str::from_utf8(&bytes).expect("an answer in UTF-8");
    assert!(!text.contains(['\n', '\r']), "not one line: {text}");
    let answer = json::read(text).unwrap_or_else(|| panic!("no JSON: {text}"));
    let members = answer.members().expect("an object").len();
    assert_eq!(answer.find("id").one().map(|id| id.raw), id, "{text}");
    assert_eq!(answer.find("jsonrpc").text(), Some("2.0"), "{text}");
    let outcome = answer.find("result").one().or(answer.find("error").one());
    assert!(outcome.is_some_and(Json::is_object), "{text}");
    assert_eq!(members, 2 + usize::from(id.is_some()), "{text}");
}
