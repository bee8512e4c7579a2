//! Tools made of functions.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use conduit_protocol::{Icon, Meta, TaskSupport, Tool, ToolAnnotations, ToolName};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use crate::contract::Contract;
use crate::schema::Schema;
use crate::typed::input_schema;
use crate::work::policy_methods;
use crate::{Arguments, Context, IntoOutcome, InvalidServer, Policy, Run, ToolEntry, Work};

/// A tool that is to be added to a [`Toolbox`](crate::Toolbox), made by [`tool`] or
/// one of its sisters.
#[must_use = "a tool has to be added to a toolbox"]
pub struct ToolBuilder {
    name: String,
    title: Option<String>,
    description: Option<String>,
    annotations: Option<ToolAnnotations>,
    icons: Vec<Icon>,
    meta: Option<Meta>,
    input_schema: Box<RawValue>,
    output_schema: Option<Box<RawValue>>,
    policy: Policy,
    bind: Bind,
}

/// Makes a tool of an asynchronous function.
///
/// The schema that is listed, and that arguments have to conform to, is that of
/// `A`; doc comments of its fields tell the model what they are for. The function
/// runs on the worker pool and must not block there.
///
/// ```
/// use conduit_server::serde::Deserialize;
/// use conduit_server::schemars::JsonSchema;
/// use conduit_server::{Context, ToolError, tool};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Divide {
///     /// What to divide.
///     dividend: i64,
///     /// By how much; not zero.
///     divisor: i64,
/// }
///
/// async fn divide(arguments: Divide, _context: Context) -> Result<String, ToolError> {
///     match arguments.dividend.checked_div(arguments.divisor) {
///         Some(quotient) => Ok(quotient.to_string()),
///         None => Err(ToolError::new("cannot divide by zero, pass another divisor")),
///     }
/// }
///
/// let divide = tool("divide", "Divides two integers", divide).read_only(true);
/// ```
///
/// An argument on which proxies are to route goes into a header too, where it is
/// checked against the body (M-HDR-06): annotate its field with
/// `#[schemars(extend("x-mcp-header" = "Region"))]`. It has to be a text, an integer or
/// a boolean; never annotate a secret.
pub fn tool<A, F, R, O>(
    name: impl Into<String>,
    description: impl Into<String>,
    handler: F,
) -> ToolBuilder
where
    A: DeserializeOwned + JsonSchema,
    F: Fn(A, Context) -> R + Send + Sync + 'static,
    R: Future<Output = O> + Send + 'static,
    O: IntoOutcome,
{
    let bind = bind_async(handler);
    ToolBuilder::typed::<A, O>(name.into(), description.into(), Run::Pool, bind)
}

/// Makes a tool of a function that may block: it gets a thread for as long as it
/// takes.
///
/// Nothing can stop a thread: ask [`Context::is_cancelled`] now and then.
///
/// ```
/// use conduit_server::{Context, NoArguments, ToolError, blocking_tool};
///
/// let host = blocking_tool("host", "Tells the name of this machine", |_: NoArguments, _| {
///     Ok::<_, ToolError>(std::fs::read_to_string("/etc/hostname")?)
/// });
/// ```
pub fn blocking_tool<A, F, O>(
    name: impl Into<String>,
    description: impl Into<String>,
    handler: F,
) -> ToolBuilder
where
    A: DeserializeOwned + JsonSchema,
    F: Fn(A, Context) -> O + Send + Sync + 'static,
    O: IntoOutcome,
{
    let bind = bind_blocking(handler);
    ToolBuilder::typed::<A, O>(name.into(), description.into(), Run::Blocking, bind)
}

/// Makes a tool that is listed exactly as `definition` says, of an asynchronous
/// function. Arguments have to conform to its input schema, and what the function
/// answers to its output schema, if there is one.
///
/// ```
/// use conduit_server::serde_json::{Value, value::RawValue};
/// use conduit_server::{Context, Tool, ToolName, raw_tool};
///
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let schema = r#"{"type": "object", "properties": {"city": {"type": "string"}}}"#;
/// let schema = RawValue::from_string(schema.to_owned())?;
/// let definition = Tool::new(ToolName::new("forecast")?, schema)?;
///
/// let forecast = raw_tool(definition, |arguments: Value, _context| async move {
///     format!("sunny in {}", arguments["city"])
/// });
/// # Ok(())
/// # }
/// # example().unwrap();
/// ```
pub fn raw_tool<A, F, R, O>(definition: Tool, handler: F) -> ToolBuilder
where
    A: DeserializeOwned,
    F: Fn(A, Context) -> R + Send + Sync + 'static,
    R: Future<Output = O> + Send + 'static,
    O: IntoOutcome,
{
    ToolBuilder::raw(definition, Run::Pool, bind_async(handler))
}

