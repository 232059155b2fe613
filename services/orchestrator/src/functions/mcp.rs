//! An MCP server, by streamable HTTP or as a program that speaks on its standard input and output.
//!
//! The connection is made when it is first needed and made anew when it is found closed; a call is made once and never
//! repeated. The program is started for one task, sees only the variables that it needs, and ends with the task. We serve
//! nothing to a server: no sampling, no roots, no questions to the user.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use motorium_kit::outbound;
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

use super::link::{Call, Problem};
use super::offer::{Declared, MOST_FUNCTIONS};
use super::outcome::{self, Outcome};
use super::settings::{Place, Tool};

/// Larger answers are refused before they are read, in bytes; what is shown of one is far smaller.
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;
/// How long cancelled calls may take to be told, and a server to end, when a task is over.
const FAREWELL: Duration = Duration::from_secs(2);
/// Variables of ours that a server's program sees.
const COMMON_VARIABLES: [&str; 10] = [
    "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
];
/// The last line that a program has written to its standard error.
type LastWords = Arc<Mutex<String>>;
type Connection = RunningService<RoleClient, ClientConfig>;

/// An MCP server.
#[derive(Debug)]
pub(super) struct Server {
    tool: Tool,
    connection: tokio::sync::Mutex<Option<Connection>>,
    /// Calls that are being cancelled.
    leaving: TaskTracker,
}

impl Server {
    pub(super) fn new(tool: &Tool) -> Self {
        Self {
            tool: tool.clone(),
            connection: tokio::sync::Mutex::new(None),
            leaving: TaskTracker::new(),
        }
    }

    pub(super) async fn list(&self) -> Result<Vec<Declared>, Problem> {
        let peer = self.peer().await?;
        let mut functions = Vec::new();
        let mut cursor = None;
        loop {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = peer.list_tools(Some(page)).await.map_err(listing)?;
            functions.extend(page.tools.into_iter().map(declared));
            if functions.len() > MOST_FUNCTIONS {
                let problem =
                    format!("it has more than {MOST_FUNCTIONS} functions; no more can be offered");
                return Err(Problem::Unusable(problem));
            }
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(functions),
            }
        }
    }

    pub(super) async fn call(&self, call: &Call) -> Outcome {
        let peer = self.peer().await;
        let peer = peer.map_err(|problem| format!("it cannot be reached: {problem}"))?;
        let params =
            CallToolRequestParams::new(call.name.clone()).with_arguments(call.arguments.clone());
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = peer
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await;
        let mut pending = match sent {
            Ok(handle) => Pending {
                handle: Some(handle),
                leaving: self.leaving.clone(),
            },
            Err(error) => return Err(failure(error)),
        };
        match pending.answer().await {
            Ok(ServerResult::CallToolResult(result)) => outcome::of_mcp(result),
            Ok(ServerResult::EmptyResult(_)) => Ok("null".to_owned()),
            Ok(_) => Err(
                "it answered with something else than a result, such as a question of its own, which is not served"
                    .to_owned(),
            ),
            Err(error) => Err(failure(error)),
        }
    }

    /// The other end of a connection that is open as far as anybody knows.
    async fn peer(&self) -> Result<Peer<RoleClient>, Problem> {
        let mut connection = self.connection.lock().await;
        if let Some(open) = connection.as_ref()
            && !open.is_closed()
            && !open.peer().is_transport_closed()
        {
            return Ok(open.peer().clone());
        }
        // On the heap: the machinery of a handshake is large, and every caller would carry it.
        let made = Box::pin(connect(&self.tool)).await?;
        let peer = made.peer().clone();
        *connection = Some(made);
        Ok(peer)
    }
}

impl Drop for Server {
    /// Whoever waits for the end of a task does not wait for the ends of its servers.
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.get_mut().take() else {
            return;
        };
        let leaving = self.leaving.clone();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            leaving.close();
            let _ = tokio::time::timeout(FAREWELL, leaving.wait()).await;
            let _ = connection.close_with_timeout(FAREWELL).await;
        });
    }
}

/// A call that is cancelled at the server when nobody waits for it any more.
struct Pending {
    handle: Option<RequestHandle<RoleClient>>,
    leaving: TaskTracker,
}

impl Pending {
    async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.handle else {
            return Err(ServiceError::TransportClosed);
        };
        let answer = (&mut handle.rx).await;
        self.handle = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            let cancelling = handle.cancel(Some("nobody waits for it any more".to_owned()));
            self.leaving.spawn(async move {
                if let Err(error) = cancelling.await {
                    tracing::debug!(%error, "a function could not be told that it is cancelled");
                }
            });
        }
    }
}

