//! Client of an MCP server, over streamable HTTP or the standard input and output of a program.
//!
//! The connection is opened on first use and reopened when it is found closed; a call is made once and never retried. A
//! program is started per task, sees only the variables it needs, and ends with the task. This client offers nothing to
//! the server: no sampling, no roots, no elicitation.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use motorium_kit::http_client;
use motorium_messages::{Language, Message};
use motorium_proto::domain::decision::FunctionDeclaration;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, PaginatedRequestParams, ProtocolVersion, ServerResult, Tool as McpTool,
    ToolAnnotations,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RequestHandle,
    RunningService, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::TokioChildProcess;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::Command;
use tokio_util::task::TaskTracker;

use super::call::{ToolCall, ToolError};
use super::catalog::{DeclaredFunction, MAX_FUNCTIONS};
use super::outcome::{self, FunctionOutcome};
use super::settings::{Tool, ToolEndpoint};

/// Maximum size of a response in bytes; larger ones are rejected before they are read.
// Far above what a model is shown of a result (`MAX_RESULT_BYTES`), so only runaway responses hit it.
const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;
/// Time limit for delivering cancellations and for stopping the server when a task ends.
// Runs in the background, so it delays no task; a program that hangs is killed after it.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Environment variables that a server's program inherits.
const INHERITED_VARIABLES: [&str; 10] = [
    "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
];
/// The last line that a program wrote to standard error, shown when the connection fails.
type LastStderrLine = Arc<Mutex<String>>;
type McpConnection = RunningService<RoleClient, ClientConfig>;

/// Client of an MCP server.
#[derive(Debug)]
pub(super) struct McpServer {
    tool: Tool,
    /// Language of the messages about the server and its calls.
    language: Language,
    connection: tokio::sync::Mutex<Option<McpConnection>>,
    /// Cancellations that are being delivered.
    cancellations: TaskTracker,
}

impl McpServer {
    pub(super) fn new(tool: &Tool, language: Language) -> Self {
        Self {
            tool: tool.clone(),
            language,
            connection: tokio::sync::Mutex::new(None),
            cancellations: TaskTracker::new(),
        }
    }

    pub(super) async fn list(&self) -> Result<Vec<DeclaredFunction>, ToolError> {
        let peer = self.peer().await?;
        let mut functions = Vec::new();
        let mut cursor = None;
        loop {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = peer.list_tools(Some(page)).await;
            let page = page.map_err(|error| list_error(&error, self.language))?;
            functions.extend(page.tools.into_iter().map(declared));
            if functions.len() > MAX_FUNCTIONS {
                let max = MAX_FUNCTIONS;
                let problem = Message::ToolTooManyFunctions { max }.text(self.language);
                return Err(ToolError::Unusable(problem));
            }
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(functions),
            }
        }
    }

    pub(super) async fn call(&self, call: &ToolCall) -> FunctionOutcome {
        let peer = self.peer().await;
        let peer = peer.map_err(|error| {
            let problem = &error.to_string();
            Message::ToolUnreachable { problem }.text(self.language)
        })?;
        let params =
            CallToolRequestParams::new(call.name.clone()).with_arguments(call.arguments.clone());
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = peer
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await;
        let mut pending = match sent {
            Ok(handle) => PendingRequest {
                handle: Some(handle),
                leaving: self.cancellations.clone(),
            },
            Err(error) => return Err(call_error(&error, self.language)),
        };
        match pending.answer().await {
            Ok(ServerResult::CallToolResult(result)) => outcome::from_mcp(result, self.language),
            Ok(ServerResult::EmptyResult(_)) => Ok("null".to_owned()),
            Ok(_) => Err(Message::ToolRequestsUnsupported.text(self.language)),
            Err(error) => Err(call_error(&error, self.language)),
        }
    }

    /// Returns the peer of an open connection, connecting if necessary.
    async fn peer(&self) -> Result<Peer<RoleClient>, ToolError> {
        let mut connection = self.connection.lock().await;
        if let Some(open) = connection.as_ref()
            && !open.is_closed()
            && !open.peer().is_transport_closed()
        {
            return Ok(open.peer().clone());
        }
        // Boxed: the handshake's future is large, and every caller would carry it.
        let made = Box::pin(connect(&self.tool, self.language)).await?;
        let peer = made.peer().clone();
        *connection = Some(made);
        Ok(peer)
    }
}

