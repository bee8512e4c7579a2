//! What either side can do.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::members;
use crate::raw;

/// The id of the extension by which a modern client can be answered with a task.
///
/// Source: T-TASK-01.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// What a client declared, on its request or in `initialize`.
///
/// An open set, kept as JSON: members that nobody knows are kept and ignored
/// (M-META-05).
#[derive(Clone, Debug, Default)]
pub struct ClientCapabilities {
    /// `None` stands for `{}`, which most requests say.
    json: Option<Box<RawValue>>,
}

impl ClientCapabilities {
    /// Reads capabilities from JSON text, such as that of a stored session.
    ///
    /// `None` when it is not an object.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().and_then(Self::from_raw)
    }

    /// Reads capabilities from a member of a message.
    ///
    /// `None` when it is not an object.
    #[must_use]
    pub fn from_raw(raw: &RawValue) -> Option<Self> {
        raw::is_object(raw).then(|| Self {
            json: (raw.get() != "{}").then(|| raw.to_owned()),
        })
    }

    /// Returns the capabilities as JSON, an object.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.json.as_deref().map_or("{}", RawValue::get)
    }

    /// Returns whether the client can be asked to fill in a form.
    ///
    /// `{}` means forms; `{"url":{}}` means URLs and no forms (M-META-06).
    #[must_use]
    pub fn elicits_forms(&self) -> bool {
        let (form, url) = (self.has(&["elicitation", "form"]), self.elicits_urls());
        form || (self.has(&["elicitation"]) && !url)
    }

    /// Returns whether the client can be asked to open a URL.
    #[must_use]
    pub fn elicits_urls(&self) -> bool {
        self.has(&["elicitation", "url"])
    }

    /// Returns whether the client can be asked to sample a model.
    #[must_use]
    pub fn samples(&self) -> bool {
        self.has(&["sampling"])
    }

    /// Returns whether a model that the client samples can be offered tools
    /// (table of 6.2).
    #[must_use]
    pub fn samples_with_tools(&self) -> bool {
        self.has(&["sampling", "tools"])
    }

    /// Returns whether a model that the client samples can be shown what servers
    /// have said (table of 6.2).
    #[must_use]
    pub fn samples_with_context(&self) -> bool {
        self.has(&["sampling", "context"])
    }

    /// Returns whether the client can be asked for its roots.
    #[must_use]
    pub fn lists_roots(&self) -> bool {
        self.has(&["roots"])
    }

    /// Returns whether the client declared the extension `id` (M-VER-04).
    #[must_use]
    pub fn has_extension(&self, id: &str) -> bool {
        self.has(&["extensions", id])
    }

    /// Returns whether a modern client can be answered with a task (T-TASK-01). The
    /// `tasks` of 2025-11-25 is something else (T-TASK-02).
    #[must_use]
    pub fn declares_tasks(&self) -> bool {
        self.has_extension(TASKS_EXTENSION)
    }

    /// Whether there is an object at `path`.
    fn has(&self, path: &[&str]) -> bool {
        let Some(mut found) = self.json.as_deref() else {
            return false;
        };
        for name in path {
            let Ok([slot]) = members::read(found.get(), &[*name]) else {
                return false;
            };
            match slot.one() {
                Some(raw) if raw::is_object(raw) => found = raw,
                Some(_) | None => return false,
            }
        }
        true
    }
}

/// What a server offers, in both eras; the shapers leave out what an era lacks.
///
/// Source: C-TYPE-15, L-INIT-08.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ServerCapabilities {
    /// Tools can be listed and called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Lists>,
    /// Resources can be listed and read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Prompts can be listed and fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Lists>,
    /// Arguments can be completed.
    #[serde(skip_serializing_if = "is_false", serialize_with = "present")]
    pub completions: bool,
    /// Log messages can be sent.
    #[serde(skip_serializing_if = "is_false", serialize_with = "present")]
    pub logging: bool,
    /// Calls of tools can become tasks: [`TASKS_EXTENSION`] in the modern era, and in
    /// 2025-11-25 a capability of its own (T-TASK-02, R10).
    #[serde(skip_serializing_if = "is_false", serialize_with = "tasks_of_2025")]
    pub tasks: bool,
    /// Extensions and their settings. Modern only.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
}

/// How a list is offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lists {
    /// Clients can hear when it changes.
    #[serde(skip_serializing_if = "is_false")]
    pub list_changed: bool,
}

/// How resources are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// Clients can hear when one changes.
    #[serde(skip_serializing_if = "is_false")]
    pub subscribe: bool,
    /// Clients can hear when the list changes.
    #[serde(skip_serializing_if = "is_false")]
    pub list_changed: bool,
}

/// What a method needs its server to offer.
///
/// Source: C-TYPE-16, table of 5.10.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Gate {
    /// [`ServerCapabilities::tools`].
    Tools,
    /// [`ServerCapabilities::resources`].
    Resources,
    /// [`Resources::subscribe`].
    ResourceSubscriptions,
    /// [`ServerCapabilities::prompts`].
    Prompts,
    /// [`ServerCapabilities::completions`].
    Completions,
    /// [`ServerCapabilities::logging`].
    Logging,
    /// [`ServerCapabilities::tasks`].
    Tasks,
}

