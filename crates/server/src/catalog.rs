//! What a server has at one moment: all that can be listed, and asked for.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use conduit_protocol::{
    CacheHints, Completion, PromptResult, ReadResult, Reference, TaskSupport, WireError,
};

use crate::completion::Completer;
use crate::{
    CompletionRequest, Context, InvalidServer, Job, PromptArguments, PromptEntry, Requested,
    ResourceEntry, TemplateEntry, ToolEntry,
};

/// What a server has at one moment. Never changes, and is cheap to clone.
///
/// When the server changes, it has another one, with a higher version.
#[derive(Clone, Default)]
pub struct Catalog(Arc<Inner>);

/// What a [`Catalog`] is made of, each in the order in which it is listed.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    /// The tools.
    pub tools: Vec<Arc<ToolEntry>>,
    /// The resources.
    pub resources: Vec<Arc<ResourceEntry>>,
    /// The resource templates. The first that matches is asked, and no other.
    pub templates: Vec<Arc<TemplateEntry>>,
    /// The prompts.
    pub prompts: Vec<Arc<PromptEntry>>,
    /// How lists are shown.
    pub listings: Listings,
}

/// How each list is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listings {
    /// The list of tools.
    pub tools: Listing,
    /// The list of resources.
    pub resources: Listing,
    /// The list of templates.
    pub templates: Listing,
    /// The list of prompts.
    pub prompts: Listing,
}

/// How a list is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// For how long it may be kept, and for whom; not at all by default (R17).
    pub cache: CacheHints,
    /// The most entries on one page; 500 by default (R45).
    pub page: NonZeroUsize,
}

impl Catalog {
    /// Makes a catalog. Its version has to be higher than that of the one before.
    ///
    /// # Errors
    ///
    /// [`InvalidServer`] when two entries cannot be told apart.
    pub fn new(version: u64, entries: Entries) -> Result<Self, InvalidServer> {
        Self::with_completer(version, entries, None)
    }

    /// Returns its version: two catalogs of a server that have the same are the same.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.0.version
    }

    /// Returns all that it has.
    #[must_use]
    pub fn entries(&self) -> &Entries {
        &self.0.entries
    }

    /// Finds a tool by its name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        self.0.entries.tools.get(*self.0.tools.get(name)?)
    }

    /// Finds a resource by its URI, not one of a template.
    #[must_use]
    pub fn resource(&self, uri: &str) -> Option<&Arc<ResourceEntry>> {
        self.0.entries.resources.get(*self.0.resources.get(uri)?)
    }

    /// Finds a prompt by its name.
    #[must_use]
    pub fn prompt(&self, name: &str) -> Option<&Arc<PromptEntry>> {
        self.0.entries.prompts.get(*self.0.prompts.get(name)?)
    }

    /// Prepares a read; `None` when there is no such resource.
    ///
    /// A resource comes before a template, and of the templates the first that
    /// matches.
    #[must_use]
    pub fn read_resource(&self, uri: &str, context: Context) -> Option<Job<ReadResult>> {
        if let Some(resource) = self.resource(uri) {
            return Some(resource.read(context));
        }
        let (template, variables) = self.matching(uri)?;
        Some(match variables {
            Ok(variables) => {
                let uri = uri.to_owned();
                template.read(Requested { uri, variables }, context)
            }
            Err(error) => Job::refused(Arc::clone(&template.name), error),
        })
    }

    /// Prepares a call of a prompt; `None` when there is no such prompt.
    #[must_use]
    pub fn get_prompt(
        &self,
        name: &str,
        arguments: PromptArguments,
        context: Context,
    ) -> Option<Job<PromptResult>> {
        Some(self.prompt(name)?.get(arguments, context))
    }

    /// Prepares a completion; `None` when there is nothing to suggest.
    #[must_use]
    pub fn complete(
        &self,
        request: CompletionRequest,
        context: Context,
    ) -> Option<Job<Completion>> {
        if !self.completes() {
            return None;
        }
        let Some(completed) = self.completed(&request.reference) else {
            let error = WireError::unknown_reference(&request.reference);
            return Some(Job::refused("completion".into(), error));
        };
        let own = completed
            .completers
            .and_then(|own| own.get(&request.argument));
        let completer = own.or(self.0.completer.as_ref())?;
        Some(Job {
            name: completed.name,
            policy: completer.policy.clone(),
            permits: None,
            work: completer.complete(request, context),
        })
    }

    /// Whether a call of any of its tools can be a task.
    #[must_use]
    pub fn has_tasks(&self) -> bool {
        let mut tools = self.0.entries.tools.iter();
        tools.any(|tool| tool.policy.task.support != TaskSupport::Forbidden)
    }

    /// Whether it ever suggests anything.
    #[must_use]
    pub fn completes(&self) -> bool {
        self.0.completes
    }
}

