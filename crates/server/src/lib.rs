//! What an author of a server writes against.
//!
//! A [`Server`] has tools, resources and prompts. Most are a [`Toolbox`]: functions
//! with typed arguments, whose JSON Schema is listed and enforced. Whoever needs more
//! implements the trait. Answers fit both eras of the protocol: an author never asks
//! which one a client speaks.
//!
//! ```
//! use conduit_server::schemars::JsonSchema;
//! use conduit_server::serde::Deserialize;
//! use conduit_server::{Context, Toolbox, prompt, resource, template, tool};
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
//!     .prompt(prompt("hello", "Asks for a greeting", greet).suggest("name", ["Ada", "Alan"]))
//!     .resource(resource("text://motto", "motto", |_| async { "Be kind." }))
//!     .template(template("user://{id}", "user", |id: u64, _| async move {
//!         (id == 7).then(|| "James")
//!     }))
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
//! The results of resources, prompts and completions know no failure: there it is an
//! internal error with the function's text. A prompt without a required argument is
//! refused. A function that finds nothing to read returns `None`.
//!
//! # A server that changes
//!
//! An [`Editor`] adds and removes things while they are served, and tells clients;
//! [`Changes`] tells them of anything else, such as a resource with new contents.
//!
//! # Asking the user
//!
//! A callback asks with [`Context::ask`], which returns the answer or ends this run: with
//! `?` the code reads as if it waited. The callback runs again from its start, in any
//! process, when the client has answered; what was answered before is at hand then. So do
//! what changes the world after the last question. It is the same in both eras, in a
//! [resource](resource()) and a [prompt](prompt()) as in a tool, and within a task.
//!
//! ```
//! use conduit_server::schemars::JsonSchema;
//! use conduit_server::serde::Deserialize;
//! use conduit_server::{Context, Elicited, NoArguments, ToolError, form, sample, tool};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Occasion {
//!     /// Whose birthday it is.
//!     name: String,
//!     /// Which one.
//!     age: Option<u8>,
//! }
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Consent {
//!     /// Whether to send it.
//!     send: bool,
//! }
//!
//! async fn wish(_: NoArguments, context: Context) -> Result<String, ToolError> {
//!     let occasion = context.ask(form::<Occasion>("occasion", "Who is it for?"))?.accepted()?;
//!     let poem = sample("poem").user(format!("A birthday poem for {}, please.", occasion.name));
//!     let poem = context.ask(poem)?.text();
//!     match context.ask(form::<Consent>("consent", format!("Shall I send this? {poem}")))? {
//!         Elicited::Accepted(Consent { send: true }) => Ok(format!("sent: {poem}")),
//!         _ => Ok("not sent".to_owned()),
//!     }
//! }
//!
//! let wish = tool("wish", "Sends birthday wishes", wish);
//! ```
//!
//! [`form`](form()), [`visit`], [`sample`](sample()) and [`roots`](roots()) are what there is to ask;
//! a tuple of them is asked at once. [`Context::remember`] keeps what was costly to find
//! out. Ask only what the client [can be asked for](Context::client_capabilities): else
//! the whole call is refused (R31).
//!
//! # Tasks
//!
//! A tool that takes long can be a [task](ToolBuilder::task): its client gets a name at
//! once, and comes back for the result. The callback is the same; it finds its
//! [`Task`] in the context, and may [become one](Context::become_task) after it has
//! asked.
//!
//! ```
//! use std::time::Duration;
//!
//! use conduit_server::{Context, NoArguments, TaskSupport, Toolbox, ToolError, tool};
//!
//! async fn render(_: NoArguments, context: Context) -> Result<&'static str, ToolError> {
//!     if let Some(task) = context.task() {
//!         task.status("rendering");
//!     }
//!     context.sleep(Duration::from_secs(90)).await?;
//!     Ok("rendered")
//! }
//!
//! let toolbox = Toolbox::builder("studio", "1.0.0")
//!     .tool(tool("render", "Renders the film", render).task(TaskSupport::Optional))
//!     .build()?;
//! # Ok::<(), conduit_server::InvalidServer>(())
//! ```
//!
//! # Bounds
//!
//! A schema has at most 64 KiB and 64 levels, refers to nothing outside of itself,
//! and is compiled once. Arguments have at most 127 levels; at most 20 violations
//! are listed. An integer that does not fit into 64 bits is refused, never rounded
//! (R35). At most 100 values are suggested at once.
//!
//! Deliberately not here: threads, permits, deadlines and panics, and what carries a
//! callback's [`Input`] from one round to the next. They are the runtime's, which reads
//! the [`Policy`] of what it runs.

mod answer;
mod arguments;
mod ask;
mod catalog;
mod changes;
mod check;
mod completion;
mod contents;
mod context;
mod contract;
mod edit;
mod editor;
mod elicit;
mod emission;
mod entry;
mod files;
mod input;
mod invalid_server;
mod messages;
mod offers;
mod prompt;
mod prompt_arguments;
mod questions;
mod refusal;
mod resource;
mod roots;
mod round;
mod sample;
mod scan;
mod schema;
mod server;
mod task;
mod template;
mod texts;
mod tool;
mod toolbox;
#[cfg(test)]
mod trial;
mod typed;
mod uri_template;
mod violation;
mod work;

pub use conduit_protocol::{
    Annotations, CacheHints, CacheScope, ClientCapabilities, Code as WireCode, Completion, Content,
    Era, FormRequest, Icon, Implementation, IncludeContext, InputRequest, InputRequired,
    InvalidTool, InvalidToolName, Lists, LogLevel, MediaBlock, Meta, ModelHint, ModelPreferences,
    NewTask, Outcome, ProgressToken, Prompt, PromptArgument, PromptMessage, PromptResult,
    ReadResult, Reference, RequestId, Resource, ResourceBlock, ResourceContents, ResourceLink,
    ResourceTemplate, Resources, Role, Root, SamplingContent, SamplingMessage, SamplingRequest,
    ServerCapabilities, TaskSupport, TextBlock, Theme, Tool, ToolAnnotations, ToolChoice,
    ToolChoiceMode, ToolName, ToolResult, ToolResultBlock, ToolUseBlock, TraceContext, UrlRequest,
    WireError,
};
pub use {schemars, serde, serde_json};

pub use crate::answer::{IntoOutcome, Json};
pub use crate::arguments::{Arguments, NoArguments};
pub use crate::ask::Unanswered;
pub use crate::catalog::{Catalog, Entries, Listing, Listings};
pub use crate::changes::{Change, Changes, Publish, Published};
pub use crate::check::check_answer;
pub use crate::completion::{CompletionRequest, IntoCompletion};
pub use crate::contents::IntoContents;
pub use crate::context::{Cancelled, Context, ContextParts};
pub use crate::edit::Edit;
pub use crate::editor::Editor;
pub use crate::elicit::{Elicited, Form, RawForm, Visit, form, raw_form, visit};
pub use crate::emission::{Emission, Emit};
pub use crate::entry::{PromptEntry, Requested, ResourceEntry, TemplateEntry, ToolEntry};
pub use crate::files::files;
pub use crate::invalid_server::InvalidServer;
pub use crate::messages::IntoMessages;
pub use crate::offers::Offers;
pub use crate::prompt::{PromptBuilder, blocking_prompt, prompt};
pub use crate::prompt_arguments::PromptArguments;
pub use crate::questions::Questions;
pub use crate::refusal::{Answer, IntoRefusal, ToolError};
pub use crate::resource::{ResourceBuilder, blocking_resource, resource};
pub use crate::roots::{ListRoots, roots};
pub use crate::round::Input;
pub use crate::sample::{Sample, Sampled, sample};
pub use crate::schema::InvalidSchema;
pub use crate::server::{IntoServer, Server};
pub use crate::task::{BecomesTask, Task, TaskPart};
pub use crate::template::{TemplateBuilder, blocking_template, template};
pub use crate::tool::{ToolBuilder, blocking_tool, raw_blocking_tool, raw_tool, tool};
pub use crate::toolbox::{Toolbox, ToolboxBuilder};
pub use crate::uri_template::{BrokenEscape, InvalidUri, UriTemplate};
pub use crate::work::{Job, Policy, Run, TaskPolicy, Work};