/// Makes a tool that is listed exactly as `definition` says, of a function that may
/// block. See [`raw_tool`] and [`blocking_tool`].
pub fn raw_blocking_tool<A, F, O>(definition: Tool, handler: F) -> ToolBuilder
where
    A: DeserializeOwned,
    F: Fn(A, Context) -> O + Send + Sync + 'static,
    O: IntoOutcome,
{
    ToolBuilder::raw(definition, Run::Blocking, bind_blocking(handler))
}

/// What clients are told.
impl ToolBuilder {
    /// Sets the name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Says whether the tool leaves everything as it is. Clients assume that it
    /// does not.
    pub fn read_only(mut self, yes: bool) -> Self {
        self.hints().read_only_hint = Some(yes);
        self
    }

    /// Says whether the tool may destroy something. Clients assume that it may.
    pub fn destructive(mut self, yes: bool) -> Self {
        self.hints().destructive_hint = Some(yes);
        self
    }

    /// Says whether doing it twice is as good as doing it once. Clients assume that
    /// it is not.
    pub fn idempotent(mut self, yes: bool) -> Self {
        self.hints().idempotent_hint = Some(yes);
        self
    }

    /// Says whether the tool deals with the world outside of this server. Clients
    /// assume that it does.
    pub fn open_world(mut self, yes: bool) -> Self {
        self.hints().open_world_hint = Some(yes);
        self
    }

    /// Adds a picture to show.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icons.push(icon);
        self
    }

    /// Sets what else is known about it.
    pub fn meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

policy_methods!(ToolBuilder);

/// How its answers travel.
impl ToolBuilder {
    /// Answers with a stream wherever the client can read one, though nothing precedes
    /// the result: for calls that take long, and may
    /// [close the stream](Context::close_stream) in between. Else the first thing that
    /// a call says decides (R7).
    pub const fn streams(mut self) -> Self {
        self.policy.streams = true;
        self
    }
}

/// How it asks its client, see [`Context::ask`].
impl ToolBuilder {
    /// Lets what a client brings back with its answers hold for one use: nobody can
    /// send the same answers twice. Without it they hold until they are too old, which
    /// helps a client that has lost the result (R15).
    pub const fn once(mut self) -> Self {
        self.policy.once = true;
        self
    }
}

/// How its calls are tasks. What is said of one here holds unless
/// [`Context::become_task`] says otherwise.
impl ToolBuilder {
    /// Says whether a call can be a task, or has to. One that can be is one for a client
    /// that knows tasks, in 2025-11-25 if it asks for one; else it is a call like any
    /// other (R8). One that has to be is refused where it cannot.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use conduit_server::{Context, NoArguments, TaskSupport, ToolError, tool};
    ///
    /// async fn reindex(_: NoArguments, context: Context) -> Result<String, ToolError> {
    ///     for shelf in 1..=3 {
    ///         if let Some(task) = context.task() {
    ///             task.status(format!("shelf {shelf} of 3"));
    ///         }
    ///         context.sleep(Duration::from_secs(60)).await?;
    ///     }
    ///     Ok("all shelves are in the index".to_owned())
    /// }
    ///
    /// let reindex = tool("reindex", "Indexes all shelves", reindex)
    ///     .task(TaskSupport::Optional)
    ///     .task_ttl(Duration::from_hours(1))
    ///     .restartable();
    /// ```
    pub const fn task(mut self, support: TaskSupport) -> Self {
        self.policy.task.support = support;
        self
    }

    /// Starts each call as a call, which becomes a task when the callback calls
    /// [`Context::become_task`]: it can ask, or refuse, before there is a task
    /// (T-TASK-08). Else a task is made before the callback runs.
    pub const fn asks_first(mut self) -> Self {
        self.policy.task.asks_first = true;
        self
    }

    /// Says that the callback may run again, from its start, when its process has died:
    /// to run it twice is as good as to run it once. Else such a task has failed.
    pub const fn restartable(mut self) -> Self {
        self.policy.task.restartable = true;
        self
    }

    /// Keeps its tasks for so long after they were made, with their results; else the
    /// server's default holds.
    pub const fn task_ttl(mut self, ttl: Duration) -> Self {
        self.policy.task.ttl = Some(ttl);
        self
    }

