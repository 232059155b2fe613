//! Invalid calls: each has its code, its reason, and a helpful message.

use bytes::Bytes;
use motorium_proto::error::ErrorReport;
use motorium_proto::limits::{MAX_ATTACHMENT_BYTES, MAX_GOAL_CHARS};
use motorium_proto::v1::orchestrator as wire;
use tonic::{Code, Status};

use crate::completion::expecting_text;
use crate::support::cluster::Cluster;
use crate::support::script::ask;

/// Asserts code, reason and message of a refused call.
fn check<T: std::fmt::Debug>(answer: Result<T, Status>, code: Code, reason: &str, words: &str) {
    let report = ErrorReport::from_status(&answer.unwrap_err());
    assert_eq!(
        (report.code, report.reason.as_str()),
        (code, reason),
        "{report}"
    );
    assert!(report.message.contains(words), "{report}");
    let starts_with_a_call = reason == "NOT_SERVED";
    let is_sentence = report.message.starts_with(char::is_uppercase);
    assert!(
        !report.message.ends_with('.') && (starts_with_a_call || !is_sentence),
        "{report}"
    );
    if reason == "INVALID_FIELD" {
        let field = &report.fields[0].field;
        assert_eq!(report.metadata["field"], *field);
        assert!(report.message.starts_with(field.as_str()), "{report}");
    }
}

fn creation(task: wire::Task) -> wire::CreateTaskRequest {
    wire::CreateTaskRequest {
        task: Some(task),
        ..wire::CreateTaskRequest::default()
    }
}

fn with_goal() -> wire::Task {
    wire::Task {
        goal: "do it".to_owned(),
        ..wire::Task::default()
    }
}

