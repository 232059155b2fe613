//! A scripted ToolService and scripted MCP servers on the loopback interface.
//!
//! All have the same functions. `note` stores a text and returns how many there are; `fail` fails; `hang` never
//! returns; `large` returns more than a planner is shown; `remove_note` is destructive by its name only, `tidy` by its
//! MCP hints. Every call and every cancellation is recorded.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use motorium_proto::v1::common as wire;
use motorium_proto::v1::tool::tool_service_server::{ToolService, ToolServiceServer};
use motorium_proto::v1::tool::{
    InvokeRequest, InvokeResponse, ListFunctionsRequest, ListFunctionsResponse,
};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};
use tokio::sync::watch;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use super::in_time;

/// Size of a result that is larger than a planner is shown.
pub(crate) const LARGE_RESULT_BYTES: usize = 200_000;

/// An event at a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToolEvent {
    Listed,
    /// A call, with its id if the tool knows one, and its arguments.
    Called(String, String, Value),
    /// The call of this function was cancelled.
    GivenUp(String),
}

/// State shared by all tools, and visible to tests.
#[derive(Debug, Clone, Default)]
pub(crate) struct NotesTool {
    events: watch::Sender<Vec<ToolEvent>>,
    /// True once `hang` returns.
    wakes: Arc<Mutex<bool>>,
}

impl NotesTool {
    fn record(&self, event: ToolEvent) {
        self.events.send_modify(|events| events.push(event));
    }

    /// Returns the functions that were called, in order, with their ids.
    pub(crate) fn calls(&self) -> Vec<(String, String)> {
        let events = self.events.borrow();
        let called = events.iter().filter_map(|event| match event {
            ToolEvent::Called(name, id, _) => Some((name.clone(), id.clone())),
            _ => None,
        });
        called.collect()
    }

    /// Returns the names of the functions that were called.
    pub(crate) fn names(&self) -> Vec<String> {
        self.calls().into_iter().map(|(name, _)| name).collect()
    }

    /// Lets `hang` return from now on.
    pub(crate) fn wake(&self) {
        *self.wakes.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    fn is_awake(&self) -> bool {
        *self.wakes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until this kind of event has happened this many times.
    pub(crate) async fn happened(
        &self,
        what: &str,
        times: usize,
        is_it: impl Fn(&ToolEvent) -> bool,
    ) {
        let mut events = self.events.subscribe();
        let seen =
            events.wait_for(|events| events.iter().filter(|event| is_it(event)).count() >= times);
        in_time(what, seen).await.unwrap();
    }

    /// Waits until a function was called this many times.
    pub(crate) async fn called(&self, name: &str, times: usize) {
        let is_it =
            |event: &ToolEvent| matches!(event, ToolEvent::Called(called, ..) if called == name);
        self.happened("a function to be called", times, is_it).await;
    }

    /// Waits until a call of this function was cancelled.
    pub(crate) async fn given_up(&self, name: &str) {
        let wanted = ToolEvent::GivenUp(name.to_owned());
        self.happened("a call to be given up", 1, |event| *event == wanted)
            .await;
    }

    async fn answer(&self, name: &str, id: &str, arguments: Value) -> Result<Value, String> {
        self.record(ToolEvent::Called(name.to_owned(), id.to_owned(), arguments));
        match name {
            "hang" if !self.is_awake() => {
                let _given_up = CancelOnDrop(self.clone(), name.to_owned());
                std::future::pending().await
            }
            "fail" => Err("the notebook is full".to_owned()),
            "large" => Ok(Value::from("x".repeat(LARGE_RESULT_BYTES))),
            _ => Ok(json!({"notes": self.calls().len()})),
        }
    }
}

/// Records a cancellation when dropped.
struct CancelOnDrop(NotesTool, String);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.record(ToolEvent::GivenUp(self.1.clone()));
    }
}

fn functions() -> Vec<(&'static str, Value)> {
    let nothing = json!({"type": "object", "properties": {}});
    let text =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    vec![
        ("note", text.clone()),
        ("fail", nothing.clone()),
        ("hang", nothing.clone()),
        ("large", nothing),
        ("remove_note", text),
        ("tidy", json!({"type": "object", "properties": {}})),
    ]
}

#[async_trait]
impl ToolService for NotesTool {
    async fn list_functions(
        &self,
        _: Request<ListFunctionsRequest>,
    ) -> Result<Response<ListFunctionsResponse>, Status> {
        self.record(ToolEvent::Listed);
        let declared = |(name, schema): (&str, Value)| wire::FunctionDeclaration {
            name: name.to_owned(),
            description: format!("For tests: {name}."),
            parameters_json_schema: schema.to_string(),
            destructive: name == "tidy",
        };
        Ok(Response::new(ListFunctionsResponse {
            functions: functions().into_iter().map(declared).collect(),
        }))
    }

