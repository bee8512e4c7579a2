//! Notifications to clients. They look the same in both eras.

use bytes::Bytes;
use serde_json::Value;

use crate::id::ProgressToken;
use crate::log_level::LogLevel;
use crate::shape::json::Object;

/// Renders `notifications/progress` for the request of this token.
///
/// `None` when `progress` is not finite, which JSON cannot say; a `total` that is
/// not finite is left out. That progress only grows is the caller's matter.
///
/// Source: M-PROG-02, L-PROG-06.
#[must_use]
pub fn progress(
    token: &ProgressToken,
    progress: f64,
    total: Option<f64>,
    message: Option<&str>,
) -> Option<Bytes> {
    let progress = number(progress)?;
    Some(notification("notifications/progress", |params| {
        params.raw("progressToken", token.as_json());
        params.raw("progress", &progress);
        if let Some(total) = total.and_then(number) {
            params.raw("total", &total);
        }
        params.option("message", message);
    }))
}

/// Renders `notifications/message`, a line of the log of a request.
///
/// Source: M-LOG-02, L-LOG-04.
#[must_use]
pub fn log_message(level: LogLevel, logger: Option<&str>, data: &Value) -> Bytes {
    notification("notifications/message", |params| {
        params.value("level", level.as_str());
        params.option("logger", logger);
        params.value("data", data);
    })
}

// === Behind the handle ===

fn notification(method: &str, write: impl FnOnce(&mut Object<'_>)) -> Bytes {
    let mut out = Vec::with_capacity(ROOM);
    let mut message = Object::open(&mut out);
    message.raw("jsonrpc", r#""2.0""#);
    message.value("method", method);
    let mut params = message.object("params");
    write(&mut params);
    params.close();
    message.close();
    out.into()
}

/// Room for an ordinary notification, so that it is written without growing.
const ROOM: usize = 192;

/// Writes a whole number without a fraction, as a person would.
fn number(value: f64) -> Option<String> {
    value.is_finite().then(|| value.to_string())
}