impl Drop for McpServer {
    /// Closes the connection in the background, so that the end of a task does not wait for its servers.
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.get_mut().take() else {
            return;
        };
        let leaving = self.cancellations.clone();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            leaving.close();
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, leaving.wait()).await;
            let _ = connection.close_with_timeout(SHUTDOWN_TIMEOUT).await;
        });
    }
}

/// A pending request that is cancelled at the server when dropped.
struct PendingRequest {
    handle: Option<RequestHandle<RoleClient>>,
    leaving: TaskTracker,
}

impl PendingRequest {
    async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.handle else {
            return Err(ServiceError::TransportClosed);
        };
        let answer = (&mut handle.rx).await;
        self.handle = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            let cancelling = handle.cancel(Some("the caller no longer waits for it".to_owned()));
            self.leaving.spawn(async move {
                if let Err(error) = cancelling.await {
                    tracing::debug!(%error, "a cancellation could not be delivered");
                }
            });
        }
    }
}

async fn connect(tool: &Tool, language: Language) -> Result<McpConnection, ToolError> {
    match &tool.endpoint {
        ToolEndpoint::Command(command) => start_program(command, tool, language).await,
        ToolEndpoint::Mcp(uri) | ToolEndpoint::Service(uri) => {
            connect_http(uri, tool, language).await
        }
    }
}

async fn connect_http(
    uri: &str,
    tool: &Tool,
    language: Language,
) -> Result<McpConnection, ToolError> {
    let client = if uri.starts_with("https://") {
        http_client::with_root_certificates(tool.ca_file.as_deref())
    } else {
        http_client::plaintext()
    };
    let unusable = |error: &dyn std::error::Error| ToolError::Unusable(error.to_string());
    let client = client.map_err(|error| unusable(&error))?;
    let client = client.build().map_err(|error| unusable(&error))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(uri)
        .max_sse_event_size(MAX_RESPONSE_BYTES)
        .max_json_response_size(MAX_RESPONSE_BYTES);
    if let Some(token) = &tool.token {
        config = config.auth_header(token.expose());
    }
    let transport = StreamableHttpClientTransport::with_client(client, config);
    let connected = Box::pin(serve_client_with_lifecycle(
        client_config(),
        transport,
        lifecycle(),
    ))
    .await;
    connected.map_err(|error| not_connected(uri, &error, None, language))
}

async fn start_program(
    command: &[String],
    tool: &Tool,
    language: Language,
) -> Result<McpConnection, ToolError> {
    let Some((program, arguments)) = command.split_first() else {
        let problem = Message::ToolCommandEmpty.text(language);
        return Err(ToolError::Unusable(problem));
    };
    let mut child = Command::new(program);
    child.args(arguments).env_clear().kill_on_drop(true);
    child.envs(INHERITED_VARIABLES.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        Some((name, value))
    }));
    child.envs(
        tool.environment
            .iter()
            .map(|(name, value)| (name, value.expose())),
    );
    let spawned = TokioChildProcess::builder(child)
        .stderr(Stdio::piped())
        .spawn();
    let (transport, stderr) = spawned.map_err(|error| {
        let problem = &error.to_string();
        ToolError::Unusable(Message::ToolNotStarted { program, problem }.text(language))
    })?;
    let last_words = LastStderrLine::default();
    if let Some(stderr) = stderr {
        tokio::spawn(forward_stderr(
            tool.label.clone(),
            stderr,
            last_words.clone(),
        ));
    }
    let connected = Box::pin(serve_client_with_lifecycle(
        client_config(),
        transport,
        lifecycle(),
    ))
    .await;
    connected.map_err(|error| not_connected(program, &error, Some(&last_words), language))
}

