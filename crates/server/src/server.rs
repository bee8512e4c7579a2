//! What the runtime asks of a server.

use std::fmt;

use conduit_protocol::{CacheHints, Implementation, ServerCapabilities, Tool};

use crate::{Arguments, Context, InvalidServer, Policy, Work};

/// Something that can be asked for tools, and asked to run them.
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

    /// Returns all tools, in the order in which they are listed. Always the same.
    fn tools(&self) -> &[ToolEntry];

    /// Says for how long the list of tools may be kept, and for whom; not at all
    /// by default (R17).
    fn tools_cache(&self) -> CacheHints {
        CacheHints::default()
    }

    /// Prepares one call of the tool at this index of [`tools`](Self::tools).
    ///
    /// Nothing may be done before the work is run, not even the parsing of the
    /// arguments, which nobody has checked.
    fn call_tool(&self, tool: usize, arguments: Arguments, context: Context) -> Work;
}

/// A tool, and how its calls are to be treated.
#[derive(Clone, Debug)]
pub struct ToolEntry {
    /// What lists show.
    pub definition: Tool,
    /// Where calls run, for how long, and how many at once.
    pub policy: Policy,
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