#[tokio::test]
async fn tasks_that_are_refused() {
    let cluster = Cluster::start(Vec::new()).await;
    let goal = |goal: String| wire::Task {
        goal,
        ..wire::Task::default()
    };
    let attachment = |name: &str, size: usize| wire::Task {
        attachments: vec![wire::Attachment {
            name: name.to_owned(),
            data: Bytes::from(vec![0; size]),
            ..wire::Attachment::default()
        }],
        ..with_goal()
    };
    let selector = |desktop: &str, labels: &[(&str, &str)]| wire::Task {
        desktop_selector: Some(wire::DesktopSelector {
            desktop: desktop.to_owned(),
            labels: labels
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        }),
        ..with_goal()
    };
    let session = |name: &str| wire::Task {
        session: name.to_owned(),
        ..with_goal()
    };
    let duration = |seconds| wire::Task {
        limits: Some(wire::Limits {
            max_duration: Some(prost_types::Duration { seconds, nanos: 0 }),
            ..wire::Limits::default()
        }),
        ..with_goal()
    };
    let tools = wire::Task {
        tool_endpoints: vec!["http://127.0.0.1:1".to_owned()],
        ..with_goal()
    };
    let results = wire::Task {
        results: vec!["../secrets".to_owned()],
        ..with_goal()
    };
    let expectation = wire::Task {
        goal: "do it".to_owned(),
        ..expecting_text("7")
    };
    let labels = |count: usize, bytes: usize| wire::Task {
        labels: (0..count)
            .map(|number| (format!("key-{number}"), "v".repeat(bytes)))
            .collect(),
        ..with_goal()
    };
    let many_labels_of_desktop = wire::Task {
        desktop_selector: Some(wire::DesktopSelector {
            labels: labels(101, 1).labels,
            ..wire::DesktopSelector::default()
        }),
        ..with_goal()
    };
    let instructions = wire::Task {
        instructions: "长".repeat(MAX_GOAL_CHARS + 1),
        ..with_goal()
    };
    let many_results = wire::Task {
        results: vec!["a.txt".to_owned(); 101],
        ..with_goal()
    };
    let long_backend = wire::Task {
        backends: vec!["b".repeat(3000)],
        ..with_goal()
    };
    let unknown_backend = wire::Task {
        backends: vec!["scripted".to_owned(), "oracle".to_owned()],
        ..with_goal()
    };
    let long_expectation = expecting_text(&"word ".repeat(20_000));
    const FIELD: (Code, &str) = (Code::InvalidArgument, "INVALID_FIELD");
    for (task, (code, reason), words) in [
        (
            goal(String::new()),
            FIELD,
            "task.goal: is empty; say what is to be done",
        ),
        (goal(" \n".to_owned()), FIELD, "task.goal: is empty"),
        (
            unknown_backend,
            FIELD,
            "task.backends[1]: unknown planner backend `oracle`; known backends: scripted",
        ),
        (
            goal("x".repeat(MAX_GOAL_CHARS + 1)),
            FIELD,
            "at most 16384 are accepted",
        ),
        (
            attachment("a.txt", MAX_ATTACHMENT_BYTES + 1),
            FIELD,
            "task.attachments[0].data: has 1048577 bytes; at most 1048576",
        ),
        (
            attachment("../a.txt", 1),
            FIELD,
            "task.attachments[0].name: `../a.txt` is not a plain file name",
        ),
        (
            results,
            FIELD,
            "task.results[0]: `../secrets` is not a plain file name",
        ),
        (
            selector("nowhere", &[]),
            FIELD,
            "task.desktop_selector.desktop: `nowhere` is not of the form desktops/{id}",
        ),
        (
            selector("desktops/nowhere", &[]),
            (Code::NotFound, "DESKTOP_NOT_FOUND"),
            "there is no desktop desktops/nowhere; known desktops: desktops/local",
        ),
        (
            selector("desktops/local", &[("gpu", "yes")]),
            FIELD,
            "desktops/local does not have all of these labels",
        ),
        (
            session("trip"),
            FIELD,
            "task.session: `trip` is not of the form sessions/{id}",
        ),
        (
            session("sessions/trip"),
            (Code::NotFound, "SESSION_NOT_FOUND"),
            "there is no sessions/trip; create the session",
        ),
        (
            expectation,
            FIELD,
            "task.expectations[0].text_on_screen: `7` has no more than one letter or digit",
        ),
        (
            labels(101, 1),
            FIELD,
            "task.labels: has 101 labels; at most 100",
        ),
        (
            labels(1, 257),
            FIELD,
            "task.labels: has 257 bytes in a key or value; at most 256",
        ),
        (
            many_labels_of_desktop,
            FIELD,
            "task.desktop_selector.labels: has 101 labels",
        ),
        (
            instructions,
            FIELD,
            "task.instructions: has 16385 characters; at most 16384",
        ),
        (many_results, FIELD, "task.results: has 101 entries"),
        (long_backend, FIELD, "task.backends[0]: has 3000 bytes"),
        (long_expectation, FIELD, "task.expectations[0]: has 1000"),
        (duration(-1), FIELD, "task.limits.max_duration"),
        (tools, FIELD, "task.tool_endpoints"),
    ] {
        let answer = cluster.client().raw().create_task(creation(task)).await;
        check(answer, code, reason, words);
    }
    let list = wire::ListTasksRequest::default();
    let page = cluster.client().raw().list_tasks(list).await.unwrap();
    assert_eq!(page.into_inner().tasks, [], "nothing was kept of them");
}

