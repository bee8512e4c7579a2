//! MCP on the wire: envelope, eras, shapers; no clock, no I/O.
//!
//! A message travels through this crate twice. On the way in, [`parse`] tells the
//! kinds apart, [`Params`] finds what its parameters say in one pass and
//! [classifies](Params::classify) it, the `check_…` functions hold the headers
//! against the body, and the `…Params` types read what a method needs. On the way
//! out, a [`Face`], its [`Page`]s and their neighbours shape an era-neutral
//! [`Outcome`] into bytes.
//!
//! What a callback asks of a client before it goes on ([`InputRequired`]) and work
//! that goes on after its answer ([`NewTask`]) are two outcomes that only whoever runs
//! the callback can finish: it seals states and keeps tasks. This crate reads what comes
//! back ([`Retry`], [`InputAnswer`], [`Response`]) and shapes what is shown
//! ([`Face::input_required`], [`InputRequest::server_request`], [`TaskView`]).
//!
//! Deliberately not here: sealing, the store of tasks, sessions, HTTP, deadlines, and
//! any `Value` that does not belong to an author. Identifiers in brackets (M-…, L-…,
//! T-…, C-…, R…) are those of the protocol digest and of the rulings that this crate
//! implements.

mod call;
mod cancel;
mod capability;
mod complete;
mod content;
mod demand;
mod envelope;
mod era;
mod get_prompt;
mod handshake;
mod headers;
mod id;
mod implementation;
mod input;
pub mod limits;
mod list;
mod listen;
mod log_level;
mod members;
mod meta;
mod method;
mod outcome;
mod params;
mod prompts;
mod raw;
mod read;
mod reflected;
mod resources;
mod retry;
mod set_level;
mod shape;
mod strings;
mod task;
mod tool_name;
mod tools;
mod trace;
mod version;
mod wire_error;

pub use crate::call::{CallParams, ToolResult};
pub use crate::cancel::CancelledParams;
pub use crate::capability::{
    ClientCapabilities, Gate, Lists, Resources, ServerCapabilities, TASKS_EXTENSION,
};
pub use crate::complete::{CompleteParams, Completion, Reference};
pub use crate::content::{
    Annotations, Content, MediaBlock, ResourceBlock, ResourceContents, ResourceLink, Role,
    TextBlock,
};
pub use crate::envelope::{Malformed, Message, Notification, Request, Response, parse, peek_id};
pub use crate::era::{Context, Era, check_version, classify, classify_notification};
pub use crate::get_prompt::{GetPromptParams, PromptMessage, PromptResult};
pub use crate::handshake::InitializeParams;
pub use crate::headers::{
    Field, check_legacy_version_header, check_method_header, check_name_header,
    check_name_header_of, check_param_headers, check_version_header, decode_header_text,
    encode_header_text,
};
pub use crate::id::{InvalidId, ProgressToken, RequestId};
pub use crate::implementation::{Icon, Implementation, Theme};
pub use crate::input::{
    ElicitAction, Elicited, FormRequest, IncludeContext, InputAnswer, InputRequest, InputRequired,
    ModelHint, ModelPreferences, Root, Sampled, SamplingContent, SamplingMessage, SamplingRequest,
    ToolChoice, ToolChoiceMode, ToolResultBlock, ToolUseBlock, UrlRequest,
};
pub use crate::list::ListParams;
pub use crate::listen::{Filter, ListenParams};
pub use crate::log_level::LogLevel;
pub use crate::meta::{Meta, NotAnObject, keys};
pub use crate::method::Method;
pub use crate::outcome::Outcome;
pub use crate::params::Params;
pub use crate::prompts::{Prompt, PromptArgument};
pub use crate::read::{ReadParams, ReadResult, SubscribeParams};
pub use crate::reflected::reflected;
pub use crate::resources::{Resource, ResourceTemplate};
pub use crate::retry::Retry;
pub use crate::set_level::SetLevelParams;
pub use crate::shape::{
    CacheHints, CacheScope, ChangeNotice, Dialect, Face, ListKind, Listed, Page, PromptsPage,
    REJECTION_STATUS, Rendered, ResourcesPage, Shaped, TaskChange, TemplatesPage, ToolsPage,
    acknowledged, error, error_with_null_id, http_status, list_changed, log_message, progress,
    resource_updated, task_status,
};
pub use crate::task::{
    NewTask, TaskAugmentation, TaskParams, TaskStatus, TaskView, UpdateTaskParams,
};
pub use crate::tool_name::{InvalidToolName, ToolName};
pub use crate::tools::{HeaderParam, InvalidTool, TaskSupport, Tool, ToolAnnotations};
pub use crate::trace::{TraceContext, trace_list, traceparent};
pub use crate::version::{LEGACY_VERSIONS, MODERN_VERSIONS, negotiate, newest_legacy};
pub use crate::wire_error::{Code, WireError};
