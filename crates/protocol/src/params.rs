//! The parameters of a message, read once for all who ask.

mod canonical;
mod request_meta;

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::members::{self, IfObject, Slot, Which};
use crate::method::Method;
use crate::raw;
use crate::wire_error::WireError;

pub(crate) use crate::params::request_meta::RequestMeta;

/// The parameters of a message, whatever it asks.
///
/// One pass finds the metadata and the members that the frequent methods read:
/// `name`, `arguments`, `cursor`, `uri`, and those of retries and tasks. Nothing is
/// copied. Reading never fails; who needs something says what is wrong with it: first
/// [`classify`](Self::classify), then the `read` of the `…Params` of the method.
///
/// ```
/// use conduit_protocol::{CallParams, Message, Params, parse};
///
/// let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}"#;
/// let Ok(Message::Request(request)) = parse(body) else {
///     panic!("a request");
/// };
/// let params = Params::read(request.params);
/// let context = params.classify(&request.method, None).expect("an era");
/// let call = CallParams::read(&params).expect("a call");
/// assert_eq!((context.era.as_str(), &*call.name), ("legacy", "echo"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Params<'a> {
    raw: Option<&'a RawValue>,
    kind: Kind,
    meta: RequestMeta<'a>,
    meta_is_twice: bool,
    members: Members<'a>,
}

/// The members that the frequent methods read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Members<'a> {
    pub(crate) name: Slot<'a>,
    pub(crate) arguments: Slot<'a>,
    pub(crate) cursor: Slot<'a>,
    pub(crate) uri: Slot<'a>,
    pub(crate) input_responses: Slot<'a>,
    pub(crate) request_state: Slot<'a>,
    pub(crate) task: Slot<'a>,
    pub(crate) task_id: Slot<'a>,
}

impl<'a> Params<'a> {
    /// Reads the parameters of a message.
    #[must_use]
    pub fn read(raw: Option<&'a RawValue>) -> Self {
        let Some(text) = raw else {
            return Self::default();
        };
        let read = if raw::is_object(text) {
            let mut deserializer = serde_json::Deserializer::from_str(text.get());
            let whole = deserializer.deserialize_map(Object).ok();
            whole.or_else(|| Self::without_meta(text))
        } else {
            Some(Self::of(Kind::Other))
        };
        Self {
            raw,
            ..read.unwrap_or_else(|| Self::of(Kind::Unreadable))
        }
    }

    /// Returns the parameters as they were written.
    #[must_use]
    pub const fn raw(&self) -> Option<&'a RawValue> {
        self.raw
    }

    /// Returns what the metadata says, all absent when there are no parameters, or
    /// no `_meta`, or when these are no objects: such a message carries none of the
    /// keys (AT-010).
    pub(crate) fn meta(&self) -> Result<&RequestMeta<'a>, WireError> {
        match self.kind {
            Kind::Unreadable => Err(WireError::invalid_params("`params` is not readable")),
            _ if self.meta_is_twice => Err(WireError::invalid_params("`_meta` occurs twice")),
            Kind::Absent | Kind::Object | Kind::Other => Ok(&self.meta),
        }
    }

    /// Returns the members that one pass has found.
    pub(crate) fn members(&self) -> Result<&Members<'a>, WireError> {
        match self.kind {
            Kind::Absent | Kind::Object => Ok(&self.members),
            Kind::Other | Kind::Unreadable => Err(not_an_object()),
        }
    }

    /// Finds members that the first pass did not look for.
    pub(crate) fn find<const N: usize>(
        &self,
        names: &[&str; N],
    ) -> Result<[Slot<'a>; N], WireError> {
        let text = self.raw.map_or("{}", RawValue::get);
        members::read(text, names).ok().ok_or_else(not_an_object)
    }

    /// Returns what a retry of a request has to repeat, in one spelling: the method,
    /// the name or the URI, and the arguments. Missing arguments equal `{}` (R16).
    ///
    /// Two requests ask the same exactly when these bytes are equal. White space, the
    /// order of members and the spelling of strings make no difference; that of numbers
    /// does. `_meta`, `inputResponses`, `requestState` and `task` are left out.
    ///
    /// Source: M-MRTR-08.
    #[must_use]
    pub fn salient(&self, method: Method) -> Vec<u8> {
        let subject = self.subject(method).and_then(Slot::one);
        let arguments = matches!(method, Method::ToolsCall | Method::PromptsGet)
            .then(|| self.members.arguments.one().map_or("{}", RawValue::get));
        let mut out = method.as_str().as_bytes().to_vec();
        for json in subject.map(RawValue::get).into_iter().chain(arguments) {
            out.push(b'\n');
            canonical::write(&mut out, json);
        }
        out
    }

    /// Returns what `Mcp-Name` has to repeat for a method that has such a header
    /// (table of 2.6, R27).
    pub(crate) const fn subject(&self, method: Method) -> Option<Slot<'a>> {
        if matches!(method, Method::ToolsCall | Method::PromptsGet) {
            Some(self.members.name)
        } else if matches!(method, Method::ResourcesRead) {
            Some(self.members.uri)
        } else if method.names_a_task() {
            Some(self.members.task_id)
        } else {
            None
        }
    }
}

