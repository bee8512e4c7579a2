//! `subscriptions/listen`: what a client wants to hear of. Modern only.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::capability::ServerCapabilities;
use crate::demand;
use crate::members::Slot;
use crate::params::Params;
use crate::strings;
use crate::wire_error::WireError;

/// The parameters of `subscriptions/listen`:
/// `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["mem://a"]}}`.
///
/// Source: M-SUB-01.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenParams {
    /// What the client asks for.
    pub filter: Filter,
}

/// What a listen stream tells of: what a client asked for, or what of that is
/// honoured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Filter {
    /// That the list of tools changed.
    #[serde(
        rename = "toolsListChanged",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub tools: bool,
    /// That the list of prompts changed.
    #[serde(
        rename = "promptsListChanged",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub prompts: bool,
    /// That the list of resources changed.
    #[serde(
        rename = "resourcesListChanged",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub resources: bool,
    /// That one of these resources changed; each once, in the client's order, as
    /// many and as long as [`limits`](crate::limits) lets in.
    #[serde(
        rename = "resourceSubscriptions",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub resource_uris: Vec<String>,
    /// What becomes of these tasks, under the same bounds. `None` when the client
    /// does not mention tasks, which it may only with the extension (M-SUB-15).
    #[serde(rename = "taskIds", skip_serializing_if = "lists_nothing")]
    pub task_ids: Option<Vec<String>>,
}

impl ListenParams {
    /// Reads the parameters of a listen stream. Members that nobody knows are
    /// ignored, and so are not acknowledged.
    ///
    /// # Errors
    ///
    /// -32602 when the filter is missing, when a member of it has the wrong type or
    /// occurs twice, or when it lists more than the limits let in.
    pub fn read(params: &Params<'_>) -> Result<Self, WireError> {
        let [filter] = params.find(&["notifications"])?;
        let [tools, prompts, resources, resource_uris, task_ids] =
            demand::object(filter, NOTIFICATIONS, &MEMBERS)?;
        let filter = Filter {
            tools: flag(tools, TOOLS)?,
            prompts: flag(prompts, PROMPTS)?,
            resources: flag(resources, RESOURCES)?,
            resource_uris: entries(resource_uris, RESOURCE_URIS)?.unwrap_or_default(),
            task_ids: entries(task_ids, TASK_IDS)?,
        };
        Ok(Self { filter })
    }
}

impl Filter {
    /// Returns what of the filter a server honours: what it offers (M-SUB-04,
    /// M-SUB-06). Whose the tasks are is not looked at here (M-SUB-13).
    #[must_use]
    pub fn honoured(&self, offered: &ServerCapabilities) -> Self {
        let resources = offered.resources.unwrap_or_default();
        Self {
            tools: self.tools && offered.tools.is_some_and(|tools| tools.list_changed),
            prompts: self.prompts && offered.prompts.is_some_and(|prompts| prompts.list_changed),
            resources: self.resources && resources.list_changed,
            resource_uris: if resources.subscribe {
                self.resource_uris.clone()
            } else {
                Vec::new()
            },
            task_ids: self.task_ids.clone().filter(|_| offered.tasks),
        }
    }

    /// Looks whether it names at most `most` resources, and as many tasks.
    ///
    /// # Errors
    ///
    /// -32602, which says what there is too much of.
    pub fn check_length(&self, most: usize) -> Result<(), WireError> {
        let tasks = self.task_ids.as_ref().map_or(0, Vec::len);
        let lengths = [(RESOURCE_URIS, self.resource_uris.len()), (TASK_IDS, tasks)];
        match lengths.iter().find(|(_, length)| *length > most) {
            Some((name, _)) => Err(WireError::invalid_params(format!(
                "`{NOTIFICATIONS}.{name}` has more than {most} entries"
            ))),
            None => Ok(()),
        }
    }

    /// Returns whether nothing is left to tell of: then the stream ends as soon as
    /// it is acknowledged (R19).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !(self.tools || self.prompts || self.resources)
            && self.resource_uris.is_empty()
            && lists_nothing(&self.task_ids)
    }
}

// === Behind the handle ===

/// The names of the filter's members on the wire.
const MEMBERS: [&str; 5] = [TOOLS, PROMPTS, RESOURCES, RESOURCE_URIS, TASK_IDS];

const NOTIFICATIONS: &str = "params.notifications";
const TOOLS: &str = "toolsListChanged";
const PROMPTS: &str = "promptsListChanged";
const RESOURCES: &str = "resourcesListChanged";
const RESOURCE_URIS: &str = "resourceSubscriptions";
const TASK_IDS: &str = "taskIds";

fn lists_nothing(entries: &Option<Vec<String>>) -> bool {
    entries.as_ref().is_none_or(Vec::is_empty)
}

fn flag(slot: Slot<'_>, name: &str) -> Result<bool, WireError> {
    let key = format!("{NOTIFICATIONS}.{name}");
    match demand::once(slot, &key)?.map(RawValue::get) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(demand::mistyped(&key, "true or false")),
    }
}

