//! Callers of the services on this machine: the user's own, and other users.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse as _;
use axum::routing::post;
use motorium_kit::loopback_token::LoopbackToken;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_client::OrchestratorServiceClient;
use motorium_tests::programs::{self, Process, binary};
use motorium_tests::services::{Server, TestSetup};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
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

/// Keeps what it receives on a port, as another user.
const IMPOSTOR: &str = "import os, socket, sys\n\
    received = open(sys.argv[2], 'wb', 0)\n\
    os.setuid(65534)\n\
    server = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n\
    print('ready', flush=True)\n\
    while True:\n\
    \x20client = server.accept()[0]\n\
    \x20client.settimeout(0.3)\n\
    \x20try:\n\
    \x20\x20while data := client.recv(4096): received.write(data)\n\
    \x20except OSError: pass\n\
    \x20client.close()\n";

/// Tokens that a gateway has received.
type Received = Arc<Mutex<Vec<String>>>;

/// Answers as a gateway of this user does, with one connection for each request.
fn gateway(received: &Received) -> axum::Router {
    let log = received.clone();
    let answer = async move |headers: HeaderMap, Json(message): Json<Value>| {
        let token = headers
            .get(header::AUTHORIZATION)
            .map(|value| value.to_str().unwrap());
        log.lock()
            .unwrap()
            .push(token.unwrap_or_default().to_owned());
        let close = [(header::CONNECTION, "close")];
        if message.get("id").is_none() {
            return (StatusCode::ACCEPTED, close).into_response();
        }
        let result = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "serverInfo": {"name": "gateway", "version": "1"},
        });
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        (close, Json(answer)).into_response()
    };
    axum::Router::new().route("/mcp", post(answer))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connection_of_an_agent_sends_no_token_to_another_user_who_takes_the_port_later() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let setup = TestSetup::without_display();
    let place = LoopbackToken::of_user(|name| setup.environment.get(name).map(String::as_str));
    place.find_or_create().unwrap();
    let token = place.find().unwrap().unwrap();
    let received = Received::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let application = gateway(&received);
    let serving = tokio::spawn(async move { axum::serve(listener, application).await });

    let mut command = setup.command("motorium");
    command.args(["mcp", "--gateway", &format!("http://127.0.0.1:{port}")]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut agent = tokio::process::Command::from(command);
    let mut agent = agent.kill_on_drop(true).spawn().unwrap();
    let mut input = agent.stdin.take().unwrap();
    let mut output = BufReader::new(agent.stdout.take().unwrap()).lines();
    let mut errors = BufReader::new(agent.stderr.take().unwrap()).lines();
    let mut send = async |message: Value| {
        input
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    };
    let information = json!({"name": "agent", "version": "1"});
    let opening =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": information});
    send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening})).await;
    let answer = tokio::time::timeout(Duration::from_secs(20), output.next_line());
    assert!(
        answer
            .await
            .unwrap()
            .unwrap()
            .unwrap()
            .contains("serverInfo")
    );
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    motorium_tests::until("both messages", async || {
        (received.lock().unwrap().len() >= 2).then_some(())
    })
    .await;
    let expected = format!("Bearer {}", token.expose());
    assert!(
        received
            .lock()
            .unwrap()
            .iter()
            .all(|sent| *sent == expected)
    );

    // The gateway ends, and another user takes its port.
    serving.abort();
    let _ = serving.await;
    let file = setup.data().join("received");
    let mut command = programs::command("python3", &setup.environment);
    command.args(["-c", IMPOSTOR, &port.to_string()]).arg(&file);
    let mut impostor = Process::start(command);
    let printed = impostor.stdout.clone();
    impostor
        .line("the impostor", &printed, |line| {
            (line == "ready").then_some(())
        })
        .await;
    send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).await;
    let refused = async {
        while let Some(line) = errors.next_line().await.unwrap() {
            if line.contains("another user") {
                return;
            }
        }
        panic!("the agent is not told");
    };
    let refused = tokio::time::timeout(Duration::from_secs(20), refused);
    refused.await.unwrap();
    let stolen = std::fs::read_to_string(&file).unwrap();
    assert_eq!(stolen, "");
    // It ends with its input.
    drop(input);
    agent.wait().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_does_only_what_its_roles_allow() {
    let setup = TestSetup::without_display();
    let settings = [with_callers(&setup, &["viewer", "author"])];
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
    check_refusals(
        &setup,
        &[
            ("the-viewer", "CreateTask", "ROLE_MISSING"),
            ("(unknown)", "ListTasks", "UNAUTHENTICATED"),
        ],
    )
    .await;
}

