//! Calls of browsers over gRPC-Web.

use motorium_proto::v1::orchestrator as wire;
use prost::Message as _;

use crate::support::{TOKEN, TestGateway, frame, messages};

const LIST_DESKTOPS: &str = "/motorium.orchestrator.v1.OrchestratorService/ListDesktops";

fn call(gateway: &TestGateway, path: &str) -> reqwest::RequestBuilder {
    gateway
        .post(path)
        .header("content-type", "application/grpc-web+proto")
        .body(frame(&wire::ListDesktopsRequest::default()))
}

#[tokio::test]
async fn a_call_reaches_the_orchestrator() {
    let gateway = TestGateway::start().await;
    let cookie = gateway.log_in().await;
    let response = call(&gateway, LIST_DESKTOPS)
        .header("cookie", cookie)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let body = response.bytes().await.unwrap();
    let parts: Vec<_> = messages(&body).collect();
    let listed = wire::ListDesktopsResponse::decode(parts[0].clone()).unwrap();
    assert_eq!(listed.desktops[0].name, "desktops/local");
    // The last part has the trailers.
    assert!(String::from_utf8_lossy(&parts[1]).contains("grpc-status:0"));
    let authorization = gateway.services.authorizations.lock().unwrap().clone();
    assert_eq!(authorization, [Some(format!("Bearer {TOKEN}"))]);
}

#[tokio::test]
async fn a_call_reaches_a_service_of_a_desktop_and_no_other() {
    let gateway = TestGateway::start().await;
    let check = async |path: &str, expected: &str| {
        let response = call(&gateway, path)
            .bearer_auth(TOKEN)
            .send()
            .await
            .unwrap();
        let status = response.headers().get("grpc-status").cloned();
        let body = response.bytes().await.unwrap();
        let trailers = String::from_utf8_lossy(&body).into_owned();
        let found = status.map_or(trailers, |status| {
            format!("grpc-status:{}", status.to_str().unwrap())
        });
        assert!(found.contains(expected), "{path}: {found}");
    };
    // The stand-in answers every service.
    check(
        "/api/desktops/local/motorium.perception.v1.PerceptionService/ListDesktops",
        "grpc-status:0",
    )
    .await;
    check(
        "/api/desktops/local/motorium.executor.v1.ExecutorService/ListDesktops",
        "grpc-status:0",
    )
    .await;
    check(
        "/api/desktops/other/motorium.perception.v1.PerceptionService/Capture",
        "grpc-status:5",
    )
    .await;
    check(
        "/api/desktops/local/motorium.planner.v1.PlannerService/Plan",
        "grpc-status:5",
    )
    .await;
    check(
        "/motorium.orchestrator.v1.OrchestratorService/Unknown",
        "grpc-status:12",
    )
    .await;
}

#[tokio::test]
async fn a_call_without_a_session_is_told_so_in_its_own_form() {
    let gateway = TestGateway::start().await;
    let response = call(&gateway, LIST_DESKTOPS).send().await.unwrap();
    assert_eq!(response.status(), 401);
    assert_eq!(response.headers()["grpc-status"], "16");
    let message = response.headers()["grpc-message"].to_str().unwrap();
    assert!(
        message.contains("log%20in") || message.contains("log in"),
        "{message}"
    );
    assert!(gateway.services.methods.lock().unwrap().is_empty());
}
