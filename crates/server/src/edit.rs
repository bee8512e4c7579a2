//! A change of what a server has: what leaves, and what is added.

use std::sync::Arc;

use crate::catalog::Entries;
use crate::{
    Change, InvalidServer, PromptBuilder, PromptEntry, ResourceBuilder, ResourceEntry,
    TemplateBuilder, TemplateEntry, ToolBuilder, ToolEntry,
};

/// What leaves a server, and what is added to it; see [`Editor`](crate::Editor).
///
/// What leaves does so first, so a thing can be replaced by another one of its name.
/// Additions go to the end of their list. What is not there need not leave.
#[derive(Debug, Default)]
#[must_use = "nothing changes before it is applied"]
pub struct Edit {
    tools: Vec<ToolBuilder>,
    resources: Vec<ResourceBuilder>,
    templates: Vec<TemplateBuilder>,
    prompts: Vec<PromptBuilder>,
    leaving: Leaving,
}

impl Edit {
    /// Starts with nothing to change.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: ToolBuilder) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a resource.
    pub fn resource(mut self, resource: ResourceBuilder) -> Self {
        self.resources.push(resource);
        self
    }

    /// Adds a resource template.
    pub fn template(mut self, template: TemplateBuilder) -> Self {
        self.templates.push(template);
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: PromptBuilder) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Removes the tool of this name.
    pub fn without_tool(mut self, name: impl Into<String>) -> Self {
        self.leaving.tools.push(name.into());
        self
    }

    /// Removes the resource with this URI.
    pub fn without_resource(mut self, uri: impl Into<String>) -> Self {
        self.leaving.resources.push(uri.into());
        self
    }

    /// Removes this resource template.
    pub fn without_template(mut self, uri_template: impl Into<String>) -> Self {
        self.leaving.templates.push(uri_template.into());
        self
    }

    /// Removes the prompt of this name.
    pub fn without_prompt(mut self, name: impl Into<String>) -> Self {
        self.leaving.prompts.push(name.into());
        self
    }
}

// === Behind the handle ===

/// The names of what leaves; URIs and templates are names here.
#[derive(Debug, Default)]
struct Leaving {
    tools: Vec<String>,
    resources: Vec<String>,
    templates: Vec<String>,
    prompts: Vec<String>,
}

/// An edit whose additions are fit to be served.
#[derive(Debug)]
pub(crate) struct Checked {
    added: Entries,
    leaving: Leaving,
}

impl Edit {
    pub(crate) fn extend_tools(&mut self, tools: impl IntoIterator<Item = ToolBuilder>) {
        self.tools.extend(tools);
    }

    pub(crate) fn extend_resources(
        &mut self,
        resources: impl IntoIterator<Item = ResourceBuilder>,
    ) {
        self.resources.extend(resources);
    }

    pub(crate) fn extend_templates(
        &mut self,
        templates: impl IntoIterator<Item = TemplateBuilder>,
    ) {
        self.templates.extend(templates);
    }

    pub(crate) fn extend_prompts(&mut self, prompts: impl IntoIterator<Item = PromptBuilder>) {
        self.prompts.extend(prompts);
    }

    /// Checks all that is added, each by itself. Takes its time: schemas are compiled.
    pub(crate) fn check(self) -> Result<Checked, InvalidServer> {
        let added = Entries {
            tools: build(self.tools, ToolBuilder::build)?,
            resources: build(self.resources, ResourceBuilder::build)?,
            templates: build(self.templates, TemplateBuilder::build)?,
            prompts: build(self.prompts, PromptBuilder::build)?,
            ..Entries::default()
        };
        Ok(Checked {
            added,
            leaving: self.leaving,
        })
    }
}

impl Checked {
    /// Changes what there is. Returns what is no longer what it was.
    pub(crate) fn apply(self, entries: &mut Entries) -> Vec<Change> {
        let Self { added, leaving } = self;
        let name = |tool: &ToolEntry| tool.definition.name.as_str().to_owned();
        let tools = replace(&mut entries.tools, added.tools, &leaving.tools, name);
        let uri = |resource: &ResourceEntry| resource.definition.uri.clone();
        let resources = replace(
            &mut entries.resources,
            added.resources,
            &leaving.resources,
            uri,
        );
        let text = |template: &TemplateEntry| template.template.to_string();
        let templates = replace(
            &mut entries.templates,
            added.templates,
            &leaving.templates,
            text,
        );
        let name = |prompt: &PromptEntry| prompt.definition.name.clone();
        let prompts = replace(&mut entries.prompts, added.prompts, &leaving.prompts, name);
        [
            (tools, Change::Tools),
            (resources || templates, Change::Resources),
            (prompts, Change::Prompts),
        ]
        .into_iter()
        .filter_map(|(changed, change)| changed.then_some(change))
        .collect()
    }
}

fn build<B, E>(
    builders: Vec<B>,
    build: impl Fn(B) -> Result<E, InvalidServer>,
) -> Result<Vec<Arc<E>>, InvalidServer> {
    let built = builders
        .into_iter()
        .map(|builder| build(builder).map(Arc::new));
    built.collect()
}

/// Returns whether anything has changed.
fn replace<E>(
    there: &mut Vec<Arc<E>>,
    added: Vec<Arc<E>>,
    leaving: &[String],
    name: impl Fn(&E) -> String,
) -> bool {
    let before = there.len();
    there.retain(|entry| !leaving.contains(&name(entry)));
    let changed = there.len() < before || !added.is_empty();
    there.extend(added);
    changed
}
