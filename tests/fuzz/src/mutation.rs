//! Changes of inputs that leave JSON what it is: bytes that change at random seldom do.

use std::ops::Range;

use crate::json::{self, Json, Kind, Member};

/// Changes an input; what stands from `body` on may be JSON.
pub fn mutate(data: &mut [u8], size: usize, most: usize, seed: u32, body: usize) -> usize {
    let mut random = Random(u64::from(seed) | 1 << 40);
    let changed = match data[..size].get(body..).map(str::from_utf8) {
        Some(Ok(text)) if random.below(2) == 0 => change(text, &mut random),
        _ => None,
    };
    match changed {
        Some(changed) if body + changed.len() <= most => {
            let size = body + changed.len();
            data[body..size].copy_from_slice(changed.as_bytes());
            size
        }
        _ => libfuzzer_sys::fuzzer_mutate(data, size, most),
    }
}

// === Behind the handle ===

/// Names that mean something somewhere.
const NAMES: &[&str] = &[
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "_meta",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/logLevel",
    "progressToken",
    "traceparent",
    "tracestate",
    "baggage",
    "name",
    "arguments",
    "cursor",
    "uri",
    "level",
    "requestId",
    "reason",
    "ref",
    "type",
    "argument",
    "value",
    "context",
    "notifications",
    "toolsListChanged",
    "resourceSubscriptions",
    "taskIds",
    "protocolVersion",
    "capabilities",
    "clientInfo",
    "region",
    "where",
    "dry",
    r"\ud800",
];

/// Values of every type, and those that mean something.
const VALUES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "1",
    "-0",
    "42.0",
    "4.2e1",
    "1e999",
    "9007199254740993",
    "\"\"",
    "\"a\"",
    "\"\u{e9}\u{1f980}\"",
    r#""\ud800""#,
    r#""\u0000""#,
    r#""=?base64?YQ==?=""#,
    "\"2.0\"",
    "\"2026-07-28\"",
    "\"2025-11-25\"",
    "\"warning\"",
    "\"tools/call\"",
    "\"ref/prompt\"",
    "\"ref/resource\"",
    "\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"",
    "[]",
    "[\"a\",\"a\"]",
    "{}",
    r#"{"\ud800":1}"#,
    r#"{"a":"b"}"#,
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound.max(1)
    }

    fn pick<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> Option<&'t T> {
        of.get(self.below(of.len())).copied()
    }
}

/// The parts of a text that can be changed.
#[derive(Default)]
struct Parts<'j, 'a> {
    values: Vec<&'j Json<'a>>,
    members: Vec<&'j Member<'a>>,
    objects: Vec<&'j Json<'a>>,
    strings: Vec<&'j Json<'a>>,
}

impl<'j, 'a> Parts<'j, 'a> {
    fn add(&mut self, value: &'j Json<'a>) {
        self.values.push(value);
        match &value.kind {
            Kind::String(_) => self.strings.push(value),
            Kind::Array(items) => items.iter().for_each(|item| self.add(item)),
            Kind::Object(members) => {
                self.objects.push(value);
                for member in members {
                    self.members.push(member);
                    self.strings.push(&member.key);
                    self.add(&member.value);
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number => {}
        }
    }
}

fn change(text: &str, random: &mut Random) -> Option<String> {
    let whole = json::read(text)?;
    let mut parts = Parts::default();
    parts.add(&whole);
    let value = random.pick(&parts.values)?;
    let (at, with) = match random.below(9) {
        0 | 1 => (value.at.clone(), random.pick(VALUES)?.to_owned()),
        2 => (value.at.clone(), random.pick(&parts.values)?.raw.to_owned()),
        3 => (value.at.clone(), format!("[{}]", value.raw)),
        4 => {
            let object = random.pick(&parts.objects)?;
            let comma = if object.raw.contains(':') { "," } else { "" };
            let (name, value) = (random.pick(NAMES)?, random.pick(VALUES)?);
            let behind = object.at.start + 1;
            (behind..behind, format!("\"{name}\":{value}{comma}"))
        }
        5 => {
            let member = random.pick(&parts.members)?;
            let again = format!("{},", &text[member.at.clone()]);
            (member.at.start..member.at.start, again)
        }
        6 => (without(text, random.pick(&parts.members)?), String::new()),
        7 => {
            let member = random.pick(&parts.members)?;
            (
                member.key.at.clone(),
                format!("\"{}\"", random.pick(NAMES)?),
            )
        }
        _ => {
            let string = random.pick(&parts.strings)?;
            let units = string.text()?.encode_utf16();
            let escaped: String = units.map(|unit| format!("\\u{unit:04x}")).collect();
            (string.at.clone(), format!("\"{escaped}\""))
        }
    };
    let (before, after) = (text.get(..at.start)?, text.get(at.end..)?);
    Some([before, &with, after].concat())
}

/// Where a member stands, with the comma behind it or else the one before it.
fn without(text: &str, member: &Member<'_>) -> Range<usize> {
    let Range { start, end } = member.at;
    let behind = text[end..].trim_start();
    if let Some(rest) = behind.strip_prefix(',') {
        return start..text.len() - rest.len();
    }
    let before = text[..start].trim_end();
    before.strip_suffix(',').map_or(start, str::len)..end
}
