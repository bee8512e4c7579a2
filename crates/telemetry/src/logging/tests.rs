use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tracing::{debug, error, info};

use super::*;

/// Keeps what was written.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns what an act logs, as `gateway-0`.
pub(crate) fn logged(format: LogFormat, filter: &str, act: impl FnOnce()) -> String {
    let paper = Paper::default();
    let writer = paper.clone();
    let dispatch = dispatch(format, filter, "gateway-0", move || writer.clone(), false);
    tracing::dispatcher::with_default(&dispatch.expect("a good filter"), act);
    let bytes = paper.0.lock().clone();
    String::from_utf8(bytes).expect("text")
}

#[test]
fn a_text_line_begins_with_its_process() {
    let text = logged(LogFormat::Text, "info", || info!(port = 8080, "listening"));

    assert!(text.starts_with("gateway-0  2"), "{text}");
    assert!(text.ends_with("listening port=8080\n"), "{text}");
}

#[test]
fn a_json_line_is_one_object_with_its_process() {
    let text = logged(LogFormat::Json, "info", || {
        info!(port = 8080, reason = "a \"b\"\nc", "listening");
    });

    let line: Value = serde_json::from_str(text.trim_end()).expect("one object");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(line["process"], "gateway-0");
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["fields"]["message"], "listening");
    assert_eq!(line["fields"]["port"], 8080);
    assert_eq!(line["fields"]["reason"], "a \"b\"\nc");
}

#[test]
fn a_level_applies_to_all_targets_that_begin_alike() {
    let text = logged(LogFormat::Text, "info,conduit=debug", || {
        debug!(target: "conduit_mcp.request.stop", "ours");
        debug!(target: "hyper", "theirs");
    });

    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("ours"));
}

#[test]
fn one_event_of_the_seeds_can_be_asked_for_alone() {
    let text = logged(
        LogFormat::Text,
        "error,conduit_mcp.request.stop=debug",
        || {
            debug!(target: "conduit_mcp.request.stop", "asked");
            debug!(target: "conduit_mcp.tool.execute", "not asked");
            error!("always");
        },
    );

    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn a_filter_that_is_none_is_named_in_the_error() {
    let error = dispatch(LogFormat::Text, "conduit=loud", "cli", io::sink, false)
        .expect_err("no such level");

    assert_eq!(error.to_string(), "`conduit=loud` is not a log filter");
}
