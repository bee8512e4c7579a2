//! The arguments of a prompt, which are texts, and what is listed of them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use conduit_protocol::limits::REFLECTED_CHARS;
use conduit_protocol::{PromptArgument, WireError, reflected};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::texts;
use crate::typed::input_schema;

/// The arguments of a prompt, by name.
///
/// As what a handler takes, it is all arguments that the client sent, listed or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct PromptArguments(BTreeMap<String, String>);

impl PromptArguments {
    /// Takes arguments as they came.
    #[must_use]
    pub const fn new(arguments: BTreeMap<String, String>) -> Self {
        Self(arguments)
    }

    /// Returns the argument of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the arguments, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let arguments = self.0.iter();
        arguments.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Refuses arguments of which some that are required are missing (M-PROMPT-02).
    pub(crate) fn check(&self, listed: &[PromptArgument], prompt: &str) -> Result<(), WireError> {
        let missing: Vec<_> = listed
            .iter()
            .filter(|argument| argument.required && self.get(&argument.name).is_none())
            .map(|argument| format!("`{}`", argument.name))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(", ");
        Err(WireError::invalid_params(format!(
            "the prompt `{prompt}` requires the arguments {missing}"
        )))
    }

    /// Reads the arguments into what a handler takes.
    pub(crate) fn read<T: DeserializeOwned>(&self, prompt: &str) -> Result<T, WireError> {
        let arguments: Vec<_> = self.iter().collect();
        texts::read(&arguments).map_err(|mismatch| {
            let which = match mismatch.name {
                Some(name) => format!("the argument `{name}` of the prompt `{prompt}`"),
                None => format!("the arguments of the prompt `{prompt}`"),
            };
            // The reason may repeat what the client wrote (SEC-01).
            let reason = reflected(&mismatch.reason, REFLECTED_CHARS);
            WireError::invalid_params(format!("{which}: {reason}"))
        })
    }
}

impl JsonSchema for PromptArguments {
    fn schema_name() -> Cow<'static, str> {
        "PromptArguments".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object"})
    }
}

/// Returns what to list of a type: the fields of a struct, in their order.
pub(crate) fn listed<T: DeserializeOwned + JsonSchema>() -> Vec<PromptArgument> {
    let schema = input_schema::<T>();
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.unwrap_or(&none);
    let required = |name: &str| {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|one| one == name))
    };
    let text = |property: &Value, key: &str| {
        let text = property.get(key).and_then(Value::as_str);
        text.map(str::to_owned)
    };
    let fields = texts::field_names::<T>();
    let place = |name: &str| fields.iter().position(|field| *field == name);
    let mut names: Vec<_> = properties.keys().map(String::as_str).collect();
    names.sort_by_key(|name| place(name).unwrap_or(usize::MAX));
    let argument = |name: &str| {
        let property = properties.get(name).unwrap_or(&Value::Null);
        PromptArgument {
            name: name.to_owned(),
            title: text(property, "title"),
            description: text(property, "description"),
            required: required(name),
        }
    };
    names.into_iter().map(argument).collect()
}

#[cfg(test)]
mod tests {
    use conduit_protocol::Code;

    use super::*;
    use crate::NoArguments;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Travel {
        /// Where to go.
        to: String,
        #[schemars(title = "Start")]
        from: Option<String>,
        #[serde(default)]
        days: u8,
    }

    fn arguments(pairs: &[(&str, &str)]) -> PromptArguments {
        let pairs = pairs.iter();
        PromptArguments(
            pairs
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        )
    }

    #[test]
    fn the_fields_of_a_struct_are_listed_in_their_order() {
        let listed = listed::<Travel>();

        let names: Vec<_> = listed.iter().map(|argument| &*argument.name).collect();
        assert_eq!(names, ["to", "from", "days"]);
        let required: Vec<_> = listed.iter().map(|argument| argument.required).collect();
        assert_eq!(required, [true, false, false]);
        assert_eq!(listed[0].description.as_deref(), Some("Where to go."));
        assert_eq!(listed[1].title.as_deref(), Some("Start"));
    }

    #[test]
    fn of_a_map_nothing_is_listed() {
        assert!(listed::<PromptArguments>().is_empty());
        assert!(listed::<BTreeMap<String, String>>().is_empty());
        assert!(listed::<NoArguments>().is_empty());
    }

    #[test]
    fn all_that_is_missing_is_named() {
        let mut listed = listed::<Travel>();
        listed[2].required = true;

        let error = arguments(&[("from", "b")]).check(&listed, "travel");

        let error = error.expect_err("a refusal");
        assert_eq!(error.code, Code::INVALID_PARAMS);
        assert_eq!(
            error.message,
            "the prompt `travel` requires the arguments `to`, `days`"
        );
        assert!(
            arguments(&[("to", ""), ("days", "1")])
                .check(&listed, "travel")
                .is_ok()
        );
    }

    #[test]
    fn texts_become_the_type() {
        let sent = arguments(&[("to", "Rome"), ("days", "3"), ("mood", "good")]);

        assert_eq!(
            sent.read::<Travel>("travel").expect("arguments"),
            Travel {
                to: "Rome".to_owned(),
                from: None,
                days: 3,
            }
        );
    }

    #[test]
    fn a_text_that_does_not_fit_is_named() {
        let error = arguments(&[("to", "Rome"), ("days", "many")]).read::<Travel>("travel");

        let error = error.expect_err("a refusal");
        assert_eq!(error.code, Code::INVALID_PARAMS);
        assert_eq!(
            error.message,
            "the argument `days` of the prompt `travel`: is not a positive integer of this size"
        );
    }

    #[test]
    fn a_handler_may_take_them_as_they_are() {
        let sent = arguments(&[("a", "1")]);

        assert_eq!(
            sent.read::<PromptArguments>("any").expect("arguments"),
            sent
        );
        assert!(arguments(&[]).read::<NoArguments>("none").is_ok());
    }
}
