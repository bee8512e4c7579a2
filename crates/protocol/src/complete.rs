//! `completion/complete`: what it asks and what it answers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::limits::COMPLETION_VALUES;
use crate::params::Params;
use crate::wire_error::WireError;
use crate::{demand, strings};

/// The parameters of `completion/complete`:
/// `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"A"}}`.
///
/// Source: C-COMP-01.
#[derive(Debug)]
pub struct CompleteParams<'a> {
    /// Where the argument belongs.
    pub reference: Reference<'a>,
    /// The name of the argument.
    pub argument: Cow<'a, str>,
    /// What has been typed so far.
    pub value: Cow<'a, str>,
    /// The arguments that are filled in already.
    pub context: BTreeMap<String, String>,
}

/// Names what an argument belongs to, known or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference<'a> {
    /// The prompt of this name.
    Prompt(Cow<'a, str>),
    /// The template of resources with this text, or the resource with this URI.
    Resource(Cow<'a, str>),
}

/// What an argument could become, best first.
///
/// Clients see [`COMPLETION_VALUES`] values at most, and learn that there are more
/// (C-COMP-04).
///
/// Source: C-COMP-02.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The values.
    pub values: Vec<String>,
    /// How many there are in all, as far as that is known.
    pub total: Option<u64>,
    /// There are more than these.
    pub has_more: bool,
}

impl<'a> CompleteParams<'a> {
    /// Reads the parameters of a completion.
    ///
    /// # Errors
    ///
    /// -32602 when a member is missing, has the wrong type or occurs twice, or when
    /// the reference is of a type that nobody knows.
    pub fn read(params: &Params<'a>) -> Result<Self, WireError> {
        let [reference, argument, context] = params.find(&["ref", "argument", "context"])?;
        let [kind, name, uri] = demand::object(reference, "params.ref", &["type", "name", "uri"])?;
        let reference = match &*demand::string(kind, "params.ref.type")? {
            "ref/prompt" => Reference::Prompt(demand::string(name, "params.ref.name")?),
            "ref/resource" => Reference::Resource(demand::string(uri, "params.ref.uri")?),
            _ => {
                let known = "`ref/prompt` or `ref/resource`";
                return Err(demand::mistyped("params.ref.type", known));
            }
        };
        let [name, value] = demand::object(argument, "params.argument", &["name", "value"])?;
        let mut filled_in = BTreeMap::new();
        if !context.is_absent() {
            let [arguments] = demand::object(context, "params.context", &["arguments"])?;
            let key = "params.context.arguments";
            if let Some(arguments) = demand::once(arguments, key)? {
                filled_in = strings::map(arguments, key)?;
            }
        }
        Ok(Self {
            reference,
            argument: demand::string(name, "params.argument.name")?,
            value: demand::string(value, "params.argument.value")?,
            context: filled_in,
        })
    }
}

impl Completion {
    /// Answers with all the values that there are.
    #[must_use]
    pub const fn new(values: Vec<String>) -> Self {
        Self {
            values,
            total: None,
            has_more: false,
        }
    }
}

impl Serialize for Completion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counted = || u64::try_from(self.values.len()).ok();
        let shown = match self.values.get(..COMPLETION_VALUES) {
            Some(first) if first.len() < self.values.len() => Shown {
                values: first,
                total: self.total.or_else(counted),
                has_more: true,
            },
            Some(_) | None => Shown {
                values: &self.values,
                total: self.total,
                has_more: self.has_more,
            },
        };
        shown.serialize(serializer)
    }
}

// === Behind the handle ===

