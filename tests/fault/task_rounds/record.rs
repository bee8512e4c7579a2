//! What a client knows of one task whose creation was acknowledged, and what may never
//! happen to it then. Pure: it is told what was sent and what was seen.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Fails with its gateway, because it is not started twice.
    Single,
    /// Is started again.
    Sturdy,
    /// Asks for a word first, and is started again.
    Asking,
}

/// One acknowledged task. Times are those since the start of the test.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: String,
    kind: Kind,
    tag: String,
    /// When its creation was sent.
    since: Duration,
    cancel: Cancel,
    /// The words that were sent, and how many of them until one was acknowledged.
    words: Vec<String>,
    heard: Option<usize>,
    /// Under which key it asks, once that was seen.
    key: Option<String>,
    waits: bool,
    updated: String,
    /// How it has ended, as the whole answer that said so.
    end: Option<Vec<u8>>,
    has_failed: bool,
    history: Vec<(Duration, String)>,
}

/// What is known of the wish that it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cancel {
    Unsent,
    Sent,
    Acknowledged,
}

/// An answer to `tasks/get`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// When it came.
    pub(super) at: Duration,
    pub(super) body: &'a [u8],
    pub(super) result: &'a Value,
    /// When a process was last harmed that takes running tasks with it, if one was.
    pub(super) harm: Option<Duration>,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Single, Self::Sturdy, Self::Asking];

    /// Returns the name of its tool.
    pub(super) const fn tool(self) -> &'static str {
        match self {
            Self::Single => "single_task",
            Self::Sturdy => "sturdy_task",
            Self::Asking => "asking_task",
        }
    }
}

impl Entry {
    /// Begins with the task that the call was answered with.
    pub(super) fn new(
        kind: Kind,
        tag: String,
        since: Duration,
        at: Duration,
        task: &Value,
    ) -> Self {
        let text = |member: &str| task[member].as_str().unwrap_or_default().to_owned();
        Self {
            id: text("taskId"),
            kind,
            tag,
            since,
            cancel: Cancel::Unsent,
            words: Vec::new(),
            heard: None,
            key: None,
            waits: false,
            updated: text("lastUpdatedAt"),
            end: None,
            has_failed: false,
            history: vec![(at, format!("made, {}", text("status")))],
        }
    }

    pub(super) const fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Tells whether it has ended with an error.
    pub(super) const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Tells whether it was last seen waiting for a word.
    pub(super) const fn waits(&self) -> bool {
        self.waits
    }

    /// Returns under which key it waits for which word.
    pub(super) fn next_word(&self) -> Option<(String, String)> {
        let key = self.key.clone().filter(|_| self.waits)?;
        Some((key, format!("word {}", self.words.len())))
    }

    /// Notes that a word is sent.
    pub(super) fn send_word(&mut self, at: Duration, word: String) {
        self.note(at, format!("{word} sent"));
        self.words.push(word);
    }

    /// Notes that the word sent last is acknowledged.
    pub(super) fn word_acknowledged(&mut self, at: Duration) {
        self.heard.get_or_insert(self.words.len());
        self.note(at, "word acknowledged".to_owned());
    }

    /// Notes that its cancellation is sent.
    pub(super) fn send_cancel(&mut self, at: Duration) {
        if self.cancel == Cancel::Unsent {
            self.cancel = Cancel::Sent;
        }
        self.note(at, "cancel sent".to_owned());
    }

    /// Notes that its cancellation is acknowledged.
    pub(super) fn cancel_acknowledged(&mut self, at: Duration) {
        self.cancel = Cancel::Acknowledged;
        self.note(at, "cancel acknowledged".to_owned());
    }