impl Default for Listing {
    fn default() -> Self {
        Self {
            cache: CacheHints::default(),
            page: const { NonZeroUsize::new(500).unwrap() },
        }
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries();
        f.debug_struct("Catalog")
            .field("version", &self.version())
            .field("tools", &entries.tools.len())
            .field("resources", &entries.resources.len())
            .field("templates", &entries.templates.len())
            .field("prompts", &entries.prompts.len())
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

#[derive(Default)]
struct Inner {
    version: u64,
    entries: Entries,
    /// Suggests where nobody else does.
    completer: Option<Completer>,
    completes: bool,
    /// Where each is, by name or by URI.
    tools: HashMap<Box<str>, usize>,
    resources: HashMap<Box<str>, usize>,
    prompts: HashMap<Box<str>, usize>,
}

/// What an argument to complete belongs to.
struct Completed<'a> {
    name: Arc<str>,
    /// None of a resource, which has no variables.
    completers: Option<&'a BTreeMap<String, Completer>>,
}

type Matching<'a> = (&'a TemplateEntry, Result<Vec<(String, String)>, WireError>);

impl Catalog {
    pub(crate) fn with_completer(
        version: u64,
        entries: Entries,
        completer: Option<Completer>,
    ) -> Result<Self, InvalidServer> {
        let tools = index(
            entries
                .tools
                .iter()
                .map(|tool| tool.definition.name.as_str()),
        )
        .map_err(|tool| InvalidServer::SameName { tool })?;
        let resources = index(entries.resources.iter().map(|one| &*one.definition.uri))
            .map_err(|uri| InvalidServer::SameUri { uri })?;
        let prompts = index(entries.prompts.iter().map(|one| &*one.definition.name))
            .map_err(|prompt| InvalidServer::SamePrompt { prompt })?;
        check_templates(&entries.templates)?;
        let completers = entries.prompts.iter().map(|prompt| &prompt.completers);
        let completers = completers.chain(
            entries
                .templates
                .iter()
                .map(|template| &template.completers),
        );
        let completes = completer.is_some() || completers.into_iter().any(|own| !own.is_empty());
        Ok(Self(Arc::new(Inner {
            version,
            entries,
            completer,
            completes,
            tools,
            resources,
            prompts,
        })))
    }

    pub(crate) fn completer(&self) -> Option<&Completer> {
        self.0.completer.as_ref()
    }

    /// Finds the first template that a URI is of, and what its variables stand for;
    /// or why nobody can say that.
    fn matching(&self, uri: &str) -> Option<Matching<'_>> {
        self.0.entries.templates.iter().find_map(|template| {
            let variables = match template.template.matches(uri) {
                Ok(None) => return None,
                Ok(Some(variables)) => {
                    let owned = |(name, value): (&str, String)| (name.to_owned(), value);
                    Ok(variables.into_iter().map(owned).collect())
                }
                Err(broken) => Err(WireError::invalid_params(format!("`params.uri`: {broken}"))),
            };
            Some((&**template, variables))
        })
    }

    /// Finds what an argument belongs to. Clients name a template as it is listed, or
    /// by a URI that is of it.
    fn completed(&self, reference: &Reference<'_>) -> Option<Completed<'_>> {
        match reference {
            Reference::Prompt(name) => {
                let prompt = self.prompt(name)?;
                Some(Completed {
                    name: Arc::clone(&prompt.name),
                    completers: Some(&prompt.completers),
                })
            }
            Reference::Resource(uri) => {
                let mut templates = self.0.entries.templates.iter();
                let listed = templates.find(|template| template.template.as_str() == uri);
                if let (None, Some(resource)) = (listed, self.resource(uri)) {
                    return Some(Completed {
                        name: Arc::clone(&resource.name),
                        completers: None,
                    });
                }
                let template = match listed {
                    Some(template) => template,
                    None => self.matching(uri)?.0,
                };
                Some(Completed {
                    name: Arc::clone(&template.name),
                    completers: Some(&template.completers),
                })
            }
        }
    }
}

/// Says where each key is. The `Err` is a key that occurs twice.
fn index<'a>(keys: impl Iterator<Item = &'a str>) -> Result<HashMap<Box<str>, usize>, String> {
    let mut places = HashMap::new();
    for (place, key) in keys.enumerate() {
        if places.insert(Box::from(key), place).is_some() {
            return Err(key.to_owned());
        }
    }
    Ok(places)
}

fn check_templates(templates: &[Arc<TemplateEntry>]) -> Result<(), InvalidServer> {
    let mut shapes = HashMap::new();
    for entry in templates {
        let template = &entry.template;
        if let Some(first) = shapes.insert(template.shape(), template) {
            return Err(InvalidServer::SameTemplate {
                first: first.to_string(),
                second: template.to_string(),
            });
        }
    }
    Ok(())
}