impl ServerCapabilities {
    /// Returns whether the server offers what a method needs.
    #[must_use]
    pub fn offers(&self, gate: Gate) -> bool {
        match gate {
            Gate::Tools => self.tools.is_some(),
            Gate::Resources => self.resources.is_some(),
            Gate::ResourceSubscriptions => {
                self.resources.is_some_and(|resources| resources.subscribe)
            }
            Gate::Prompts => self.prompts.is_some(),
            Gate::Completions => self.completions,
            Gate::Logging => self.logging,
            Gate::Tasks => self.tasks,
        }
    }

    /// Returns what a server offers that declares nothing: tools, resources and
    /// prompts (R9).
    #[must_use]
    pub fn base() -> Self {
        Self {
            tools: Some(Lists::default()),
            resources: Some(Resources::default()),
            prompts: Some(Lists::default()),
            ..Self::default()
        }
    }
}

// === Behind the handle ===

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Writes a capability that has no settings: `{}`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn present<S: serde::Serializer>(_value: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    Map::new().serialize(serializer)
}

/// Writes what 2025-11-25 knows of tasks (L-TASK-02, R10).
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn tasks_of_2025<S: serde::Serializer>(_value: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(json: &str) -> ClientCapabilities {
        ClientCapabilities::from_json(json).expect("an object")
    }

    #[track_caller]
    fn check_elicitation(json: &str, forms: bool, urls: bool) {
        let client = client(json);

        assert_eq!(
            (client.elicits_forms(), client.elicits_urls()),
            (forms, urls)
        );
    }

    #[test]
    fn a_bare_elicitation_means_forms() {
        check_elicitation(r#"{"elicitation":{}}"#, true, false);
    }

    #[test]
    fn a_url_alone_means_no_forms() {
        check_elicitation(r#"{"elicitation":{"url":{}}}"#, false, true);
    }

    #[test]
    fn both_modes_can_be_declared() {
        check_elicitation(r#"{"elicitation":{"url":{},"form":{}}}"#, true, true);
    }

    #[test]
    fn nothing_declared_means_nothing() {
        check_elicitation("{}", false, false);
        assert!(!client("{}").samples());
        assert!(!ClientCapabilities::default().lists_roots());
    }

    #[test]
    fn unknown_members_are_kept_and_ignored() {
        let json = r#"{"novel":{"a":1},"roots":{"listChanged":true}}"#;

        assert_eq!(client(json).as_json(), json);
        assert!(client(json).lists_roots());
    }

    #[test]
    fn an_extension_is_declared_by_its_id() {
        let client = client(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#);

        assert!(client.has_extension("io.modelcontextprotocol/tasks"));
        assert!(!client.has_extension("io.modelcontextprotocol/ui"));
    }

    #[test]
    fn anything_but_an_object_is_no_capabilities() {
        for json in ["[]", "null", "1", ""] {
            assert!(ClientCapabilities::from_json(json).is_none(), "{json}");
        }
    }

    #[test]
    fn a_server_writes_only_what_it_offers() {
        let offered = ServerCapabilities {
            tools: Some(Lists { list_changed: true }),
            logging: true,
            ..ServerCapabilities::default()
        };

        let json = serde_json::to_string(&offered).expect("JSON");

        assert_eq!(json, r#"{"tools":{"listChanged":true},"logging":{}}"#);
    }

    #[test]
    fn a_gate_is_open_where_the_server_offers_what_is_behind_it() {
        let offered = ServerCapabilities {
            resources: Some(Resources::default()),
            logging: true,
            ..ServerCapabilities::default()
        };

        for (gate, open) in [
            (Gate::Tools, false),
            (Gate::Resources, true),
            (Gate::ResourceSubscriptions, false),
            (Gate::Prompts, false),
            (Gate::Completions, false),
            (Gate::Logging, true),
        ] {
            assert_eq!(offered.offers(gate), open, "{gate:?}");
        }
    }

    #[test]
    fn a_server_that_declares_nothing_offers_the_base_set() {
        let json = serde_json::to_string(&ServerCapabilities::base()).expect("JSON");

        assert_eq!(json, r#"{"tools":{},"resources":{},"prompts":{}}"#);
    }

    #[test]
    fn what_a_sampling_may_have_is_declared_inside_it() {
        let (plain, tools, context) = (
            client(r#"{"sampling":{}}"#),
            client(r#"{"sampling":{"tools":{}}}"#),
            client(r#"{"sampling":{"context":{}}}"#),
        );

        assert!(tools.samples_with_tools() && !tools.samples_with_context());
        assert!(context.samples_with_context() && !context.samples_with_tools());
        assert!(plain.samples() && !plain.samples_with_tools());
    }

    #[test]
    fn only_the_extension_declares_tasks() {
        let extension = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

        assert!(client(extension).declares_tasks());
        assert!(!client(r#"{"tasks":{"list":{}}}"#).declares_tasks());
    }

    #[test]
    fn a_server_offers_tasks_if_it_says_so() {
        let offered = ServerCapabilities {
            tasks: true,
            ..ServerCapabilities::default()
        };

        assert!(offered.offers(Gate::Tasks));
        assert!(!ServerCapabilities::base().offers(Gate::Tasks));
    }
}