    /// Takes note of how it was found; fails with what must not be.
    pub(super) fn see(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        if let Some(end) = &self.end {
            let is_same = end == seen.body;
            return seen.unless(is_same, "it has changed after its end");
        }
        let status = seen.result["status"].as_str().unwrap_or_default();
        let updated = seen.result["lastUpdatedAt"].as_str().unwrap_or_default();
        if updated != self.updated {
            self.note(seen.at, format!("seen {status}"));
        }
        seen.unless(*updated >= *self.updated, "its time goes back")?;
        updated.clone_into(&mut self.updated);
        match status {
            "working" => self.works(seen),
            "input_required" => self.asks(seen),
            "completed" => self.completed(seen),
            "failed" => self.failed(seen),
            "cancelled" => self.cancelled(seen),
            _ => seen.unless(false, "this is no status"),
        }
    }

    /// Adds a line to what is told when something is wrong.
    pub(super) fn note(&mut self, at: Duration, what: String) {
        self.history.push((at, what));
    }
}

/// Everything that a reader needs to see the reason.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "task {} ({:?}, {:?})", self.id, self.kind, self.tag)?;
        writeln!(f, "  {:9.3?} creation sent", self.since)?;
        for (at, what) in &self.history {
            writeln!(f, "  {at:9.3?} {what}")?;
        }
        if let Some(end) = &self.end {
            writeln!(f, "  its end was {}", String::from_utf8_lossy(end))?;
        }
        Ok(())
    }
}

// === Behind the record ===

impl Entry {
    fn works(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        self.not_cancelled(seen)?;
        let goes_on = self.key.is_none() || !self.words.is_empty();
        seen.unless(goes_on, "it waits no more, and nobody has answered")?;
        self.waits = false;
        Ok(())
    }

    fn asks(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        self.not_cancelled(seen)?;
        let asks = self.kind == Kind::Asking && self.heard.is_none();
        seen.unless(asks, "it asks, and should not")?;
        let questions = seen.result["inputRequests"].as_object();
        let mut keys = questions.into_iter().flat_map(|map| map.keys());
        let (first, more) = (keys.next(), keys.next());
        let is_known = self.key.as_ref().is_none_or(|key| Some(key) == first);
        let is_one = first.is_some() && more.is_none();
        seen.unless(is_one && is_known, "it asks for something else")?;
        self.key = first.cloned();
        self.waits = true;
        Ok(())
    }

    fn completed(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let result = &seen.result["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let is_right = match self.kind {
            Kind::Single | Kind::Sturdy => text == self.tag,
            Kind::Asking => {
                let sent = self.words.len();
                let until = self.words.get(..self.heard.unwrap_or(sent));
                let mut words = until.into_iter().flatten();
                words.any(|word| text == format!("{}: {word}", self.tag))
            }
        };
        let is_right = is_right && result["isError"] != true;
        seen.unless(is_right, "its result is another one's")?;
        self.over(seen);
        Ok(())
    }

    fn failed(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let may_fail = self.kind == Kind::Single;
        seen.unless(may_fail, "it has failed, and is one that is started again")?;
        let is_harmed = seen.harm.is_some_and(|harm| harm >= self.since);
        seen.unless(is_harmed, "it has failed, and nobody was harmed")?;
        let is_told = seen.result["error"]["code"] == -32603;
        seen.unless(is_told, "it has failed with another error")?;
        self.has_failed = true;
        self.over(seen);
        Ok(())
    }

    fn cancelled(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let was_asked = self.cancel != Cancel::Unsent;
        seen.unless(was_asked, "it is cancelled, and nobody asked for that")?;
        self.over(seen);
        Ok(())
    }

    fn over(&mut self, seen: &Seen<'_>) {
        self.waits = false;
        self.end = Some(seen.body.to_vec());
    }

    fn not_cancelled(&self, seen: &Seen<'_>) -> Result<(), String> {
        let goes_on = self.cancel != Cancel::Acknowledged;
        seen.unless(goes_on, "it goes on after its acknowledged cancellation")
    }
}