/// Forwards a program's standard error to the log.
async fn forward_stderr(tool: String, stderr: impl AsyncRead + Unpin, last_words: LastStderrLine) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        tracing::debug!(tool, line, "tool stderr");
        *last_words.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }
}

/// Returns the client information sent to servers.
fn client_config() -> ClientConfig {
    let name = Implementation::new("motorium", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), name)
}

/// Servers of the latest protocol version are asked for their version; older ones get the handshake they expect.
fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

fn not_connected(
    place: &str,
    error: &ClientInitializeError,
    last_words: Option<&LastStderrLine>,
    language: Language,
) -> ToolError {
    if error.is_authorization_required() {
        return ToolError::Unusable(Message::ToolNeedsToken { place }.text(language));
    }
    let problem = &with_causes(error);
    let mut words = Message::ToolNotConnected { place, problem }.text(language);
    let last_line =
        last_words.map(|words| words.lock().unwrap_or_else(PoisonError::into_inner).clone());
    if let Some(line) = last_line.filter(|line| !line.is_empty()) {
        let (problem, line) = (words, &line);
        words = Message::ToolLastOutput {
            problem: &problem,
            line,
        }
        .text(language);
    }
    match error {
        ClientInitializeError::TransportError { .. }
        | ClientInitializeError::ConnectionClosed(_)
            if last_words.is_none() =>
        {
            ToolError::Unavailable(words)
        }
        _ => ToolError::Unusable(words),
    }
}

fn list_error(error: &ServiceError, language: Language) -> ToolError {
    let problem = &with_causes(error);
    let words = Message::ToolListingFailed { problem }.text(language);
    match error {
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
            ToolError::Unavailable(words)
        }
        _ => ToolError::Unusable(words),
    }
}

/// Returns the error message for the user and the planner.
fn call_error(error: &ServiceError, language: Language) -> String {
    match error {
        ServiceError::McpError(error) => {
            let problem = &error.message;
            Message::FunctionFailed { problem }.text(language)
        }
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
            let problem = &with_causes(error);
            let reason = &Message::CallBroken { problem }.text(language);
            Message::CallOutcomeUnknown { reason }.text(language)
        }
        error => with_causes(error),
    }
}

fn declared(tool: McpTool) -> DeclaredFunction {
    let schema = serde_json::Value::Object(tool.input_schema.as_ref().clone());
    DeclaredFunction {
        destructive: tool.annotations.as_ref().is_some_and(may_destroy),
        declaration: FunctionDeclaration {
            name: tool.name.into_owned(),
            description: tool.description.unwrap_or_default().into_owned(),
            parameters_json_schema: schema.to_string(),
        },
    }
}

/// Returns whether a server declares a tool destructive. By the MCP specification a tool that is not read-only is
/// destructive unless the hint denies it. A tool without any hint is judged by its name.
fn may_destroy(hints: &ToolAnnotations) -> bool {
    hints
        .destructive_hint
        .unwrap_or(hints.read_only_hint == Some(false))
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let mut words = error.to_string();
    for cause in causes.map(ToString::to_string) {
        // Some errors already include their cause in their own message.
        if !words.contains(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_annotations_can_only_raise_the_risk() {
        let check = |read_only: Option<bool>, destructive: Option<bool>, expected: bool| {
            let hints = ToolAnnotations::from_raw(None, read_only, destructive, None, None);
            assert_eq!(may_destroy(&hints), expected, "{hints:?}");
        };
        check(None, None, false);
        check(None, Some(true), true);
        check(Some(true), Some(true), true);
        check(Some(false), None, true);
        check(Some(false), Some(false), false);
        check(Some(true), None, false);
    }
}
