//! What a stream was told since it was acknowledged, and what it should have been told.
//! Pure: it is told what came, and when.
//!
//! A change has happened once its publish call has returned (R41). The client of a
//! publisher knows neither when that call began nor when it returned, only that both
//! was after it had sent its own and before it had the answer. So a stream that was
//! acknowledged before that was sent has to be told after it was sent. An update bears
//! no version: one that is told then may be of an earlier change too, if there was one.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use serde_json::{Value, json};

/// The `_meta` key that names the subscription.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// What a list is called as a topic; other topics are URIs.
pub(crate) const LISTS: [&str; 3] = ["tools", "prompts", "resources"];

/// What a stream asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    /// URIs, and any of [`LISTS`].
    pub(crate) topics: BTreeSet<String>,
    /// Ids of tasks.
    pub(crate) tasks: BTreeSet<String>,
}

/// How a stream speaks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// `subscriptions/listen` with that id.
    Listen(Value),
    /// The stream of a legacy session.
    Session,
}

/// What was published, by topic. Times are those since the start of the test.
#[derive(Debug, Default)]
pub(crate) struct Published(HashMap<String, Said>);

#[derive(Clone, Copy, Debug)]
struct Said {
    /// When the first call that publishes it was sent.
    first: Duration,
    /// When the last one that was answered was sent.
    last: Option<Duration>,
}

/// What a task is at the end.
#[derive(Clone, Debug)]
pub(crate) struct Final {
    /// The answer to `tasks/get`, without what is not the task's.
    pub(crate) state: Value,
    /// When a call was sent whose answer showed another state, if any did.
    pub(crate) other: Option<Duration>,
}

/// One stream from its opening to its end.
#[derive(Debug)]
pub(crate) struct Life {
    kind: Kind,
    asked: Asked,
    /// Whether the server has begun to answer, and the connection is there.
    is_open: bool,
    /// When it was acknowledged.
    since: Option<Duration>,
    is_over: bool,
    told: HashMap<String, Told>,
    tasks: HashMap<String, Value>,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    first: Duration,
    last: Duration,
    times: usize,
}

impl Asked {
    /// Returns the filter of a listen request.
    pub(crate) fn filter(&self) -> Value {
        let mut filter = json!({});
        for (list, member) in LISTS.into_iter().zip(MEMBERS) {
            if self.topics.contains(list) {
                filter[member] = json!(true);
            }
        }
        let uris: Vec<&String> = self.uris().collect();
        if !uris.is_empty() {
            filter["resourceSubscriptions"] = json!(uris);
        }
        if !self.tasks.is_empty() {
            filter["taskIds"] = json!(self.tasks);
        }
        filter
    }

    /// Returns the resources among the topics.
    pub(crate) fn uris(&self) -> impl Iterator<Item = &String> {
        let topics = self.topics.iter();
        topics.filter(|topic| !LISTS.contains(&topic.as_str()))
    }

    fn of_filter(filter: &Value) -> Self {
        let texts = |member: &str| {
            let array = filter[member].as_array().into_iter().flatten();
            array.filter_map(|entry| entry.as_str().map(str::to_owned))
        };
        let lists = LISTS.into_iter().zip(MEMBERS);
        let lists = lists.filter(|(_, member)| filter[member] == true);
        let topics = lists.map(|(list, _)| list.to_owned());
        Self {
            topics: topics.chain(texts("resourceSubscriptions")).collect(),
            tasks: texts("taskIds").collect(),
        }
    }
}

impl Published {
    /// Notes that a call that publishes these is sent.
    pub(crate) fn sent(&mut self, topics: &[String], at: Duration) {
        for topic in topics {
            let said = Said {
                first: at,
                last: None,
            };
            self.0.entry(topic.clone()).or_insert(said);
        }
    }

    /// Notes that the call sent then is answered: all of it has happened.
    pub(crate) fn answered(&mut self, topics: &[String], sent: Duration) {
        for topic in topics {
            if let Some(said) = self.0.get_mut(topic) {
                said.last = said.last.max(Some(sent));
            }
        }
    }

    fn first(&self, topic: &str) -> Option<Duration> {
        self.0.get(topic).map(|said| said.first)
    }

    fn last(&self, topic: &str) -> Option<Duration> {
        self.0.get(topic)?.last
    }
}

impl Life {
    pub(crate) fn new(kind: Kind, asked: Asked) -> Self {
        Self {
            kind,
            asked,
            is_open: false,
            since: None,
            is_over: false,
            told: HashMap::new(),
            tasks: HashMap::new(),
        }
    }

    /// Takes note that the server has begun to answer: what a legacy session gets for
    /// an acknowledgement.
    pub(crate) fn opened(&mut self, at: Duration) {
        self.is_open = true;
        if self.kind == Kind::Session {
            self.since.get_or_insert(at);
        }
    }

    /// Takes note that the connection broke. It may be opened again and go on, if its
    /// client says where it was.
    pub(crate) fn broke(&mut self) {
        self.is_open = false;
    }

