//! The keys of `_meta` that say how a message is to be served.

use crate::members::Slot;
use crate::meta::keys;

/// The keys of `_meta` that we read, each as it was written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestMeta<'a> {
    pub(crate) version: Slot<'a>,
    pub(crate) capabilities: Slot<'a>,
    pub(crate) client_info: Slot<'a>,
    pub(crate) log_level: Slot<'a>,
    pub(crate) progress_token: Slot<'a>,
    pub(crate) traceparent: Slot<'a>,
    pub(crate) tracestate: Slot<'a>,
    pub(crate) baggage: Slot<'a>,
}

impl RequestMeta<'_> {
    /// The keys, in the order of the fields.
    pub(super) const KEYS: [&'static str; 8] = [
        keys::PROTOCOL_VERSION,
        keys::CLIENT_CAPABILITIES,
        keys::CLIENT_INFO,
        keys::LOG_LEVEL,
        keys::PROGRESS_TOKEN,
        keys::TRACEPARENT,
        keys::TRACESTATE,
        keys::BAGGAGE,
    ];
}

impl<'a> From<[Slot<'a>; 8]> for RequestMeta<'a> {
    fn from(slots: [Slot<'a>; 8]) -> Self {
        let [
            version,
            capabilities,
            client_info,
            log_level,
            progress_token,
            traceparent,
            tracestate,
            baggage,
        ] = slots;
        Self {
            version,
            capabilities,
            client_info,
            log_level,
            progress_token,
            traceparent,
            tracestate,
            baggage,
        }
    }
}