/// What a client sees of a completion.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    values: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_error::Code;

    fn read(text: &str) -> Result<CompleteParams<'_>, WireError> {
        let params = Params::read(Some(serde_json::from_str(text).expect("valid JSON")));
        CompleteParams::read(&params)
    }

    #[test]
    fn an_argument_belongs_to_a_prompt_or_to_a_template() {
        let prompt = r#"{"ref":{"type":"ref/prompt","name":"greet","title":"Greet"},"argument":{"name":"who","value":""}}"#;
        let params = read(prompt).expect("parameters");
        assert_eq!(params.reference, Reference::Prompt("greet".into()));
        assert_eq!((&*params.argument, &*params.value), ("who", ""));
        assert!(params.context.is_empty());

        let template = r#"{"ref":{"type":"ref/resource","uri":"mem://{id}"},"argument":{"name":"id","value":"a"},"context":{"arguments":{"kind":"x"}}}"#;
        let params = read(template).expect("parameters");
        assert_eq!(params.reference, Reference::Resource("mem://{id}".into()));
        let kind = params.context.get("kind").map(String::as_str);
        assert_eq!(kind, Some("x"));
    }

    #[track_caller]
    fn refused(reference: &str, argument: &str, context: &str, key: &str) {
        let text = format!(r#"{{"ref":{reference},"argument":{argument},"context":{context}}}"#);

        let error = read(&text).expect_err("a refusal");

        assert_eq!(error.code, Code::INVALID_PARAMS, "{text}");
        assert!(error.message.contains(&format!("`{key}`")), "{error}");
    }

    const REF: &str = r#"{"type":"ref/prompt","name":"greet"}"#;
    const ARGUMENT: &str = r#"{"name":"who","value":"A"}"#;

    #[test]
    fn a_reference_of_another_form_is_refused() {
        refused("null", ARGUMENT, "{}", "params.ref");
        refused("{}", ARGUMENT, "{}", "params.ref.type");
        let foreign = r#"{"type":"ref/tool","name":"greet"}"#;
        refused(foreign, ARGUMENT, "{}", "params.ref.type");
        let nameless = r#"{"type":"ref/prompt","uri":"mem://a"}"#;
        refused(nameless, ARGUMENT, "{}", "params.ref.name");
        let uri = r#"{"type":"ref/resource","uri":1}"#;
        refused(uri, ARGUMENT, "{}", "params.ref.uri");
    }

    #[test]
    fn an_argument_of_another_form_is_refused() {
        refused(REF, "[]", "{}", "params.argument");
        refused(REF, r#"{"value":""}"#, "{}", "params.argument.name");
        let number = r#"{"name":"who","value":1}"#;
        refused(REF, number, "{}", "params.argument.value");
    }

    #[test]
    fn a_context_of_another_form_is_refused() {
        refused(REF, ARGUMENT, "[]", "params.context");
        let numbers = r#"{"arguments":{"a":1}}"#;
        refused(REF, ARGUMENT, numbers, "params.context.arguments");
        let null = r#"{"arguments":null}"#;
        refused(REF, ARGUMENT, null, "params.context.arguments");
    }

    #[test]
    fn parameters_that_are_missing_are_refused() {
        assert!(CompleteParams::read(&Params::read(None)).is_err());
    }

    #[track_caller]
    fn check(completion: &Completion, expected: &str) {
        assert_eq!(serde_json::to_string(completion).expect("JSON"), expected);
    }

    #[test]
    fn a_completion_says_what_its_author_said() {
        check(&Completion::default(), r#"{"values":[]}"#);
        check(
            &Completion {
                total: Some(7),
                has_more: true,
                ..Completion::new(vec!["a".into()])
            },
            r#"{"values":["a"],"total":7,"hasMore":true}"#,
        );
    }

    #[test]
    fn clients_see_a_hundred_values_and_that_there_are_more() {
        let of = |count| Completion::new(vec![String::new(); count]);
        let values = |count: usize| vec![r#""""#; count].join(",");

        check(&of(100), &format!(r#"{{"values":[{}]}}"#, values(100)));
        check(
            &of(101),
            &format!(
                r#"{{"values":[{}],"total":101,"hasMore":true}}"#,
                values(100)
            ),
        );
    }

    #[test]
    fn a_total_that_the_author_knows_stays_when_values_are_cut() {
        let completion = Completion {
            total: Some(5000),
            ..Completion::new(vec![String::new(); 200])
        };

        let json = serde_json::to_string(&completion).expect("JSON");

        assert!(
            json.ends_with(r#"],"total":5000,"hasMore":true}"#),
            "{json}"
        );
    }
}