#[tokio::test]
async fn creations_that_are_refused() {
    let cluster = Cluster::start(Vec::new()).await;
    let mut client = cluster.client().raw();
    let named = |task_id: &str, request_id: &str| wire::CreateTaskRequest {
        task_id: task_id.to_owned(),
        request_id: request_id.to_owned(),
        ..creation(with_goal())
    };
    let invalid = Code::InvalidArgument;
    let empty = wire::CreateTaskRequest::default();
    check(
        client.create_task(empty).await,
        invalid,
        "INVALID_FIELD",
        "task: is required",
    );
    for id in ["Trip", "a b", "-a", "a/b", &"a".repeat(64)] {
        let answer = client.create_task(named(id, "")).await;
        check(
            answer,
            invalid,
            "INVALID_FIELD",
            "1 to 63 of a-z, 0-9 and -",
        );
    }
    let answer = client.create_task(named("", "today")).await;
    check(
        answer,
        invalid,
        "INVALID_FIELD",
        "request_id: `today` is not a UUID; leave it empty or send one",
    );
    client.create_task(named("trip", "")).await.unwrap();
    let answer = client.create_task(named("trip", "")).await;
    check(
        answer,
        Code::AlreadyExists,
        "TASK_EXISTS",
        "tasks/trip already exists; choose another id",
    );
}

#[tokio::test]
async fn oversize_request_error_states_the_limit() {
    let cluster = Cluster::start(Vec::new()).await;
    let attachments = (0..6).map(|number| wire::Attachment {
        name: format!("{number}.bin"),
        data: Bytes::from(vec![0; MAX_ATTACHMENT_BYTES]),
        ..wire::Attachment::default()
    });
    let task = wire::Task {
        attachments: attachments.collect(),
        ..with_goal()
    };
    let answer = cluster.client().raw().create_task(creation(task)).await;
    check(
        answer,
        Code::ResourceExhausted,
        "MESSAGE_TOO_LARGE",
        "4194304",
    );
}

#[tokio::test]
async fn tasks_that_are_not_there() {
    let cluster = Cluster::start(Vec::new()).await;
    let name = || "tasks/nowhere".to_owned();
    let mut client = cluster.client().raw();
    let missing = |answer: Result<(), Status>| {
        check(
            answer,
            Code::NotFound,
            "TASK_NOT_FOUND",
            "there is no tasks/nowhere",
        );
    };
    let get = wire::GetTaskRequest { name: name() };
    missing(client.get_task(get).await.map(drop));
    let watch = wire::WatchTaskRequest {
        name: name(),
        ..wire::WatchTaskRequest::default()
    };
    missing(client.watch_task(watch).await.map(drop));
    let cancel = wire::CancelTaskRequest {
        name: name(),
        ..wire::CancelTaskRequest::default()
    };
    missing(client.cancel_task(cancel).await.map(drop));
    let pause = wire::PauseTaskRequest {
        name: name(),
        ..wire::PauseTaskRequest::default()
    };
    missing(client.pause_task(pause).await.map(drop));
    let resume = wire::ResumeTaskRequest {
        name: name(),
        ..wire::ResumeTaskRequest::default()
    };
    missing(client.resume_task(resume).await.map(drop));
    let tell = wire::SendMessageRequest {
        name: name(),
        text: "x".to_owned(),
        ..wire::SendMessageRequest::default()
    };
    missing(client.send_message(tell).await.map(drop));
    let steps = wire::ListStepsRequest {
        parent: name(),
        ..wire::ListStepsRequest::default()
    };
    missing(client.list_steps(steps).await.map(drop));
    let artifact = wire::GetArtifactRequest {
        name: format!("{}/artifacts/00", name()),
        ..wire::GetArtifactRequest::default()
    };
    missing(client.get_artifact(artifact).await.map(drop));
}

