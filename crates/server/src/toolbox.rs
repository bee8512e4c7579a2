//! A server made of functions.

#[cfg(test)]
mod tests;

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use conduit_protocol::{CacheHints, Icon, Implementation, ServerCapabilities};
use parking_lot::Mutex;

use crate::completion::Completer;
use crate::editor::{Contents, first_catalog};
use crate::{
    Catalog, Changes, CompletionRequest, Context, Edit, Editor, IntoCompletion, IntoServer,
    InvalidServer, Listings, Offers, PromptBuilder, ResourceBuilder, Server, TemplateBuilder,
    ToolBuilder,
};

/// A server made of functions; see [`Toolbox::builder`].
pub struct Toolbox {
    implementation: Implementation,
    instructions: Option<String>,
    declared: Option<ServerCapabilities>,
    offers: Offers,
    contents: Arc<Contents>,
    /// A lock because [`Server::attach`] takes it out through a shared reference, once.
    start: Mutex<Option<Start>>,
}

/// Collects what a [`Toolbox`] is made of.
#[must_use = "nothing is served before `build`"]
pub struct ToolboxBuilder {
    implementation: Implementation,
    instructions: Option<String>,
    declared: Option<ServerCapabilities>,
    offers: Offers,
    listings: Listings,
    edit: Edit,
    completer: Option<Completer>,
    /// Whether calls can be tasks, once somebody has said it.
    tasks: Option<bool>,
    contents: Arc<Contents>,
    start: Option<Start>,
}

impl Toolbox {
    /// Starts to collect tools, resources and prompts for a server of this name and
    /// version.
    ///
    /// ```
    /// use conduit_server::{NoArguments, PromptArguments, Server, Toolbox};
    /// use conduit_server::{prompt, resource, template, tool};
    ///
    /// let toolbox = Toolbox::builder("greeter", "1.0.0")
    ///     .instructions("Greets.")
    ///     .tool(tool("greet", "Greets you", |_: NoArguments, _| async { "hello" }).inline())
    ///     .resource(resource("text://motto", "motto", |_| async { "Be kind." }))
    ///     .template(template("user://{id}", "user", |id: u64, _| async move { format!("user {id}") }))
    ///     .prompt(prompt("hi", "Says hi", |_: PromptArguments, _| async { "Say hi to me." }))
    ///     .build()?;
    /// assert_eq!(toolbox.catalog().entries().tools.len(), 1);
    /// # Ok::<(), conduit_server::InvalidServer>(())
    /// ```
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ToolboxBuilder {
        ToolboxBuilder {
            implementation: Implementation::new(name, version),
            instructions: None,
            declared: None,
            offers: Offers::default(),
            listings: Listings::default(),
            edit: Edit::new(),
            completer: None,
            tasks: None,
            contents: Arc::default(),
            start: None,
        }
    }
}

/// What it says of itself.
impl ToolboxBuilder {
    /// Sets the name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.implementation.title = Some(title.into());
        self
    }

    /// Sets what the server is for, in a sentence for people.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.implementation.description = Some(description.into());
        self
    }

    /// Sets where people can read on.
    pub fn website(mut self, url: impl Into<String>) -> Self {
        self.implementation.website_url = Some(url.into());
        self
    }

    /// Adds a picture to show.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.implementation.icons.push(icon);
        self
    }

    /// Sets what a model should know about the server as a whole.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }
}

/// What it has.
impl ToolboxBuilder {
    /// Adds a tool. Lists show the tools in the order in which they were added.
    pub fn tool(mut self, tool: ToolBuilder) -> Self {
        self.edit = self.edit.tool(tool);
        self
    }

    /// Adds several tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolBuilder>) -> Self {
        self.edit.extend_tools(tools);
        self
    }

    /// Adds a resource.
    pub fn resource(mut self, resource: ResourceBuilder) -> Self {
        self.edit = self.edit.resource(resource);
        self
    }

    /// Adds several resources.
    pub fn resources(mut self, resources: impl IntoIterator<Item = ResourceBuilder>) -> Self {
        self.edit.extend_resources(resources);
        self
    }

    /// Adds a resource template. A resource of its own comes before all templates, and
    /// of these the first that matches is asked, and no other.
    pub fn template(mut self, template: TemplateBuilder) -> Self {
        self.edit = self.edit.template(template);
        self
    }

    /// Adds several resource templates.
    pub fn templates(mut self, templates: impl IntoIterator<Item = TemplateBuilder>) -> Self {
        self.edit.extend_templates(templates);
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: PromptBuilder) -> Self {
        self.edit = self.edit.prompt(prompt);
        self
    }

    /// Adds several prompts.
    pub fn prompts(mut self, prompts: impl IntoIterator<Item = PromptBuilder>) -> Self {
        self.edit.extend_prompts(prompts);
        self
    }

    /// Asks a function what to suggest for arguments and variables for which neither
    /// their prompt nor their template says something, see
    /// [`PromptBuilder::suggest`] and [`PromptBuilder::complete`].
    pub fn completion<F, R, O>(mut self, handler: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> R + Send + Sync + 'static,
        R: Future<Output = O> + Send + 'static,
        O: IntoCompletion,
    {
        self.completer = Some(Completer::asking(handler));
        self
    }
}

