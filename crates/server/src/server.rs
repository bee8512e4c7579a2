//! What the runtime asks of a server.

use std::fmt;

use conduit_protocol::{Completion, Implementation, PromptResult, ReadResult, ServerCapabilities};

use crate::{
    Catalog, Changes, CompletionRequest, Context, InvalidServer, Job, Offers, PromptArguments,
};

/// Something that has tools, resources and prompts, and can be asked for them.
///
/// [`Toolbox`](crate::Toolbox) is one. All methods are called on the loop that
/// serves the connections, so none may block, and what takes a while belongs into
/// the [`Work`](crate::Work).
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
    /// be at hand. Tools are what is in it; of the rest a server may have more than it
    /// lists.
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
