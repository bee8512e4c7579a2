//! Tools that do what they say, at once.

use conduit::schemars::JsonSchema;
use conduit::serde::{Deserialize, Serialize};
use conduit::serde_json::{self, Value};
use conduit::{Arguments, Context, Json, NoArguments, ToolBuilder, tool};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
pub(crate) struct Echo {
    /// The text to return.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Count {
    /// What to count in.
    text: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Counted {
    bytes: usize,
    characters: usize,
    words: usize,
}

/// What a callback knows of its call.
#[derive(Serialize, JsonSchema)]
#[serde(crate = "conduit::serde", rename_all = "camelCase")]
#[schemars(crate = "conduit::schemars")]
struct Caller {
    /// `modern` or `legacy`.
    era: &'static str,
    version: Option<String>,
    session: Option<String>,
    principal: Option<String>,
    /// A string or an integer, as the client wrote it.
    request_id: Value,
    client_info: Value,
    trace: Trace,
}

#[derive(Serialize, JsonSchema)]
#[serde(crate = "conduit::serde")]
#[schemars(crate = "conduit::schemars")]
struct Trace {
    traceparent: Option<String>,
    tracestate: Option<String>,
    baggage: Option<String>,
}

pub(crate) fn tools() -> [ToolBuilder; 4] {
    [
        tool(
            "echo_pool",
            "Returns the message, from the worker pool.",
            echo,
        )
        .read_only(true),
        tool(
            "count",
            "Counts in a text, and answers in structure.",
            count,
        )
        .read_only(true),
        tool(
            "mirror",
            "Returns its arguments as they were written.",
            mirror,
        )
        .read_only(true),
        tool("whoami", "Tells what a callback knows of its call.", whoami).read_only(true),
    ]
}

pub(crate) async fn echo(arguments: Echo, _context: Context) -> String {
    arguments.message
}

async fn mirror(arguments: Arguments, _context: Context) -> String {
    String::from_utf8_lossy(arguments.as_bytes()).into_owned()
}

async fn count(arguments: Count, _context: Context) -> Json<Counted> {
    let text = arguments.text;
    Json(Counted {
        bytes: text.len(),
        characters: text.chars().count(),
        words: text.split_whitespace().count(),
    })
}

async fn whoami(_: NoArguments, context: Context) -> Json<Caller> {
    let owned = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
    let trace = context.trace();
    Json(Caller {
        era: context.era().as_str(),
        version: context.version().map(str::to_owned),
        session: context.session().map(str::to_owned),
        principal: context.principal().map(str::to_owned),
        request_id: parse(context.request_id().as_json()),
        client_info: context
            .client_info()
            .map_or(Value::Null, |info| parse(info.get())),
        trace: Trace {
            traceparent: owned(&trace.traceparent),
            tracestate: owned(&trace.tracestate),
            baggage: owned(&trace.baggage),
        },
    })
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}