    /// Tells clients after how long it is worth to look again; else the server's
    /// default holds.
    pub const fn task_poll(mut self, interval: Duration) -> Self {
        self.policy.task.poll = Some(interval);
        self
    }
}

impl fmt::Debug for ToolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolBuilder")
            .field("name", &self.name)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

/// A tool's function, whatever its types are.
type Call = Box<dyn Fn(Arguments, Context) -> Work + Send + Sync>;

/// Makes the function, once it is known what it is held to.
type Bind = Box<dyn FnOnce(Arc<Contract>) -> Call + Send>;

impl ToolBuilder {
    fn typed<A: JsonSchema, O: IntoOutcome>(
        name: String,
        description: String,
        run: Run,
        bind: Bind,
    ) -> Self {
        Self {
            name,
            title: None,
            description: Some(description),
            annotations: None,
            icons: Vec::new(),
            meta: None,
            input_schema: to_raw(&input_schema::<A>()),
            output_schema: O::output_schema().as_ref().map(to_raw),
            policy: Policy::new(run),
            bind,
        }
    }

    fn raw(definition: Tool, run: Run, bind: Bind) -> Self {
        let mut policy = Policy::new(run);
        policy.task.support = definition.task_support;
        Self {
            name: definition.name.as_str().to_owned(),
            input_schema: definition.input_schema().to_owned(),
            output_schema: definition.output_schema().map(ToOwned::to_owned),
            title: definition.title,
            description: definition.description,
            annotations: definition.annotations,
            icons: definition.icons,
            meta: definition.meta,
            policy,
            bind,
        }
    }

    fn hints(&mut self) -> &mut ToolAnnotations {
        self.annotations.get_or_insert_default()
    }

    /// Checks the tool, compiles its schemas and closes its function over them.
    pub(crate) fn build(self) -> Result<ToolEntry, InvalidServer> {
        let name = ToolName::new(&self.name)?;
        let input = |source| InvalidServer::InputSchema {
            tool: name.clone(),
            source,
        };
        let output = |source| InvalidServer::OutputSchema {
            tool: name.clone(),
            source,
        };
        let listed = |source| InvalidServer::Definition {
            tool: name.clone(),
            source,
        };
        let contract = Contract {
            tool: name.clone(),
            input: Schema::compile_input(self.input_schema.get()).map_err(input)?,
            output: match &self.output_schema {
                Some(schema) => Some(Schema::compile(schema.get()).map_err(output)?),
                None => None,
            },
        };
        let mut definition = Tool::new(name.clone(), self.input_schema).map_err(listed)?;
        if let Some(schema) = self.output_schema {
            definition = definition.with_output_schema(schema).map_err(listed)?;
        }
        definition.title = self.title;
        definition.description = self.description;
        definition.annotations = self.annotations;
        definition.icons = self.icons;
        definition.task_support = self.policy.task.support;
        definition.meta = self.meta;
        let call = (self.bind)(Arc::new(contract));
        Ok(ToolEntry::new(definition, self.policy, call))
    }
}

fn bind_async<A, F, R, O>(handler: F) -> Bind
where
    A: DeserializeOwned,
    F: Fn(A, Context) -> R + Send + Sync + 'static,
    R: Future<Output = O> + Send + 'static,
    O: IntoOutcome,
{
    let handler = Arc::new(handler);
    Box::new(move |contract| {
        Box::new(move |arguments, context| {
            let (contract, handler) = (Arc::clone(&contract), Arc::clone(&handler));
            Work::from_future(async move {
                let read = match contract.read::<A>(&arguments) {
                    Ok(read) => read,
                    Err(refusal) => return refusal,
                };
                contract.answer(handler(read, context).await)
            })
        })
    })
}

fn bind_blocking<A, F, O>(handler: F) -> Bind
where
    A: DeserializeOwned,
    F: Fn(A, Context) -> O + Send + Sync + 'static,
    O: IntoOutcome,
{
    let handler = Arc::new(handler);
    Box::new(move |contract| {
        Box::new(move |arguments, context| {
            let (contract, handler) = (Arc::clone(&contract), Arc::clone(&handler));
            Work::from_closure(move || match contract.read::<A>(&arguments) {
                Ok(read) => contract.answer(handler(read, context)),
                Err(refusal) => refusal,
            })
        })
    })
}

fn to_raw(schema: &serde_json::Value) -> Box<RawValue> {
    to_raw_value(schema).unwrap_or_default()
}