/// What it offers beyond that.
impl ToolboxBuilder {
    /// Declares what the server offers, and holds it to that: what is left out is
    /// refused, even if there is some. A server that declares nothing offers tools,
    /// resources and prompts (R9).
    pub fn capabilities(mut self, declared: ServerCapabilities) -> Self {
        self.declared = Some(declared);
        self
    }

    /// Says that callbacks write to their clients' logs.
    pub const fn logging(mut self) -> Self {
        self.offers.logging = true;
        self
    }

    /// Says whether calls of its tools can be tasks (R39). Without it they can if one of
    /// the tools that it begins with [says so](ToolBuilder::task); so say it when only
    /// tools that are added later do.
    pub const fn tasks(mut self, yes: bool) -> Self {
        self.tasks = Some(yes);
        self
    }

    /// Says that resources change, and that the server tells it: clients may subscribe
    /// to them. See [`Changes::resource_updated`].
    pub const fn resource_updates(mut self) -> Self {
        self.offers.subscribe = true;
        self
    }

    /// Says that the lists change, and that the server tells it. See
    /// [`Changes::tools`] and its sisters.
    pub const fn list_changes(mut self) -> Self {
        self.offers.lists.list_changed = true;
        self
    }

    /// Lets clients keep the list of tools for a while; else they ask every time.
    pub const fn tools_cache(mut self, hints: CacheHints) -> Self {
        self.listings.tools.cache = hints;
        self
    }

    /// Lets clients keep the list of resources for a while; else they ask every time.
    pub const fn resources_cache(mut self, hints: CacheHints) -> Self {
        self.listings.resources.cache = hints;
        self
    }

    /// Lets clients keep the list of templates for a while; else they ask every time.
    pub const fn templates_cache(mut self, hints: CacheHints) -> Self {
        self.listings.templates.cache = hints;
        self
    }

    /// Lets clients keep the list of prompts for a while; else they ask every time.
    pub const fn prompts_cache(mut self, hints: CacheHints) -> Self {
        self.listings.prompts.cache = hints;
        self
    }
}

/// How many entries of its lists are on one page; 500 unless it says so (R45).
impl ToolboxBuilder {
    /// Sets how many tools are on one page.
    pub const fn tools_page(mut self, entries: NonZeroUsize) -> Self {
        self.listings.tools.page = entries;
        self
    }

    /// Sets how many resources are on one page.
    pub const fn resources_page(mut self, entries: NonZeroUsize) -> Self {
        self.listings.resources.page = entries;
        self
    }

    /// Sets how many templates are on one page.
    pub const fn templates_page(mut self, entries: NonZeroUsize) -> Self {
        self.listings.templates.page = entries;
        self
    }

    /// Sets how many prompts are on one page.
    pub const fn prompts_page(mut self, entries: NonZeroUsize) -> Self {
        self.listings.prompts.page = entries;
        self
    }
}

/// How it changes while it is served.
impl ToolboxBuilder {
    /// Returns what callbacks change the toolbox with; clients learn that its lists
    /// change.
    pub fn editor(&mut self) -> Editor {
        self.offers.lists.list_changed = true;
        self.contents.editor()
    }

    /// Runs a function once in each process that serves, when it starts to. It may not
    /// block: start a thread or a task in it that watches the world, and changes the
    /// toolbox accordingly.
    pub fn when_served(mut self, start: impl FnOnce(Editor) + Send + 'static) -> Self {
        self.offers.lists.list_changed = true;
        self.start = Some(Box::new(start));
        self
    }

    /// Checks all that was added, and compiles the schemas.
    ///
    /// # Errors
    ///
    /// [`InvalidServer`] names the first thing that cannot be served. It is always
    /// a mistake in the program, never one of its input.
    pub fn build(self) -> Result<Toolbox, InvalidServer> {
        let catalog = first_catalog(self.edit, self.listings, self.completer)?;
        let mut offers = self.offers;
        offers.completions = catalog.completes();
        offers.tasks = self.tasks.unwrap_or_else(|| catalog.has_tasks());
        let mut declared = self.declared;
        if let (Some(declared), Some(false)) = (&mut declared, self.tasks) {
            declared.tasks = false;
        }
        self.contents.open(catalog);
        Ok(Toolbox {
            implementation: self.implementation,
            instructions: self.instructions,
            declared,
            offers,
            contents: self.contents,
            start: Mutex::new(self.start),
        })
    }
}

impl Server for Toolbox {
    fn implementation(&self) -> &Implementation {
        &self.implementation
    }

    fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    fn capabilities(&self) -> Option<&ServerCapabilities> {
        self.declared.as_ref()
    }

    fn offers(&self) -> Offers {
        self.offers
    }

    fn catalog(&self) -> Catalog {
        self.contents.catalog()
    }

    fn attach(&self, changes: Changes) {
        if !self.contents.attach(changes) {
            return;
        }
        let start = self.start.lock().take();
        if let Some(start) = start {
            start(self.contents.editor());
        }
    }
}

impl IntoServer for ToolboxBuilder {
    type Server = Toolbox;

    fn into_server(self) -> Result<Toolbox, InvalidServer> {
        self.build()
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolbox")
            .field("implementation", &self.implementation)
            .field("contents", &self.contents)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolboxBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolboxBuilder")
            .field("implementation", &self.implementation)
            .field("edit", &self.edit)
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

/// What runs when the server starts to be served.
type Start = Box<dyn FnOnce(Editor) + Send>;
