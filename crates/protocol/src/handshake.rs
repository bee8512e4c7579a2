//! `initialize`: who the client is and what it speaks. Legacy only.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::capability::ClientCapabilities;
use crate::wire_error::WireError;
use crate::{members, raw};

/// The parameters of `initialize`:
/// `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`.
///
/// Source: L-INIT-01.
#[derive(Debug)]
pub struct InitializeParams<'a> {
    /// The version that the client asks for; see [`negotiate`](crate::negotiate).
    pub protocol_version: Cow<'a, str>,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Who the client says it is, an object; for display only.
    pub client_info: &'a RawValue,
}

impl<'a> InitializeParams<'a> {
    /// Reads the parameters of `initialize`.
    ///
    /// # Errors
    ///
    /// -32602 when a member is missing, has the wrong type or occurs twice. A
    /// version that is not served is no error (L-INIT-03, R11).
    pub fn parse(params: Option<&'a RawValue>) -> Result<Self, WireError> {
        let params = params.map_or("{}", RawValue::get);
        let names = ["protocolVersion", "capabilities", "clientInfo"];
        let Ok([version, capabilities, info]) = members::read(params, &names) else {
            return Err(WireError::invalid_params("`params` has to be an object"));
        };
        let Some(protocol_version) = version.one().and_then(raw::string) else {
            return Err(WireError::invalid_params(
                "`params.protocolVersion` has to be a string",
            ));
        };
        let Some(capabilities) = capabilities.one().and_then(ClientCapabilities::from_raw) else {
            return Err(WireError::invalid_params(
                "`params.capabilities` has to be an object",
            ));
        };
        let Some(client_info) = info.one().filter(|info| raw::is_object(info)) else {
            return Err(WireError::invalid_params(
                "`params.clientInfo` has to be an object",
            ));
        };
        Ok(Self {
            protocol_version,
            capabilities,
            client_info,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_error::Code;

    fn parse(text: &str) -> Result<InitializeParams<'_>, WireError> {
        InitializeParams::parse(Some(serde_json::from_str(text).expect("valid JSON")))
    }

    #[test]
    fn capabilities_that_nobody_knows_are_kept() {
        let params = parse(
            r#"{"protocolVersion":"2031-01-01","capabilities":{"novel":{"a":1}},"clientInfo":{"name":"c","version":"1"}}"#,
        )
        .expect("parameters");

        assert_eq!(params.protocol_version, "2031-01-01");
        assert_eq!(params.capabilities.as_json(), r#"{"novel":{"a":1}}"#);
        assert_eq!(params.client_info.get(), r#"{"name":"c","version":"1"}"#);
    }

    #[test]
    fn a_member_that_is_missing_or_of_the_wrong_type_is_refused() {
        for text in [
            "{}",
            r#"{"protocolVersion":1,"capabilities":{},"clientInfo":{}}"#,
            r#"{"protocolVersion":"1","capabilities":[],"clientInfo":{}}"#,
            r#"{"protocolVersion":"1","capabilities":{},"clientInfo":"c"}"#,
            r#"{"protocolVersion":"1","capabilities":{}}"#,
            r#"{"protocolVersion":"1","protocolVersion":"2","capabilities":{},"clientInfo":{}}"#,
        ] {
            let error = parse(text).expect_err("a refusal");
            assert_eq!(error.code, Code::INVALID_PARAMS, "{text}");
        }
        assert!(InitializeParams::parse(None).is_err());
    }
}
