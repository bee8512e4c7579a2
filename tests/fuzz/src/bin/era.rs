//! The era classification. The input is the value of `MCP-Protocol-Version` (nothing
//! for none), the method and the parameters, in three lines and whatever follows them.
//!
//! - The era is the one of the seeds' truth table.
//! - What the metadata says is as a second reader of JSON sees it.
//! - A refusal names a key that is at fault, and no value.
//! - A trace is kept as it was, if it has the shape of the specification.

#![no_main]

use conduit_fuzz::json::{self, Found, Json};
use conduit_fuzz::{answer, mutation, refusal};
use conduit_protocol::{
    Code, Context, Era, LEGACY_VERSIONS, LogLevel, MODERN_VERSIONS, ProgressToken, WireError,
    check_version, classify, classify_notification, error, keys, limits, reflected, trace_list,
    traceparent,
};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use serde_json::value::RawValue;

fuzz_target!(|text: &str| {
    check_traces(text);
    let mut lines = text.splitn(3, '\n');
    let (Some(header), Some(method), Some(params)) = (lines.next(), lines.next(), lines.next())
    else {
        return;
    };
    check_traces(header);
    check_traces(method);
    let params = params.trim_matches([' ', '\t', '\n', '\r']);
    let json = json::read(params);
    let raw = serde_json::from_str::<&RawValue>(params).ok();
    assert_eq!(raw.is_some(), json.is_some(), "{params}");
    if raw.is_none() && !params.is_empty() {
        return;
    }
    let header = (!header.is_empty()).then_some(header);
    let meta = Metadata::of(json.as_ref());

    let request = classify(method, raw, header);
    check(&request, meta.request(method, header), header, &meta);
    if let Ok(context) = &request {
        let token = context.progress_token.as_ref().map(ProgressToken::as_json);
        assert_eq!(
            token,
            meta.find(keys::PROGRESS_TOKEN).one().map(|token| token.raw)
        );
    }
    let notification = classify_notification(method, raw, header);
    check(
        &notification,
        meta.notification(method, header),
        header,
        &meta,
    );
    assert!(notification.is_err() || notification.is_ok_and(|it| it.progress_token.is_none()));
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut ends = data[..size]
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n');
    let body = ends.nth(1).map_or(0, |(at, _)| at + 1);
    mutation::mutate(data, size, max_size, seed, body)
});

const META: [&str; 5] = [
    keys::PROTOCOL_VERSION,
    keys::CLIENT_CAPABILITIES,
    keys::CLIENT_INFO,
    keys::LOG_LEVEL,
    keys::PROGRESS_TOKEN,
];

/// What parameters say about how they are to be served.
struct Metadata<'j, 'a> {
    /// What makes any message with it refused: a name twice, or one that is no text.
    fault: Option<&'static str>,
    meta: Option<&'j Json<'a>>,
}

impl<'j, 'a> Metadata<'j, 'a> {
    fn of(params: Option<&'j Json<'a>>) -> Self {
        let found = params.map_or(Found::Absent, |params| params.find("_meta"));
        let readable = |json: Option<&Json<'_>>| {
            json.is_none_or(|json| !json.is_object() || json.members().is_some())
        };
        let fault = if !readable(params) || !readable(found.one()) {
            Some("params")
        } else {
            found.is_twice().then_some("_meta")
        };
        let meta = found.one();
        Self { fault, meta }
    }

    fn find(&self, key: &str) -> Found<'j, 'a> {
        self.meta.map_or(Found::Absent, |meta| meta.find(key))
    }

    /// The truth table for requests: the era, or the keys that are at fault.
    fn request(&self, method: &str, header: Option<&str>) -> Result<Era, Vec<&'static str>> {
        let era = match self.keys()? {
            Some(era) => era,
            None if method == "initialize" => Era::Legacy,
            None if header.is_some_and(is_modern) => return Err(vec![keys::PROTOCOL_VERSION]),
            None if method == "server/discover" => Era::Modern,
            None => Era::Legacy,
        };
        let mut faults = self.mistyped(era);
        let token = self.find(keys::PROGRESS_TOKEN);
        let named = |token: &Json<'_>| token.is_integer() || token.text().is_some();
        if !token.is_absent() && !token.one().is_some_and(named) {
            faults.push(keys::PROGRESS_TOKEN);
        }
        if faults.is_empty() {
            Ok(era)
        } else {
            Err(faults)
        }
    }

    /// The truth table for notifications.
    fn notification(&self, method: &str, header: Option<&str>) -> Result<Era, Vec<&'static str>> {
        let era = match self.keys()? {
            Some(era) => era,
            None if method == "server/discover" || header.is_some_and(is_modern) => Era::Modern,
            None => Era::Legacy,
        };
        let faults = self.mistyped(era);
        if faults.is_empty() {
            Ok(era)
        } else {
            Err(faults)
        }
    }

    /// What the two keys of the era say.
    fn keys(&self) -> Result<Option<Era>, Vec<&'static str>> {
        if let Some(fault) = self.fault {
            return Err(vec![fault]);
        }
        let is_absent = |key| self.find(key).is_absent();
        match (
            is_absent(keys::PROTOCOL_VERSION),
            is_absent(keys::CLIENT_CAPABILITIES),
        ) {
            (false, false) => Ok(Some(Era::Modern)),
            (false, true) => Err(vec![keys::CLIENT_CAPABILITIES]),
            (true, false) => Err(vec![keys::PROTOCOL_VERSION]),
            (true, true) => Ok(None),
        }
    }

    /// The keys of the modern era that occur twice, or have another type.
    fn mistyped(&self, era: Era) -> Vec<&'static str> {
        let object = |found: Found<'_, '_>| found.one().is_some_and(Json::is_object);
        let level = |found: Found<'_, '_>| found.text().and_then(level).is_some();
        let wrong = |key: &&str| {
            let found = self.find(key);
            !found.is_absent()
                && !match *key {
                    keys::PROTOCOL_VERSION => found.text().is_some(),
                    keys::LOG_LEVEL => level(found),
                    _ => object(found),
                }
        };
        match era {
            Era::Modern => META[..4].iter().copied().filter(wrong).collect(),
            Era::Legacy => Vec::new(),
        }
    }
}