#[tokio::test]
async fn names_that_are_malformed() {
    let cluster = Cluster::start(Vec::new()).await;
    let mut client = cluster.client().raw();
    for (name, words) in [
        ("", "name: `` is not of the form tasks/{id}"),
        ("nowhere", "name: `nowhere` is not of the form tasks/{id}"),
        (
            "sessions/a",
            "name: `sessions/a` is not of the form tasks/{id}",
        ),
        ("tasks/", "name: `` is not an identifier"),
        ("tasks/A", "name: `A` is not an identifier"),
        ("tasks/a/steps/1", "name: `a/steps/1` is not an identifier"),
    ] {
        let get = wire::GetTaskRequest {
            name: name.to_owned(),
        };
        check(
            client.get_task(get).await,
            Code::InvalidArgument,
            "INVALID_FIELD",
            words,
        );
    }
    let artifact = wire::GetArtifactRequest {
        name: "tasks/a/b".to_owned(),
        ..wire::GetArtifactRequest::default()
    };
    let answer = client.get_artifact(artifact).await.map(drop);
    let words = "name: `tasks/a/b` is not of the form tasks/{task}/artifacts/{artifact}";
    check(answer, Code::InvalidArgument, "INVALID_FIELD", words);
}

#[tokio::test]
async fn lists_that_are_refused() {
    let cluster = Cluster::start(Vec::new()).await;
    let name = cluster.create().await;
    cluster.follow(&name).await;
    let mut client = cluster.client().raw();
    let invalid = Code::InvalidArgument;
    let negative = wire::ListTasksRequest {
        page_size: -1,
        ..wire::ListTasksRequest::default()
    };
    check(
        client.list_tasks(negative).await,
        invalid,
        "INVALID_FIELD",
        "page_size: is negative",
    );
    let session = wire::ListTasksRequest {
        session: "trip".to_owned(),
        ..wire::ListTasksRequest::default()
    };
    check(
        client.list_tasks(session).await,
        invalid,
        "INVALID_FIELD",
        "session: `trip`",
    );
    for token in ["garbage", "7", "-1"] {
        let steps = wire::ListStepsRequest {
            parent: name.clone(),
            page_token: token.to_owned(),
            ..wire::ListStepsRequest::default()
        };
        let words = "start again without one";
        check(
            client.list_steps(steps).await,
            invalid,
            "PAGE_TOKEN_INVALID",
            words,
        );
        let tasks = wire::ListTasksRequest {
            page_token: token.to_owned(),
            ..wire::ListTasksRequest::default()
        };
        check(
            client.list_tasks(tasks).await,
            invalid,
            "PAGE_TOKEN_INVALID",
            words,
        );
        let desktops = wire::ListDesktopsRequest {
            page_token: token.to_owned(),
            ..wire::ListDesktopsRequest::default()
        };
        check(
            client.list_desktops(desktops).await,
            invalid,
            "PAGE_TOKEN_INVALID",
            words,
        );
    }
}

#[tokio::test]
async fn commands_that_come_at_the_wrong_time() {
    let cluster = Cluster::start(vec![ask("which one?")]).await;
    cluster.world.hold("acquire_desktop");
    let name = cluster.create().await;
    let mut client = cluster.client().raw();
    let precondition = Code::FailedPrecondition;
    let pause = || wire::PauseTaskRequest {
        name: name.clone(),
        ..wire::PauseTaskRequest::default()
    };
    let resume = || wire::ResumeTaskRequest {
        name: name.clone(),
        ..wire::ResumeTaskRequest::default()
    };
    let acknowledge = || wire::AcknowledgeUserActionRequest {
        name: name.clone(),
        ..wire::AcknowledgeUserActionRequest::default()
    };
    let tell = |text: &str| wire::SendMessageRequest {
        name: name.clone(),
        text: text.to_owned(),
        ..wire::SendMessageRequest::default()
    };
    let long = client.send_message(tell(&"x".repeat(100_001))).await;
    let words = "text: has 100001 characters; at most 100000";
    check(long, Code::InvalidArgument, "INVALID_FIELD", words);
    let pending = format!("{name} is pending; ");
    let early = client.pause_task(pause()).await;
    check(
        early,
        precondition,
        "WRONG_STATE",
        &format!("{pending}only a running task can be paused"),
    );
    let early = client.resume_task(resume()).await;
    check(
        early,
        precondition,
        "WRONG_STATE",
        &format!("{pending}only a paused task can be resumed"),
    );
    let early = client.acknowledge_user_action(acknowledge()).await;
    check(
        early,
        precondition,
        "WRONG_STATE",
        &format!("{pending}it does not wait for a user action"),
    );
    let silent = client.send_message(tell(" ")).await;
    check(
        silent,
        Code::InvalidArgument,
        "INVALID_FIELD",
        "text: is empty; say what the task should know",
    );

    cluster.world.release("acquire_desktop");
    cluster.happened(&name, "user_asked").await;
    let asked = client.pause_task(pause()).await;
    check(
        asked,
        precondition,
        "WRONG_STATE",
        "is waiting for the user; only a running task",
    );
    cluster.acknowledge(&name, "that one").await;
    cluster.follow(&name).await;
    let words = "has ended (succeeded); it accepts no more commands";
    check(
        client.pause_task(pause()).await,
        precondition,
        "TASK_ENDED",
        words,
    );
    check(
        client.resume_task(resume()).await,
        precondition,
        "TASK_ENDED",
        words,
    );
    check(
        client.acknowledge_user_action(acknowledge()).await,
        precondition,
        "TASK_ENDED",
        words,
    );
    check(
        client.send_message(tell("x")).await,
        precondition,
        "TASK_ENDED",
        words,
    );
}

