//! Which era a message belongs to, and what its metadata says.
//!
//! The truth table of the seeds, with R1: `pv` and `caps` are the keys
//! [`keys::PROTOCOL_VERSION`] and [`keys::CLIENT_CAPABILITIES`] of `params._meta`.
//!
//! | `pv`, `caps` | method | `MCP-Protocol-Version` | a request is |
//! |---|---|---|---|
//! | both | any, `initialize` too | any | modern |
//! | one of them | any | any | refused, -32602 |
//! | neither | `initialize` | any | legacy |
//! | neither | any other | a modern version | refused, -32602 |
//! | neither | `server/discover` | anything else | modern, without a version |
//! | neither | any other | anything else | legacy |
//!
//! Whether the version is served is not looked at here: over HTTP the header has
//! to be held against the body first (C-ERA-07). Sessions never change the era.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::capability::ClientCapabilities;
use crate::demand::{mistyped, once};
use crate::id::ProgressToken;
use crate::log_level::LogLevel;
use crate::members::Slot;
use crate::meta::keys;
use crate::params::{Params, RequestMeta};
use crate::trace::TraceContext;
use crate::wire_error::WireError;
use crate::{raw, version};

/// The two generations of the protocol that are served side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Era {
    /// 2026-07-28: no handshake, metadata on every request.
    Modern,
    /// 2025-11-25 and 2025-06-18: `initialize`, sessions.
    Legacy,
}

impl Era {
    /// Returns the lower-case word that metrics and logs use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Legacy => "legacy",
        }
    }
}

/// What the metadata of one message says.
///
/// Nothing in it comes from another message (C-ERA-06), but that whoever serves a
/// legacy session fills in what `initialize` agreed on.
#[derive(Clone, Debug)]
pub struct Context {
    /// Which rules the message is served by.
    pub era: Era,
    /// The version that a modern message names, served or not. In the legacy era
    /// the version of the header, where it is served.
    pub version: Option<Cow<'static, str>>,
    /// Who the client says it is; for display only (S-SEC-12).
    pub client_info: Option<Box<RawValue>>,
    /// What the client can do.
    pub capabilities: Option<ClientCapabilities>,
    /// The lowest level of log messages that the client wants, if it wants any.
    pub log_level: Option<LogLevel>,
    /// Names the progress of this request.
    pub progress_token: Option<ProgressToken>,
    /// The trace that the request belongs to.
    pub trace: TraceContext,
}

impl Context {
    /// Returns a context that says nothing but the era.
    #[must_use]
    pub fn new(era: Era) -> Self {
        Self {
            era,
            version: None,
            client_info: None,
            capabilities: None,
            log_level: None,
            progress_token: None,
            trace: TraceContext::default(),
        }
    }
}

/// Finds the era of a request and reads its metadata.
///
/// `header_version` is the value of `MCP-Protocol-Version` where the transport
/// has one (see [`Field::text`](crate::Field::text)).
///
/// # Errors
///
/// -32602 when only one of the era's keys is there, when both are missing under a
/// header that names a modern version (R1), when a key has the wrong type or occurs
/// twice, or when `progressToken` is neither string nor integer (R20). The message
/// names the key, never its value. Over HTTP every one of them is status 400.
///
/// Source: seeds, era page; R1, R20.
pub fn classify(
    method: &str,
    params: Option<&RawValue>,
    header_version: Option<&str>,
) -> Result<Context, WireError> {
    Params::read(params).classify(method, header_version)
}

/// Finds the era of a notification and reads its metadata.
///
/// As [`classify`], but that a notification without the era's keys under a header
/// that names a modern version is modern, not refused.
///
/// # Errors
///
/// -32602 as [`classify`], but for `progressToken`, which means nothing here. The
/// answer has no id.
///
/// Source: R1, R5.
pub fn classify_notification(
    method: &str,
    params: Option<&RawValue>,
    header_version: Option<&str>,
) -> Result<Context, WireError> {
    Params::read(params).classify_notification(method, header_version)
}

/// Checks that the version of a modern message is one that is served.
///
/// A legacy message passes, and so does a `server/discover` without a version.
///
/// # Errors
///
/// -32022 with the versions that are served and the one that was asked for.
///
/// Source: seeds, era page; M-VER-01, M-ERR-03.
pub fn check_version(context: &Context) -> Result<(), WireError> {
    match (context.era, &context.version) {
        (Era::Modern, Some(version)) if version::modern(version).is_none() => {
            Err(WireError::unsupported_version(version))
        }
        (Era::Modern | Era::Legacy, _) => Ok(()),
    }
}

