//! The envelope, and what each method reads from the parameters. The input is a message.
//!
//! - What a message is, and why it is none, is as a second reader of JSON sees it.
//! - Whatever answers it repeats an id that was readable byte for byte.
//! - An id is the same, however it is spelt.
//! - A method's parameters are read as the second reader sees them, or refused with a
//!   key and without a value.

#![no_main]

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use conduit_fuzz::json::{self, Found, Json};
use conduit_fuzz::{answer, mutation, refusal};
use conduit_protocol::{
    CallParams, CancelledParams, Code, CompleteParams, Era, Face, Filter, GetPromptParams,
    Implementation, InitializeParams, ListParams, ListenParams, LogLevel, Message, Params,
    ReadParams, Reference, RequestId, ServerCapabilities, SetLevelParams, SubscribeParams,
    ToolResult, WireError, error, limits, parse, peek_id, reflected,
};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::value::RawValue;

fuzz_target!(|bytes: &[u8]| {
    let json = str::from_utf8(bytes).ok().and_then(json::read);
    let read = parse(bytes);
    assert_eq!(Seen::of(&read), Seen::expected(json.as_ref()));
    let peeked = peek_id(bytes);
    let peeked = peeked.as_ref().map(RequestId::as_json);
    let params = json.as_ref().map(|json| json.find("params"));
    let params = params.and_then(Found::one);
    match read {
        Ok(Message::Request(request)) => {
            assert_eq!(peeked, Some(request.id.as_json()));
            check_id(&request.id);
            check_params(request.params, params);
        }
        Ok(Message::Notification(notification)) => {
            assert_eq!(peeked, None);
            check_params(notification.params, params);
        }
        Ok(Message::Response(_)) => assert_eq!(peeked, None),
        Err(malformed) => {
            let id = malformed.id.as_ref();
            assert_eq!(peeked, id.map(RequestId::as_json));
            refusal::check(&malformed.error, malformed.error.code, &[]);
            answer::check(error(id, &malformed.error), peeked);
        }
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutation::mutate(data, size, max_size, seed, 0)
});

/// What a message is.
#[derive(Debug, PartialEq)]
enum Seen<'a> {
    Request(&'a str, String, Option<&'a str>),
    Notification(String, Option<&'a str>),
    Response,
    Refused(Code, Option<&'a str>),
}

impl<'a> Seen<'a> {
    fn of(read: &'a Result<Message<'_>, conduit_protocol::Malformed>) -> Self {
        match read {
            Ok(Message::Request(request)) => Self::Request(
                request.id.as_json(),
                request.method.to_string(),
                request.params.map(RawValue::get),
            ),
            Ok(Message::Notification(notification)) => Self::Notification(
                notification.method.to_string(),
                notification.params.map(RawValue::get),
            ),
            Ok(Message::Response(_)) => Self::Response,
            Err(malformed) => {
                let id = malformed.id.as_ref().map(RequestId::as_json);
                Self::Refused(malformed.error.code, id)
            }
        }
    }

    /// The rules of JSON-RPC, as the documentation of `parse` has them.
    fn expected(json: Option<&'a Json<'_>>) -> Self {
        let Some(json) = json else {
            return Self::Refused(Code::PARSE_ERROR, None);
        };
        if json.members().is_none() {
            return Self::Refused(Code::INVALID_REQUEST, None);
        }
        let named = json.find("id");
        let readable = |id: &&Json<'_>| id.is_integer() || id.text().is_some();
        let id = named.one().filter(readable).map(|id| id.raw);
        let refused = Self::Refused(Code::INVALID_REQUEST, id);
        let of = ["jsonrpc", "id", "method", "params", "result", "error"];
        if of.iter().any(|name| json.find(name).is_twice())
            || json.find("jsonrpc").text() != Some("2.0")
        {
            return refused;
        }
        let answers = !json.find("result").is_absent() || !json.find("error").is_absent();
        let (method, params) = (json.find("method"), json.find("params").one());
        if method.is_absent() && answers {
            return Self::Response;
        }
        let Some(method) = method.text().map(str::to_owned).filter(|_| !answers) else {
            return refused;
        };
        match id {
            None if !named.is_absent() => refused,
            None => Self::Notification(method, params.map(|params| params.raw)),
            Some(id) if params.is_some_and(|params| !params.is_object()) => {
                Self::Refused(Code::INVALID_PARAMS, Some(id))
            }
            Some(id) => Self::Request(id, method, params.map(|params| params.raw)),
        }
    }
}

static FACE: LazyLock<Face> = LazyLock::new(|| {
    let implementation = Implementation::new("demo", "1");
    Face::new(
        &implementation,
        &ServerCapabilities::base(),
        None,
        <_>::default(),
    )
});

fn check_id(id: &RequestId) {
    let json = json::read(id.as_json()).expect("an id is JSON");
    for era in [Era::Modern, Era::Legacy] {
        let result = FACE.call(era, id, &ToolResult::text("x"));
        answer::check(result, Some(id.as_json()));
    }
    answer::check(error(Some(id), &WireError::internal()), Some(id.as_json()));
    let canonical = match json.text() {
        Some(text) => serde_json::to_string(text).expect("text"),
        None if json.raw == "-0" => "0".to_owned(),
        None => json.raw.to_owned(),
    };
    let other = RequestId::from_json(&canonical).expect("an id");
    assert_eq!((id, hash(id)), (&other, hash(&other)));
    let changed = RequestId::from_json(&match json.text() {
        Some(text) => serde_json::to_string(&format!("{text}1")).expect("text"),
        None => format!("{canonical:?}"),
    });
    assert_ne!(id, &changed.expect("an id"));
    let raw: &RawValue = serde_json::from_str(id.as_json()).expect("JSON");
    let short = json
        .text()
        .is_none_or(|text| text.len() <= limits::CANCEL_ID_BYTES);
    assert_eq!(RequestId::for_cancel(raw).is_ok(), short);
}

fn hash(id: &RequestId) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

// === What each method reads ===

fn check_params(raw: Option<&RawValue>, json: Option<&Json<'_>>) {
    let read = Params::read(raw);
    assert_eq!(read.raw().map(RawValue::get), json.map(|json| json.raw));
    let empty = json::read("{}").expect("JSON");
    let json = json.unwrap_or(&empty);
    // Metadata that is not readable is refused by `classify`, before any of these.
    let meta = json.find("_meta").one();
    if meta.is_some_and(|meta| meta.is_object() && meta.members().is_none()) {
        return;
    }
    check_frequent(&read, json);
    check_others(&read, json);
    check_own(raw, json);
}

/// Those that read what the first pass has found.
fn check_frequent(read: &Params<'_>, json: &Json<'_>) {
    check(
        ListParams::read(read).map(|list| list.cursor.map(Into::into)),
        list(json),
        &["params", "params.cursor"],
    );
    check(
        CallParams::read(read).map(|call| (call.name.into(), call.arguments.map(RawValue::get))),
        call(json),
        &["params", "params.name", "params.arguments"],
    );
    check(
        GetPromptParams::read(read).map(|prompt| (prompt.name.into(), prompt.arguments)),
        prompt(json),
        &["params", "params.name", "params.arguments"],
    );
    let uri = string(json, "uri");
    let keys = &["params", "params.uri"];
    let resource = ReadParams::read(read).map(|resource| resource.uri.into());
    check(resource, uri.clone(), keys);
    let short = uri.filter(|uri| uri.len() <= limits::SUBSCRIPTION_ENTRY_BYTES);
    let subscribe = SubscribeParams::read(read).map(|subscribe| subscribe.uri.into());
    check(subscribe, short, keys);
}

/// Those that look for members of their own.
fn check_others(read: &Params<'_>, json: &Json<'_>) {
    let level = string(json, "level");
    check(
        SetLevelParams::read(read).map(|set| set.level),
        level.and_then(|level| LogLevel::ALL.into_iter().find(|l| l.as_str() == level)),
        &["params", "params.level"],
    );
    check(
        CompleteParams::read(read).map(|complete| {
            let (reference, argument) = (complete.reference, complete.argument.into());
            (reference, argument, complete.value.into(), complete.context)
        }),
        complete(json),
        &[
            "params",
            "params.ref",
            "params.ref.type",
            "params.ref.name",
            "params.ref.uri",
            "params.argument",
            "params.argument.name",
            "params.argument.value",
            "params.context",
            "params.context.arguments",
        ],
    );
    check(
        ListenParams::read(read).map(|listen| listen.filter),
        listen(json),
        &[
            "params",
            "params.notifications",
            "params.notifications.toolsListChanged",
            "params.notifications.promptsListChanged",
            "params.notifications.resourcesListChanged",
            "params.notifications.resourceSubscriptions",
            "params.notifications.taskIds",
        ],
    );
}

/// Those that read the parameters themselves.
fn check_own(raw: Option<&RawValue>, json: &Json<'_>) {
    check(
        InitializeParams::parse(raw).map(|initialize| {
            let capabilities = initialize.capabilities.as_json().to_owned();
            let version = initialize.protocol_version.into_owned();
            (version, capabilities, initialize.client_info.get())
        }),
        initialize(json),
        &[
            "params",
            "params.protocolVersion",
            "params.capabilities",
            "params.clientInfo",
        ],
    );
    check(
        CancelledParams::parse(raw).map(|cancelled| {
            cancelled.map(|cancelled| {
                let id = cancelled.request_id.as_json().to_owned();
                (id, cancelled.reason)
            })
        }),
        cancelled(json),
        &["params", "params.requestId"],
    );
}

/// Holds what was read against what had to be read, or refused.
#[track_caller]
fn check<T: std::fmt::Debug + PartialEq>(
    read: Result<T, WireError>,
    expected: Option<T>,
    keys: &[&str],
) {
    match read {
        Ok(read) => assert_eq!(Some(read), expected),
        Err(error) => {
            assert!(expected.is_none(), "{error}: {expected:?}");
            refusal::check(&error, Code::INVALID_PARAMS, keys);
        }
    }
}

fn string(json: &Json<'_>, name: &str) -> Option<String> {
    let readable = json.members().is_some();
    json.find(name)
        .text()
        .filter(|_| readable)
        .map(str::to_owned)
}

fn list(json: &Json<'_>) -> Option<Option<String>> {
    json.members()?;
    match json.find("cursor") {
        Found::Absent => Some(None),
        cursor => Some(Some(cursor.text()?.to_owned())),
    }
}

fn call<'a>(json: &Json<'a>) -> Option<(String, Option<&'a str>)> {
    let name = string(json, "name")?;
    match json.find("arguments") {
        Found::Absent => Some((name, None)),
        Found::One(arguments) if arguments.is_object() => Some((name, Some(arguments.raw))),
        Found::One(_) | Found::Twice => None,
    }
}

fn prompt(json: &Json<'_>) -> Option<(String, BTreeMap<String, String>)> {
    let name = string(json, "name")?;
    Some((name, strings(json.find("arguments"))?))
}

fn complete<'a>(
    json: &Json<'_>,
) -> Option<(Reference<'a>, String, String, BTreeMap<String, String>)> {
    json.members()?;
    let reference = json.find("ref").object()?;
    let reference = match &*string(reference, "type")? {
        "ref/prompt" => Reference::Prompt(string(reference, "name")?.into()),
        "ref/resource" => Reference::Resource(string(reference, "uri")?.into()),
        _ => return None,
    };
    let argument = json.find("argument").object()?;
    let (argument, value) = (string(argument, "name")?, string(argument, "value")?);
    let context = match json.find("context") {
        Found::Absent => BTreeMap::new(),
        context => strings(context.object()?.find("arguments"))?,
    };
    Some((reference, argument, value, context))
}

