//! The rules for headers. The input is like a request over HTTP: lines of headers, an
//! empty line, a body.
//!
//! - Headers that a client derives from a body by the rules agree with it.
//! - Any other headers agree with it exactly when they stand for the same.
//! - A refusal names the header, and no value.
//! - Text comes back from a header as it was; what is not Base64 is refused.

#![no_main]

use std::sync::LazyLock;

use conduit_fuzz::json::{self, Found, Json};
use conduit_fuzz::{mutation, refusal};
use conduit_protocol::{
    CallParams, Code, Context, Era, Field, LEGACY_VERSIONS, Message, Method, Params, Tool,
    ToolName, WireError, check_legacy_version_header, check_method_header, check_name_header,
    check_name_header_of, check_param_headers, check_version_header, decode_header_text,
    encode_header_text, parse,
};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::value::RawValue;

fuzz_target!(|bytes: &[u8]| {
    let (head, body) = bytes.split_at(body_at(bytes));
    let headers = Headers::of(head);
    for (name, value) in &headers.0 {
        check_text(name);
        check_text(value);
    }
    let Ok(Message::Request(request)) = parse(body) else {
        return;
    };
    let json = json::read(str::from_utf8(body).expect("a message")).expect("a message");
    let version = headers.field(VERSION);
    check_legacy(version, &request.method);
    let params = Params::read(request.params);
    let Ok(context) = params.classify(&request.method, version.text()) else {
        return;
    };
    let request = Request {
        context: &context,
        method: &request.method,
        params,
        json: json.find("params").one(),
    };
    request.check(&headers);
    request.check_derived();
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let body = body_at(&data[..size]);
    mutation::mutate(data, size, max_size, seed, body)
});

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// The parameter that names a task.
const TASK: &str = "taskId";

/// The arguments that [`TOOL`] repeats in headers, and where they are.
const REPEATED: [(&str, &[&str]); 3] = [
    ("mcp-param-region", &["region"]),
    ("mcp-param-level", &["level"]),
    ("mcp-param-dry", &["where", "dry"]),
];

static TOOL: LazyLock<Tool> = LazyLock::new(|| {
    let schema = r#"{"type":"object","properties":{
        "region":{"type":"string","x-mcp-header":"Region"},
        "level":{"type":"integer","x-mcp-header":"Level"},
        "where":{"type":"object","properties":{"dry":{"type":"boolean","x-mcp-header":"Dry"}}}}}"#;
    let schema = RawValue::from_string(schema.to_owned()).expect("JSON");
    Tool::new(ToolName::new("t").expect("a name"), schema).expect("a tool")
});

/// Where the body begins: behind the first empty line.
fn body_at(bytes: &[u8]) -> usize {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n");
    end.map_or(bytes.len(), |end| end + 2)
}

/// Lines of headers: names in lower case, and values.
struct Headers(Vec<(Vec<u8>, Vec<u8>)>);

impl Headers {
    fn of(head: &[u8]) -> Self {
        let lines = head.split(|byte| *byte == b'\n').map(|line| {
            let colon = line.iter().position(|byte| *byte == b':');
            let (name, value) = line.split_at(colon.unwrap_or(line.len()));
            (
                name.to_ascii_lowercase(),
                value.get(1..).unwrap_or_default().to_owned(),
            )
        });
        Self(lines.collect())
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let named = self.0.iter().filter(move |line| line.0 == name.as_bytes());
        named.map(|line| &*line.1)
    }

    fn field(&self, name: &str) -> Field<'_> {
        let field = Field::of(self.values(name));
        assert_eq!(field.text(), self.text(name));
        field
    }

    /// The only value of a name, where it is printable.
    fn text(&self, name: &str) -> Option<&str> {
        let mut values = self.values(name);
        let (value, None) = (str::from_utf8(values.next()?).ok()?, values.next()) else {
            return None;
        };
        let printable = |character| matches!(character, ' '..='\x7e' | '\t');
        let outer = |character| matches!(character, ' ' | '\t');
        value
            .chars()
            .all(printable)
            .then(|| value.trim_matches(outer))
    }

    /// What the only value of a name stands for.
    fn meaning(&self, name: &str) -> Option<String> {
        decoded(self.text(name)?)
    }
}

/// A request whose era is known.
struct Request<'r> {
    context: &'r Context,
    method: &'r str,
    params: Params<'r>,
    json: Option<&'r Json<'r>>,
}

