//! Results of functions of tools, as an Orchestrator receives them.

use async_trait::async_trait;
use motorium_proto::domain::decision::{FunctionCall, Next};
use motorium_proto::v1::common as wire_common;
use motorium_proto::v1::common::function_result::Outcome;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::tool::tool_service_server::{ToolService, ToolServiceServer};
use motorium_proto::v1::tool::{
    InvokeRequest, InvokeResponse, ListFunctionsRequest, ListFunctionsResponse,
};
use motorium_tests::scripted_planner::{done, functions_named};
use motorium_tests::testbed::Testbed;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

use crate::{Filled, Measured, Measurement};

/// Size of a result that is received, and kept in part.
const LENGTH: usize = (4 << 20) - 1024;
/// Size of one that is not received.
const TOO_LONG: usize = 64 << 20;
/// Number of functions that a decision calls.
const CALLS: usize = 16;

/// A tool with a function that returns more than is kept, and one that returns more than is received.
struct Talkative;

#[async_trait]
impl ToolService for Talkative {
    async fn list_functions(
        &self,
        _: Request<ListFunctionsRequest>,
    ) -> Result<Response<ListFunctionsResponse>, Status> {
        let functions = functions_named(["much", "too_much"]);
        Ok(Response::new(ListFunctionsResponse { functions }))
    }

    async fn invoke(
        &self,
        request: Request<InvokeRequest>,
    ) -> Result<Response<InvokeResponse>, Status> {
        let call = request.into_inner().call.unwrap_or_default();
        let length = match call.name.as_str() {
            "much" => LENGTH,
            _ => TOO_LONG,
        };
        let result = wire_common::FunctionResult {
            call_id: call.call_id,
            outcome: Some(Outcome::ResultJson(format!("\"{}\"", "r".repeat(length)))),
        };
        let result = Some(result);
        Ok(Response::new(InvokeResponse { result }))
    }
}

/// Has a task call functions whose results are long.
pub(crate) async fn large_results() -> Measured {
    let mut stage = Testbed::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let server = ToolServiceServer::new(Talkative).max_encoding_message_size(usize::MAX);
    let server = tonic::transport::Server::builder().add_service(server);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let tool = format!("orchestrator.tools.talk.address=http://{address}");
    stage.services.restart_orchestrator(&[&tool]).await;
    let task = wire::Task {
        goal: "listen".to_owned(),
        tool_endpoints: vec!["talk".to_owned()],
        ..wire::Task::default()
    };
    let call = |number: usize| FunctionCall {
        call_id: number.to_string(),
        name: ["talk_much", "talk_too_much"][number % 2].to_owned(),
        arguments_json: "{}".to_owned(),
    };
    let calls = Next::CallFunctions((0..CALLS).map(call).collect());
    let process = stage.services.orchestrator.process.id();
    let measurement = Measurement::begin(process, Some(&stage.services.setup.data()));
    let run = stage.run_task(task, [calls, done("heard")]).await;
    let results: Vec<Result<(), ()>> = run.events.filter_map(|kind| match kind {
        Kind::FunctionReturned(returned) => match returned.result.as_ref()?.outcome.as_ref()? {
            Outcome::ResultJson(_) => Some(Ok(())),
            Outcome::Error(_) => Some(Err(())),
        },
        _ => None,
    });
    measurement.end(Filled::of(&results))
}
