//! Prompts made of functions.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use conduit_protocol::{Icon, Meta, Outcome, Prompt, PromptArgument, PromptResult};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::completion::Completer;
use crate::prompt_arguments::listed;
use crate::work::policy_methods;
use crate::{
    CompletionRequest, Context, IntoCompletion, IntoMessages, InvalidServer, Policy,
    PromptArguments, PromptEntry, Run, Work,
};

/// A prompt that is to be added to a [`Toolbox`](crate::Toolbox), made by [`prompt`] or
/// its sister.
#[must_use = "a prompt has to be added to a toolbox"]
pub struct PromptBuilder {
    definition: Prompt,
    policy: Policy,
    completers: BTreeMap<String, Completer>,
    get: Get,
}

/// Makes a prompt of an asynchronous function.
///
/// What a client may fill in are the fields of `A`, with their doc comments; one that
/// is no `Option` and has no default is required. Clients send texts: numbers, booleans
/// and enums are parsed. A function that takes [`PromptArguments`] gets them as they
/// are, and says with [`required`](PromptBuilder::required) and
/// [`optional`](PromptBuilder::optional) what there is to fill in.
///
/// ```
/// use conduit_server::serde::Deserialize;
/// use conduit_server::schemars::JsonSchema;
/// use conduit_server::{Context, prompt};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Travel {
///     /// The city to visit.
///     city: String,
///     /// For how many days; a weekend if it is left out.
///     days: Option<u8>,
/// }
///
/// async fn travel(plan: Travel, _context: Context) -> String {
///     format!("Plan {} days in {} for me.", plan.days.unwrap_or(2), plan.city)
/// }
///
/// let travel = prompt("travel", "Plans a trip", travel)
///     .title("A trip")
///     .suggest("city", ["Paris", "Prague", "Rome"]);
/// ```
pub fn prompt<A, F, R, O>(
    name: impl Into<String>,
    description: impl Into<String>,
    handler: F,
) -> PromptBuilder
where
    A: DeserializeOwned + JsonSchema,
    F: Fn(A, Context) -> R + Send + Sync + 'static,
    R: Future<Output = O> + Send + 'static,
    O: IntoMessages,
{
    let name = name.into();
    let (handler, prompt) = (Arc::new(handler), Arc::<str>::from(name.as_str()));
    let get: Get = Box::new(move |arguments, context| {
        let (handler, prompt) = (Arc::clone(&handler), Arc::clone(&prompt));
        Work::from_future(async move {
            let read = match arguments.read::<A>(&prompt) {
                Ok(read) => read,
                Err(error) => return Outcome::Refused(error),
            };
            handler(read, context).await.into_messages()
        })
    });
    PromptBuilder::new(name, description.into(), listed::<A>(), Run::Pool, get)
}

/// Makes a prompt of a function that may block: it gets a thread for as long as it
/// takes. See [`prompt`].
pub fn blocking_prompt<A, F, O>(
    name: impl Into<String>,
    description: impl Into<String>,
    handler: F,
) -> PromptBuilder
where
    A: DeserializeOwned + JsonSchema,
    F: Fn(A, Context) -> O + Send + Sync + 'static,
    O: IntoMessages,
{
    let name = name.into();
    let (handler, prompt) = (Arc::new(handler), Arc::<str>::from(name.as_str()));
    let get: Get = Box::new(move |arguments, context| {
        let (handler, prompt) = (Arc::clone(&handler), Arc::clone(&prompt));
        Work::from_closure(move || match arguments.read::<A>(&prompt) {
            Ok(read) => handler(read, context).into_messages(),
            Err(error) => Outcome::Refused(error),
        })
    });
    PromptBuilder::new(name, description.into(), listed::<A>(), Run::Blocking, get)
}

/// What clients are told.
impl PromptBuilder {
    /// Sets the name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// Adds a picture to show.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.push(icon);
        self
    }

    /// Sets what else is known about it.
    pub fn meta(mut self, meta: Meta) -> Self {
        self.definition.meta = Some(meta);
        self
    }

    /// Adds an argument without which the prompt is refused.
    pub fn required(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(name.into(), description.into(), true)
    }

    /// Adds an argument that may be left out.
    pub fn optional(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(name.into(), description.into(), false)
    }
}

/// What it suggests to who fills it in.
impl PromptBuilder {
    /// Suggests those of some values for an argument that begin with what is typed.
    pub fn suggest(
        mut self,
        argument: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let completer = Completer::choosing(values);
        self.completers.insert(argument.into(), completer);
        self
    }

    /// Asks a function what to suggest for an argument.
    ///
    /// ```
    /// use conduit_server::{CompletionRequest, PromptArguments, prompt};
    ///
    /// let weather = prompt("weather", "Asks for the weather", |arguments: PromptArguments, _| {
    ///     let city = arguments.get("city").unwrap_or("Paris").to_owned();
    ///     async move { format!("How is the weather in {city}?") }
    /// })
    /// .optional("city", "Where")
    /// .complete("city", |request: CompletionRequest, _| async move {
    ///     ["Paris", "Prague"].into_iter().filter(|city| city.starts_with(&request.value)).collect::<Vec<_>>()
    /// });
    /// ```
    pub fn complete<F, R, O>(mut self, argument: impl Into<String>, handler: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> R + Send + Sync + 'static,
        R: Future<Output = O> + Send + 'static,
        O: IntoCompletion,
    {
        let completer = Completer::asking(handler);
        self.completers.insert(argument.into(), completer);
        self
    }
}

policy_methods!(PromptBuilder);

impl fmt::Debug for PromptBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptBuilder")
            .field("definition", &self.definition)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

type Get = Box<dyn Fn(PromptArguments, Context) -> Work<PromptResult> + Send + Sync>;

impl PromptBuilder {
    fn new(
        name: String,
        description: String,
        arguments: Vec<PromptArgument>,
        run: Run,
        get: Get,
    ) -> Self {
        let mut definition = Prompt::new(name);
        definition.description = Some(description);
        definition.arguments = arguments;
        Self {
            definition,
            policy: Policy::new(run),
            completers: BTreeMap::new(),
            get,
        }
    }

    /// Adds an argument, or says more of one that there is.
    fn argument(mut self, name: String, description: String, required: bool) -> Self {
        let argument = PromptArgument {
            name,
            title: None,
            description: Some(description),
            required,
        };
        let arguments = &mut self.definition.arguments;
        match arguments
            .iter_mut()
            .find(|known| known.name == argument.name)
        {
            Some(known) => *known = argument,
            None => arguments.push(argument),
        }
        self
    }

    /// Checks the prompt.
    pub(crate) fn build(self) -> Result<PromptEntry, InvalidServer> {
        let name = &self.definition.name;
        if name.is_empty() {
            return Err(InvalidServer::NamelessPrompt);
        }
        let known = |argument: &String| {
            let mut arguments = self.definition.arguments.iter();
            arguments.any(|known| known.name == *argument)
        };
        if let Some(argument) = self.completers.keys().find(|argument| !known(argument)) {
            return Err(InvalidServer::NothingToComplete {
                of: name.clone(),
                argument: argument.clone(),
            });
        }
        let mut entry = PromptEntry::new(self.definition, self.policy, self.get);
        entry.completers = self.completers;
        Ok(entry)
    }
}
