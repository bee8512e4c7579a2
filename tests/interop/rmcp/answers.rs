//! What the client can be asked for, and how it answers.

use std::collections::VecDeque;

use rmcp::model::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ExtensionCapabilities,
    FormElicitationCapability, JsonObject, ListRootsResult, Root, RootsCapabilities,
    SamplingCapability, SamplingMessage, TASKS_EXTENSION_ID, UrlElicitationCapability,
};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// What the client says that it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Can {
    /// Nothing but call.
    Nothing,
    /// Answer whatever it is asked.
    Answer,
    /// That, and follow tasks.
    FollowTasks,
}

/// How the client answers, and what it was asked.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    elicited: Mutex<VecDeque<ElicitResult>>,
    asked: Mutex<Vec<Value>>,
}

impl Can {
    pub(crate) fn capabilities(self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        if self == Self::Nothing {
            return capabilities;
        }
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        capabilities.elicitation = Some(elicitation);
        capabilities.sampling = Some(SamplingCapability::default());
        capabilities.roots = Some(RootsCapabilities::default());
        if self == Self::FollowTasks {
            let tasks = (TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
            capabilities.extensions = Some(ExtensionCapabilities::from([tasks]));
        }
        capabilities
    }
}

impl Answers {
    /// Says what the next forms and pages are answered with, in turn.
    pub(crate) async fn prepare(&self, answers: impl IntoIterator<Item = ElicitResult>) {
        self.asked.lock().await.clear();
        *self.elicited.lock().await = answers.into_iter().collect();
    }

    /// Returns what was asked since then.
    pub(crate) async fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut *self.asked.lock().await)
    }

    pub(crate) async fn elicit(&self, params: &ElicitRequestParams) -> ElicitResult {
        self.note(json!(params)).await;
        let answer = self.elicited.lock().await.pop_front();
        answer.expect("a prepared answer")
    }

    pub(crate) async fn sample(&self, params: &CreateMessageRequestParams) -> CreateMessageResult {
        self.note(json!(params)).await;
        let message = SamplingMessage::assistant_text("Something.");
        CreateMessageResult::new(message, "m".to_owned()).with_stop_reason("endTurn")
    }

    pub(crate) async fn roots(&self) -> ListRootsResult {
        self.note(Value::Null).await;
        ListRootsResult::new(["file:///a", "file:///b"].map(Root::new).to_vec())
    }

    async fn note(&self, params: Value) {
        self.asked.lock().await.push(params);
    }
}

pub(crate) fn accept(content: Value) -> ElicitResult {
    ElicitResult::new(ElicitationAction::Accept).with_content(content)
}

pub(crate) fn refuse(action: ElicitationAction) -> ElicitResult {
    ElicitResult::new(action)
}
