//! Suggests values for the argument of a prompt or the variable of a template.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use conduit_protocol::{CompleteParams, Completion, Outcome, Reference};

use crate::{Context, IntoRefusal, Policy, Run, Work};

/// What a client wants to have completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionRequest {
    /// The prompt whose argument it is, or the template whose variable.
    pub reference: Reference<'static>,
    /// The name of the argument, or of the variable.
    pub argument: String,
    /// What has been typed so far; may be empty.
    pub value: String,
    /// The other arguments that are known already, such as the country of a city.
    pub known: BTreeMap<String, String>,
}

/// Turns what a completion handler returns into what the client gets.
///
/// | a handler returns | the client gets |
/// |---|---|
/// | a `Vec` or an array of texts | the first 100 of them, and how many there are |
/// | [`Completion`], [`Outcome<Completion>`](Outcome) | the same |
/// | `Ok(x)` | what `x` becomes |
/// | `Err(x)` | what [`IntoRefusal`] makes of it: mostly an internal error with a text |
pub trait IntoCompletion {
    /// Turns it into what the client gets.
    fn into_completion(self) -> Outcome<Completion>;
}

impl From<CompleteParams<'_>> for CompletionRequest {
    fn from(params: CompleteParams<'_>) -> Self {
        Self {
            reference: match params.reference {
                Reference::Prompt(name) => Reference::Prompt(name.into_owned().into()),
                Reference::Resource(uri) => Reference::Resource(uri.into_owned().into()),
            },
            argument: params.argument.into_owned(),
            value: params.value.into_owned(),
            known: params.context,
        }
    }
}

impl IntoCompletion for Outcome<Completion> {
    fn into_completion(self) -> Self {
        self
    }
}

impl IntoCompletion for Completion {
    fn into_completion(self) -> Outcome<Completion> {
        Outcome::Complete(self)
    }
}

impl<S: Into<String>> IntoCompletion for Vec<S> {
    fn into_completion(self) -> Outcome<Completion> {
        Outcome::Complete(Completion {
            total: u64::try_from(self.len()).ok(),
            values: self.into_iter().map(S::into).collect(),
            has_more: false,
        })
    }
}

impl<S: Into<String>, const N: usize> IntoCompletion for [S; N] {
    fn into_completion(self) -> Outcome<Completion> {
        Vec::from(self).into_completion()
    }
}

impl<T: IntoCompletion, E: IntoRefusal<Completion>> IntoCompletion for Result<T, E> {
    fn into_completion(self) -> Outcome<Completion> {
        match self {
            Ok(completion) => completion.into_completion(),
            Err(refusal) => refusal.into_refusal(),
        }
    }
}

// === Behind the handle ===

/// A completion handler, whatever its types are; cheap to clone.
#[derive(Clone)]
pub(crate) struct Completer {
    pub(crate) policy: Policy,
    complete: Arc<dyn Fn(CompletionRequest, Context) -> Work<Completion> + Send + Sync>,
}

impl Completer {
    pub(crate) fn asking<F, R, O>(handler: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> R + Send + Sync + 'static,
        R: Future<Output = O> + Send + 'static,
        O: IntoCompletion,
    {
        let handler = Arc::new(handler);
        Self {
            policy: Policy::new(Run::Pool),
            complete: Arc::new(move |request, context| {
                let handler = Arc::clone(&handler);
                Work::from_future(async move { handler(request, context).await.into_completion() })
            }),
        }
    }

    /// Suggests those of some fixed values that begin with what has been typed.
    pub(crate) fn choosing(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let values: Arc<[String]> = values.into_iter().map(Into::into).collect();
        Self {
            policy: Policy::new(Run::Inline),
            complete: Arc::new(move |request, _context| {
                Work::ready(beginning_with(&values, &request.value).into_completion())
            }),
        }
    }

    pub(crate) fn complete(
        &self,
        request: CompletionRequest,
        context: Context,
    ) -> Work<Completion> {
        (self.complete)(request, context)
    }
}

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completer")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Finds the values that begin so, whatever the case of their letters, in order.
fn beginning_with<'a>(values: &'a [String], typed: &str) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let values = values.iter().map(String::as_str);
    values
        .filter(|value| value.to_lowercase().starts_with(&typed))
        .collect()
}

#[cfg(test)]
mod tests {
    use conduit_protocol::Code;
    use serde_json::{Value, json};

    use super::*;
    use crate::ToolError;

    /// What the client gets.
    #[track_caller]
    fn completion(answer: impl IntoCompletion) -> Value {
        let Outcome::Complete(completion) = answer.into_completion() else {
            panic!("a completion");
        };
        serde_json::to_value(completion).expect("JSON")
    }

    #[test]
    fn few_values_are_all_there_are() {
        let few = json!({"values": ["paris", "park"], "total": 2});

        assert_eq!(completion(["paris", "park"]), few);
        assert_eq!(completion(vec!["paris".to_owned(), "park".to_owned()]), few);
    }

    #[test]
    fn of_many_values_the_first_hundred_are_sent() {
        let many: Vec<String> = (0..250).map(|number| number.to_string()).collect();

        let completion = completion(many);

        let values = completion["values"].as_array().expect("an array");
        assert_eq!(values.len(), 100);
        assert_eq!(values[99], "99");
        assert_eq!(completion["total"], 250);
        assert_eq!(completion["hasMore"], true);
    }

    #[test]
    fn a_failure_is_an_internal_error() {
        let Outcome::Refused(error) = Err::<Vec<String>, _>(ToolError::new("no")).into_completion()
        else {
            panic!("an error");
        };

        assert_eq!(error.code, Code::INTERNAL_ERROR);
    }

    #[test]
    fn a_choice_begins_with_what_was_typed() {
        let values = ["Paris", "park", "Ünter"].map(str::to_owned);

        assert_eq!(beginning_with(&values, "PAR"), ["Paris", "park"]);
        assert_eq!(beginning_with(&values, "ü"), ["Ünter"]);
        assert_eq!(beginning_with(&values, ""), ["Paris", "park", "Ünter"]);
        assert_eq!(beginning_with(&values, "x"), [""; 0]);
    }
}
