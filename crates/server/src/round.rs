//! What earlier rounds of a call have brought, and what this one leaves for the next.
//!
//! A callback that asks its client something runs again from its start once there is
//! an answer, in any process. So all that it goes on from is in here.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use conduit_protocol::InputRequest;
use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;

/// What earlier rounds of a call have brought.
///
/// The runtime makes one for each run of a callback, keeps a handle, and asks it
/// afterwards what is to be carried into the next round. No two runs share one.
#[derive(Default)]
pub struct Input {
    answers: Vec<(String, Box<RawValue>)>,
    state: Option<Value>,
    /// A lock because a callback may ask from several threads; nobody waits while
    /// holding it.
    notes: Mutex<Notes>,
}

impl Input {
    /// Takes the client's answers and what the callback has remembered. Of two answers
    /// under one key the first counts: put what was carried before what is new.
    #[must_use]
    pub fn new(answers: Vec<(String, Box<RawValue>)>, state: Option<Value>) -> Self {
        Self {
            answers,
            state,
            notes: Mutex::default(),
        }
    }

    /// Returns that of a first round: nothing. Costs one small allocation, because the
    /// run writes its notes into it.
    #[must_use]
    pub fn none() -> Arc<Self> {
        Arc::default()
    }

    /// Returns the answers that this run has accepted, in the order in which it asked:
    /// the next round needs them again.
    #[must_use]
    pub fn carried(&self) -> Vec<(String, Box<RawValue>)> {
        let notes = self.notes.lock();
        let accepted = notes.accepted.iter();
        accepted
            .filter_map(|place| self.answers.get(*place).cloned())
            .collect()
    }

    /// Returns what this run has remembered, else what it came with.
    #[must_use]
    pub fn state(&self) -> Option<Value> {
        let notes = self.notes.lock();
        notes.remembered.as_ref().or(self.state.as_ref()).cloned()
    }
}

/// Shows neither answers nor state: a person may have written them.
impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.answers.iter().map(|(key, _)| key).collect();
        f.debug_struct("Input")
            .field("answers", &keys)
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

/// The longest key of a question, in characters.
const MAX_KEY: usize = 64;

/// What a run leaves behind. At most as much as it asks and remembers.
#[derive(Default)]
struct Notes {
    /// Each key that was asked under, with a print of its question.
    asked: Vec<(String, u64)>,
    /// Which answers were accepted, by their places.
    accepted: Vec<usize>,
    remembered: Option<Value>,
}

/// Says why a key names no question. A bug of the callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadKey {
    #[error("the key of a question has 1 to {MAX_KEY} characters")]
    Length,
    #[error("two different questions have the same key")]
    Taken,
}

impl Input {
    pub(crate) fn answer(&self, key: &str) -> Option<&RawValue> {
        self.find(key).map(|(_, answer)| answer)
    }

    /// Notes that this is asked under a key.
    pub(crate) fn ask(&self, key: &str, question: &InputRequest) -> Result<(), BadKey> {
        if key.is_empty() || key.chars().count() > MAX_KEY {
            return Err(BadKey::Length);
        }
        let print = print_of(question);
        let mut notes = self.notes.lock();
        let known = notes.asked.iter().find(|(known, _)| known == key);
        match known.map(|(_, known)| *known == print) {
            Some(true) => Ok(()),
            Some(false) => Err(BadKey::Taken),
            None => {
                notes.asked.push((key.to_owned(), print));
                Ok(())
            }
        }
    }

    /// Notes that the answer under a key will do.
    pub(crate) fn accept(&self, key: &str) {
        if let Some((place, _)) = self.find(key) {
            let mut notes = self.notes.lock();
            if !notes.accepted.contains(&place) {
                notes.accepted.push(place);
            }
        }
    }

    pub(crate) fn remember(&self, state: Value) {
        self.notes.lock().remembered = Some(state);
    }

    fn find(&self, key: &str) -> Option<(usize, &RawValue)> {
        let mut answers = self.answers.iter().enumerate();
        answers.find_map(|(place, (known, answer))| (known == key).then_some((place, &**answer)))
    }
}

/// Tells two questions apart, within one run.
fn print_of(question: &InputRequest) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{question:?}").hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    fn input(answers: &[(&str, i32)]) -> Input {
        let raw = |(key, answer): &(&str, i32)| {
            let answer = to_raw_value(answer).expect("JSON");
            ((*key).to_owned(), answer)
        };
        Input::new(answers.iter().map(raw).collect(), Some(json!("before")))
    }

    fn carried(input: &Input) -> Vec<(String, String)> {
        let carried = input.carried().into_iter();
        carried
            .map(|(key, answer)| (key, answer.get().to_owned()))
            .collect()
    }

    #[test]
    fn what_was_accepted_is_carried_once_and_nothing_else() {
        let input = input(&[("a", 1), ("b", 2), ("c", 3)]);

        for key in ["c", "a", "c", "unknown"] {
            input.accept(key);
        }

        let expected = [
            ("c".to_owned(), "3".to_owned()),
            ("a".to_owned(), "1".to_owned()),
        ];
        assert_eq!(carried(&input), expected);
    }

    #[test]
    fn of_two_answers_under_one_key_the_first_counts() {
        let input = input(&[("a", 1), ("a", 2)]);

        input.accept("a");

        assert_eq!(input.answer("a").map(RawValue::get), Some("1"));
        assert_eq!(carried(&input), [("a".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn what_is_remembered_takes_the_place_of_what_was() {
        let input = input(&[]);
        assert_eq!(input.state(), Some(json!("before")));

        input.remember(json!(null));

        assert_eq!(input.state(), Some(json!(null)));
    }

    #[test]
    fn a_first_round_remembers_for_itself_alone() {
        let (one, other) = (Input::none(), Input::none());

        one.remember(json!("secret"));

        assert_eq!(other.state(), None);
    }

    #[test]
    fn a_key_has_one_to_64_characters() {
        let ask = |key: &str| Input::default().ask(key, &InputRequest::Roots);

        assert_eq!(ask(&"é".repeat(64)), Ok(()));
        assert_eq!(ask(&"x".repeat(65)), Err(BadKey::Length));
        assert_eq!(ask(""), Err(BadKey::Length));
    }

    #[test]
    fn a_key_names_one_question() {
        let input = Input::default();
        let visit = |url| InputRequest::url("Go", url);

        assert_eq!(input.ask("a", &visit("https://a")), Ok(()));
        assert_eq!(input.ask("a", &visit("https://a")), Ok(()));
        assert_eq!(input.ask("b", &visit("https://b")), Ok(()));
        assert_eq!(input.ask("a", &visit("https://b")), Err(BadKey::Taken));
    }

    #[test]
    fn an_input_does_not_print_what_was_answered() {
        let input = Input::new(
            vec![("key".to_owned(), to_raw_value("secret").expect("JSON"))],
            Some(json!("secret")),
        );

        let printed = format!("{input:?}");

        assert!(
            printed.contains("key") && !printed.contains("secret"),
            "{printed}"
        );
    }
}