// === Behind the handle ===

#[derive(Clone, Copy, Debug, Default)]
enum Kind {
    #[default]
    Absent,
    Object,
    Other,
    /// An object with a key that is no Unicode text, or with such a key in `_meta`.
    Unreadable,
}

impl<'a> Params<'a> {
    fn of(kind: Kind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// Reads parameters whose `_meta` is no object, but what the one pass fails on: a
    /// string that is no Unicode text, a number that no float can hold.
    fn without_meta(text: &'a RawValue) -> Option<Self> {
        let [slots @ .., meta] = members::read(text.get(), &NAMES).ok()?;
        if meta.one().is_some_and(raw::is_object) {
            return None;
        }
        Some(Self {
            meta_is_twice: meta.is_twice(),
            members: slots.into(),
            ..Self::of(Kind::Object)
        })
    }
}

fn not_an_object() -> WireError {
    WireError::invalid_params("`params` has to be an object")
}

/// `_meta` last, for it is read otherwise than the rest.
const NAMES: [&str; 9] = [
    "name",
    "arguments",
    "cursor",
    "uri",
    "inputResponses",
    "requestState",
    "task",
    "taskId",
    "_meta",
];

impl<'a> From<[Slot<'a>; NAMES.len() - 1]> for Members<'a> {
    /// Takes the members in the order of their names.
    fn from(slots: [Slot<'a>; NAMES.len() - 1]) -> Self {
        let [
            name,
            arguments,
            cursor,
            uri,
            input_responses,
            request_state,
            task,
            task_id,
        ] = slots;
        Self {
            name,
            arguments,
            cursor,
            uri,
            input_responses,
            request_state,
            task,
            task_id,
        }
    }
}

struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = Params<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("parameters")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut slots = [Slot::Absent; NAMES.len() - 1];
        let mut meta = None;
        let mut meta_is_twice = false;
        while let Some(place) = map.next_key_seed(Which(&NAMES))? {
            match place.map(|place| slots.get_mut(place)) {
                Some(Some(slot)) => slot.add(map.next_value()?),
                Some(None) => {
                    let keys = map.next_value_seed(IfObject(&RequestMeta::KEYS))?;
                    meta_is_twice |= meta.replace(RequestMeta::from(keys)).is_some();
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Params {
            raw: None,
            kind: Kind::Object,
            meta: meta.unwrap_or_default(),
            meta_is_twice,
            members: slots.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> Params<'_> {
        Params::read(Some(serde_json::from_str(text).expect("valid JSON")))
    }

    #[test]
    fn one_pass_finds_members_in_any_order() {
        let params = params(r#"{"x":[],"uri":"u","_meta":{"progressToken":1},"name":"n"}"#);

        let members = params.members().expect("an object");

        assert_eq!(members.name.one().map(RawValue::get), Some("\"n\""));
        assert_eq!(members.uri.one().map(RawValue::get), Some("\"u\""));
        assert!(members.cursor.is_absent());
        let meta = params.meta().expect("metadata");
        assert_eq!(meta.progress_token.one().map(RawValue::get), Some("1"));
    }

    #[test]
    fn parameters_that_are_missing_have_no_members() {
        let params = Params::read(None);

        assert!(params.raw().is_none());
        assert!(params.members().expect("no fault").name.is_absent());
        assert!(params.meta().expect("no fault").version.is_absent());
        let [level] = params.find(&["level"]).expect("no fault");
        assert!(level.is_absent());
    }

    #[test]
    fn parameters_of_another_type_have_no_metadata_and_no_members() {
        for text in ["[]", "null", "\"x\"", "1"] {
            let params = params(text);

            assert!(
                params.meta().expect("no fault").version.is_absent(),
                "{text}"
            );
            assert!(params.members().is_err(), "{text}");
            assert!(params.find(&["level"]).is_err(), "{text}");
        }
    }

    #[test]
    fn parameters_with_a_key_that_is_no_text_are_refused() {
        let params = params(r#"{"\ud800":1}"#);

        assert!(params.meta().is_err());
        assert!(params.members().is_err());
    }

    #[test]
    fn metadata_with_a_key_that_is_no_text_is_refused() {
        let params = params(r#"{"_meta":{"\ud800":1}}"#);

        assert!(params.meta().is_err());
    }

    #[test]
    fn metadata_of_another_type_carries_nothing_even_if_it_cannot_be_read() {
        for meta in ["1e999", r#""\ud800""#, "[1e999]", "1"] {
            let text = format!(r#"{{"name":"n","_meta":{meta}}}"#);
            let params = params(&text);

            assert!(params.meta().expect("no fault").version.is_absent());
            assert!(!params.members().expect("an object").name.is_absent());
        }
    }

    #[test]
    fn metadata_that_occurs_twice_is_refused_and_the_members_are_not() {
        for other in ["1", "1e999"] {
            let text = format!(r#"{{"_meta":{{}},"name":"n","_meta":{other}}}"#);
            let params = params(&text);

            let error = params.meta().expect_err("a refusal");

            assert_eq!(error.message, "`_meta` occurs twice");
            assert!(params.members().is_ok());
        }
    }

    #[test]
    fn a_read_is_named_by_its_uri_and_a_call_by_its_name() {
        let params = params(r#"{"name":"n","uri":"u"}"#);
        let subject = |method| {
            let slot: Slot<'_> = params.subject(method)?;
            slot.one().and_then(raw::string)
        };

        assert_eq!(subject(Method::ToolsCall).as_deref(), Some("n"));
        assert_eq!(subject(Method::PromptsGet).as_deref(), Some("n"));
        assert_eq!(subject(Method::ResourcesRead).as_deref(), Some("u"));
        assert_eq!(subject(Method::ResourcesSubscribe), None);
        assert_eq!(subject(Method::TasksList), None);
    }

    #[test]
    fn a_request_about_a_task_is_named_by_it() {
        let params = params(r#"{"name":"n","taskId":"t"}"#);

        for method in [
            Method::TasksGet,
            Method::TasksUpdate,
            Method::TasksCancel,
            Method::TasksResult,
        ] {
            let slot = params.subject(method).expect("a subject");
            assert_eq!(slot.one().and_then(raw::string).as_deref(), Some("t"));
        }
    }

    #[test]
    fn one_pass_finds_what_a_retry_brings() {
        for meta in ["{}", "1e999"] {
            let text = format!(
                r#"{{"_meta":{meta},"inputResponses":{{}},"requestState":"s","task":{{}},"taskId":"t"}}"#
            );
            let params = params(&text);

            let members = params.members().expect("an object");

            let found = [
                members.input_responses,
                members.request_state,
                members.task,
                members.task_id,
            ];
            let found = found.map(|slot| slot.one().map(RawValue::get));
            let expected = ["{}", "\"s\"", "{}", "\"t\""];
            assert_eq!(found, expected.map(Some));
        }
    }

    #[track_caller]
    fn asks_the_same(method: Method, one: &str, other: &str) -> bool {
        params(one).salient(method) == params(other).salient(method)
    }

    #[test]
    fn a_retry_asks_the_same_however_it_is_written() {
        for (one, other) in [
            (r#"{"name":"a"}"#, r#"{"name":"a","arguments":{}}"#),
            (
                r#"{"name":"a","arguments":{"x":[1,{"b":1,"a":2}],"y":"\u0061"}}"#,
                r#"{"arguments":{ "y":"a", "x":[1, {"a":2,"b":1}] },"name":"\u0061"}"#,
            ),
            (
                r#"{"name":"a"}"#,
                r#"{"name":"a","_meta":{"progressToken":1},"inputResponses":{"x":1},"requestState":"s","task":{}}"#,
            ),
        ] {
            assert!(asks_the_same(Method::ToolsCall, one, other), "{other}");
            assert!(asks_the_same(Method::PromptsGet, one, other), "{other}");
        }
        let (one, other) = (r#"{"uri":"mem://a"}"#, r#"{"uri":"mem:\/\/a","name":"x"}"#);
        assert!(asks_the_same(Method::ResourcesRead, one, other));
    }

    #[test]
    fn another_request_never_asks_the_same() {
        let texts = [
            "{}",
            r#"{"name":"a"}"#,
            r#"{"name":"b"}"#,
            r#"{"name":"a","arguments":{"x":1}}"#,
            r#"{"name":"a","arguments":{"x":1.0}}"#,
            r#"{"name":"a","arguments":{"x":"1"}}"#,
            r#"{"name":"a","arguments":{"x":[1,2]}}"#,
            r#"{"name":"a","arguments":{"x":[2,1]}}"#,
            r#"{"name":"a","arguments":{"x":[[1],2]}}"#,
            r#"{"name":"a\n{}"}"#,
        ];
        for (place, one) in texts.iter().enumerate() {
            for other in texts.iter().skip(place + 1) {
                assert!(
                    !asks_the_same(Method::ToolsCall, one, other),
                    "{one} {other}"
                );
            }
        }
        let call = params(r#"{"name":"a"}"#);
        assert_ne!(
            call.salient(Method::ToolsCall),
            call.salient(Method::PromptsGet)
        );
    }
}