    /// Takes note of a message.
    ///
    /// # Errors
    ///
    /// It should not have come.
    pub(crate) fn see(&mut self, at: Duration, message: &Value) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("{what}: {message}"));
        if self.is_over {
            return wrong("something after the end");
        }
        if let Kind::Listen(id) = &self.kind
            && subscription(message) != Some(id)
        {
            return wrong("not of this subscription");
        }
        if message.get("result").is_some() {
            self.is_over = true;
            let is_right = self.since.is_some() && self.kind != Kind::Session;
            return if is_right { Ok(()) } else { wrong("no end") };
        }
        let (method, params) = (message["method"].as_str(), &message["params"]);
        if method == Some("notifications/subscriptions/acknowledged") {
            let honoured = Asked::of_filter(&params["notifications"]);
            if self.since.is_some() || honoured != self.asked {
                return wrong("not the acknowledgement");
            }
            self.since = Some(at);
            return Ok(());
        }
        if self.since.is_none() {
            return wrong("before its acknowledgement");
        }
        let list = |list: &str| self.asked.topics.contains(list).then(|| list.to_owned());
        let topic = match method {
            Some("notifications/tools/list_changed") => list("tools"),
            Some("notifications/prompts/list_changed") => list("prompts"),
            Some("notifications/resources/list_changed") => list("resources"),
            Some("notifications/resources/updated") => params["uri"].as_str().and_then(list),
            Some("notifications/tasks") => {
                let id = params["taskId"].as_str().unwrap_or_default();
                if !self.asked.tasks.contains(id) {
                    return wrong("not asked for");
                }
                self.tasks.insert(id.to_owned(), bare(params));
                return Ok(());
            }
            Some(_) | None => None,
        };
        let Some(topic) = topic else {
            return wrong("not asked for");
        };
        let told = self.told.entry(topic).or_insert(Told {
            first: at,
            last: at,
            times: 0,
        });
        told.last = at;
        told.times += 1;
        Ok(())
    }

    /// Tells whether the stream is open and was acknowledged.
    pub(crate) const fn is_heard(&self) -> bool {
        self.is_open && self.since.is_some() && !self.is_over
    }

    /// Tells whether the server has ended it with its result.
    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns how often it was told of a change that was none of this topic.
    pub(crate) fn count_but(&self, topic: &str) -> usize {
        let others = self.told.iter().filter(|(other, _)| *other != topic);
        others.map(|(_, told)| told.times).sum()
    }

    /// Returns what it should have been told, and was not.
    pub(crate) fn untold(&self, published: &Published) -> Vec<String> {
        let Some(since) = self.since.filter(|_| self.is_open) else {
            return vec!["its acknowledgement".to_owned()];
        };
        let topics = self.asked.topics.iter();
        let untold = topics.filter_map(|topic| {
            let last = published.last(topic).filter(|last| *last >= since)?;
            let told = self.told.get(topic).map(|told| told.last);
            let is_told = told.is_some_and(|told| told >= last);
            (!is_told).then(|| format!("{topic} of {last:?}, told at {told:?}, since {since:?}"))
        });
        untold.collect()
    }

    /// Returns what it was told although nobody had ever published it.
    pub(crate) fn unfounded(&self, published: &Published) -> Vec<String> {
        let told = self.told.iter();
        let unfounded = told.filter(|(topic, told)| {
            let first = published.first(topic);
            first.is_none_or(|first| told.first < first)
        });
        unfounded
            .map(|(topic, told)| format!("{topic} at {:?}", told.first))
            .collect()
    }

    /// Returns of which tasks it does not know the last state.
    pub(crate) fn untold_tasks(&self, finals: &HashMap<String, Final>) -> Vec<String> {
        let tasks = self.asked.tasks.iter();
        let untold = tasks.filter_map(|id| {
            let Final { state, other } = finals.get(id)?;
            let told = self.tasks.get(id);
            let is_terminal = ["completed", "failed", "cancelled"]
                .iter()
                .any(|status| state["status"] == *status);
            let has_changed = self.since.is_some_and(|since| *other >= Some(since));
            let has_to = is_terminal || has_changed || told.is_some();
            (has_to && told != Some(state))
                .then(|| format!("task {id} is {state}, told was {told:?}"))
        });
        untold.collect()
    }
}

/// Returns a task without what belongs to the message that it is in.
pub(crate) fn bare(task: &Value) -> Value {
    let mut task = task.clone();
    if let Some(members) = task.as_object_mut() {
        members.remove("_meta");
        members.remove("resultType");
    }
    task
}

// === Behind the life ===

/// How the filter calls the lists, in their order.
const MEMBERS: [&str; 3] = [
    "toolsListChanged",
    "promptsListChanged",
    "resourcesListChanged",
];

fn subscription(message: &Value) -> Option<&Value> {
    let part = message.get("params").or_else(|| message.get("result"))?;
    part.get("_meta")?.get(SUBSCRIPTION)
}

#[cfg(test)]
mod tests;