fn listen(json: &Json<'_>) -> Option<Filter> {
    json.members()?;
    let filter = json.find("notifications").object()?;
    let flag = |name| match filter.find(name) {
        Found::Absent => Some(false),
        found => match found.one()?.raw {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        },
    };
    Some(Filter {
        tools: flag("toolsListChanged")?,
        prompts: flag("promptsListChanged")?,
        resources: flag("resourcesListChanged")?,
        resource_uris: entries(filter.find("resourceSubscriptions"))?.unwrap_or_default(),
        task_ids: entries(filter.find("taskIds"))?,
    })
}

fn initialize<'a>(json: &Json<'a>) -> Option<(String, String, &'a str)> {
    let version = string(json, "protocolVersion")?;
    let object = |name| json.find(name).one().filter(|value| value.is_object());
    let (capabilities, info) = (object("capabilities")?, object("clientInfo")?);
    Some((version, capabilities.raw.to_owned(), info.raw))
}

fn cancelled(json: &Json<'_>) -> Option<Option<(String, Option<String>)>> {
    json.members()?;
    let id = match json.find("requestId") {
        Found::Twice => return None,
        Found::Absent => return Some(None),
        Found::One(id) if id.is_null() => return Some(None),
        Found::One(id) => id,
    };
    let short = |text: &str| text.len() <= limits::CANCEL_ID_BYTES;
    if !id.is_integer() && !id.text().is_some_and(short) {
        return None;
    }
    let reason = json.find("reason").one().filter(|reason| !reason.is_null());
    let reason = reason.map(|reason| reason.text().unwrap_or(reason.raw));
    let reason = reason.map(|reason| reflected(reason, limits::REASON_CHARS));
    Some(Some((id.raw.to_owned(), reason)))
}

/// An object of strings, each name once; nothing is an empty one.
fn strings(found: Found<'_, '_>) -> Option<BTreeMap<String, String>> {
    if found.is_absent() {
        return Some(BTreeMap::new());
    }
    let mut strings = BTreeMap::new();
    for member in found.one()?.members()? {
        let (name, value) = (member.key.text()?.to_owned(), member.value.text()?);
        if strings.insert(name, value.to_owned()).is_some() {
            return None;
        }
    }
    Some(strings)
}

/// An array of strings within the limits, each of them kept once.
fn entries(found: Found<'_, '_>) -> Option<Option<Vec<String>>> {
    if found.is_absent() {
        return Some(None);
    }
    let items = found.one()?.items()?;
    let mut entries: Vec<String> = Vec::new();
    for item in items {
        let entry = item.text()?;
        if !entries.iter().any(|known| known == entry) {
            entries.push(entry.to_owned());
        }
    }
    let longest = entries.iter().map(String::len).max().unwrap_or_default();
    let bounded =
        items.len() <= limits::SUBSCRIPTION_ENTRIES && longest <= limits::SUBSCRIPTION_ENTRY_BYTES;
    bounded.then_some(Some(entries))
}