#[tokio::test]
async fn artifacts_that_are_not_there() {
    let cluster = Cluster::start(Vec::new()).await;
    let name = cluster.create().await;
    cluster.follow(&name).await;
    let mut client = cluster.client().raw();
    let get = |id: &str, read_offset| wire::GetArtifactRequest {
        name: format!("{name}/artifacts/{id}"),
        read_offset,
    };
    let answer = client.get_artifact(get("00", 0)).await.map(drop);
    check(
        answer,
        Code::NotFound,
        "ARTIFACT_NOT_FOUND",
        "there is no tasks/",
    );
    let steps = cluster.client().list_steps(&name).await.unwrap();
    let id = steps[0].frame_before.rsplit('/').next().unwrap();
    let answer = client.get_artifact(get(id, 1_000_000)).await.map(drop);
    check(
        answer,
        Code::InvalidArgument,
        "INVALID_FIELD",
        "read_offset: is 1000000; the content has",
    );
}

#[tokio::test]
async fn sessions_that_are_refused() {
    let cluster = Cluster::start(Vec::new()).await;
    let mut client = cluster.client().raw();
    let create = |id: &str| wire::CreateSessionRequest {
        session_id: id.to_owned(),
        ..wire::CreateSessionRequest::default()
    };
    let words = "session_id: `My trip` is not an identifier";
    let answer = client.create_session(create("My trip")).await;
    check(answer, Code::InvalidArgument, "INVALID_FIELD", words);
    client.create_session(create("trip")).await.unwrap();
    let words = "sessions/trip already exists; choose another id";
    let answer = client.create_session(create("trip")).await;
    check(answer, Code::AlreadyExists, "RESOURCE_EXISTS", words);
    let get = wire::GetSessionRequest {
        name: "sessions/nowhere".to_owned(),
    };
    let words = "there is no sessions/nowhere; create the session";
    check(
        client.get_session(get).await,
        Code::NotFound,
        "SESSION_NOT_FOUND",
        words,
    );
}

#[tokio::test]
async fn invalid_or_unknown_tasks_cannot_be_exported() {
    let cluster = Cluster::start(Vec::new()).await;
    let mut client = cluster.client().raw();
    let mut export = async |name: &str| {
        let request = wire::ExportTrajectoryRequest {
            name: name.to_owned(),
        };
        client.export_trajectory(request).await.map(drop)
    };
    let malformed = export("").await;
    check(malformed, Code::InvalidArgument, "INVALID_FIELD", "name");
    let unknown = export("tasks/nobody").await;
    check(unknown, Code::NotFound, "TASK_NOT_FOUND", "tasks/nobody");
}
