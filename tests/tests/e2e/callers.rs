//! Callers of the services on this machine: the user's own, and other users.

use std::process::Command;

use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_client::OrchestratorServiceClient;
use motorium_tests::programs::{self, binary};
use motorium_tests::services::{Server, TestSetup};
use tonic::Code;
use tonic::transport::Endpoint;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_user_of_the_machine_cannot_call() {
    let setup = TestSetup::without_display();
    let server = Server::start(&setup, "orchestrator", &[]).await;
    let url = server.url();
    let list = ["tasks", "list", "--server", &url];

    // The user who started the server needs no setting.
    let own = setup.motorium(&list).await;
    assert_eq!(own.code, Some(0), "{own:?}");
    let token = setup.motorium(&["token", "--server", &url]).await;
    assert_eq!(token.code, Some(0), "{token:?}");

    // Another user has another home.
    let other = TestSetup::without_display();
    let refused = other.motorium(&list).await;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("`motorium token`"), "{refused:?}");
    assert!(!refused.stderr.contains(token.stdout.trim()), "{refused:?}");
    let none = other.motorium(&["token", "--server", &url]).await;
    assert_eq!((none.code, none.stdout.as_str()), (Some(2), ""), "{none:?}");
    let channel = Endpoint::from_shared(url.clone()).unwrap().connect_lazy();
    let bare = OrchestratorServiceClient::new(channel)
        .list_tasks(wire::ListTasksRequest::default())
        .await;
    assert_eq!(bare.unwrap_err().code(), Code::Unauthenticated);

    let called = grpcurl(&setup, &server.address.to_string()).await;
    assert_eq!(called.code, Some(0), "{called:?}");
    let anonymous = grpcurl(&other, &server.address.to_string()).await;
    assert_ne!(anonymous.code, Some(0), "{anonymous:?}");
}

/// Runs the line of the README as a user with this setup.
async fn grpcurl(setup: &TestSetup, address: &str) -> programs::ProgramResult {
    let tools = motorium_tests::root().join(".tools/bin");
    let own = binary("motorium");
    let own = own.parent().expect("a program is in a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let line = format!(
        "grpcurl -plaintext -H \"authorization: Bearer $(motorium token)\" {address} \
         motorium.orchestrator.v1.OrchestratorService/ListTasks"
    );
    let mut command: Command = programs::command("bash", &setup.environment);
    command
        .env(
            "PATH",
            format!("{}:{}:{path}", own.display(), tools.display()),
        )
        .args(["-c", &line]);
    programs::run(command).await
}
