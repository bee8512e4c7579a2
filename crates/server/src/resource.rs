//! Resources made of functions.

use std::fmt;
use std::sync::Arc;

use conduit_protocol::{CacheHints, ReadResult, Resource};

use crate::contents::{Listed, answer};
use crate::uri_template::check_uri;
use crate::work::policy_methods;
use crate::{Context, IntoContents, InvalidServer, Policy, ResourceEntry, Run, Work};

/// A resource that is to be added to a [`Toolbox`](crate::Toolbox), made by
/// [`resource`] or its sister.
#[must_use = "a resource has to be added to a toolbox"]
pub struct ResourceBuilder {
    definition: Resource,
    cache: CacheHints,
    policy: Policy,
    bind: Bind,
}

/// Makes a resource of an asynchronous function, which is called each time that it is
/// read.
///
/// ```
/// use conduit_server::resource;
///
/// let motto = resource("text://motto", "motto", |_| async { "Measure twice, cut once." })
///     .description("What we live by");
/// let logo = resource("img://logo", "logo", |_| async { b"\x89PNG" }).mime_type("image/png");
/// ```
pub fn resource<F, R, O>(
    uri: impl Into<String>,
    name: impl Into<String>,
    handler: F,
) -> ResourceBuilder
where
    F: Fn(Context) -> R + Send + Sync + 'static,
    R: Future<Output = O> + Send + 'static,
    O: IntoContents,
{
    let handler = Arc::new(handler);
    let bind: Bind = Box::new(move |listed| {
        Box::new(move |context| {
            let (listed, handler) = (Arc::clone(&listed), Arc::clone(&handler));
            Work::from_future(async move {
                let era = context.era();
                answer(handler(context).await, era, &listed.uri, &listed)
            })
        })
    });
    ResourceBuilder::new::<O>(uri.into(), name.into(), Run::Pool, bind)
}

/// Makes a resource of a function that may block: it gets a thread for as long as it
/// takes.
///
/// ```
/// use conduit_server::{ToolError, blocking_resource};
///
/// let host = blocking_resource("host://name", "host", |_| {
///     Ok::<_, ToolError>(std::fs::read_to_string("/etc/hostname")?)
/// });
/// ```
pub fn blocking_resource<F, O>(
    uri: impl Into<String>,
    name: impl Into<String>,
    handler: F,
) -> ResourceBuilder
where
    F: Fn(Context) -> O + Send + Sync + 'static,
    O: IntoContents,
{
    let handler = Arc::new(handler);
    let bind: Bind = Box::new(move |listed| {
        Box::new(move |context| {
            let (listed, handler) = (Arc::clone(&listed), Arc::clone(&handler));
            Work::from_closure(move || {
                let era = context.era();
                answer(handler(context), era, &listed.uri, &listed)
            })
        })
    });
    ResourceBuilder::new::<O>(uri.into(), name.into(), Run::Blocking, bind)
}

/// What clients are told.
impl ResourceBuilder {
    /// Sets its size in bytes, before any encoding.
    pub const fn size(mut self, bytes: u64) -> Self {
        self.definition.size = Some(bytes);
        self
    }
}

/// Adds to a builder with the fields `definition` and `cache` what is the same for
/// resources and for templates.
macro_rules! resource_methods {
    ($builder:ident) => {
        /// What clients are told.
        impl $builder {
            /// Sets the name for people.
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.definition.title = Some(title.into());
                self
            }

            /// Sets what it is.
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.definition.description = Some(description.into());
                self
            }

            /// Sets its media type; else it follows from what the handler returns.
            pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
                self.definition.mime_type = Some(mime_type.into());
                self
            }

            /// Says for whom it is, and how much it matters.
            pub fn annotations(mut self, annotations: conduit_protocol::Annotations) -> Self {
                self.definition.annotations = Some(annotations.into());
                self
            }

            /// Adds a picture to show.
            pub fn icon(mut self, icon: conduit_protocol::Icon) -> Self {
                self.definition.icons.push(icon);
                self
            }

            /// Sets what else is known about it.
            pub fn meta(mut self, meta: conduit_protocol::Meta) -> Self {
                self.definition.meta = Some(meta);
                self
            }

            /// Lets clients keep what they have read for a while; else they read it
            /// every time.
            pub const fn cache(mut self, hints: conduit_protocol::CacheHints) -> Self {
                self.cache = hints;
                self
            }
        }
    };
}

pub(crate) use resource_methods;

resource_methods!(ResourceBuilder);
policy_methods!(ResourceBuilder);

impl fmt::Debug for ResourceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceBuilder")
            .field("definition", &self.definition)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

type Read = Box<dyn Fn(Context) -> Work<ReadResult> + Send + Sync>;

/// Makes the function, once it is known how it is listed.
type Bind = Box<dyn FnOnce(Arc<Listed>) -> Read + Send>;

impl ResourceBuilder {
    fn new<O: IntoContents>(uri: String, name: String, run: Run, bind: Bind) -> Self {
        let mut definition = Resource::new(uri, name);
        definition.mime_type = O::mime_type().map(str::to_owned);
        Self {
            definition,
            cache: CacheHints::default(),
            policy: Policy::new(run),
            bind,
        }
    }

    /// Checks the resource, and closes its function over what is listed of it.
    pub(crate) fn build(self) -> Result<ResourceEntry, InvalidServer> {
        check_uri(&self.definition.uri)?;
        let listed = Listed {
            uri: self.definition.uri.as_str().into(),
            mime_type: self.definition.mime_type.as_deref().map(Into::into),
            cache: self.cache,
        };
        let read = (self.bind)(Arc::new(listed));
        Ok(ResourceEntry::new(self.definition, self.policy, read))
    }
}