async fn connect(tool: &Tool) -> Result<Connection, Problem> {
    match &tool.place {
        Place::Program(command) => start(command, tool).await,
        Place::Mcp(uri) | Place::Service(uri) => reach(uri, tool).await,
    }
}

async fn reach(uri: &str, tool: &Tool) -> Result<Connection, Problem> {
    let client = if uri.starts_with("https://") {
        outbound::trusting(tool.ca_file.as_deref())
    } else {
        outbound::plain()
    };
    let unusable = |error: &dyn std::error::Error| Problem::Unusable(error.to_string());
    let client = client.map_err(|error| unusable(&error))?;
    let client = client.build().map_err(|error| unusable(&error))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(uri)
        .max_sse_event_size(LARGEST_ANSWER)
        .max_json_response_size(LARGEST_ANSWER);
    if let Some(token) = &tool.token {
        config = config.auth_header(token.expose());
    }
    let transport = StreamableHttpClientTransport::with_client(client, config);
    let connected = Box::pin(serve_client_with_lifecycle(
        ourselves(),
        transport,
        lifecycle(),
    ))
    .await;
    connected.map_err(|error| not_connected(uri, &error, None))
}

async fn start(command: &[String], tool: &Tool) -> Result<Connection, Problem> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Problem::Unusable("it has no command".to_owned()));
    };
    let mut child = Command::new(program);
    child.args(arguments).env_clear().kill_on_drop(true);
    child.envs(COMMON_VARIABLES.iter().filter_map(|name| {
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
        Problem::Unusable(format!(
            "the program `{program}` cannot be started: {error}"
        ))
    })?;
    let last_words = LastWords::default();
    if let Some(stderr) = stderr {
        tokio::spawn(listen(tool.label.clone(), stderr, last_words.clone()));
    }
    let connected = Box::pin(serve_client_with_lifecycle(
        ourselves(),
        transport,
        lifecycle(),
    ))
    .await;
    connected.map_err(|error| not_connected(program, &error, Some(&last_words)))
}

/// What a program says of itself goes into our log.
async fn listen(tool: String, stderr: impl AsyncRead + Unpin, last_words: LastWords) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        tracing::debug!(tool, line, "a tool's program says");
        *last_words.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }
}

/// How we are known to a server.
fn ourselves() -> ClientConfig {
    let name = Implementation::new("motorium", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), name)
}

/// Servers of the protocol's latest version are asked what they are; older ones are greeted as they expect.
fn lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

fn not_connected(
    place: &str,
    error: &ClientInitializeError,
    last_words: Option<&LastWords>,
) -> Problem {
    let said = last_words.map(|words| words.lock().unwrap_or_else(PoisonError::into_inner).clone());
    let said = match said {
        Some(said) if !said.is_empty() => format!(" (it said: {said})"),
        _ => String::new(),
    };
    if error.is_authorization_required() {
        let problem = format!("{place} asks for a token; give it one under orchestrator.tools");
        return Problem::Unusable(problem);
    }
    let words = format!(
        "there is no MCP server at {place}, or it does not answer as one: {}{said}",
        with_causes(error)
    );
    match error {
        ClientInitializeError::TransportError { .. }
        | ClientInitializeError::ConnectionClosed(_)
            if last_words.is_none() =>
        {
            Problem::Away(words)
        }
        _ => Problem::Unusable(words),
    }
}

fn listing(error: ServiceError) -> Problem {
    let words = format!("listing its functions failed: {}", with_causes(&error));
    match error {
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => Problem::Away(words),
        _ => Problem::Unusable(words),
    }
}

/// An error, as the planner is told.
fn failure(error: ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => format!("it failed: {}", error.message),
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => format!(
            "the connection to it broke ({}); whether it happened is not known",
            with_causes(&error)
        ),
        error => with_causes(&error),
    }
}

fn declared(tool: McpTool) -> Declared {
    let schema = serde_json::Value::Object(tool.input_schema.as_ref().clone());
    Declared {
        may_destroy: tool.annotations.as_ref().is_some_and(may_destroy),
        declaration: FunctionDeclaration {
            name: tool.name.into_owned(),
            description: tool.description.unwrap_or_default().into_owned(),
            parameters_json_schema: schema.to_string(),
        },
    }
}

/// Whether a server says that a tool may destroy something. By the protocol, one that is said to write does unless that is
/// denied; one of which nothing is said is taken by its name.
fn may_destroy(hints: &ToolAnnotations) -> bool {
    hints
        .destructive_hint
        .unwrap_or(hints.read_only_hint == Some(false))
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let mut words = error.to_string();
    for cause in causes.map(ToString::to_string) {
        // Some errors say what caused them themselves.
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
    fn what_a_server_says_of_a_tool_can_only_make_it_riskier() {
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