impl Params<'_> {
    /// Does what [`classify`] does, for parameters that have been read.
    ///
    /// # Errors
    ///
    /// As [`classify`].
    pub fn classify(
        &self,
        method: &str,
        header_version: Option<&str>,
    ) -> Result<Context, WireError> {
        let meta = self.meta()?;
        let under_modern_header = header_version.and_then(version::modern).is_some();
        let era = match meta.era()? {
            Some(era) => era,
            None if method == "initialize" => Era::Legacy,
            None if under_modern_header => return Err(missing(keys::PROTOCOL_VERSION)),
            None if method == "server/discover" => Era::Modern,
            None => Era::Legacy,
        };
        let mut context = read(era, meta, header_version)?;
        context.progress_token = meta.progress_token()?;
        Ok(context)
    }

    /// Does what [`classify_notification`] does, for parameters that have been read.
    ///
    /// # Errors
    ///
    /// As [`classify_notification`].
    pub fn classify_notification(
        &self,
        method: &str,
        header_version: Option<&str>,
    ) -> Result<Context, WireError> {
        let meta = self.meta()?;
        let under_modern_header = header_version.and_then(version::modern).is_some();
        let era = match meta.era()? {
            Some(era) => era,
            None if under_modern_header || method == "server/discover" => Era::Modern,
            None => Era::Legacy,
        };
        read(era, meta, header_version)
    }
}

// === Behind the handle ===

fn read(
    era: Era,
    meta: &RequestMeta<'_>,
    header_version: Option<&str>,
) -> Result<Context, WireError> {
    let mut context = Context::new(era);
    context.trace = meta.trace();
    match era {
        Era::Modern => {
            context.version = meta.version()?;
            context.capabilities = meta.capabilities()?;
            context.client_info = meta.client_info()?;
            context.log_level = meta.log_level()?;
        }
        Era::Legacy => {
            context.version = header_version.and_then(version::legacy).map(Cow::Borrowed);
        }
    }
    Ok(context)
}

impl<'a> RequestMeta<'a> {
    /// What the two keys say about the era; nothing when both are missing.
    fn era(&self) -> Result<Option<Era>, WireError> {
        match (self.version.is_absent(), self.capabilities.is_absent()) {
            (false, false) => Ok(Some(Era::Modern)),
            (false, true) => Err(missing(keys::CLIENT_CAPABILITIES)),
            (true, false) => Err(missing(keys::PROTOCOL_VERSION)),
            (true, true) => Ok(None),
        }
    }

    fn version(&self) -> Result<Option<Cow<'static, str>>, WireError> {
        let Some(raw) = once(self.version, keys::PROTOCOL_VERSION)? else {
            return Ok(None);
        };
        let Some(text) = raw::string(raw) else {
            return Err(mistyped(keys::PROTOCOL_VERSION, "a string"));
        };
        Ok(Some(match version::modern(&text) {
            Some(known) => Cow::Borrowed(known),
            None => Cow::Owned(text.into_owned()),
        }))
    }

    fn capabilities(&self) -> Result<Option<ClientCapabilities>, WireError> {
        let Some(raw) = once(self.capabilities, keys::CLIENT_CAPABILITIES)? else {
            return Ok(None);
        };
        match ClientCapabilities::from_raw(raw) {
            Some(capabilities) => Ok(Some(capabilities)),
            None => Err(mistyped(keys::CLIENT_CAPABILITIES, "an object")),
        }
    }

    fn client_info(&self) -> Result<Option<Box<RawValue>>, WireError> {
        match once(self.client_info, keys::CLIENT_INFO)? {
            Some(raw) if raw::is_object(raw) => Ok(Some(raw.to_owned())),
            Some(_) => Err(mistyped(keys::CLIENT_INFO, "an object")),
            None => Ok(None),
        }
    }

    fn log_level(&self) -> Result<Option<LogLevel>, WireError> {
        let Some(raw) = once(self.log_level, keys::LOG_LEVEL)? else {
            return Ok(None);
        };
        match raw::string(raw).as_deref().and_then(LogLevel::parse) {
            Some(level) => Ok(Some(level)),
            None => Err(mistyped(keys::LOG_LEVEL, "a logging level")),
        }
    }

    fn progress_token(&self) -> Result<Option<ProgressToken>, WireError> {
        let Some(raw) = once(self.progress_token, keys::PROGRESS_TOKEN)? else {
            return Ok(None);
        };
        match ProgressToken::from_raw(raw) {
            Ok(token) => Ok(Some(token)),
            Err(_) => Err(mistyped(keys::PROGRESS_TOKEN, "a string or an integer")),
        }
    }

    fn trace(&self) -> TraceContext {
        let keep = |slot: Slot<'a>, well_formed: fn(&str) -> Option<&str>| {
            let text = slot.one().and_then(raw::string)?;
            well_formed(&text).map(Box::from)
        };
        TraceContext {
            traceparent: keep(self.traceparent, crate::trace::traceparent),
            tracestate: keep(self.tracestate, crate::trace::trace_list),
            baggage: keep(self.baggage, crate::trace::trace_list),
        }
    }
}

fn missing(key: &str) -> WireError {
    WireError::invalid_params(format!("`_meta` has to contain `{key}`"))
}

#[cfg(test)]
mod tests;
