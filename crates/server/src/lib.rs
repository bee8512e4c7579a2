//! What an author of a server writes against.
//!
//! A [`Server`] has tools. Most are a [`Toolbox`]: functions with typed arguments,
//! whose JSON Schema is listed and enforced. Whoever needs more implements the
//! trait. Answers fit both eras of the protocol: an author never asks which one a
//! client speaks.
//!
//! ```
//! use conduit_server::schemars::JsonSchema;
//! use conduit_server::serde::Deserialize;
//! use conduit_server::{Context, Toolbox, tool};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Greet {
//!     /// Who is to be greeted.
//!     name: String,
//! }
//!
//! async fn greet(arguments: Greet, _context: Context) -> String {
//!     format!("Hello, {}!", arguments.name)
//! }
//!
//! let server = Toolbox::builder("greeter", "1.0.0")
//!     .tool(tool("greet", "Greets somebody", greet).read_only(true))
//!     .build()?;
//! # Ok::<(), conduit_server::InvalidServer>(())
//! ```
//!
//! # What a caller hears (R14)
//!
//! Arguments that break the schema, and a failure of the tool's own, are results
//! with `isError: true` and a text that a model can act on. A protocol error that a
//! function returns arrives as it is. An answer that breaks the tool's own output
//! schema is an internal error without detail.
//!
//! # Bounds
//!
//! A schema has at most 64 KiB and 64 levels, refers to nothing outside of itself,
//! and is compiled once. Arguments have at most 127 levels; at most 20 violations
//! are listed. An integer that does not fit into 64 bits is refused, never rounded
//! (R35).
//!
//! Deliberately not here: threads, permits, deadlines and panics. They are the
//! runtime's, which reads a tool's [`Policy`].

mod answer;
mod arguments;
mod context;
mod contract;
mod emission;
mod input;
mod refusal;
mod scan;
mod schema;
mod server;
mod tool;
mod toolbox;
mod typed;
mod violation;
mod work;

pub use conduit_protocol::{
    Annotations, CacheHints, CacheScope, Code as WireCode, Content, Era, Icon, Implementation,
    InvalidTool, InvalidToolName, Lists, LogLevel, MediaBlock, Meta, Outcome, ProgressToken,
    RequestId, ResourceBlock, ResourceContents, ResourceLink, Resources, Role, ServerCapabilities,
    TextBlock, Theme, Tool, ToolAnnotations, ToolName, ToolResult, TraceContext, WireError,
};
pub use {schemars, serde, serde_json};

pub use crate::answer::{IntoOutcome, Json};
pub use crate::arguments::{Arguments, NoArguments};
pub use crate::context::{Cancelled, Context, ContextParts};
pub use crate::emission::{Emission, Emit};
pub use crate::refusal::{IntoRefusal, ToolError};
pub use crate::schema::InvalidSchema;
pub use crate::server::{IntoServer, Server, ToolEntry};
pub use crate::tool::{ToolBuilder, blocking_tool, raw_blocking_tool, raw_tool, tool};
pub use crate::toolbox::{InvalidServer, Toolbox, ToolboxBuilder};
pub use crate::work::{Policy, Run, Work};
