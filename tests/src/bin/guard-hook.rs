//! A hook in its own process: denies clicks on "Finish" and redacts the editor's window.
//!
//! Prints its address as the first line.

use std::io::Write as _;

use motorium_proto::v1::hook::call_hook_request::Subject;
use motorium_proto::v1::hook::call_hook_response::Verdict;
use motorium_proto::v1::hook::hook_service_server::{HookService, HookServiceServer};
use motorium_proto::v1::hook::{
    Amend, CallHookRequest, CallHookResponse, Deny, DescribeHookRequest, DescribeHookResponse,
    HookPoint,
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// The hook service.
struct Guard;

#[tonic::async_trait]
impl HookService for Guard {
    async fn describe_hook(
        &self,
        _: Request<DescribeHookRequest>,
    ) -> Result<Response<DescribeHookResponse>, Status> {
        let points = [HookPoint::BeforeAction, HookPoint::BeforeScreenshot];
        Ok(Response::new(DescribeHookResponse {
            name: "guard".to_owned(),
            points: points.map(i32::from).into(),
            wants_images: false,
        }))
    }

    async fn call_hook(
        &self,
        request: Request<CallHookRequest>,
    ) -> Result<Response<CallHookResponse>, Status> {
        let request = request.into_inner();
        let verdict = match (request.point(), request.subject) {
            (HookPoint::BeforeScreenshot, _) => Some(Verdict::Amend(Amend {
                redact_windows: vec!["mousepad".to_owned()],
                ..Amend::default()
            })),
            (HookPoint::BeforeAction, Some(Subject::Action(action))) => {
                let planned = action.planned.unwrap_or_default();
                let denied = planned.intent.contains("Finish");
                let reason = "a person finishes".to_owned();
                denied.then_some(Verdict::Deny(Deny { reason }))
            }
            _ => None,
        };
        Ok(Response::new(CallHookResponse { verdict }))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "http://{}", listener.local_addr()?)?;
    tonic::transport::Server::builder()
        .add_service(HookServiceServer::new(Guard))
        .serve_with_incoming(TcpListenerStream::new(listener))
        .await?;
    Ok(())
}
