//! Notifications to clients.

use conduit_protocol::{
    Era, Filter, ListKind, LogLevel, ProgressToken, RequestId, acknowledged, list_changed,
    log_message, progress, resource_updated,
};
use serde_json::{Value, json};

use crate::sample::id;
use crate::{fits_notification, versions};

#[test]
fn notifications_of_a_request_fit_each_version() {
    for (_, version) in versions() {
        for token in ["7", "\"p\""] {
            let token = ProgressToken::from_json(token).expect("a token");
            let bytes = progress(&token, 0.5, Some(2.0), Some("half")).expect("a number");
            fits_notification(version, "ProgressNotification", &bytes);
        }
        for level in LogLevel::ALL {
            let bytes = log_message(level, Some("x"), &json!({"a": [1]}));
            fits_notification(version, "LoggingMessageNotification", &bytes);
        }
    }
}

#[test]
fn notifications_of_changes_fit_each_version() {
    for (era, version) in versions() {
        let stream = (era == Era::Modern).then(id);
        for (kind, definition) in [
            (ListKind::Tools, "ToolListChangedNotification"),
            (ListKind::Prompts, "PromptListChangedNotification"),
            (ListKind::Resources, "ResourceListChangedNotification"),
        ] {
            let bytes = list_changed(kind, stream.as_ref());
            fits_notification(version, definition, &bytes);
        }
        let bytes = resource_updated("mem://a", stream.as_ref());
        fits_notification(version, "ResourceUpdatedNotification", &bytes);
    }
}

#[test]
fn a_stream_is_named_with_the_type_of_its_request_id() {
    for text in ["7", "\"s1\""] {
        let id = RequestId::from_json(text).expect("an id");
        let bytes = list_changed(ListKind::Tools, Some(&id));
        let message: Value = serde_json::from_slice(&bytes).expect("valid JSON");
        let named = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(named.to_string(), text);
    }
}

#[test]
fn an_acknowledgement_fits() {
    let everything = Filter {
        tools: true,
        prompts: true,
        resources: true,
        resource_uris: vec!["mem://a".into()],
        task_ids: Some(vec!["t".into()]),
    };
    for honoured in [everything, Filter::default()] {
        let bytes = acknowledged(&id(), &honoured);
        fits_notification(
            "2026-07-28",
            "SubscriptionsAcknowledgedNotification",
            &bytes,
        );
    }
}
