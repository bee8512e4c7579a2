//! What a catalog has: each thing with its definition and what runs when it is asked
//! for.
//!
//! An entry lives for as long as one of its calls, even if it has left the catalog in
//! the meantime.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use conduit_protocol::{Prompt, PromptResult, ReadResult, Resource, ResourceTemplate, Tool};
use tokio::sync::Semaphore;

use crate::completion::Completer;
use crate::{Arguments, Context, Job, Policy, PromptArguments, UriTemplate, Work};

/// A tool, how its calls are to be treated, and what they run.
#[derive(Clone)]
pub struct ToolEntry {
    /// What lists show.
    pub definition: Tool,
    /// Where calls run, for how long, and how many at once.
    pub policy: Policy,
    permits: Option<Arc<Semaphore>>,
    call: Arc<dyn Fn(Arguments, Context) -> Work + Send + Sync>,
}

/// A resource, and what runs when it is read.
#[derive(Clone)]
pub struct ResourceEntry {
    /// What lists show.
    pub definition: Resource,
    /// Where reads run, for how long, and how many at once.
    pub policy: Policy,
    pub(crate) name: Arc<str>,
    permits: Option<Arc<Semaphore>>,
    read: Arc<dyn Fn(Context) -> Work<ReadResult> + Send + Sync>,
}

/// A resource template, and what runs when one of its resources is read.
#[derive(Clone)]
pub struct TemplateEntry {
    /// What lists show.
    pub definition: ResourceTemplate,
    /// What is matched.
    pub template: UriTemplate,
    /// Where reads run, for how long, and how many at once.
    pub policy: Policy,
    pub(crate) completers: BTreeMap<String, Completer>,
    pub(crate) name: Arc<str>,
    permits: Option<Arc<Semaphore>>,
    read: Arc<dyn Fn(Requested, Context) -> Work<ReadResult> + Send + Sync>,
}

/// A prompt, and what runs when it is asked for.
#[derive(Clone)]
pub struct PromptEntry {
    /// What lists show.
    pub definition: Prompt,
    /// Where calls run, for how long, and how many at once.
    pub policy: Policy,
    pub(crate) completers: BTreeMap<String, Completer>,
    pub(crate) name: Arc<str>,
    permits: Option<Arc<Semaphore>>,
    get: Arc<dyn Fn(PromptArguments, Context) -> Work<PromptResult> + Send + Sync>,
}

/// A resource of a template, as a client asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// Its URI, character by character.
    pub uri: String,
    /// What the template's variables stand for, decoded, in order.
    pub variables: Vec<(String, String)>,
}

impl ToolEntry {
    /// Takes a tool whose calls are prepared by a function. The function may do nothing
    /// itself, not even parse the arguments, which nobody has checked.
    pub fn new(
        definition: Tool,
        policy: Policy,
        call: impl Fn(Arguments, Context) -> Work + Send + Sync + 'static,
    ) -> Self {
        Self {
            permits: policy.permits(),
            definition,
            policy,
            call: Arc::new(call),
        }
    }

    /// Returns of what each call holds one while it runs, if they are limited.
    #[must_use]
    pub const fn permits(&self) -> Option<&Arc<Semaphore>> {
        self.permits.as_ref()
    }

    /// Prepares one call.
    #[must_use]
    pub fn call(&self, arguments: Arguments, context: Context) -> Work {
        (self.call)(arguments, context)
    }
}

impl ResourceEntry {
    /// Takes a resource whose reads are prepared by a function, which may do nothing
    /// itself.
    pub fn new(
        definition: Resource,
        policy: Policy,
        read: impl Fn(Context) -> Work<ReadResult> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: definition.uri.as_str().into(),
            permits: policy.permits(),
            definition,
            policy,
            read: Arc::new(read),
        }
    }

    /// Prepares one read.
    pub fn read(&self, context: Context) -> Job<ReadResult> {
        Job {
            name: Arc::clone(&self.name),
            policy: self.policy.clone(),
            permits: self.permits.clone(),
            work: (self.read)(context),
        }
    }
}

impl TemplateEntry {
    /// Takes a template whose reads are prepared by a function, which may do nothing
    /// itself. `template` is that of the definition.
    pub fn new(
        definition: ResourceTemplate,
        template: UriTemplate,
        policy: Policy,
        read: impl Fn(Requested, Context) -> Work<ReadResult> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: template.as_str().into(),
            permits: policy.permits(),
            completers: BTreeMap::new(),
            definition,
            template,
            policy,
            read: Arc::new(read),
        }
    }

    /// Prepares one read.
    pub fn read(&self, requested: Requested, context: Context) -> Job<ReadResult> {
        Job {
            name: Arc::clone(&self.name),
            policy: self.policy.clone(),
            permits: self.permits.clone(),
            work: (self.read)(requested, context),
        }
    }
}

impl PromptEntry {
    /// Takes a prompt whose calls are prepared by a function, which may do nothing
    /// itself.
    pub fn new(
        definition: Prompt,
        policy: Policy,
        get: impl Fn(PromptArguments, Context) -> Work<PromptResult> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: definition.name.as_str().into(),
            permits: policy.permits(),
            completers: BTreeMap::new(),
            definition,
            policy,
            get: Arc::new(get),
        }
    }

    /// Prepares one call; without the arguments that are required, to be refused.
    pub fn get(&self, arguments: PromptArguments, context: Context) -> Job<PromptResult> {
        let name = Arc::clone(&self.name);
        if let Err(error) = arguments.check(&self.definition.arguments, &name) {
            return Job::refused(name, error);
        }
        Job {
            name,
            policy: self.policy.clone(),
            permits: self.permits.clone(),
            work: (self.get)(arguments, context),
        }
    }
}

/// Shows what is known of an entry, and not what it runs.
macro_rules! debug_definition {
    ($($entry:ident)*) => {
        $(
            impl fmt::Debug for $entry {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.debug_struct(stringify!($entry))
                        .field("definition", &self.definition)
                        .field("policy", &self.policy)
                        .finish_non_exhaustive()
                }
            }
        )*
    };
}

debug_definition! { ToolEntry ResourceEntry TemplateEntry PromptEntry }