impl Request<'_> {
    /// Holds any headers against the body.
    fn check(&self, headers: &Headers) {
        let context = self.context;
        let bound = context
            .version
            .as_deref()
            .filter(|_| context.era == Era::Modern);
        let repeats = |name, wanted| bound.is_none() || headers.text(name) == Some(wanted);

        let version = check_version_header(headers.field(VERSION), context);
        check(
            version,
            repeats(VERSION, bound.unwrap_or_default()),
            "MCP-Protocol-Version",
        );
        let method = check_method_header(headers.field(METHOD), context, self.method);
        check(method, repeats(METHOD, self.method), "Mcp-Method");

        let field = headers.field(NAME);
        let agrees = |wanted: Option<&str>| {
            let meaning = headers.meaning(NAME);
            bound.is_none()
                || meaning.is_some_and(|meaning| wanted.is_none_or(|wanted| wanted == meaning))
        };
        for wanted in [None, Some("echo")] {
            check(
                check_name_header(field, context, wanted),
                agrees(wanted),
                "Mcp-Name",
            );
        }
        for method in Method::methods() {
            let checked = check_name_header_of(field, context, *method, &self.params);
            let is_absent = headers.values(NAME).next().is_none();
            let agrees = subject(*method).is_none_or(|name| {
                // R27: clients leave it out where a task is meant.
                agrees(self.text(name)) || (name == TASK && is_absent)
            });
            check(checked, agrees, "Mcp-Name");
        }

        let arguments = CallParams::read(&self.params)
            .ok()
            .and_then(|call| call.arguments);
        let agrees = |(header, path): &(&str, &[&str])| {
            let meaning = headers.meaning(header);
            match argument(arguments, path) {
                Argument::Absent => headers.values(header).next().is_none(),
                Argument::One(value) => meaning.is_some_and(|meaning| is_same(&value, &meaning)),
                Argument::Unclear => false,
            }
        };
        let checked = check_param_headers(|name| headers.field(name), context, &TOOL, arguments);
        let agrees = bound.is_none() || REPEATED.iter().all(agrees);
        if let Err(error) = &checked {
            let names = REPEATED.map(|(header, _)| header);
            refusal::check(error, Code::HEADER_MISMATCH, &names);
        }
        assert_eq!(checked.is_ok(), agrees);
    }

    /// Holds the headers against the body that a client has to send with it.
    fn check_derived(&self) {
        let mut lines = Vec::new();
        let mut add = |name: &str, value: &str| {
            let value = format!("\t{value} ").into_bytes();
            lines.push((name.as_bytes().to_owned(), value));
        };
        let version = self.context.version.as_deref().unwrap_or_default();
        add(VERSION, version);
        add(METHOD, self.method);
        let method = Method::route(Era::Modern, self.method);
        let name = method.and_then(subject).and_then(|name| self.text(name));
        if let Some(name) = name {
            add(NAME, &encode_header_text(name));
        }
        let arguments = CallParams::read(&self.params)
            .ok()
            .and_then(|call| call.arguments);
        let mut derivable = true;
        for (header, path) in REPEATED {
            match argument(arguments, path) {
                Argument::Absent => {}
                Argument::One(Value::Text(text)) => add(header, &encode_header_text(&text)),
                Argument::One(Value::Bool(text)) => add(header, text),
                Argument::One(Value::Number(text)) if is_same(&Value::Number(text), text) => {
                    add(header, text);
                }
                Argument::One(_) | Argument::Unclear => derivable = false,
            }
        }

        let headers = Headers(lines);
        let context = self.context;
        // Versions and methods go into headers as they are, or not at all.
        if headers.text(VERSION) == Some(version) {
            check_version_header(headers.field(VERSION), context).expect("the version");
        }
        if headers.text(METHOD) == Some(self.method) {
            check_method_header(headers.field(METHOD), context, self.method).expect("the method");
        }
        if let (Some(method), Some(_)) = (method, name) {
            let field = headers.field(NAME);
            check_name_header_of(field, context, method, &self.params).expect("the name");
        }
        let params = check_param_headers(|name| headers.field(name), context, &TOOL, arguments);
        if derivable {
            params.expect("the arguments");
        }
    }

    /// The text of one of the parameters.
    fn text(&self, name: &str) -> Option<&str> {
        self.json
            .map_or(Found::Absent, |json| json.find(name))
            .text()
    }
}

/// Which parameter `Mcp-Name` repeats.
fn subject(method: Method) -> Option<&'static str> {
    match method.as_str() {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result" => Some(TASK),
        _ => None,
    }
}

#[track_caller]
fn check(checked: Result<(), WireError>, agrees: bool, header: &str) {
    assert_eq!(checked.is_ok(), agrees, "{header}");
    if let Err(error) = checked {
        refusal::check(&error, Code::HEADER_MISMATCH, &[header]);
    }
}

fn check_legacy(field: Field<'_>, method: &str) {
    let served = field
        .text()
        .filter(|version| LEGACY_VERSIONS.contains(version));
    let free = method == "initialize" || field == Field::Absent;
    match check_legacy_version_header(field, method) {
        Ok(version) => assert_eq!(version, served.filter(|_| !free)),
        Err(error) => {
            assert!(!free && served.is_none());
            refusal::check(&error, Code::INVALID_REQUEST, &["MCP-Protocol-Version"]);
        }
    }
}