fn check(
    read: &Result<Context, WireError>,
    expected: Result<Era, Vec<&'static str>>,
    header: Option<&str>,
    meta: &Metadata<'_, '_>,
) {
    match (read, expected) {
        (Ok(context), Ok(era)) => {
            assert_eq!(context.era, era);
            check_context(context, header, meta);
            check_served(context);
        }
        (Err(refused), Err(faults)) => {
            assert!(refused.data().is_none());
            refusal::check(refused, Code::INVALID_PARAMS, &faults);
            answer::check(error(None, refused), None);
        }
        (read, expected) => panic!("{read:?} and not {expected:?}"),
    }
}

fn check_context(context: &Context, header: Option<&str>, meta: &Metadata<'_, '_>) {
    let modern = context.era == Era::Modern;
    let of = |key| meta.find(key).one().filter(|_| modern);
    let version = match context.era {
        Era::Modern => of(keys::PROTOCOL_VERSION).and_then(Json::text),
        Era::Legacy => header.filter(|version| LEGACY_VERSIONS.contains(version)),
    };
    assert_eq!(context.version.as_deref(), version);
    let capabilities = context
        .capabilities
        .as_ref()
        .map(|capabilities| capabilities.as_json());
    assert_eq!(
        capabilities,
        of(keys::CLIENT_CAPABILITIES).map(|json| json.raw)
    );
    let info = context.client_info.as_deref().map(RawValue::get);
    assert_eq!(info, of(keys::CLIENT_INFO).map(|json| json.raw));
    let wanted = of(keys::LOG_LEVEL).and_then(Json::text).and_then(level);
    assert_eq!(context.log_level, wanted);
    let trace = |key, is_kept: fn(&str) -> bool| meta.find(key).text().filter(|it| is_kept(it));
    assert_eq!(
        context.trace.traceparent.as_deref(),
        trace(keys::TRACEPARENT, is_traceparent)
    );
    assert_eq!(
        context.trace.tracestate.as_deref(),
        trace(keys::TRACESTATE, is_trace_list)
    );
    assert_eq!(
        context.trace.baggage.as_deref(),
        trace(keys::BAGGAGE, is_trace_list)
    );
}

/// A modern version that is not served is refused with those that are.
fn check_served(context: &Context) {
    let version = context.version.as_deref();
    let foreign = version.filter(|version| context.era == Era::Modern && !is_modern(version));
    match (check_version(context), foreign) {
        (Ok(()), None) => {}
        (Err(error), Some(version)) => {
            refusal::check(&error, Code::UNSUPPORTED_VERSION, &[]);
            let data = json::read(error.data().expect("data").get()).expect("JSON");
            let shown = reflected(version, limits::REFLECTED_VERSION_CHARS);
            assert_eq!(data.find("requested").text(), Some(&*shown));
            let supported = data.find("supported").one().and_then(Json::items);
            let supported = supported.expect("a list").iter().map(Json::text);
            assert!(supported.eq(MODERN_VERSIONS.map(Some)));
        }
        (checked, foreign) => panic!("{checked:?} about {foreign:?}"),
    }
}

fn is_modern(version: &str) -> bool {
    MODERN_VERSIONS.contains(&version)
}

fn level(name: &str) -> Option<LogLevel> {
    LogLevel::ALL
        .into_iter()
        .find(|level| level.as_str() == name)
}

fn check_traces(value: &str) {
    assert_eq!(
        traceparent(value),
        Some(value).filter(|value| is_traceparent(value))
    );
    assert_eq!(
        trace_list(value),
        Some(value).filter(|value| is_trace_list(value))
    );
}

/// `00-<32 hex>-<16 hex>-<2 hex>`, place by place.
fn is_traceparent(value: &str) -> bool {
    let bytes = value.as_bytes();
    let shaped = bytes.iter().enumerate().all(|(at, byte)| match at {
        2 | 35 | 52 => *byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(byte),
    });
    let any = |digits: &[u8]| digits.iter().any(|digit| *digit != b'0');
    bytes.len() == limits::TRACEPARENT_BYTES
        && shaped
        && !value.starts_with("ff")
        && any(&bytes[3..35])
        && any(&bytes[36..52])
}

fn is_trace_list(value: &str) -> bool {
    value.len() <= limits::TRACE_LIST_BYTES && value.chars().all(|c| (' '..='\x7e').contains(&c))
}
