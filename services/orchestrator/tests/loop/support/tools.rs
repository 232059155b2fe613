//! A ToolService and MCP servers, real ones on the loopback interface, that do as they are told.
//!
//! All have the same functions. `note` keeps a text and says how many there are; `fail` fails; `hang` never answers; `large`
//! answers with more than anybody reads; `remove_note` only has its name, and `tidy` what an MCP server says of it. Every call is written down, and so is when one
//! was given up.

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

/// More than a planner is shown.
pub(crate) const LARGE: usize = 200_000;

/// What happened at a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Deed {
    Listed,
    /// With the id of the call, where the tool knows one, and its arguments.
    Called(String, String, Value),
    /// Nobody waits for this function any more.
    GivenUp(String),
}

/// What all of its tools have in common, and what tests see of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    deeds: watch::Sender<Vec<Deed>>,
    /// `hang` answers after all.
    wakes: Arc<Mutex<bool>>,
}

impl Notes {
    fn did(&self, deed: Deed) {
        self.deeds.send_modify(|deeds| deeds.push(deed));
    }

    /// The functions that were called, in order, with their ids.
    pub(crate) fn calls(&self) -> Vec<(String, String)> {
        let deeds = self.deeds.borrow();
        let called = deeds.iter().filter_map(|deed| match deed {
            Deed::Called(name, id, _) => Some((name.clone(), id.clone())),
            _ => None,
        });
        called.collect()
    }

    /// Their names alone.
    pub(crate) fn names(&self) -> Vec<String> {
        self.calls().into_iter().map(|(name, _)| name).collect()
    }

    /// From now on, `hang` answers.
    pub(crate) fn wake(&self) {
        *self.wakes.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    fn is_awake(&self) -> bool {
        *self.wakes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something of the kind has happened so often.
    pub(crate) async fn happened(&self, what: &str, times: usize, is_it: impl Fn(&Deed) -> bool) {
        let mut deeds = self.deeds.subscribe();
        let seen = deeds.wait_for(|deeds| deeds.iter().filter(|deed| is_it(deed)).count() >= times);
        in_time(what, seen).await.unwrap();
    }

    /// Waits until a function was called so often.
    pub(crate) async fn called(&self, name: &str, times: usize) {
        let is_it = |deed: &Deed| matches!(deed, Deed::Called(called, ..) if called == name);
        self.happened("a function to be called", times, is_it).await;
    }

    /// Waits until a function was given up.
    pub(crate) async fn given_up(&self, name: &str) {
        let wanted = Deed::GivenUp(name.to_owned());
        self.happened("a call to be given up", 1, |deed| *deed == wanted)
            .await;
    }

    async fn answer(&self, name: &str, id: &str, arguments: Value) -> Result<Value, String> {
        self.did(Deed::Called(name.to_owned(), id.to_owned(), arguments));
        match name {
            "hang" if !self.is_awake() => {
                let _given_up = GivenUp(self.clone(), name.to_owned());
                std::future::pending().await
            }
            "fail" => Err("the notebook is full".to_owned()),
            "large" => Ok(Value::from("x".repeat(LARGE))),
            _ => Ok(json!({"notes": self.calls().len()})),
        }
    }
}

/// Tells when whoever holds it is dropped.
struct GivenUp(Notes, String);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.did(Deed::GivenUp(self.1.clone()));
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
impl ToolService for Notes {
    async fn list_functions(
        &self,
        _: Request<ListFunctionsRequest>,
    ) -> Result<Response<ListFunctionsResponse>, Status> {
        self.did(Deed::Listed);
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

impl ServerHandler for Notes {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.did(Deed::Listed);
        let tool = |(name, schema): (&'static str, Value)| {
            let schema: JsonObject = serde_json::from_value(schema).expect("it is an object");
            let tool = Tool::new(name, format!("For tests: {name}."), schema);
            match name {
                "tidy" => tool.annotate(ToolAnnotations::new().destructive(true)),
                // It says that it only reads, which its name contradicts.
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

/// A server that can go away and come back at its address. It has a runtime of its own, so that its connections go with
/// it.
pub(crate) struct Tools {
    pub(crate) notes: Notes,
    address: SocketAddr,
    is_mcp: bool,
    runtime: Option<Runtime>,
}

impl Tools {
    /// A ToolService.
    pub(crate) async fn service() -> Self {
        Self::start(false).await
    }

    /// An MCP server by streamable HTTP.
    pub(crate) async fn mcp() -> Self {
        Self::start(true).await
    }

    async fn start(is_mcp: bool) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut tools = Self {
            address: free.local_addr().unwrap(),
            notes: Notes::default(),
            is_mcp,
            runtime: None,
        };
        drop(free);
        tools.come_back().await;
        tools
    }

    /// As a task or the configuration names it.
    pub(crate) fn address(&self) -> String {
        if self.is_mcp {
            format!("mcp+http://{}/mcp", self.address)
        } else {
            format!("http://{}", self.address)
        }
    }

    /// Ends it in the middle of whatever it does.
    pub(crate) async fn go_away(&mut self) {
        let runtime = self.runtime.take().expect("it is there");
        let gone = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(super::PATIENCE));
        gone.await.unwrap();
    }

    /// Serves again, knowing nothing of what was before.
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

async fn serve_grpc(notes: Notes, listener: TcpListener) {
    let server = tonic::transport::Server::builder().add_service(ToolServiceServer::new(notes));
    let incoming = TcpIncoming::from(listener);
    server.serve_with_incoming(incoming).await.unwrap();
}

async fn serve_mcp(notes: Notes, listener: TcpListener) {
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(move || Ok(notes.clone()), sessions, config);
    let router = axum::Router::new().fallback_service(service);
    axum::serve(listener, router).await.unwrap();
}

/// An MCP server as a program, in plain Python: it answers as one of the protocol's older versions.
pub(crate) const PROGRAM: &str = include_str!("notes.py");

/// Whether there is a process whose command line has this in it.
pub(crate) async fn runs(mark: &str) -> bool {
    let found = tokio::process::Command::new("pgrep")
        .args(["-f", "--", mark])
        .stdout(Stdio::null())
        .status()
        .await;
    found.unwrap().success()
}