impl Seen<'_> {
    fn unless(&self, is_well: bool, wrong: &str) -> Result<(), String> {
        if is_well {
            return Ok(());
        }
        Err(format!("{wrong}: {}", String::from_utf8_lossy(self.body)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const AT: Duration = Duration::from_secs(1);

    #[test]
    fn an_end_that_changes_is_wrong_to_the_byte() {
        let mut entry = entry(Kind::Single);
        see(&mut entry, completed("tag")).expect("its end");

        see(&mut entry, completed("tag")).expect("the same");
        let mut more = completed("tag");
        more["result"]["_meta"] = json!({});

        assert!(see(&mut entry, more).is_err());
    }

    #[test]
    fn a_task_that_is_started_again_never_fails() {
        let mut entry = entry(Kind::Sturdy);

        assert!(see_harmed(&mut entry, failed(), Some(AT)).is_err());
    }

    #[test]
    fn another_task_fails_only_when_somebody_was_harmed() {
        let mut entry = entry(Kind::Single);

        assert!(see_harmed(&mut entry, failed(), None).is_err());
        assert!(see_harmed(&mut entry, failed(), Some(AT / 2)).is_err());
        see_harmed(&mut entry, failed(), Some(AT)).expect("its end");
        assert!(entry.is_over());
    }

    #[test]
    fn a_waiting_task_goes_on_with_an_answer_alone() {
        let mut entry = entry(Kind::Asking);
        see(&mut entry, asking("a")).expect("a question");
        assert!(entry.waits());

        assert!(see(&mut entry, working()).is_err());
        assert!(see(&mut entry, asking("b")).is_err());
        let (key, word) = entry.next_word().expect("it waits");
        assert_eq!((&*key, &*word), ("a", "word 0"));
        entry.send_word(AT, word);
        see(&mut entry, asking("a")).expect("the answer was lost");
        entry.word_acknowledged(AT);
        assert!(see(&mut entry, asking("a")).is_err());
        see(&mut entry, working()).expect("it goes on");
    }

    #[test]
    fn a_word_that_came_too_late_is_no_result() {
        let mut entry = entry(Kind::Asking);
        entry.send_word(AT, "word 0".to_owned());
        entry.word_acknowledged(AT);
        entry.send_word(AT, "word 1".to_owned());

        assert!(see(&mut entry, completed("tag: word 1")).is_err());
        see(&mut entry, completed("tag: word 0")).expect("the first");
    }

    #[test]
    fn a_cancellation_counts_once_it_is_acknowledged() {
        let mut entry = entry(Kind::Sturdy);
        let cancelled = json!({ "status": "cancelled" });
        assert!(see(&mut entry, cancelled.clone()).is_err());

        entry.send_cancel(AT);
        see(&mut entry, working()).expect("nobody has heard it");
        entry.cancel_acknowledged(AT);

        assert!(see(&mut entry, working()).is_err());
        see(&mut entry, cancelled).expect("its end");
    }

    fn entry(kind: Kind) -> Entry {
        let task = json!({ "taskId": "1", "status": "working", "lastUpdatedAt": "1" });
        Entry::new(kind, "tag".to_owned(), AT, AT, &task)
    }

    fn see(entry: &mut Entry, result: Value) -> Result<(), String> {
        see_harmed(entry, result, None)
    }

    fn see_harmed(
        entry: &mut Entry,
        mut result: Value,
        harm: Option<Duration>,
    ) -> Result<(), String> {
        result["lastUpdatedAt"] = json!("2");
        let body = result.to_string();
        entry.see(&Seen {
            at: AT,
            body: body.as_bytes(),
            result: &result,
            harm,
        })
    }

    fn working() -> Value {
        json!({ "status": "working" })
    }

    fn asking(key: &str) -> Value {
        json!({ "status": "input_required", "inputRequests": { key: {} } })
    }

    fn failed() -> Value {
        json!({ "status": "failed", "error": { "code": -32603 } })
    }

    fn completed(text: &str) -> Value {
        json!({ "status": "completed", "result": { "content": [{ "text": text }] } })
    }
}
