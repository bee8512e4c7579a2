//! What the runtime asks of a server.

use std::fmt;

use conduit_protocol::{
    CacheHints, Completion, Implementation, Outcome, PromptResult, ReadResult, ServerCapabilities,
    WireError,
};

use crate::{
    Arguments, Catalog, Changes, CompletionRequest, Context, InvalidServer, Job, Offers,
    PromptArguments, ToolEntry, Work,
};

/// Something that has tools, resources and prompts, and can be asked for them.
///
/// [`Toolbox`](crate::Toolbox) is one. All methods are called on the loop that
/// serves the connections, so none may block, and what takes a while belongs into
/// the [`Work`].
pub trait Server: fmt::Debug + Send + Sync + 'static {
    /// Names the server towards its clients.
    fn implementation(&self) -> &Implementation;

    /// Tells a model what it should know about the server as a whole.
    fn instructions(&self) -> Option<&str> {
        None
    }

    /// Returns what the server offers and is then held to; `None` for tools,
    /// resources and prompts, whether there are any or not (R9).
    fn capabilities(&self) -> Option<&ServerCapabilities> {
        None
    }

    /// Says what the server offers beyond that. Always the same; see
    /// [`Offers::overlay`].
    fn offers(&self) -> Offers {
        Offers::default()
    }

    /// Returns what the server has right now. Asked for with each request, so it has to
    /// be at hand.
    fn catalog(&self) -> Catalog;

    /// Prepares a read; `None` when there is no such resource.
    fn read_resource(&self, uri: &str, context: Context) -> Option<Job<ReadResult>> {
        self.catalog().read_resource(uri, context)
    }

    /// Prepares a call of a prompt; `None` when there is no such prompt.
    fn get_prompt(
        &self,
        name: &str,
        arguments: PromptArguments,
        context: Context,
    ) -> Option<Job<PromptResult>> {
        self.catalog().get_prompt(name, arguments, context)
    }

    /// Prepares a completion; `None` when there is nothing to suggest.
    fn complete(&self, request: CompletionRequest, context: Context) -> Option<Job<Completion>> {
        self.catalog().complete(request, context)
    }

    /// Hands over what the server publishes its changes with. Called once, in each
    /// process that serves, before the first request.
    fn attach(&self, changes: Changes) {
        drop(changes);
    }

    /// Returns all tools, in the order in which they are listed. Always the same.
    fn tools(&self) -> &[ToolEntry] {
        &[]
    }

    /// Says for how long the list of tools may be kept, and for whom.
    fn tools_cache(&self) -> CacheHints {
        self.catalog().entries().listings.tools.cache
    }

    /// Prepares one call of the tool at this index of [`tools`](Self::tools).
    fn call_tool(&self, tool: usize, arguments: Arguments, context: Context) -> Work {
        match self.tools().get(tool) {
            Some(entry) => entry.call(arguments, context),
            None => Work::ready(Outcome::Refused(WireError::internal())),
        }
    }
}

/// What can become a server: a server, a toolbox that is not built yet, or the
/// result of building one.
pub trait IntoServer {
    /// The server that it becomes.
    type Server: Server;

    /// Becomes a server.
    ///
    /// # Errors
    ///
    /// [`InvalidServer`] when the server's definition has a mistake.
    fn into_server(self) -> Result<Self::Server, InvalidServer>;
}

impl<S: Server> IntoServer for S {
    type Server = S;

    fn into_server(self) -> Result<S, InvalidServer> {
        Ok(self)
    }
}

impl<S: Server> IntoServer for Result<S, InvalidServer> {
    type Server = S;

    fn into_server(self) -> Self {
        self
    }
}
