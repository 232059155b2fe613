//! A task's functions, called between actions on a real screen: results are used, and failures do not end the task.

use async_trait::async_trait;
use motorium_proto::domain::decision::{FunctionCall, Next};
use motorium_proto::v1::common as wire_common;
use motorium_proto::v1::common::function_result::Outcome;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::tool::tool_service_server::{ToolService, ToolServiceServer};
use motorium_proto::v1::tool::{
    InvokeRequest, InvokeResponse, ListFunctionsRequest, ListFunctionsResponse,
};
use motorium_tests::scripted_planner::{act, click, done, functions_named};
use motorium_tests::testbed::Testbed;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

use super::task;

/// A tool service with a function that succeeds, one that fails, and one that hangs.
struct TestTools;

#[async_trait]
impl ToolService for TestTools {
    async fn list_functions(
        &self,
        _: Request<ListFunctionsRequest>,
    ) -> Result<Response<ListFunctionsResponse>, Status> {
        Ok(Response::new(ListFunctionsResponse {
            functions: functions_named(["which_button", "fail", "hang"]),
        }))
    }

    async fn invoke(
        &self,
        request: Request<InvokeRequest>,
    ) -> Result<Response<InvokeResponse>, Status> {
        let call = request.into_inner().call.unwrap_or_default();
        match call.name.as_str() {
            "fail" => Err(Status::unavailable("the oracle sleeps")),
            "hang" => std::future::pending().await,
            _ => Ok(Response::new(InvokeResponse {
                result: Some(wire_common::FunctionResult {
                    call_id: call.call_id,
                    outcome: Some(Outcome::ResultJson("\"Beacon\"".to_owned())),
                }),
            })),
        }
    }
}

/// Serves the tool service and returns its URL.
async fn oracle() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tonic::transport::Server::builder().add_service(ToolServiceServer::new(TestTools));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    format!("http://{address}")
}

fn call<const N: usize>(calls: [(&str, &str); N]) -> Next {
    let call = |(name, arguments): (&str, &str)| FunctionCall {
        call_id: name.to_owned(),
        name: name.to_owned(),
        arguments_json: arguments.to_owned(),
    };
    Next::CallFunctions(calls.map(call).into())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_are_called_fail_and_hang_between_actions() {
    let mut stage = Testbed::start().await;
    let program = motorium_tests::root().join("services/orchestrator/tests/loop/support/notes.py");
    let oracle = format!("orchestrator.tools.oracle.address={}", oracle().await);
    let notes = format!(
        "orchestrator.tools.notes.command=[\"python3\", \"{}\"]",
        program.display()
    );
    let more = [
        oracle.as_str(),
        "orchestrator.tools.oracle.timeout=2s",
        &notes,
        "orchestrator.tools.notes.timeout=2s",
    ];
    stage.services.restart_orchestrator(&more).await;

    let task = wire::Task {
        tool_endpoints: vec!["oracle".to_owned(), "notes".to_owned()],
        ..task("light what the oracle says, and note it")
    };
    let decisions = [
        call([
            ("oracle_which_button", "{}"),
            ("oracle_fail", "{}"),
            ("oracle_hang", "{}"),
        ]),
        act(click("Beacon")),
        call([
            ("notes_note", "{\"text\": \"it is lit\"}"),
            ("notes_fail", "{}"),
            ("notes_hang", "{}"),
        ]),
        done("lit and noted"),
    ];
    let run = stage.run_task(task, decisions).await;
    stage.save_screenshots("functions", &run.events).await;
    let text = run.events.text();
    assert_eq!(run.plan_requests.len(), 4, "{text}");

    let offered = run.plan_requests[0].functions.iter();
    let offered: Vec<&str> = offered.map(|one| one.name.as_str()).collect();
    assert!(
        offered.contains(&"oracle_hang") && offered.contains(&"notes_note"),
        "{offered:?}"
    );
    let [succeeded, failed, hung] = &run.plan_requests[1].history[0].function_results[..] else {
        panic!("each call has one result:\n{text}");
    };
    assert_eq!(succeeded.outcome, Ok("\"Beacon\"".to_owned()));
    let failed = failed.outcome.clone().unwrap_err();
    assert!(failed.contains("the oracle sleeps"), "{failed}");
    let hung = hung.outcome.clone().unwrap_err();
    assert!(hung.contains("unknown whether"), "{hung}");
    assert_ne!(
        run.plan_requests[0].frame.id, run.plan_requests[1].frame.id,
        "it observes again"
    );
    stage.assert_clicks_match(&run.events).await;
    let [noted, failed, hung] = &run.plan_requests[3].history[2].function_results[..] else {
        panic!("each call has one result:\n{text}");
    };
    assert_eq!(noted.outcome, Ok("{\"kept\": \"it is lit\"}".to_owned()));
    let failed = failed.outcome.clone().unwrap_err();
    assert!(failed.contains("the pencil is blunt"), "{failed}");
    let hung = hung.outcome.clone().unwrap_err();
    assert!(hung.contains("unknown whether"), "{hung}");
}
