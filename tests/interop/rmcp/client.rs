//! The SDK's client: how it connects, in each mode, and what it is told on the way.

use std::process::Stdio;
use std::sync::Arc;

use conduit_testkit::{PATIENCE, Tree, binary};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, CreateMessageRequestParams,
    CreateMessageResult, ElicitRequestParams, ElicitResult, ErrorData, Implementation,
    ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion,
    ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::answers::{Answers, Can};

/// How the client and the server agree on a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Modern,
    Auto,
    Legacy,
}

/// Where the server is.
#[derive(Debug)]
pub(crate) enum Place<'a> {
    Http(&'a Tree),
    Pipe,
}

/// A connected client, and the server at the other end of its pipe.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) service: RunningService<RoleClient, Listener>,
    pub(crate) mode: Mode,
    server: Option<Child>,
}

/// Something that a client is told without having asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    Progress(f64),
    Logged(Value),
    Updated(String),
    ToolsChanged,
    PromptsChanged,
}

/// Remembers what it is told, and answers what it is asked.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    can: Can,
    told: Arc<Mutex<Vec<Told>>>,
    answers: Arc<Answers>,
}

impl Mode {
    pub(crate) fn version(self) -> ProtocolVersion {
        match self {
            Self::Modern | Self::Auto => ProtocolVersion::V_2026_07_28,
            Self::Legacy => ProtocolVersion::V_2025_11_25,
        }
    }

    fn lifecycle(self) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self {
            Self::Modern => ClientLifecycleMode::Discover { preferred_versions },
            Self::Auto => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: None,
            },
            Self::Legacy => ClientLifecycleMode::Initialize,
        }
    }
}

impl Client {
    pub(crate) async fn connect(place: &Place<'_>, mode: Mode) -> Self {
        Self::connect_as(place, mode, Can::Answer).await
    }

    pub(crate) async fn connect_as(place: &Place<'_>, mode: Mode, can: Can) -> Self {
        let listener = Listener {
            can,
            told: Arc::default(),
            answers: Arc::default(),
        };
        let lifecycle = mode.lifecycle();
        let (service, server) = match place {
            Place::Http(tree) => {
                let url = format!("http://{}/mcp", tree.endpoint());
                let transport = StreamableHttpClientTransport::from_uri(url);
                let connecting = listener.serve_with_lifecycle(transport, lifecycle);
                (timeout(PATIENCE, connecting).await, None)
            }
            Place::Pipe => {
                let mut server = Command::new(binary("conformance-server"))
                    .arg("stdio")
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .kill_on_drop(true)
                    .spawn()
                    .expect("a server");
                let input = server.stdin.take().expect("its input");
                let output = server.stdout.take().expect("its output");
                let connecting = listener.serve_with_lifecycle((output, input), lifecycle);
                (timeout(PATIENCE, connecting).await, Some(server))
            }
        };
        Self {
            service: service.expect("in time").expect("a connection"),
            mode,
            server,
        }
    }

    /// Calls a tool, which is expected to answer, with success or without.
    pub(crate) async fn call(&self, tool: &'static str, arguments: Value) -> CallToolResult {
        self.call_with(params(tool, &arguments)).await
    }

    pub(crate) async fn call_with(&self, params: CallToolRequestParams) -> CallToolResult {
        let tool = params.name.clone();
        let answer = timeout(PATIENCE, self.service.call_tool(params))
            .await
            .expect("in time");
        answer.unwrap_or_else(|problem| panic!("calling {tool}: {problem}"))
    }

    /// Returns what it has been told since the last question.
    pub(crate) async fn told(&self) -> Vec<Told> {
        let listener = self.service.service();
        std::mem::take(&mut *listener.told.lock().await)
    }

    /// How it answers what it is asked.
    pub(crate) fn answers(&self) -> &Answers {
        &self.service.service().answers
    }

    /// Closes the connection, and waits for a server that has no other.
    pub(crate) async fn end(self) {
        self.service.cancel().await.expect("a clean end");
        if let Some(mut server) = self.server {
            let status = timeout(PATIENCE, server.wait()).await.expect("in time");
            assert!(status.expect("a status").success());
        }
    }
}

impl Listener {
    async fn hear(&self, told: Told) {
        self.told.lock().await.push(told);
    }
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(self.can.capabilities(), Implementation::new("tour", "1"))
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.answers.elicit(&params).await)
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Ok(self.answers.sample(&params).await)
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.answers.roots().await)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.hear(Told::Progress(params.progress)).await;
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.hear(Told::Logged(params.data)).await;
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.hear(Told::Updated(params.uri)).await;
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.hear(Told::ToolsChanged).await;
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.hear(Told::PromptsChanged).await;
    }
}

pub(crate) fn params(tool: &'static str, arguments: &Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().expect("an object").clone();
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

pub(crate) fn text(result: &CallToolResult) -> &str {
    let first = result.content.first().expect("a content block");
    &first.as_text().expect("a text").text
}

/// Returns the error that an answer has to be.
#[track_caller]
pub(crate) fn refusal<T: std::fmt::Debug>(answer: Result<T, ServiceError>) -> ErrorData {
    match answer {
        Err(ServiceError::McpError(error)) => error,
        other => panic!("no error but {other:?}"),
    }
}
