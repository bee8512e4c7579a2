//! Notifications to clients. They look the same in both eras.

use bytes::Bytes;
use serde_json::Value;

use crate::id::{ProgressToken, RequestId};
use crate::listen::Filter;
use crate::log_level::LogLevel;
use crate::meta::keys;
use crate::shape::json::Object;

/// A list that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListKind {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list` and `resources/templates/list`.
    Resources,
}

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

/// Renders `notifications/subscriptions/acknowledged`, the first message of the
/// listen stream that the request `subscription` opened. Modern only.
///
/// Source: M-SUB-03, M-SUB-04.
#[must_use]
pub fn acknowledged(subscription: &RequestId, honoured: &Filter) -> Bytes {
    notification("notifications/subscriptions/acknowledged", |params| {
        params.value("notifications", honoured);
        told_by(params, subscription);
    })
}

/// Renders `notifications/…/list_changed`, for the listen stream that the request
/// `subscription` opened, or for a legacy session.
///
/// Source: M-SUB-06, M-SUB-07, L-S2C-04.
#[must_use]
pub fn list_changed(kind: ListKind, subscription: Option<&RequestId>) -> Bytes {
    ChangeNotice::list_changed(kind).told_to(subscription)
}

/// Renders `notifications/resources/updated`, for the listen stream that the request
/// `subscription` opened, or for a legacy session.
///
/// Source: M-SUB-06, M-SUB-07, L-RES-05.
#[must_use]
pub fn resource_updated(uri: &str, subscription: Option<&RequestId>) -> Bytes {
    ChangeNotice::resource_updated(uri).told_to(subscription)
}

/// A change of a list or of a resource, rendered once for everybody who is told of it.
/// Cloning is cheap.
///
/// Source: M-SUB-06, M-SUB-07.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeNotice {
    /// As it is told in a legacy session.
    whole: Bytes,
    /// What stands before the id of a listen stream, where it is told on one.
    head: Bytes,
}

impl ChangeNotice {
    /// Renders `notifications/…/list_changed`.
    #[must_use]
    pub fn list_changed(kind: ListKind) -> Self {
        let method = match kind {
            ListKind::Tools => "notifications/tools/list_changed",
            ListKind::Prompts => "notifications/prompts/list_changed",
            ListKind::Resources => "notifications/resources/list_changed",
        };
        let whole = message(method, |_message| {});
        Self::of(whole, method, |_params| {})
    }

    /// Renders `notifications/resources/updated`.
    #[must_use]
    pub fn resource_updated(uri: &str) -> Self {
        let method = "notifications/resources/updated";
        let whole = notification(method, |params| params.value("uri", uri));
        Self::of(whole, method, |params| params.value("uri", uri))
    }

    /// Tells it on the listen stream that the request `subscription` opened, or in a
    /// legacy session: there all get the same bytes.
    #[must_use]
    pub fn told_to(&self, subscription: Option<&RequestId>) -> Bytes {
        match subscription {
            Some(subscription) => {
                let id = subscription.as_json().as_bytes();
                [&*self.head, id, AFTER_ID].concat().into()
            }
            None => self.whole.clone(),
        }
    }

    fn of(whole: Bytes, method: &str, write: impl FnOnce(&mut Object<'_>)) -> Self {
        let mut head = notification(method, |params| {
            write(params);
            let mut meta = params.object("_meta");
            meta.raw(keys::SUBSCRIPTION_ID, "");
            meta.close();
        });
        head.truncate(head.len() - AFTER_ID.len());
        Self { whole, head }
    }
}

// === Behind the handle ===

pub(super) fn notification(method: &str, write: impl FnOnce(&mut Object<'_>)) -> Bytes {
    message(method, |message| {
        let mut params = message.object("params");
        write(&mut params);
        params.close();
    })
}

fn message(method: &str, write: impl FnOnce(&mut Object<'_>)) -> Bytes {
    let mut out = Vec::with_capacity(ROOM);
    let mut message = Object::open(&mut out);
    message.raw("jsonrpc", r#""2.0""#);
    message.value("method", method);
    write(&mut message);
    message.close();
    out.into()
}

/// What closes a notification behind the id of the stream that tells it.
const AFTER_ID: &[u8] = b"}}}";

/// Says which stream tells (M-SUB-07).
fn told_by(params: &mut Object<'_>, subscription: &RequestId) {
    let mut meta = params.object("_meta");
    meta.raw(keys::SUBSCRIPTION_ID, subscription.as_json());
    meta.close();
}

/// Room for an ordinary notification, so that it is written without growing.
const ROOM: usize = 192;

/// Writes a whole number without a fraction, as a person would.
fn number(value: f64) -> Option<String> {
    value.is_finite().then(|| value.to_string())
}