fn entries(slot: Slot<'_>, name: &str) -> Result<Option<Vec<String>>, WireError> {
    let key = format!("{NOTIFICATIONS}.{name}");
    demand::once(slot, &key)?
        .map(|raw| strings::entries(raw, &key))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::{Lists, Resources};
    use crate::wire_error::Code;

    fn read(text: &str) -> Result<Filter, WireError> {
        let params = Params::read(Some(serde_json::from_str(text).expect("valid JSON")));
        ListenParams::read(&params).map(|params| params.filter)
    }

    fn everything() -> Filter {
        Filter {
            tools: true,
            prompts: true,
            resources: true,
            resource_uris: vec!["mem://a".into()],
            task_ids: Some(vec!["t".into()]),
        }
    }

    #[test]
    fn a_filter_says_what_to_tell_of() {
        let filter = read(
            r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["mem://a","mem://a"],"taskIds":["t"],"novel":5}}"#,
        );

        assert_eq!(filter.expect("a filter"), everything());
    }

    #[test]
    fn what_is_missing_or_false_is_not_asked_for() {
        for text in [
            r#"{"notifications":{}}"#,
            r#"{"notifications":{"toolsListChanged":false,"resourceSubscriptions":[]}}"#,
        ] {
            let filter = read(text).expect("a filter");
            assert_eq!(filter, Filter::default());
            assert!(filter.is_empty());
        }
    }

    #[test]
    fn tasks_that_are_mentioned_without_ids_are_mentioned() {
        let filter = read(r#"{"notifications":{"taskIds":[]}}"#).expect("a filter");

        assert_eq!(filter.task_ids.as_deref(), Some(&[][..]));
        assert!(filter.is_empty());
    }

    #[track_caller]
    fn refused(text: &str, key: &str) {
        let error = read(text).expect_err("a refusal");

        assert_eq!(error.code, Code::INVALID_PARAMS, "{text}");
        assert!(error.message.contains(&format!("`{key}`")), "{error}");
    }

    #[test]
    fn a_filter_that_is_missing_or_no_object_is_refused() {
        for text in [
            "{}",
            r#"{"notifications":null}"#,
            r#"{"notifications":[]}"#,
            r#"{"notifications":{},"notifications":{}}"#,
        ] {
            refused(text, "params.notifications");
        }
        assert!(ListenParams::read(&Params::read(None)).is_err());
    }

    #[test]
    fn a_member_of_the_wrong_type_is_refused_and_named() {
        for (member, value) in [
            (TOOLS, "1"),
            (PROMPTS, "null"),
            (RESOURCES, "\"true\""),
            (RESOURCE_URIS, "true"),
            (RESOURCE_URIS, "[1]"),
            (TASK_IDS, "{}"),
        ] {
            refused(
                &format!(r#"{{"notifications":{{"{member}":{value}}}}}"#),
                &format!("params.notifications.{member}"),
            );
        }
    }

    #[test]
    fn a_filter_that_names_too_much_is_refused_and_the_member_is_named() {
        let two = || vec!["a".to_owned(), "b".to_owned()];
        let resources = Filter {
            resource_uris: two(),
            ..everything()
        };
        let tasks = Filter {
            task_ids: Some(two()),
            ..everything()
        };

        assert!(everything().check_length(1).is_ok());
        for (filter, member) in [(resources, RESOURCE_URIS), (tasks, TASK_IDS)] {
            assert!(filter.check_length(2).is_ok());
            let error = filter.check_length(1).expect_err("too much");
            assert_eq!(error.code, Code::INVALID_PARAMS);
            assert!(error.message.contains(member), "{error}");
        }
    }

    #[test]
    fn only_what_is_offered_is_honoured() {
        let honoured = |tools, resources| {
            let offered = ServerCapabilities {
                tools,
                resources,
                ..ServerCapabilities::default()
            };
            everything().honoured(&offered)
        };
        let listed = Some(Lists { list_changed: true });
        let subscribed = Some(Resources {
            subscribe: true,
            list_changed: false,
        });

        assert!(honoured(Some(Lists::default()), None).is_empty());
        let expected = Filter {
            tools: true,
            ..Filter::default()
        };
        assert_eq!(honoured(listed, Some(Resources::default())), expected);
        let expected = Filter {
            resource_uris: vec!["mem://a".into()],
            ..Filter::default()
        };
        assert_eq!(honoured(None, subscribed), expected);
    }

    #[test]
    fn nothing_is_honoured_that_was_not_asked_for() {
        let offered = ServerCapabilities {
            tools: Some(Lists { list_changed: true }),
            prompts: Some(Lists { list_changed: true }),
            resources: Some(Resources {
                subscribe: true,
                list_changed: true,
            }),
            ..ServerCapabilities::default()
        };

        assert!(Filter::default().honoured(&offered).is_empty());
    }

    #[test]
    fn tasks_are_honoured_where_they_are_offered() {
        let offered = ServerCapabilities {
            tasks: true,
            ..ServerCapabilities::default()
        };

        let expected = Filter {
            task_ids: Some(vec!["t".into()]),
            ..Filter::default()
        };
        assert_eq!(everything().honoured(&offered), expected);
        assert_eq!(Filter::default().honoured(&offered), Filter::default());
    }
}