    async fn invoke(
        &self,
        request: Request<InvokeRequest>,
    ) -> Result<Response<InvokeResponse>, Status> {
        use wire::function_result::Outcome;

        let call = request.into_inner().call.unwrap_or_default();
        let arguments = serde_json::from_str(&call.arguments_json);
        let arguments = arguments.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let answer = self.answer(&call.name, &call.call_id, arguments).await;
        let value = answer.map_err(Status::resource_exhausted)?;
        let result = wire::FunctionResult {
            call_id: call.call_id,
            outcome: Some(Outcome::ResultJson(value.to_string())),
        };
        Ok(Response::new(InvokeResponse {
            result: Some(result),
        }))
    }
}

impl ServerHandler for NotesTool {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.record(ToolEvent::Listed);
        let tool = |(name, schema): (&'static str, Value)| {
            let schema: JsonObject = serde_json::from_value(schema).expect("it is an object");
            let tool = Tool::new(name, format!("For tests: {name}."), schema);
            match name {
                "tidy" => tool.annotate(ToolAnnotations::new().destructive(true)),
                // Declared read-only, which contradicts its name.
                "remove_note" => tool.annotate(ToolAnnotations::new().read_only(true)),
                _ => tool,
            }
        };
        let tools = functions().into_iter().map(tool).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let answer = self.answer(&request.name, "", arguments);
        let answer = tokio::select! {
            answer = answer => answer,
            () = context.ct.cancelled() => Err("cancelled".to_owned()),
        };
        let text = |text: String| vec![ContentBlock::text(text)];
        let result = match answer {
            Ok(value) => CallToolResult::success(text(value.to_string())),
            Err(error) => CallToolResult::error(text(error)),
        };
        Ok(result.into())
    }
}

/// A server that can stop and restart at its address. It has a runtime of its own, so that its connections break when
/// it stops.
pub(crate) struct Tools {
    pub(crate) notes: NotesTool,
    address: SocketAddr,
    is_mcp: bool,
    runtime: Option<Runtime>,
}

impl Tools {
    /// Starts a ToolService.
    pub(crate) async fn service() -> Self {
        Self::start(false).await
    }

    /// Starts an MCP server over streamable HTTP.
    pub(crate) async fn mcp() -> Self {
        Self::start(true).await
    }

    async fn start(is_mcp: bool) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut tools = Self {
            address: free.local_addr().unwrap(),
            notes: NotesTool::default(),
            is_mcp,
            runtime: None,
        };
        drop(free);
        tools.come_back().await;
        tools
    }

    /// Returns the address as a task or the configuration names it.
    pub(crate) fn address(&self) -> String {
        if self.is_mcp {
            format!("mcp+http://{}/mcp", self.address)
        } else {
            format!("http://{}", self.address)
        }
    }

    /// Stops the server immediately.
    pub(crate) async fn go_away(&mut self) {
        let runtime = self.runtime.take().expect("it is there");
        let gone = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(super::TIMEOUT));
        gone.await.unwrap();
    }

    /// Restarts the server without its previous state.
    pub(crate) async fn come_back(&mut self) {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (address, notes, is_mcp) = (self.address, self.notes.clone(), self.is_mcp);
        let listening = runtime.spawn(TcpListener::bind(address));
        let listener = listening.await.unwrap().unwrap();
        runtime.spawn(async move {
            if is_mcp {
                serve_mcp(notes, listener).await;
            } else {
                serve_grpc(notes, listener).await;
            }
        });
        self.runtime = Some(runtime);
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn serve_grpc(notes: NotesTool, listener: TcpListener) {
    let server = tonic::transport::Server::builder().add_service(ToolServiceServer::new(notes));
    let incoming = TcpIncoming::from(listener);
    server.serve_with_incoming(incoming).await.unwrap();
}

async fn serve_mcp(notes: NotesTool, listener: TcpListener) {
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(move || Ok(notes.clone()), sessions, config);
    let router = axum::Router::new().fallback_service(service);
    axum::serve(listener, router).await.unwrap();
}

/// An MCP server as a program in plain Python. It speaks an older version of the protocol.
pub(crate) const NOTES_PROGRAM: &str = include_str!("notes.py");

/// Returns whether a process with this text in its command line exists.
pub(crate) async fn runs(mark: &str) -> bool {
    let found = tokio::process::Command::new("pgrep")
        .args(["-f", "--", mark])
        .stdout(Stdio::null())
        .status()
        .await;
    found.unwrap().success()
}
