//! Results of requests.

use conduit_protocol::{
    CacheHints, CacheScope, Completion, Era, LEGACY_VERSIONS, Outcome, PromptMessage, PromptResult,
    ReadResult, ResourceContents, Shaped, ToolResult,
};
use serde_json::json;

use crate::sample::{blocks, face, id, meta};
use crate::{fits, fits_result, json_of, versions};

#[test]
fn a_discover_fits() {
    fits_result("2026-07-28", "DiscoverResult", face().discover(&id()));
    fits(
        "2026-07-28",
        "DiscoverResultResponse",
        &json_of(face().discover(&id())),
    );
}

#[test]
fn an_initialize_fits_each_legacy_version() {
    for version in LEGACY_VERSIONS {
        fits_result(
            version,
            "InitializeResult",
            face().initialize(&id(), version),
        );
    }
}

#[test]
fn an_empty_result_fits_each_version() {
    for (era, version) in versions() {
        fits_result(version, "EmptyResult", face().empty(era, &id()));
    }
}

#[test]
fn a_call_with_every_kind_of_block_fits_each_version() {
    let result = ToolResult {
        content: blocks(),
        structured_content: Some(json!({"sum": 3})),
        is_error: false,
        meta: Some(meta()),
    };
    for (era, version) in versions() {
        fits_result(version, "CallToolResult", face().call(era, &id(), &result));
    }
}

#[test]
fn a_call_with_values_of_any_type_fits_each_version() {
    for value in [json!(3), json!(null), json!([1, "a"]), json!({"a": {}})] {
        let result = ToolResult::structured(value);
        for (era, version) in versions() {
            fits_result(version, "CallToolResult", face().call(era, &id(), &result));
        }
    }
}

#[test]
fn a_failure_and_an_empty_answer_fit_each_version() {
    for result in [ToolResult::failure("no"), ToolResult::default()] {
        for (era, version) in versions() {
            fits_result(version, "CallToolResult", face().call(era, &id(), &result));
        }
    }
}

#[track_caller]
fn fits_each_version<T: Shaped>(definition: &str, result: T) {
    let outcome = Outcome::from(result);
    for (era, version) in versions() {
        let rendered = face().outcome(era, &id(), &outcome);
        if era == Era::Modern {
            let response = format!("{definition}Response");
            fits(version, &response, &json_of(rendered.clone()));
        }
        fits_result(version, definition, rendered);
    }
}

#[test]
fn a_read_fits_each_version() {
    fits_each_version("ReadResourceResult", ReadResult::text("mem://a", "hello"));
    fits_each_version("ReadResourceResult", ReadResult::blob("mem://a", b"hello"));
    fits_each_version(
        "ReadResourceResult",
        ReadResult {
            contents: vec![
                ResourceContents::text("mem://a", "").with_mime_type("text/plain"),
                ResourceContents::Blob {
                    uri: "mem://b".into(),
                    blob: String::new(),
                    mime_type: Some("application/octet-stream".into()),
                    meta: Some(meta()),
                },
            ],
            cache: Some(CacheHints {
                ttl_ms: 5000,
                scope: CacheScope::Public,
            }),
            meta: Some(meta()),
        },
    );
}

#[test]
fn a_prompt_with_every_kind_of_block_fits_each_version() {
    fits_each_version("GetPromptResult", PromptResult::text("Hi"));
    fits_each_version(
        "GetPromptResult",
        PromptResult {
            description: Some("Greets somebody.".into()),
            messages: blocks()
                .into_iter()
                .flat_map(|block| {
                    let other = block.clone();
                    [PromptMessage::user(block), PromptMessage::assistant(other)]
                })
                .collect(),
            meta: Some(meta()),
        },
    );
}

#[test]
fn a_completion_of_any_length_fits_each_version() {
    for count in [0, 1, 100, 101, 1000] {
        let completion = Completion::new(vec!["Ada".into(); count]);
        fits_each_version("CompleteResult", completion);
    }
    let known = Completion {
        total: Some(7),
        has_more: true,
        ..Completion::new(vec!["Ada".into()])
    };
    fits_each_version("CompleteResult", known);
}

#[test]
fn the_end_of_a_listen_stream_fits() {
    let rendered = face().listen_end(&id());

    fits(
        "2026-07-28",
        "SubscriptionsListenResultResponse",
        &json_of(rendered.clone()),
    );
    fits_result("2026-07-28", "SubscriptionsListenResult", rendered);
}