// === Arguments ===

enum Argument<'a> {
    Absent,
    One(Value<'a>),
    /// On the way there is a name twice, or one that is no text.
    Unclear,
}

enum Value<'a> {
    Text(String),
    Bool(&'a str),
    Number(&'a str),
    Other,
}

fn argument<'a>(arguments: Option<&'a RawValue>, path: &[&str]) -> Argument<'a> {
    let Some(arguments) = arguments else {
        return Argument::Absent;
    };
    let whole = json::read(arguments.get()).expect("JSON");
    let mut at = &whole;
    for name in path {
        if at.is_object() && at.members().is_none() {
            return Argument::Unclear;
        }
        at = match at.find(name) {
            Found::Absent => return Argument::Absent,
            Found::One(value) => value,
            Found::Twice => return Argument::Unclear,
        };
    }
    match &at.kind {
        json::Kind::Null => Argument::Absent,
        json::Kind::Bool(_) => Argument::One(Value::Bool(at.raw)),
        json::Kind::Number => Argument::One(Value::Number(at.raw)),
        json::Kind::String(Some(text)) => Argument::One(Value::Text(text.clone())),
        json::Kind::String(None) | json::Kind::Array(_) | json::Kind::Object(_) => {
            Argument::One(Value::Other)
        }
    }
}

/// Whether a header that stands for this text repeats this value.
fn is_same(value: &Value<'_>, text: &str) -> bool {
    match value {
        Value::Text(value) => value == text,
        Value::Bool(value) => *value == text,
        Value::Number(value) => match (number(value), number(text)) {
            (Some(value), Some(text)) => is_same_number(value, text),
            _ => false,
        },
        Value::Other => false,
    }
}

/// A number as its sign, its digits and how many of them are behind the point.
///
/// None if its exponent is beyond 64 bits: such a number is repeated by no header.
fn number(text: &str) -> Option<(bool, String, i128)> {
    let json = json::read(text).filter(|json| json.raw == text)?;
    if !matches!(json.kind, json::Kind::Number) {
        return None;
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let behind = mantissa
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let places = i128::try_from(behind).ok()? - i128::from(exponent);
    Some((mantissa.starts_with('-'), digits, places))
}

/// Writes both with as many places behind the point, and compares the digits.
fn is_same_number(one: (bool, String, i128), other: (bool, String, i128)) -> bool {
    let is_zero = |digits: &str| digits.bytes().all(|digit| digit == b'0');
    if is_zero(&one.1) || is_zero(&other.1) {
        return is_zero(&one.1) && is_zero(&other.1);
    }
    let places = one.2.max(other.2);
    let written = |(negative, digits, own): (bool, String, i128)| {
        let zeros = usize::try_from(places - own)
            .ok()
            .filter(|zeros| *zeros < 10_000)?;
        let digits = format!("{digits}{}", "0".repeat(zeros));
        Some((negative, digits.trim_start_matches('0').to_owned()))
    };
    match (written(one), written(other)) {
        (Some(one), Some(other)) => one == other,
        // So far apart that no input is long enough for the digits between.
        _ => false,
    }
}

// === Text in headers ===

fn check_text(value: &[u8]) {
    let Ok(text) = str::from_utf8(value) else {
        return;
    };
    assert_eq!(
        decode_header_text(text).as_deref(),
        decoded(text).as_deref()
    );

    let encoded = encode_header_text(text);
    let sent = Field::One(encoded.as_bytes()).text();
    assert_eq!(sent, Some(&*encoded), "white space or worse at an end");
    assert_eq!(decode_header_text(&encoded).as_deref(), Some(text));
    let printable = text
        .chars()
        .all(|character| matches!(character, ' '..='\x7e'));
    let plain = printable && text.trim_matches(' ') == text && wrapped(text).is_none();
    assert_eq!(
        *encoded == *text,
        plain,
        "wrapped needlessly, or not at all"
    );
}

fn wrapped(text: &str) -> Option<&str> {
    text.strip_prefix("=?base64?")?.strip_suffix("?=")
}

fn decoded(text: &str) -> Option<String> {
    match wrapped(text) {
        Some(inside) => String::from_utf8(base64(inside)?).ok(),
        None => Some(text.to_owned()),
    }
}

/// Base64 with padding, and with no bits left over.
///
/// Source: RFC 4648, sections 3.5 and 4.
fn base64(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let plain = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - plain.len() > 2 {
        return None;
    }
    let mut bits = 0_u32;
    let mut count = 0;
    let mut bytes = Vec::new();
    for character in plain.chars() {
        bits = bits << 6 | u32::try_from(ALPHABET.find(character)?).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    (bits == 0).then_some(bytes)
}
