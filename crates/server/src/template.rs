//! Resources made of functions, many at once: all that match a template.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use conduit_protocol::{CacheHints, Era, Outcome, ReadResult, ResourceTemplate, WireError};
use serde::de::DeserializeOwned;

use crate::completion::Completer;
use crate::contents::{Listed, answer};
use crate::resource::resource_methods;
use crate::texts;
use crate::work::policy_methods;
use crate::{
    CompletionRequest, Context, IntoCompletion, IntoContents, InvalidServer, Policy, Requested,
    Run, TemplateEntry, UriTemplate, Work,
};

/// A resource template that is to be added to a [`Toolbox`](crate::Toolbox), made by
/// [`template`] or one of its sisters.
#[must_use = "a template has to be added to a toolbox"]
pub struct TemplateBuilder {
    definition: ResourceTemplate,
    cache: CacheHints,
    policy: Policy,
    completers: BTreeMap<String, Completer>,
    /// Says why variables of these names will never be read, if that is so.
    never_met: fn(&[&str]) -> Option<String>,
    bind: Bind,
}

/// Makes resources of an asynchronous function: all whose URI matches a
/// [`UriTemplate`].
///
/// The function takes what the variables stand for: a struct or a map gets them by
/// name, a tuple in order, and anything else the only one there is. Numbers and enums
/// are parsed; what cannot be parsed is no such resource, and neither is what the
/// function returns `None` for.
///
/// A variable may stand for anything a client writes, also for `..` or, escaped, for
/// what has a slash in it. So never make a path of it: that is what
/// [`files`](crate::files()) is for.
///
/// ```
/// use conduit_server::template;
///
/// let user = template("user://{id}", "user", |id: u64, _| async move {
///     (id == 7).then(|| "James")
/// })
/// .description("Who somebody is")
/// .suggest("id", ["7"]);
///
/// let issue = template("issue://{project}/{number}", "issue", |(project, number): (String, u32), _| {
///     async move { format!("The issue {number} of {project}") }
/// });
/// ```
pub fn template<V, F, R, O>(
    uri_template: impl Into<String>,
    name: impl Into<String>,
    handler: F,
) -> TemplateBuilder
where
    V: DeserializeOwned,
    F: Fn(V, Context) -> R + Send + Sync + 'static,
    R: Future<Output = O> + Send + 'static,
    O: IntoContents,
{
    let handler = Arc::new(handler);
    let bind: Bind = Box::new(move |listed| {
        Box::new(move |requested, context| {
            let (listed, handler) = (Arc::clone(&listed), Arc::clone(&handler));
            Work::from_future(async move {
                let era = context.era();
                let variables = match read_variables::<V>(&requested, era) {
                    Ok(variables) => variables,
                    Err(error) => return Outcome::Refused(error),
                };
                let read = handler(variables, context).await;
                answer(read, era, &requested.uri, &listed)
            })
        })
    });
    TemplateBuilder::new::<V, O>(uri_template.into(), name.into(), Run::Pool, bind)
}

/// Makes resources of a function that may block: it gets a thread for as long as it
/// takes. See [`template`].
pub fn blocking_template<V, F, O>(
    uri_template: impl Into<String>,
    name: impl Into<String>,
    handler: F,
) -> TemplateBuilder
where
    V: DeserializeOwned,
    F: Fn(V, Context) -> O + Send + Sync + 'static,
    O: IntoContents,
{
    let handler = Arc::new(handler);
    let bind: Bind = Box::new(move |listed| {
        Box::new(move |requested, context| {
            let (listed, handler) = (Arc::clone(&listed), Arc::clone(&handler));
            Work::from_closure(move || {
                let era = context.era();
                match read_variables::<V>(&requested, era) {
                    Ok(variables) => {
                        let read = handler(variables, context);
                        answer(read, era, &requested.uri, &listed)
                    }
                    Err(error) => Outcome::Refused(error),
                }
            })
        })
    });
    TemplateBuilder::new::<V, O>(uri_template.into(), name.into(), Run::Blocking, bind)
}

/// What it suggests to who fills it in.
impl TemplateBuilder {
    /// Suggests those of some values for a variable that begin with what is typed.
    pub fn suggest(
        mut self,
        variable: impl Into<String>,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let completer = Completer::choosing(values);
        self.completers.insert(variable.into(), completer);
        self
    }

    /// Asks a function what to suggest for a variable. See
    /// [`PromptBuilder::complete`](crate::PromptBuilder::complete).
    pub fn complete<F, R, O>(mut self, variable: impl Into<String>, handler: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> R + Send + Sync + 'static,
        R: Future<Output = O> + Send + 'static,
        O: IntoCompletion,
    {
        let completer = Completer::asking(handler);
        self.completers.insert(variable.into(), completer);
        self
    }
}

resource_methods!(TemplateBuilder);
policy_methods!(TemplateBuilder);

impl fmt::Debug for TemplateBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemplateBuilder")
            .field("definition", &self.definition)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

type Read = Box<dyn Fn(Requested, Context) -> Work<ReadResult> + Send + Sync>;

/// Makes the function, once it is known how it is listed.
type Bind = Box<dyn FnOnce(Arc<Listed>) -> Read + Send>;

impl TemplateBuilder {
    fn new<V: DeserializeOwned, O: IntoContents>(
        uri_template: String,
        name: String,
        run: Run,
        bind: Bind,
    ) -> Self {
        let mut definition = ResourceTemplate::new(uri_template, name);
        definition.mime_type = O::mime_type().map(str::to_owned);
        Self {
            definition,
            cache: CacheHints::default(),
            policy: Policy::new(run),
            completers: BTreeMap::new(),
            never_met: texts::never_met::<V>,
            bind,
        }
    }

    /// Checks the template, and closes its function over what is listed of it.
    pub(crate) fn build(self) -> Result<TemplateEntry, InvalidServer> {
        let template = UriTemplate::new(&self.definition.uri_template)?;
        let known = |variable: &String| template.variables().any(|known| known == variable);
        if let Some(variable) = self.completers.keys().find(|variable| !known(variable)) {
            return Err(InvalidServer::NothingToComplete {
                of: template.to_string(),
                argument: variable.clone(),
            });
        }
        let variables: Vec<_> = template.variables().collect();
        if let Some(reason) = (self.never_met)(&variables) {
            return Err(InvalidServer::Variables {
                template: template.to_string(),
                reason,
            });
        }
        let listed = Listed {
            uri: template.as_str().into(),
            mime_type: self.definition.mime_type.as_deref().map(Into::into),
            cache: self.cache,
        };
        let read = (self.bind)(Arc::new(listed));
        let mut entry = TemplateEntry::new(self.definition, template, self.policy, read);
        entry.completers = self.completers;
        Ok(entry)
    }
}

/// Reads what variables stand for. What does not fit the type names no resource.
fn read_variables<V: DeserializeOwned>(requested: &Requested, era: Era) -> Result<V, WireError> {
    let pairs = requested.variables.iter();
    let variables: Vec<_> = pairs.map(|(name, value)| (&**name, &**value)).collect();
    texts::read(&variables).map_err(|mismatch| {
        tracing::debug!(variable = ?mismatch.name, reason = ?mismatch.reason, "no such resource");
        WireError::resource_not_found(era, &requested.uri)
    })
}
