//! A server made of functions.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;

use conduit_protocol::{
    CacheHints, Icon, Implementation, InvalidTool, InvalidToolName, Outcome, ToolName, WireError,
};

use crate::tool::Call;
use crate::{Arguments, Context, IntoServer, InvalidSchema, Server, ToolBuilder, ToolEntry, Work};

/// A server made of functions; see [`Toolbox::builder`].
pub struct Toolbox {
    implementation: Implementation,
    instructions: Option<String>,
    tools_cache: CacheHints,
    entries: Vec<ToolEntry>,
    calls: Vec<Call>,
}

/// Collects what a [`Toolbox`] is made of.
#[derive(Debug)]
#[must_use = "nothing is served before `build`"]
pub struct ToolboxBuilder {
    implementation: Implementation,
    instructions: Option<String>,
    tools_cache: CacheHints,
    tools: Vec<ToolBuilder>,
}

/// Says why a server cannot be served: a bug in its definition.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidServer {
    /// A tool's name is none (R32).
    #[error(transparent)]
    Name(#[from] InvalidToolName),
    /// Nobody could say which of the two is meant.
    #[error("two tools are called `{tool}`")]
    SameName {
        /// Their name.
        tool: ToolName,
    },
    /// The schema of a tool's arguments cannot be held to.
    #[error("cannot hold callers of the tool `{tool}` to its input schema")]
    InputSchema {
        /// The tool.
        tool: ToolName,
        /// What is wrong with the schema.
        source: InvalidSchema,
    },
    /// The schema of a tool's answers cannot be held to.
    #[error("cannot hold the tool `{tool}` to its output schema")]
    OutputSchema {
        /// The tool.
        tool: ToolName,
        /// What is wrong with the schema.
        source: InvalidSchema,
    },
    /// A tool cannot be listed.
    #[error(transparent)]
    Definition(#[from] InvalidTool),
}

impl Toolbox {
    /// Starts to collect tools for a server of this name and version.
    ///
    /// ```
    /// use conduit_server::{Context, NoArguments, Server, Toolbox, tool};
    ///
    /// let toolbox = Toolbox::builder("greeter", "1.0.0")
    ///     .instructions("Greets.")
    ///     .tool(tool("greet", "Greets you", |_: NoArguments, _| async { "hello" }).inline())
    ///     .build()?;
    /// assert_eq!(toolbox.tools().len(), 1);
    /// # Ok::<(), conduit_server::InvalidServer>(())
    /// ```
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ToolboxBuilder {
        ToolboxBuilder {
            implementation: Implementation::new(name, version),
            instructions: None,
            tools_cache: CacheHints::default(),
            tools: Vec::new(),
        }
    }
}

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

    /// Lets clients keep the list of tools for a while; else they ask every time.
    pub const fn tools_cache(mut self, hints: CacheHints) -> Self {
        self.tools_cache = hints;
        self
    }

    /// Adds a tool. Lists show the tools in the order in which they were added.
    pub fn tool(mut self, tool: ToolBuilder) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds several tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolBuilder>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Checks all tools and compiles their schemas.
    ///
    /// # Errors
    ///
    /// [`InvalidServer`] names the first tool that cannot be served. It is always
    /// a mistake in the program, never one of its input.
    pub fn build(self) -> Result<Toolbox, InvalidServer> {
        let mut names = HashSet::with_capacity(self.tools.len());
        let mut entries = Vec::with_capacity(self.tools.len());
        let mut calls = Vec::with_capacity(self.tools.len());
        for tool in self.tools {
            let (entry, call) = tool.build()?;
            let name = &entry.definition.name;
            if !names.insert(name.clone()) {
                return Err(InvalidServer::SameName { tool: name.clone() });
            }
            entries.push(entry);
            calls.push(call);
        }
        Ok(Toolbox {
            implementation: self.implementation,
            instructions: self.instructions,
            tools_cache: self.tools_cache,
            entries,
            calls,
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

    fn tools(&self) -> &[ToolEntry] {
        &self.entries
    }

    fn tools_cache(&self) -> CacheHints {
        self.tools_cache
    }

    fn call_tool(&self, tool: usize, arguments: Arguments, context: Context) -> Work {
        match self.calls.get(tool) {
            Some(call) => call(arguments, context),
            None => Work::from_future(async { Outcome::from(WireError::internal()) }),
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
            .field("tools", &self.entries.len())
            .finish_non_exhaustive()
    }
}
