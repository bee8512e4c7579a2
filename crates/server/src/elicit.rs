//! Asks the person in front of the client: by a form, or by a page to visit.

mod flat;
#[cfg(test)]
mod tests;

use std::any::{TypeId, type_name};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use conduit_protocol::{ElicitAction, InputAnswer, InputRequest};
use parking_lot::RwLock;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::questions::{Asking, sealed};
use crate::schema::Schema;
use crate::uri_template::check_uri;
use crate::{InvalidSchema, Questions, ToolError, input};

/// What a person did with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elicited<T> {
    /// They did as they were asked.
    Accepted(T),
    /// They said no.
    Declined,
    /// They did not say.
    Cancelled,
}

/// Lets the person fill in a form; made by [`form`].
#[must_use = "nothing is asked before `Context::ask`"]
pub struct Form<T> {
    key: String,
    message: String,
    answer: PhantomData<fn() -> T>,
}

/// Lets the person fill in a form of any schema; made by [`raw_form`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `Context::ask`"]
pub struct RawForm {
    key: String,
    message: String,
    schema: Value,
}

/// Lets the person visit a page; made by [`visit`].
#[derive(Clone, Debug)]
#[must_use = "nothing is asked before `Context::ask`"]
pub struct Visit {
    key: String,
    message: String,
    url: String,
}

