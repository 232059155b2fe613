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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_does_only_what_its_roles_allow() {
    use std::os::unix::fs::PermissionsExt as _;

    let setup = TestSetup::without_display();
    let file = setup.data().join("callers.toml");
    let caller = |name: &str| {
        format!(
            "[[caller]]\nname = 'the-{name}'\nroles = ['{name}']\ntoken = '{}'\n",
            secret(name)
        )
    };
    let callers = ["viewer", "author"].map(caller).concat();
    std::fs::write(&file, callers).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let settings = [format!("server.callers_file={}", file.display())];
    let server = Server::start(&setup, "orchestrator", &settings).await;
    let url = server.url();
    let run = |role: &str, command: &[&str]| {
        let token = format!("--set=client.token={}", secret(role));
        let words: Vec<String> = [token.as_str()]
            .iter()
            .chain(command)
            .chain(&["--server", &url])
            .map(|&word| word.to_owned())
            .collect();
        let setup = &setup;
        async move {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            setup.motorium(&words).await
        }
    };
    let create = ["run", "--detach", "click \"Save\""];
    let list = ["tasks", "list", "--names"];

    let refused = run("viewer", &create).await;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in ["the-viewer", "author"] {
        assert!(refused.stderr.contains(part), "{refused:?}");
    }
    let listed = run("viewer", &list).await;
    assert_eq!(
        (listed.code, listed.stdout.as_str()),
        (Some(0), ""),
        "{listed:?}"
    );
    let created = run("author", &create).await;
    assert_eq!(created.code, Some(0), "{created:?}");
    let listed = run("viewer", &list).await;
    assert_eq!(listed.stdout.lines().count(), 1, "{listed:?}");
    let stranger = run("stranger", &list).await;
    assert_eq!(stranger.code, Some(2), "{stranger:?}");
}

fn secret(role: &str) -> String {
    format!("a-secret-token-of-the-{role}")
}
