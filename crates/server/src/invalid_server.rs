//! Why a server cannot be served.

use conduit_protocol::{InvalidTool, InvalidToolName, ToolName};

use crate::{InvalidSchema, InvalidUri};

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
        tool: String,
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
    #[error("cannot list the tool `{tool}`")]
    Definition {
        /// The tool.
        tool: ToolName,
        /// What is wrong with it.
        source: InvalidTool,
    },
    /// The URI of a resource is none, or a template cannot be matched.
    #[error(transparent)]
    Uri(#[from] InvalidUri),
    /// Nobody could say which of the two is meant.
    #[error("two resources have the URI `{uri}`")]
    SameUri {
        /// Their URI.
        uri: String,
    },
    /// The second of them would never be asked.
    #[error("the templates `{first}` and `{second}` match the same URIs")]
    SameTemplate {
        /// The one that was added first.
        first: String,
        /// The other one.
        second: String,
    },
    /// The function of a template takes something else than the template has.
    #[error("the function of the template `{template}` can never be called: {reason}")]
    Variables {
        /// The template.
        template: String,
        /// What the function takes instead.
        reason: String,
    },
    /// Nobody could ask for it.
    #[error("a prompt needs a name")]
    NamelessPrompt,
    /// Nobody could say which of the two is meant.
    #[error("two prompts are called `{prompt}`")]
    SamePrompt {
        /// Their name.
        prompt: String,
    },
    /// There are suggestions for what nobody can fill in.
    #[error("`{of}` suggests values for `{argument}`, which it does not have")]
    NothingToComplete {
        /// The prompt, or the template.
        of: String,
        /// The argument, or the variable.
        argument: String,
    },
}
