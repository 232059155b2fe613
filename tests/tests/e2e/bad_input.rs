//! Errors have the right code, a documented reason, and a message that says what to do.

use std::net::TcpListener;
use std::process::Command;

use motorium_client::Client;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::executor as wire_executor;
use motorium_proto::v1::executor::executor_service_client::ExecutorServiceClient;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::perception as wire_perception;
use motorium_proto::v1::perception::perception_service_client::PerceptionServiceClient;
use motorium_tests::desktop::TestDesktop;
use motorium_tests::multi_step_task::MultiStepTask;
use motorium_tests::programs::{self, ProgramResult, binary, run};
use motorium_tests::services::{Server, TestSetup};
use motorium_tests::{tasks, until};
use tonic::Code;

fn task(goal: &str) -> wire::Task {
    wire::Task {
        goal: goal.to_owned(),
        ..wire::Task::default()
    }
}

fn creation(task: wire::Task) -> wire::CreateTaskRequest {
    wire::CreateTaskRequest {
        task: Some(task),
        ..wire::CreateTaskRequest::default()
    }
}

/// Asserts that an error has this code and reason, a page in `docs/errors`, and a message with these words.
#[track_caller]
fn check(error: &ErrorReport, code: Code, reason: &str, words: &[&str]) {
    assert_eq!(
        (error.code, error.reason.as_str()),
        (code, reason),
        "{error:?}"
    );
    for word in words {
        assert!(
            error.message.contains(word),
            "no {word:?} in: {}",
            error.message
        );
    }
    let page = motorium_tests::root().join(format!("docs/errors/{reason}.md"));
    assert!(page.is_file(), "{} is missing", page.display());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_requests() {
    let setup = TestSetup::without_display();
    let settings = [
        "orchestrator.planner=http://127.0.0.1:9".to_owned(),
        "orchestrator.desktops.local.perception=http://127.0.0.1:9".to_owned(),
        "orchestrator.desktops.local.executor=http://127.0.0.1:9".to_owned(),
    ];
    let server = Server::start(&setup, "orchestrator", &settings).await;
    let client = Client::new(server.channel());
    let refused = async |request| client.create(request).await.unwrap_err();

    let error = refused(creation(task("  "))).await;
    check(
        &error,
        Code::InvalidArgument,
        "INVALID_FIELD",
        &["task.goal"],
    );
    assert_eq!(error.fields[0].field, "task.goal", "{error:?}");

    let elsewhere = wire::Task {
        desktop_selector: Some(wire::DesktopSelector {
            desktop: "desktops/moon".to_owned(),
            ..wire::DesktopSelector::default()
        }),
        ..task("click \"Save\"")
    };
    let error = refused(creation(elsewhere)).await;
    check(
        &error,
        Code::NotFound,
        "DESKTOP_NOT_FOUND",
        &["moon", "local"],
    );

    let malformed = wire::CreateTaskRequest {
        task_id: "Not An Id".to_owned(),
        ..creation(task("click \"Save\""))
    };
    let error = refused(malformed).await;
    check(&error, Code::InvalidArgument, "INVALID_FIELD", &["task_id"]);
    let error = client.get_task("moon/1").await.unwrap_err();
    check(
        &error,
        Code::InvalidArgument,
        "INVALID_FIELD",
        &["name", "tasks/"],
    );
    let error = client.get_task("tasks/none").await.unwrap_err();
    check(&error, Code::NotFound, "TASK_NOT_FOUND", &["tasks/none"]);

    let request_id = uuid::Uuid::new_v4().to_string();
    let first = wire::CreateTaskRequest {
        request_id: request_id.clone(),
        ..creation(task("click \"Save\""))
    };
    let created = client.create(first.clone()).await.unwrap();
    assert_eq!(client.create(first).await.unwrap().name, created.name);
    let other = wire::CreateTaskRequest {
        request_id,
        ..creation(task("click \"Delete\""))
    };
    let error = refused(other).await;
    check(
        &error,
        Code::InvalidArgument,
        "REQUEST_ID_REUSED",
        &["request id", "use a new one"],
    );
    let malformed = wire::CreateTaskRequest {
        request_id: "once".to_owned(),
        ..creation(task("click \"Save\""))
    };
    let error = refused(malformed).await;
    check(
        &error,
        Code::InvalidArgument,
        "INVALID_FIELD",
        &["request_id", "UUID"],
    );

    let big = wire::Task {
        attachments: vec![wire::Attachment {
            name: "big.bin".to_owned(),
            // More than the server takes, and less than the client sends.
            data: vec![0; 8 * 1024 * 1024].into(),
            ..wire::Attachment::default()
        }],
        ..task("click \"Save\"")
    };
    let error = refused(creation(big)).await;
    check(
        &error,
        Code::ResourceExhausted,
        "MESSAGE_TOO_LARGE",
        &["8388", "4194304", "reference"],
    );

    for (token, code, reason) in [
        (
            "bm90IGEgdG9rZW4",
            Code::InvalidArgument,
            "RESUME_TOKEN_INVALID",
        ),
        ("%%%", Code::InvalidArgument, "RESUME_TOKEN_INVALID"),
    ] {
        let request = wire::WatchTaskRequest {
            name: created.name.clone(),
            resume_token: token.to_owned(),
        };
        let status = match client.raw().watch_task(request).await {
            Err(status) => status,
            Ok(stream) => stream.into_inner().message().await.unwrap_err(),
        };
        check(&ErrorReport::from_status(&status), code, reason, &["token"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_models() {
    let desktop = TestDesktop::bare().await;
    let setup = TestSetup::on(&desktop);
    std::fs::remove_file(setup.data().join("models")).unwrap();
    let server = Server::start(&setup, "perception", &[]).await;
    let mut perception = PerceptionServiceClient::new(server.channel());

    let status = perception
        .observe(wire_perception::ObserveRequest::default())
        .await
        .unwrap_err();
    let error = ErrorReport::from_status(&status);
    let words = ["models", "is missing", "tools/setup", "MOTORIUM_DATA"];
    check(
        &error,
        Code::FailedPrecondition,
        "MODEL_FILE_MISSING",
        &words,
    );

    // Capturing needs no models, and parsing works as soon as the files exist.
    perception
        .capture(wire_perception::CaptureRequest::default())
        .await
        .unwrap();
    let other = TestSetup::on(&desktop);
    let installed = std::fs::read_link(other.data().join("models")).unwrap();
    std::os::unix::fs::symlink(installed, setup.data().join("models")).unwrap();
    perception
        .observe(wire_perception::ObserveRequest::default())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_display() {
    let setup = TestSetup::without_display();
    let perception = Server::start(&setup, "perception", &[]).await;
    let mut perception_client = PerceptionServiceClient::new(perception.channel());
    let status = perception_client
        .capture(wire_perception::CaptureRequest::default())
        .await
        .unwrap_err();
    let error = ErrorReport::from_status(&status);
    check(
        &error,
        Code::Unavailable,
        "NO_DISPLAY",
        &["display", "motorium up"],
    );

    let executor = Server::start(&setup, "executor", &[]).await;
    let mut executor_client = ExecutorServiceClient::new(executor.channel());
    let status = executor_client
        .acquire_desktop(wire_executor::AcquireDesktopRequest {
            holder: "tasks/a".to_owned(),
            ..wire_executor::AcquireDesktopRequest::default()
        })
        .await
        .unwrap_err();
    let error = ErrorReport::from_status(&status);
    check(&error, Code::Unavailable, "NO_DISPLAY", &["display"]);

    let finished = setup
        .motorium(&["run", "--in-process", "click \"Save\""])
        .await;
    assert_eq!(finished.code, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("display"), "{finished:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn display_lost_during_a_task_is_reported() {
    let mut errand = MultiStepTask::start().await;
    let text: String = ('a'..='z').cycle().take(14_000).collect();
    let client = errand.services.client();
    let goal = format!("type \"{text}\" into \"Notes\"");
    let keys = errand.desktop.listen_for_keys();
    let task = client.create_task(&goal).await.unwrap();
    keys.first_key().await;
    drop(keys);
    errand.desktop.kill_server();

    // It either fails with the reason or asks; it neither hangs nor reports success.
    let now = until("the task to say so", || async {
        let now = client.get_task(&task.name).await.unwrap();
        (now.end_time.is_some() || now.user_request.is_some()).then_some(now)
    })
    .await;
    if now.end_time.is_none() {
        client.cancel_task(&task.name, "no display").await.unwrap();
    }
    let events = tasks::follow(&client, &task.name).await;
    let story = tasks::describe(&events);
    assert!(
        !matches!(events.last().unwrap().kind, Some(Kind::Succeeded(_))),
        "{story}"
    );
    assert!(
        story.contains("display") || story.contains("DISPLAY"),
        "nothing names the display:\n{story}"
    );

    let status = PerceptionServiceClient::new(errand.services.perception.channel())
        .capture(wire_perception::CaptureRequest::default())
        .await
        .unwrap_err();
    let error = ErrorReport::from_status(&status);
    assert_eq!(error.code, Code::Unavailable, "{error:?}");
}

/// Programs that cannot start exit immediately with a message and a non-zero code.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_failures_are_reported() {
    let setup = TestSetup::without_display();
    let file = setup.data().join("file");
    std::fs::write(&file, "").unwrap();
    let below_a_file = file.join("data");
    let mut command = programs::command(binary("motorium-orchestrator"), &setup.environment);
    command.args(["--data".as_ref(), below_a_file.as_os_str()]);
    check_refused(command, &["data", &below_a_file.display().to_string()]).await;

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    for service in ["perception", "planner", "executor", "orchestrator"] {
        let mut command = setup.command(&format!("motorium-{service}"));
        command.arg(format!("--set={service}.listen={address}"));
        check_refused(command, &[&address.to_string(), "taken"]).await;
    }

    let mut command = setup.command("motorium-planner");
    command.arg("--set=planner.listen=0.0.0.0:0");
    check_refused(command, &["server.token_file", "server.callers_file"]).await;

    let mut command = setup.command("motorium-planner");
    command.arg("--set=planner.lisen=127.0.0.1:0");
    check_refused(command, &["lisen", "listen"]).await;
}

async fn check_refused(command: Command, words: &[&str]) {
    let called = format!("{command:?}");
    let ProgramResult {
        code,
        stdout,
        stderr,
        ..
    } = run(command).await;
    assert!(
        matches!(code, Some(1 | 2)),
        "{called} ended with {code:?}:\n{stderr}"
    );
    assert!(!stderr.contains("panicked"), "{called}:\n{stderr}");
    for word in words {
        assert!(
            stderr.contains(word),
            "{called} does not say {word:?}:\n{stdout}\n{stderr}"
        );
    }
}