/// Lets the person fill in a form, whose fields are those of `T`.
///
/// A field is a text, a number, a boolean, an enum without data, a list of such an
/// enum, or an `Option` of one. Doc comments say what they are for; those of an enum's
/// variants are what the person chooses from. Of the rest of a schema, lengths, bounds,
/// the formats `email`, `uri`, `date` and `date-time`, and defaults are shown. A type
/// that no form can ask for is an internal error, and the log says why.
///
/// Never ask for a secret by a form (M-ELIC-06): that is what [`visit`] is for.
///
/// ```
/// use conduit_server::schemars::JsonSchema;
/// use conduit_server::serde::Deserialize;
/// use conduit_server::{Context, NoArguments, ToolError, form, tool};
///
/// #[derive(Deserialize, JsonSchema)]
/// enum Seat {
///     /// Beside the window.
///     Window,
///     /// On the aisle.
///     Aisle,
/// }
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Trip {
///     /// Where to.
///     city: String,
///     /// For how many.
///     #[schemars(range(min = 1, max = 9))]
///     people: u8,
///     seat: Option<Seat>,
/// }
///
/// async fn book(_: NoArguments, context: Context) -> Result<String, ToolError> {
///     let trip = context.ask(form::<Trip>("trip", "Where do you want to go?"))?.accepted()?;
///     Ok(format!("{} tickets to {}", trip.people, trip.city))
/// }
///
/// let book = tool("book", "Books a trip", book);
/// ```
pub fn form<T>(key: impl Into<String>, message: impl Into<String>) -> Form<T>
where
    T: DeserializeOwned + JsonSchema + 'static,
{
    Form {
        key: key.into(),
        message: message.into(),
        answer: PhantomData,
    }
}

/// Lets the person fill in a form with exactly this schema, which has to be that of a
/// flat object of primitives (M-ELIC-02). The answer is held against it.
pub fn raw_form(key: impl Into<String>, message: impl Into<String>, schema: &Value) -> RawForm {
    RawForm {
        key: key.into(),
        message: message.into(),
        schema: schema.clone(),
    }
}

/// Lets the person visit a page, for what must not pass through the client, such as a
/// password.
///
/// That they accepted means that they went, and not that anything came of it: look at
/// what your own page knows, and ask under another key if it knows nothing yet
/// (M-ELIC-05). The URL is not itself a right to anything, names nobody, and the page
/// has to check that whoever comes is who was asked (M-ELIC-07, M-ELIC-08).
pub fn visit(key: impl Into<String>, message: impl Into<String>, url: impl Into<String>) -> Visit {
    Visit {
        key: key.into(),
        message: message.into(),
        url: url.into(),
    }
}

impl<T> Elicited<T> {
    /// Returns the answer, for a callback that does nothing without one.
    ///
    /// # Errors
    ///
    /// A failure with a text when the person said no, or nothing.
    pub fn accepted(self) -> Result<T, ToolError> {
        match self {
            Self::Accepted(answer) => Ok(answer),
            Self::Declined => Err(ToolError::new("the user has declined to answer")),
            Self::Cancelled => Err(ToolError::new("the user has dismissed the question")),
        }
    }

    /// Returns the answer, if there is one.
    #[must_use]
    pub fn ok(self) -> Option<T> {
        match self {
            Self::Accepted(answer) => Some(answer),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

impl<T: DeserializeOwned + JsonSchema + 'static> Questions for Form<T> {
    type Answers = Elicited<T>;

    fn put(self, asking: &mut Asking<'_>) -> Option<Elicited<T>> {
        match FormSchema::of::<T>() {
            Ok(schema) => schema.put(self.key, self.message, asking, |mut content| {
                content.retain(|name, _| schema.has(name));
                input::read_value(content.into()).ok()
            }),
            Err(error) => {
                asking.mistake(&self.key, &format_args!("{}: {error}", type_name::<T>()));
                None
            }
        }
    }
}

impl Questions for RawForm {
    type Answers = Elicited<Map<String, Value>>;

    fn put(self, asking: &mut Asking<'_>) -> Option<Self::Answers> {
        match FormSchema::new(&self.schema) {
            Ok(schema) => schema.put(self.key, self.message, asking, Some),
            Err(error) => {
                asking.mistake(&self.key, &error);
                None
            }
        }
    }
}

impl Questions for Visit {
    type Answers = Elicited<()>;

    fn put(self, asking: &mut Asking<'_>) -> Option<Elicited<()>> {
        if let Err(error) = check_uri(&self.url) {
            asking.mistake(&self.key, &error);
            return None;
        }
        let question = InputRequest::url(self.message, self.url);
        asking.put(self.key, question, |answer| elicited(answer, |_| Some(())))
    }
}

impl<T> std::fmt::Debug for Form<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Form")
            .field("key", &self.key)
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}

// === Behind the handle ===

/// The schemas of the types that were asked for. As many as a program asks for.
///
/// A lock because callbacks ask from any thread; it is held for as long as a map takes
/// to look something up.
static FORMS: RwLock<BTreeMap<TypeId, Arc<FormSchema>>> = RwLock::new(BTreeMap::new());

/// What a form shows, and what its answer is held against.
#[derive(Debug)]
struct FormSchema {
    json: Box<RawValue>,
    compiled: Schema,
    fields: Vec<String>,
}

/// Says why there is no form.
#[derive(Debug, thiserror::Error)]
enum InvalidForm {
    #[error(transparent)]
    Type(#[from] flat::NotFlat),
    #[error(transparent)]
    Schema(#[from] InvalidSchema),
}

impl<T> sealed::Sealed for Form<T> {}
impl sealed::Sealed for RawForm {}
impl sealed::Sealed for Visit {}

impl FormSchema {
    /// Finds the form for a type, or makes it.
    fn of<T: JsonSchema + 'static>() -> Result<Arc<Self>, InvalidForm> {
        let known = FORMS.read().get(&TypeId::of::<T>()).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let schema = Arc::new(Self::new(&flat::flat_schema::<T>()?)?);
        FORMS.write().insert(TypeId::of::<T>(), Arc::clone(&schema));
        Ok(schema)
    }

    fn new(schema: &Value) -> Result<Self, InvalidForm> {
        let json = to_raw_value(schema).unwrap_or_default();
        let compiled = Schema::compile_form(json.get())?;
        let fields = schema.get("properties").and_then(Value::as_object);
        Ok(Self {
            json,
            compiled,
            fields: fields.into_iter().flat_map(Map::keys).cloned().collect(),
        })
    }

    fn has(&self, field: &String) -> bool {
        self.fields.contains(field)
    }

    /// Asks for what conforms to the schema, and is then read.
    fn put<T>(
        &self,
        key: String,
        message: String,
        asking: &mut Asking<'_>,
        read: impl FnOnce(Map<String, Value>) -> Option<T>,
    ) -> Option<Elicited<T>> {
        let question = InputRequest::form(message, self.json.clone());
        asking.put(key, question, |answer| {
            elicited(answer, |content| {
                let content = content?.get().as_bytes();
                read(input::read_text(content, &self.compiled).ok()?)
            })
        })
    }
}

fn elicited<T>(
    answer: InputAnswer,
    read: impl FnOnce(Option<&RawValue>) -> Option<T>,
) -> Option<Elicited<T>> {
    let InputAnswer::Elicited(answer) = answer else {
        return None;
    };
    match answer.action {
        ElicitAction::Accept => read(answer.content.as_deref()).map(Elicited::Accepted),
        ElicitAction::Decline => Some(Elicited::Declined),
        ElicitAction::Cancel => Some(Elicited::Cancelled),
    }
}