/// Checks that the audit log has these refused calls: caller, method and reason.
async fn check_refusals(setup: &TestSetup, wanted: &[(&str, &str, &str)]) {
    let refusals = async {
        loop {
            let exported = setup.motorium(&["audit", "export"]).await;
            let records = exported.stdout.lines();
            let records = records.map(|line| serde_json::from_str(line).unwrap());
            let refused = records.filter(|record: &serde_json::Value| record["what"] == "refused");
            let refused: Vec<_> = refused.collect();
            if refused.len() >= wanted.len() {
                return refused;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let refusals = tokio::time::timeout(Duration::from_secs(20), refusals).await;
    for (record, (caller, method, reason)) in refusals.unwrap().iter().zip(wanted) {
        assert_eq!(record["principal"], *caller, "{record}");
        assert_eq!(record["kind"], *method, "{record}");
        assert_eq!(record["outcome"], *reason, "{record}");
    }
}

/// Writes a callers file with a caller for each of these roles. Returns the setting that names it.
fn with_callers(setup: &TestSetup, roles: &[&str]) -> String {
    let file = setup.data().join("callers.toml");
    let caller = |role: &&str| {
        let token = secret(role);
        format!("[[caller]]\nname = 'the-{role}'\nroles = ['{role}']\ntoken = '{token}'\n")
    };
    let callers: String = roles.iter().map(caller).collect();
    std::fs::write(&file, callers).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    format!("server.callers_file={}", file.display())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_is_granted_to_none_is_entered_for_no_caller_with_a_name() {
    let mut setup = TestSetup::without_display();
    let bank = ("MOTORIUM_SECRET_BANK".to_owned(), "pewter".to_owned());
    setup.environment.extend([bank]);
    let input = setup.data().join("input.jsonl");
    let settings = [
        with_callers(&setup, &["service"]),
        "executor.driver=recording".to_owned(),
        "executor.displays=[\":9\"]".to_owned(),
        format!("executor.recording.file={}", input.display()),
        "executor.secret_allowed_windows={ \"*\" = [\"anywhere\"] }".to_owned(),
    ];
    let token = format!("--set=client.token={}", secret("service"));
    let granted = "executor.secret_grants={ bank = [\"tenant:default\"] }";
    for (grants, code) in [(None, 1), (Some(granted), 0)] {
        let settings = settings.iter().map(String::as_str).chain(grants);
        let settings: Vec<String> = settings.map(str::to_owned).collect();
        let server = Server::start(&setup, "executor", &settings).await;
        let url = server.url();
        let act = [
            token.as_str(),
            "act",
            "type",
            "--secret",
            "bank",
            "--executor",
            &url,
        ];
        let ended = setup.motorium(&act).await;
        assert_eq!(ended.code, Some(code), "{grants:?}: {ended:?}");
        let names_rule = ended.stdout.contains("secret_grants");
        assert_eq!(names_rule, code == 1, "{ended:?}");
        let typed = std::fs::read_to_string(&input).unwrap_or_default();
        assert_eq!(!typed.is_empty(), code == 0, "{typed}");
    }
}

fn secret(role: &str) -> String {
    format!("a-secret-token-of-the-{role}")
}
