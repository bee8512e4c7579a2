//! Errors.

use conduit_protocol::{Code, Era, Reference, WireError, error, error_with_null_id};
use serde_json::json;

use crate::sample::id;
use crate::{faults, fits, json_of, versions};

fn errors() -> Vec<WireError> {
    vec![
        WireError::parse_error(),
        WireError::invalid_request("x"),
        WireError::method_not_found("foo/bar"),
        WireError::invalid_params("x"),
        WireError::internal(),
        WireError::input_not_possible(),
        WireError::task_not_possible(),
        WireError::bad_request_state(),
        WireError::tasks_undeclared(),
        WireError::unknown_task("t"),
        WireError::header_mismatch("x"),
        WireError::missing_capability("x", &json!({"elicitation": {}})),
        WireError::unsupported_version("v999.0.0"),
        WireError::unknown_tool("x"),
        WireError::unknown_prompt("x"),
        WireError::unknown_reference(&Reference::Resource("mem://{id}".into())),
        WireError::resource_not_found(Era::Modern, "mem://zz"),
        WireError::resource_not_found(Era::Legacy, "mem://zz"),
        WireError::refused(503, "x").with_retry_after(std::time::Duration::from_secs(1)),
        WireError::new(Code(1234), "m").with_data(&json!([1])),
    ]
}

#[test]
fn errors_with_an_id_fit_each_version() {
    for (_, version) in versions() {
        for refusal in errors() {
            let message = json_of(error(Some(&id()), &refusal));
            let envelope = match version {
                "2025-06-18" => "JSONRPCError",
                _ => "JSONRPCErrorResponse",
            };
            fits(version, "JSONRPCMessage", &message);
            fits(version, envelope, &message);
        }
    }
}

#[test]
fn errors_without_an_id_fit_every_version_but_2025_06_18() {
    for refusal in errors() {
        let message = json_of(error(None, &refusal));
        for version in ["2025-11-25", "2026-07-28"] {
            fits(version, "JSONRPCErrorResponse", &message);
        }
        assert!(!faults("2025-06-18", "JSONRPCError", &message).is_empty());
    }
}

#[test]
fn a_refused_cancellation_fits_no_version() {
    let message = json_of(error_with_null_id(&WireError::invalid_params("x")));

    for version in ["2025-11-25", "2026-07-28"] {
        assert!(!faults(version, "JSONRPCErrorResponse", &message).is_empty());
    }
}

#[test]
fn modern_errors_fit_their_own_definitions() {
    for (definition, refusal) in [
        ("HeaderMismatchError", WireError::header_mismatch("x")),
        (
            "MissingRequiredClientCapabilityError",
            WireError::missing_capability("x", &json!({"elicitation": {"url": {}}})),
        ),
        (
            "UnsupportedProtocolVersionError",
            WireError::unsupported_version("v999.0.0"),
        ),
    ] {
        fits(
            "2026-07-28",
            definition,
            &json_of(error(Some(&id()), &refusal)),
        );
    }
}

#[test]
fn a_resource_that_is_not_found_fits_its_own_definition() {
    let refusal = WireError::resource_not_found(Era::Modern, "mem://zz");
    let message = json_of(error(Some(&id()), &refusal));

    fits("2026-07-28", "InvalidParamsError", &message["error"]);
}
